"""RSCL as a method: it learns from masked contexts and episodes, and scores each candidate by its own context."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tripleshot.attending import attend
from tripleshot.checkpoints import load_weights, save_weights
from tripleshot.config import PRESETS, RSCLSettings, fast
from tripleshot.contexts import NUM_SPECIAL, RELATION, ContextExtractor, Contexts, Hidden, Tokens
from tripleshot.csr import IntArray
from tripleshot.dataset import FewShotDataset
from tripleshot.episodes import Episode, EpisodeSampler
from tripleshot.errors import InputError
from tripleshot.losses import ranking_loss
from tripleshot.masking import mask, masking_loss
from tripleshot.method import Attention, FloatArray
from tripleshot.methods.fitting import Fitting, fit_module
from tripleshot.methods.known_tokens import trained_rows
from tripleshot.rscl import RSCL, Batch, Representation
from tripleshot.storage import load_vocabulary
from tripleshot.training import Losses, Observer, Stage, Watching

PRETRAINED = "pretrained.safetensors"

FEWEST_CONTEXTS = 32  # scored at once: fewer are not worth a thread


class RSCLMethod:
    """Relation-specific context learning (the paper's model) on one dataset."""

    Settings = RSCLSettings
    presets = PRESETS

    def __init__(self, settings: RSCLSettings | None = None, device: str = "cpu") -> None:
        """Choose settings, the fast preset by default; the network is made when the dataset is known."""
        self.settings = settings or fast()
        self.device = torch.device(device)

    @classmethod
    def with_settings(cls, settings: dict[str, Any], device: str = "cpu") -> "RSCLMethod":
        """Make the method from settings as a run keeps them."""
        return cls(RSCLSettings(**settings), device)

    def prepare(self, dataset: FewShotDataset) -> None:
        """Make an untrained network for the vocabulary of a dataset."""
        settings, graph = self.settings, dataset.graph
        self.dataset = dataset
        num_tasks = len(dataset.train) if settings.relation_token == "own" else 0
        self.tokens = Tokens(graph.num_relations, num_tasks, graph.num_entities)
        self.extractor = ContextExtractor(
            graph, self.tokens, settings.max_neighbors, settings.max_distant, settings.top_neighbors
        )
        torch.manual_seed(settings.seed)
        self.module = RSCL(
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
        ).to(self.device)
        untrained = torch.randn(settings.width, generator=torch.Generator().manual_seed(settings.seed))
        self.untrained = untrained.mul(settings.width**-0.5).to(self.device)
        self._encoded: tuple[bytes, Representation] | None = None

    def fit(
        self,
        dataset: FewShotDataset,
        shots: int,
        folder: Path | None = None,
        resume: bool = False,
        observer: Observer | None = None,
    ) -> None:
        """Pre-train, train, and keep the weights that were best on the valid tasks.

        Args:
            dataset: background, train tasks to learn from, valid tasks to choose on.
            shots: K.
            folder: where weights, checkpoint and log go; None keeps nothing on disk.
            resume: go on from the checkpoint in the folder.
            observer: is told about every step.
        """
        settings = self.settings
        self.prepare(dataset)
        watching = Watching(settings.validate_every, settings.patience, settings.checkpoint_every, settings.clip)
        fitting = Fitting(dataset, shots, settings.valid_queries, settings.seed, watching, folder, resume, observer)
        if settings.pretrained:
            self._start_from(Path(settings.pretrained))
        fit_module(self, self.module, self.stages(shots, folder), fitting, self._forget)

    def _start_from(self, folder: Path) -> None:
        """Take the weights that another run had when its pre-training was over."""
        trained = load_vocabulary(folder)
        if trained is None or not trained.fits(self.dataset.graph):
            raise InputError(f"{folder}: was not trained on the entities and relations of {self.dataset.name}")
        load_weights(self.module, folder, name=PRETRAINED)

    def _forget(self) -> None:
        self._encoded = None

    def stages(self, shots: int, folder: Path | None = None) -> list[Stage]:
        """Return what training goes through: masked contexts of the background, then episodes.

        The weights between the two are kept in the folder: other runs can start from them.
        """
        settings = self.settings
        sampler = EpisodeSampler(
            self.dataset,
            shots,
            settings.batch_size // settings.relations_per_step,
            settings.num_negatives,
            settings.regime,
            settings.background_share,
        )
        episodes = Stage(
            "episodes",
            lambda step, chance: self._episode_losses(sampler, step, chance),
            settings.steps,
            settings.learning_rate,
            settings.schedule,
            settings.warmup,
            validates=bool(self.dataset.valid),
        )
        pretraining = Stage(
            "pre-training",
            self._pretraining_losses,
            settings.pretraining_steps,
            settings.pretraining_rate,
            "linear",
            settings.warmup,
            finished=None if folder is None else lambda: save_weights(self.module, folder, PRETRAINED),
            embedding_boost=settings.pretraining_boost,
        )
        can_pretrain = settings.use_global and self.dataset.graph.num_triples > 0
        wants_to = settings.pretraining_steps and not settings.pretrained
        return [pretraining, episodes] if wants_to and can_pretrain else [episodes]

    def _pretraining_losses(self, step: int, chance: np.random.Generator) -> Losses:
        """Mask contexts of background triples, read in either direction, with the target edge kept out of them."""
        graph = self.dataset.graph
        self.module.dropout.begin(step)
        rows = chance.integers(graph.num_triples, size=self.settings.pretraining_batch_size)
        columns = (graph.head_ids, graph.relation_ids, graph.tail_ids)
        heads, relations, tails = (column[rows].astype(np.int64) for column in columns)
        backwards = chance.random(len(rows)) < 0.5
        heads, tails = np.where(backwards, tails, heads), np.where(backwards, heads, tails)
        relation_tokens = self.tokens.relations(relations + backwards * graph.num_relations)
        contexts = self.extractor.extract(heads, tails, relation_tokens, chance, Hidden(relations, tails))
        batch = Batch.of(contexts, self.extractor, self.device)
        masked = mask(batch, self.tokens, torch.from_numpy(relation_tokens).to(self.device))
        return {"masking": masking_loss(self.module, masked, self.tokens, self.settings.num_sampled)}

    def _episode_losses(self, sampler: EpisodeSampler, step: int, chance: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones; mask the contexts of the true triples, too."""
        settings = self.settings
        self.module.dropout.begin(step)
        episodes = [sampler.draw(chance) for _ in range(settings.relations_per_step)]
        support = np.stack([episode.support for episode in episodes])  # (relations, K, 2)
        queries = np.stack([episode.queries for episode in episodes])  # (relations, B, 2)
        negatives = np.stack([episode.negatives for episode in episodes])  # (relations, B, n)
        repeated = np.broadcast_to(queries[:, :, :1], negatives.shape)
        heads = np.concatenate([support[..., 0].ravel(), queries[..., 0].ravel(), repeated.ravel()])
        tails = np.concatenate([support[..., 1].ravel(), queries[..., 1].ravel(), negatives.ravel()])
        asked = np.concatenate(
            [
                np.repeat(np.arange(len(episodes)), part[0].size)
                for part in (support[..., 0], queries[..., 0], negatives)
            ]
        )
        hidden = np.array([-1 if episode.hidden is None else episode.hidden for episode in episodes])
        contexts = self.extractor.extract(
            heads,
            tails,
            self._relation_tokens(episodes)[asked],
            chance,
            Hidden(hidden[asked]) if hidden.max() >= 0 else None,
        )
        batch = Batch.of(contexts, self.extractor, self.device)
        if settings.relation_token == "difference":
            batch = replace(batch, relation=self._difference(support)[torch.from_numpy(asked).to(self.device)])
        encoded = self.module(batch)
        num_support, num_true = support[..., 0].size, support[..., 0].size + queries[..., 0].size
        of_support = encoded.rows(0, num_support).of_relations(len(episodes))
        positive = self.module.score(encoded.rows(num_support, num_true).of_relations(len(episodes)), of_support)
        negative = self.module.score(encoded.rows(num_true).of_relations(len(episodes)), of_support)
        negative = negative.unflatten(1, (-1, settings.num_negatives))
        losses = {"ranking": ranking_loss(positive[..., None], negative, settings.margin)}
        if settings.masking_weight:
            masked = mask(batch.rows(num_true), self.tokens)
            loss = masking_loss(self.module, masked, self.tokens, settings.num_sampled)
            losses["masking"] = settings.masking_weight * loss
        return losses

    def _relation_tokens(self, episodes: list[Episode]) -> npt.NDArray[np.int64]:
        """Return what stands between head and tail in each episode's contexts."""
        if self.settings.relation_token != "own":
            return np.full(len(episodes), RELATION)
        first = self.tokens.first_task
        return np.array([first + e.task if e.hidden is None else NUM_SPECIAL + e.hidden for e in episodes])

    def _asking(self, contexts: Contexts, support: IntArray) -> Batch:
        """Make a batch of contexts that ask about a relation known by its examples alone."""
        batch = Batch.of(contexts, self.extractor, self.device)
        if self.settings.relation_token == "shared":
            return batch
        relation = self.untrained if self.settings.relation_token == "own" else self._difference(support)
        return replace(batch, relation=relation.expand(len(batch.tokens), -1))

    def _difference(self, support: IntArray) -> Tensor:
        """Return mean(t) - mean(h) over the examples' element embeddings, shape (..., d); queries play no part."""
        embedded = self.module.elements(torch.from_numpy(self.tokens.entities(support)).to(self.device))
        return embedded[..., 1, :].mean(-2) - embedded[..., 0, :].mean(-2)

    def score(self, support: IntArray, head: int, tails: IntArray) -> FloatArray:
        """Score tails by the contexts of (head, relation, tail), a bounded number at a time; the support only once."""
        self.module.eval()
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
        key, known = np.ascontiguousarray(support).tobytes(), self._encoded  # another thread may replace it meanwhile
        if known is None or known[0] != key:
            contexts = self.extractor.extract(support[:, 0], support[:, 1])
            self._encoded = known = key, self.module(self._asking(contexts, support))
        return known[1]

    def restore(self, dataset: FewShotDataset, folder: Path) -> None:
        """Take the weights of a run; what this dataset names and the run has never seen is read as [MASK]."""
        self.prepare(dataset)
        trained = load_vocabulary(folder)
        if trained is None or trained.fits(dataset.graph):
            self._load(folder)
        else:
            self._load(folder, {"elements.weight": trained_rows(self.tokens, dataset.graph, trained)})

    def _load(self, folder: Path, rows: dict[str, IntArray] | None = None) -> None:
        load_weights(self.module, folder, rows)
        self._forget()
        self.module.eval()

    def attention(self, support: IntArray, head: int, tail: int) -> Attention:
        """Return what the network weighs to score a tail."""
        self.module.eval()
        of_head, of_tail = (self.extractor.neighbors(np.array([entity])) for entity in (head, tail))
        contexts = self.extractor.join(np.array([head]), np.array([tail]), RELATION, of_head, of_tail)
        examples = self._encode_support(support)
        return attend(self.module, self._asking(contexts, support), examples, of_head, of_tail)
