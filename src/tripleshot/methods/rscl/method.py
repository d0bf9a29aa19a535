"""RSCL as a method: it learns from masked contexts and episodes, and scores each candidate by its own context."""

from pathlib import Path

import torch

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.graph.knowledge_graph import KnowledgeGraph
from tripleshot.methods.learner import Learner
from tripleshot.methods.protocol import Attention
from tripleshot.methods.rscl.connected import NUM_ROLES, ConnectedExtractor
from tripleshot.methods.rscl.context_reader import ContextReader
from tripleshot.methods.rscl.contexts import ContextExtractor, Tokens
from tripleshot.methods.rscl.factorised import FactorisedRSCL
from tripleshot.methods.rscl.half_reader import HalfReader
from tripleshot.methods.rscl.known_tokens import trained_rows
from tripleshot.methods.rscl.network import RSCL
from tripleshot.methods.rscl.pretraining import PRETRAINED, RSCLTraining
from tripleshot.methods.rscl.settings import PRESETS, RSCLSettings
from tripleshot.methods.rscl.text_encoder import TextEncoder
from tripleshot.training.checkpoints import load_weights
from tripleshot.training.runs import CONFIG, load_config, load_vocabulary, require_same_data, save_vocabulary
from tripleshot.training.trainer import Stage


class RSCLMethod(Learner[RSCLSettings, RSCL]):
    """Relation-specific context learning (the paper's model) on one dataset."""

    Settings = RSCLSettings
    presets = PRESETS

    @property
    def graph(self) -> KnowledgeGraph:
        """What contexts are taken from."""
        return self.dataset.graph

    def prepare(self, dataset: FewShotDataset) -> None:
        """Make an untrained network for the vocabulary of a dataset."""
        settings = self.settings
        self.given = dataset
        self.dataset = dataset = dataset.with_train_edges if settings.train_edges else dataset
        graph = dataset.graph
        self.tokens = Tokens(graph.num_relations, len(dataset.train), graph.num_entities)
        extractor = ConnectedExtractor if settings.connected else ContextExtractor
        self.extractor = extractor(
            graph, self.tokens, settings.max_neighbors, settings.max_distant, settings.top_neighbors
        )
        torch.manual_seed(settings.seed)
        self.module = (FactorisedRSCL if settings.factorised else RSCL)(
            len(self.tokens),
            settings.max_neighbors,
            settings.width,
            settings.num_layers,
            settings.num_heads,
            settings.dropout,
            settings.global_share,
            settings.use_global,
            settings.use_local,
            settings.scale_attention,
            TextEncoder(graph, self.tokens, settings.width) if settings.text else None,
            NUM_ROLES if settings.connected else 0,
        ).to(self.device)
        self.reader = self._reader()

    def _reader(self) -> ContextReader:
        reading = (self.extractor, self.settings, self.device)
        if isinstance(self.module, FactorisedRSCL):
            return HalfReader(self.module, *reading)
        return ContextReader(self.module, *reading)

    def begin(self, dataset: FewShotDataset, shots: int, folder: Path | None) -> list[Stage]:
        """Make an untrained network and return its stages: pre-training and episodes, as the settings say."""
        self.prepare(dataset)
        if folder is not None and self.settings.train_edges:
            save_vocabulary(self.dataset.graph, folder)
        if self.settings.pretrained:
            self._start_from(Path(self.settings.pretrained))
        return self.stages(shots, folder)

    def _start_from(self, folder: Path) -> None:
        """Take the weights that another run had when its pre-training was over; roles have no part in it.

        A run that sees the train tasks as edges can start from one that did not. A pre-training has seen the train
        tasks, so one on other tasks is refused: it may have seen what is asked here.
        """
        trained, graph = load_vocabulary(folder), self.dataset.graph
        if trained is None or not trained.begins(graph):
            raise InputError(f"{folder}: was not trained on the entities and relations of {self.dataset.name}")
        if (folder / CONFIG).exists():
            require_same_data(load_config(folder), self.given)
        module = self.module
        roles, module.roles = module.roles, None
        rows = {"elements.weight": trained_rows(self.tokens, graph, trained, same_tasks=True)}
        load_weights(module, folder, rows, PRETRAINED, only_own=True)
        module.roles = roles

    def forget(self) -> None:
        """Drop what was encoded with weights that have changed since."""
        self.reader.forget()

    def stages(self, shots: int, folder: Path | None = None) -> list[Stage]:
        """Return what training goes through: masked contexts of the background, then episodes."""
        return RSCLTraining(self, shots).stages(folder)

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by the contexts of (head, relation, tail)."""
        self.module.eval()
        return self.reader.score(support, head, tails)

    def restore(self, dataset: FewShotDataset, folder: Path) -> None:
        """Take the weights of a run; what this dataset names and the run has never seen is read as [MASK]."""
        self.prepare(dataset)
        trained = load_vocabulary(folder)
        rows = None if trained is None else {"elements.weight": trained_rows(self.tokens, self.graph, trained)}
        load_weights(self.module, folder, rows)
        self.forget()
        self.module.eval()

    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the network weighs to score a tail."""
        self.module.eval()
        return self.reader.attention(support, head, tail)
