"""RSCL as a method: it learns from masked contexts and episodes, and scores each candidate by its own context."""

import math

import numpy as np
import numpy.typing as npt
import torch

from tripleshot.arrays import FloatArray, IntArray
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError
from tripleshot.methods.protocol import START, Attention, Reason
from tripleshot.methods.rscl.connected import NUM_ROLES, ConnectedExtractor
from tripleshot.methods.rscl.contexts import ContextExtractor
from tripleshot.methods.rscl.factorised import FactorisedRSCL, HalfReader
from tripleshot.methods.rscl.masked_score import MaskedScore, MaskingHead, expectation_text
from tripleshot.methods.rscl.network import RSCL, TextEncoder
from tripleshot.methods.rscl.pretraining import RSCLTraining
from tripleshot.methods.rscl.reader import ContextReader
from tripleshot.methods.rscl.settings import PRESETS, RSCLSettings
from tripleshot.methods.rscl.tokens import MASK, Tokens, trained_rows
from tripleshot.methods.trainable import Stage, TrainableMethod, TrainedWeights, Vectors


class RSCLMethod(TrainableMethod[RSCLSettings, RSCL]):
    """Relation-specific context learning (the paper's model) on one dataset."""

    Settings = RSCLSettings
    presets = PRESETS
    starts_from = "pre-training"

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        """Make an untrained network for the vocabulary of a dataset."""
        settings = self.settings
        self.dataset = dataset = dataset.with_train_edges if settings.train_edges else dataset
        self.graph = graph = dataset.graph
        self.shots = shots
        self.tokens = Tokens(graph.num_relations, len(dataset.train), graph.num_entities)
        extractor_class = ConnectedExtractor if settings.connected else ContextExtractor
        self.extractor = extractor_class(
            graph, self.tokens, settings.max_neighbors, settings.max_distant, settings.top_neighbors
        )
        torch.manual_seed(settings.seed)
        network_class = FactorisedRSCL if settings.factorised else RSCL
        self.module = self._create_network(
            network_class, use_local=settings.use_local, num_roles=NUM_ROLES if settings.connected else 0
        )
        self.reader = self._create_reader()
        self.masked_score = None
        if settings.keeps_pretrained:
            pretrained = self._create_network(RSCL, use_local=False)
            self.module.keep_pretrained(pretrained)
            if settings.masked_score:
                masking_head = MaskingHead(pretrained, self.extractor, self.device)
                self.masked_score = MaskedScore(masking_head, self.reader, settings.expected_share)

    def _create_network(self, network_class: type[RSCL], use_local: bool, num_roles: int = 0) -> RSCL:
        settings = self.settings
        return network_class(
            num_tokens=len(self.tokens),
            max_neighbors=settings.max_neighbors,
            width=settings.width,
            num_layers=settings.num_layers,
            num_heads=settings.num_heads,
            dropout=settings.dropout,
            global_share=settings.global_share,
            use_global=settings.use_global,
            use_local=use_local,
            scale_attention=settings.scale_attention,
            text=TextEncoder(self.graph, self.tokens, settings.width) if settings.text else None,
            num_roles=num_roles,
        ).to(self.device)

    def _create_reader(self) -> ContextReader:
        if isinstance(self.module, FactorisedRSCL):
            return HalfReader(self.module, self.extractor, self.settings, self.device)
        return ContextReader(self.module, self.extractor, self.settings, self.device)

    def start_from(self, start: Vectors | TrainedWeights) -> None:
        """Take the weights that another run had when its pre-training was over; roles have no part in it.

        A run that sees the train tasks as edges can start from one that did not. The encoder that is kept beside the
        network is the other run's second one, if that has one. What one share holds back is part of what a larger one
        does.
        """
        if not isinstance(start, TrainedWeights) or start.names is None or not start.names.begins(self.graph):
            raise InputError(f"{start.source}: was not trained on the entities and relations of {self.dataset.name}")
        held_back = start.settings.get("held_back", 0.0)
        if start.settings and self.settings.held_back > held_back:
            raise InputError(
                f"{start.source}: its pre-training held back {held_back:g} of all triples, and has seen some of the "
                f"{self.settings.held_back:g} that episodes are to ask about: held_back must be {held_back:g} or less"
            )
        module = self.module
        roles, module.roles = module.roles, None
        pretrained, module.pretrained = module.pretrained, None
        rows = {"elements.weight": trained_rows(self.tokens, self.graph, start.names, same_tasks=True)}
        of_pretrained, own = start.split("pretrained.")
        own.load_into(module, rows, only_own=True)
        module.roles, module.pretrained = roles, pretrained
        module.remember()
        if pretrained is not None and of_pretrained.tensors:
            of_pretrained.load_into(pretrained, rows)

    def clear_cache(self) -> None:
        """Drop what was encoded with weights that have changed since."""
        self.reader.clear_cache()
        if self.masked_score is not None:
            self.masked_score.clear_cache()

    def stages(self) -> list[Stage]:
        """Return what training goes through: masked contexts of background and train tasks, then episodes."""
        return RSCLTraining(self.reader, self.dataset, self.shots).stages()

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by the contexts of (head, relation, tail), and by what is expected of the head if that counts."""
        self.module.eval()
        scorer = self.reader if self.masked_score is None else self.masked_score
        return scorer.score(support, head, tails)

    def compare_among(self, support: IntArray, candidates: IntArray) -> None:
        """Take the candidates that probabilities are over, where they are mixed."""
        if self.masked_score is not None:
            self.masked_score.compare_among(support, candidates)

    def explain(self, support: IntArray, head: int, tail: int) -> list[Reason]:
        """Return how much likelier than any candidate the tail is, by its similarity and by what the masking head says.

        Each has its share of what both add to the probability. `attention` says all of the similarity.
        """
        if self.masked_score is None:
            return []
        self.module.eval()
        asked, rivals = np.array([tail]), self.masked_score.rivals(support, head)
        similar, expected = (float(part[0]) for part in self.masked_score.parts(support, head, asked))
        total, evenly = float(np.logaddexp(similar, expected)), -math.log(rivals.count)
        gained, share = total - evenly, math.exp(similar - total)
        is_expected = self.masked_score.masking_head.score(head, asked)[0] - rivals.expected > evenly
        label = self.graph.entities.label
        examples = tuple((int(first), int(second)) for first, second in support)
        told = expectation_text(label(head), label(tail), is_expected)
        return [
            Reason("similarity", "the contexts of both are like those of the examples", share * gained, (), examples),
            Reason("expectation", told, (1 - share) * gained),
            Reason(START, "where every answer to this question starts", evenly),
        ]

    def restore(self, dataset: FewShotDataset, weights: TrainedWeights) -> None:
        """Take the weights of a run; what this dataset names and the run has never seen is read as [MASK]."""
        self.prepare(dataset, 0)
        of_pretrained, own = weights.split("pretrained.")
        pretrained, self.module.pretrained = self.module.pretrained, None
        own.load_into(self.module, self._rows_of(own))
        self.module.pretrained = pretrained
        if self.masked_score is not None:
            kept = of_pretrained if of_pretrained.tensors else weights.pretrained
            if kept is None:
                raise InputError(f"{weights.source}: nothing is left of its pre-training, which masked_score needs")
            of_second, _ = kept.split("pretrained.")
            kept = of_second if of_second.tensors else kept
            self._restore_head(self.masked_score.masking_head, kept)
        self.clear_cache()
        self.module.eval()

    def _restore_head(self, masking_head: MaskingHead, weights: TrainedWeights) -> None:
        rows = self._rows_of(weights)
        weights.load_into(masking_head.module, rows, only_own=True)
        if rows is not None:
            of_entities = rows["elements.weight"][self.tokens.first_entity :]
            masking_head.unknown_entities = np.flatnonzero(of_entities == MASK)

    def _rows_of(self, weights: TrainedWeights) -> dict[str, npt.NDArray[np.int64]] | None:
        """Return which rows of trained embeddings the tokens of this dataset take."""
        names = weights.names
        return None if names is None else {"elements.weight": trained_rows(self.tokens, self.graph, names)}

    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the network weighs to score a tail."""
        self.module.eval()
        return self.reader.attention(support, head, tail)
