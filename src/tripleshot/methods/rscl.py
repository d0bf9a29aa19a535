"""RSCL as a method: it learns from masked contexts and episodes, and scores each candidate by its own context."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tripleshot.attending import attend
from tripleshot.checkpoints import load_weights
from tripleshot.config import PRESETS, RSCLSettings
from tripleshot.contexts import RELATION, ContextExtractor, Contexts, Tokens
from tripleshot.csr import IntArray
from tripleshot.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.evidence_head import EvidenceHead
from tripleshot.explaining import first_neighbors
from tripleshot.graph import KnowledgeGraph
from tripleshot.method import Attention, FloatArray
from tripleshot.methods.evidence_features import EvidenceFeatures, Examples
from tripleshot.methods.known_tokens import trained_rows
from tripleshot.methods.last_support import LastSupport
from tripleshot.methods.learner import Learner
from tripleshot.methods.rscl_training import PRETRAINED, RSCLTraining
from tripleshot.rscl import RSCL, Batch, Representation
from tripleshot.storage import RunVocabulary, load_vocabulary, save_vocabulary
from tripleshot.text_encoder import TextEncoder
from tripleshot.training import Stage

FEWEST_CONTEXTS = 32  # scored at once: fewer are not worth a thread
FEATURES_AT_ONCE = 16_384  # pairs; it bounds memory


class RSCLMethod(Learner[RSCLSettings, RSCL]):
    """Relation-specific context learning (the paper's model) on one dataset."""

    Settings = RSCLSettings
    presets = PRESETS

    @property
    def graph(self) -> KnowledgeGraph:
        """What contexts and evidence are taken from."""
        return self.dataset.graph

    def prepare(self, dataset: FewShotDataset) -> None:
        """Make an untrained network for the vocabulary of a dataset."""
        settings = self.settings
        self.dataset = dataset = dataset.with_train_edges if settings.train_edges else dataset
        graph = dataset.graph
        num_tasks = len(dataset.train) if settings.relation_token == "own" else 0
        self.tokens = Tokens(graph.num_relations, num_tasks, graph.num_entities)
        self.extractor = ContextExtractor(
            graph, self.tokens, settings.max_neighbors, settings.max_distant, settings.top_neighbors
        )
        self.features = EvidenceFeatures(graph, settings.text) if settings.evidence else None
        torch.manual_seed(settings.seed)
        self.module = RSCL(
            len(self.tokens) if settings.reads_contexts else 1,
            settings.max_neighbors,
            settings.width,
            settings.num_layers,
            settings.num_heads,
            settings.dropout,
            settings.global_share,
            settings.use_global,
            settings.use_local,
            settings.scale_attention,
            self._evidence_head(self.features) if self.features else None,
            TextEncoder(graph, self.tokens, settings.width) if settings.text and settings.reads_contexts else None,
        ).to(self.device)
        untrained = torch.randn(settings.width, generator=torch.Generator().manual_seed(settings.seed))
        self.untrained = untrained.mul(settings.width**-0.5).to(self.device)
        self._encoded: LastSupport[Representation] = LastSupport()
        self._examples: LastSupport[Examples] = LastSupport()

    def _evidence_head(self, features: EvidenceFeatures) -> EvidenceHead:
        left_out = features.kinds.columns_of(self.settings.without_evidence)
        return EvidenceHead(len(left_out), self.settings.evidence_width, torch.from_numpy(left_out))

    def begin(self, dataset: FewShotDataset, shots: int, folder: Path | None) -> list[Stage]:
        """Make an untrained network and return its stages: pre-training, evidence, episodes, as the settings say."""
        self.prepare(dataset)
        if folder is not None and self.settings.train_edges:
            save_vocabulary(self.dataset.graph, folder)
        if self.settings.pretrained:
            self._start_from(Path(self.settings.pretrained))
        training = RSCLTraining(self, shots)
        training.begin()
        return training.stages(folder)

    def _start_from(self, folder: Path) -> None:
        """Take the weights that another run had when its pre-training was over; evidence has no part in it.

        A run that sees the train tasks as edges can start from one that did not.
        """
        trained, graph = load_vocabulary(folder), self.dataset.graph
        if trained is None or not trained.begins(graph):
            raise InputError(f"{folder}: was not trained on the entities and relations of {self.dataset.name}")
        evidence, self.module.evidence = self.module.evidence, None
        load_weights(self.module, folder, self._rows(trained), PRETRAINED, only_own=True)
        self.module.evidence = evidence

    def _rows(self, trained: RunVocabulary) -> dict[str, IntArray] | None:
        """Return which rows of a run's table the tokens here take; None if all are the same."""
        graph = self.dataset.graph
        return None if trained.fits(graph) else {"elements.weight": trained_rows(self.tokens, graph, trained)}

    def forget(self) -> None:
        """Drop the encoded examples."""
        self._encoded.forget()

    def stages(self, shots: int, folder: Path | None = None) -> list[Stage]:
        """Return what training goes through: masked contexts of the background, then episodes."""
        return RSCLTraining(self, shots).stages(folder)

    def _asking(self, contexts: Contexts, support: IntArray) -> Batch:
        """Make a batch of contexts that ask about a relation known by its examples alone."""
        batch = Batch.of(contexts, self.extractor, self.device)
        if self.settings.relation_token == "shared":
            return batch
        relation = self.untrained if self.settings.relation_token == "own" else self.difference(support)
        return replace(batch, relation=relation.expand(len(batch.tokens), -1))

    def difference(self, support: IntArray) -> Tensor:
        """Return mean(t) - mean(h) over the examples' element embeddings, shape (..., d); queries play no part."""
        embedded = self.module.elements(torch.from_numpy(self.tokens.entities(support)).to(self.device))
        return embedded[..., 1, :].mean(-2) - embedded[..., 0, :].mean(-2)

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by the contexts of (head, relation, tail), and by evidence where the settings say so."""
        self.module.eval()
        contexts = np.zeros(len(tails), dtype=np.float32)
        if self.settings.reads_contexts:
            contexts = self.score_contexts(support, head, tails)
        if self.features is None or self.module.evidence is None:
            return contexts
        with torch.inference_mode():
            features = torch.from_numpy(self.features_of(support, head, tails)).to(self.device)
            return self.module.evidence.weigh(torch.from_numpy(contexts).to(self.device), features).cpu().numpy()

    def features_of(self, support: IntArray, head: int, tails: IntArray) -> npt.NDArray[np.float32]:
        """Return the features of tails, a bounded number at a time; the examples are looked at only once."""
        assert self.features is not None
        examples = self.examples_of(support)
        parts = [tails[start : start + FEATURES_AT_ONCE] for start in range(0, len(tails), FEATURES_AT_ONCE)]
        found = [self.features.of(examples, np.full(len(part), head), part) for part in parts]
        return np.concatenate([np.empty((0, self.features.kinds.size), dtype=np.float32), *found])

    def examples_of(self, support: IntArray) -> Examples:
        """Look at examples once for all queries."""
        assert self.features is not None
        features = self.features
        return self._examples.get(support, lambda: features.examples(support))

    def score_contexts(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score a bounded number of contexts at a time; those of the support are encoded only once."""
        encoded_support = self._encode_support(support)
        of_head = self.extractor.neighbors(np.array([head]))

        @torch.inference_mode()
        def score_some(some: IntArray) -> FloatArray:
            contexts = self.extractor.join(np.array([head]), some, RELATION, of_head, self.extractor.neighbors(some))
            encoded = self.module(self._asking(contexts, support))
            return self.module.score(encoded, encoded_support).cpu().numpy()

        share = -(-len(tails) // torch.get_num_threads())  # few candidates: some for each thread
        size = min(self.settings.batch_contexts, max(share, FEWEST_CONTEXTS))
        parts = [tails[start : start + size] for start in range(0, len(tails), size)]
        return np.concatenate([np.empty(0, dtype=np.float32), *self._in_threads(score_some, parts)])

    def _in_threads(self, work: Callable[[IntArray], FloatArray], parts: list[IntArray]) -> list[FloatArray]:
        """Work on each part in a thread of its own: on a CPU half again as fast as all threads on one part."""
        threads = torch.get_num_threads()
        if threads == 1 or len(parts) == 1 or self.device.type != "cpu":
            return [work(part) for part in parts]
        try:
            with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                return list(pool.map(work, parts))
        finally:
            torch.set_num_threads(threads)

    @torch.inference_mode()
    def _encode_support(self, support: IntArray) -> Representation:
        def encode() -> Representation:
            contexts = self.extractor.extract(support[:, 0], support[:, 1])
            return self.module(self._asking(contexts, support))

        return self._encoded.get(support, encode)

    def restore(self, dataset: FewShotDataset, folder: Path) -> None:
        """Take the weights of a run; what this dataset names and the run has never seen is read as [MASK]."""
        self.prepare(dataset)
        trained = load_vocabulary(folder)
        self._load(folder, None if trained is None or not self.settings.reads_contexts else self._rows(trained))

    def _load(self, folder: Path, rows: dict[str, IntArray] | None = None) -> None:
        load_weights(self.module, folder, rows)
        self.forget()
        self.module.eval()

    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the network weighs to score a tail."""
        if not self.settings.reads_contexts:
            graph = self.dataset.graph
            return Attention(first_neighbors(graph, head), first_neighbors(graph, tail))
        self.module.eval()
        of_head, of_tail = (self.extractor.neighbors(np.array([entity])) for entity in (head, tail))
        contexts = self.extractor.join(np.array([head]), np.array([tail]), RELATION, of_head, of_tail)
        examples = self._encode_support(support)
        return attend(self.module, self._asking(contexts, support), examples, of_head, of_tail)
