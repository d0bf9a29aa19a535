"""How RSCL learns: from masked contexts of background and train tasks, then from episodes (paper, section IV-D).

Masking is BERT's: some tokens are hidden, and the network has to predict them.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.datasets.episodes import EpisodeSampler
from tripleshot.datasets.held_back import without_held_back
from tripleshot.graph.hidden_edges import HiddenEdges
from tripleshot.methods.losses import exact_token_loss, ranking_loss, sampled_token_loss
from tripleshot.methods.rscl.contexts import ContextBatch, ContextExtractor
from tripleshot.methods.rscl.network import RSCL
from tripleshot.methods.rscl.reader import ContextReader, EpisodeScores
from tripleshot.methods.rscl.settings import MaskingShares
from tripleshot.methods.rscl.tokens import MASK, NUM_SPECIAL, PAD, RELATION, Tokens
from tripleshot.methods.trainable import PRETRAINED, Losses, Stage

MASKED_SHARE = 0.15
TO_MASK, TO_OTHER = 0.8, 0.1  # of the chosen tokens; the others stay as they are


@dataclass(frozen=True, eq=False)
class MaskedBatch:
    """Contexts with tokens that are hidden.

    Attributes:
        batch: what the network sees.
        chosen: shape (n, 4p + 3), true where the true token has to be predicted.
        targets: shape (num_chosen,), the true tokens, row by row.
    """

    batch: ContextBatch
    chosen: Tensor
    targets: Tensor


def mask(batch: ContextBatch, tokens: Tokens, relations: Tensor, shares: MaskingShares) -> MaskedBatch:
    """Hide 15% of the tokens: 80% of them behind [MASK], 10% behind a random token of their kind, 10% not at all.

    The relation is not among them: it is shown, or asked for by the token that stands for every few-shot relation. The
    masked end of a triple is always behind [MASK].

    Args:
        batch: contexts.
        tokens: the vocabulary.
        relations: shape (n,), the true relation tokens of the triples.
        shares: how often relation and ends are asked for.
    """
    masked_head, masked_tail, batch = _hide_ends(batch, shares)
    original = batch.tokens
    slot = 2 * batch.max_neighbors + 1
    chosen = (torch.rand(original.shape, device=original.device) < MASKED_SHARE) & (original != PAD)
    chosen[:, slot] = False
    draw = torch.rand(original.shape, device=original.device)
    seen = torch.where(chosen & (draw < TO_MASK), MASK, original)
    to_other = chosen & (draw >= 1 - TO_OTHER)
    is_entity = original >= tokens.first_entity
    seen = torch.where(to_other & is_entity, torch.randint_like(original, tokens.first_entity, len(tokens)), seen)
    if tokens.first_entity > NUM_SPECIAL:
        seen = torch.where(to_other & ~is_entity, torch.randint_like(original, NUM_SPECIAL, tokens.first_entity), seen)
    for end, masked in ((slot - 1, masked_head), (slot + 1, masked_tail)):
        seen[:, end] = torch.where(masked, MASK, seen[:, end])
        chosen[:, end] |= masked
    asked = torch.rand(len(original), device=original.device) < shares.relation
    truth = original.clone()
    truth[:, slot] = relations
    seen[:, slot] = torch.where(asked, RELATION, relations)
    chosen[:, slot] = asked
    return MaskedBatch(replace(batch, tokens=seen), chosen, truth[chosen])


def _hide_ends(batch: ContextBatch, shares: MaskingShares) -> tuple[Tensor, Tensor, ContextBatch]:
    """Choose which heads and which tails are asked for, and take the neighbors of most of them out of the contexts.

    Returns:
        masked_head: shape (n,), true where the head is asked for; `masked_tail` the tail; never both.
        batch: without the neighbors that are hidden, and without roles, which tell of the opposite entity, where an end
            is masked.
    """
    center = 2 * batch.max_neighbors
    draw, hiding = torch.rand(2, len(batch.tokens), device=batch.tokens.device)
    masked_head, masked_tail = draw < shares.end / 2, (draw >= shares.end / 2) & (draw < shares.end)
    hides = hiding < shares.hidden_neighbors
    tokens = batch.tokens.clone()
    tokens[:, :center] = torch.where((masked_head & hides)[:, None], PAD, tokens[:, :center])
    tokens[:, center + 3 :] = torch.where((masked_tail & hides)[:, None], PAD, tokens[:, center + 3 :])
    roles = None if batch.roles is None else torch.where((masked_head | masked_tail)[:, None], 0, batch.roles)
    return masked_head, masked_tail, replace(batch, tokens=tokens, roles=roles)


def masking_loss(model: RSCL, masked: MaskedBatch, tokens: Tokens, num_sampled: int) -> Tensor:
    """Return the cross entropy of the hidden tokens, entities among entities and relations among relations.

    The classifier is tied to the element embeddings. `num_sampled` entities are drawn to stand for all of them; 0 takes
    every entity, which is exact and costs a product with the whole table.
    """
    states = model.states(masked.batch, masked.chosen)
    is_entity = masked.targets >= tokens.first_entity
    return _entity_loss(model, states[is_entity], masked.targets[is_entity], tokens, num_sampled) + _relation_loss(
        model, states[~is_entity], masked.targets[~is_entity], tokens
    )


def _entity_loss(model: RSCL, states: Tensor, targets: Tensor, tokens: Tokens, num_sampled: int) -> Tensor:
    table = model.elements.weight
    if not len(targets):
        return states.sum() * 0
    if not num_sampled:
        every_entity = torch.arange(tokens.first_entity, len(tokens), device=targets.device)
        return exact_token_loss(
            states, functional.embedding(every_entity, table, sparse=True), targets - tokens.first_entity
        )
    sampled = torch.randint(tokens.first_entity, len(tokens), (num_sampled,), device=targets.device)
    return sampled_token_loss(states, targets, sampled, table, tokens.num_entities)


def _relation_loss(model: RSCL, states: Tensor, targets: Tensor, tokens: Tokens) -> Tensor:
    if not len(targets):
        return states.sum() * 0
    relations = torch.arange(NUM_SPECIAL, tokens.first_entity, device=targets.device)
    table = functional.embedding(relations, model.elements.weight, sparse=True)
    return exact_token_loss(states, table, targets - NUM_SPECIAL)


@dataclass(frozen=True, eq=False)
class DrawnTriples:
    """Triples whose contexts are to be masked; all shapes are (n,).

    Attributes:
        heads: entity ids; `tails` as well.
        relations: ids of the graph's relations, which contexts must not show; -1 for one that has no edges there.
        relation_tokens: what stands between head and tail.
    """

    heads: npt.NDArray[np.int64]
    tails: npt.NDArray[np.int64]
    relations: npt.NDArray[np.int64]
    relation_tokens: npt.NDArray[np.int64]


class PretrainingTriples:
    """Draws triples of the background, read in either direction, and of the train tasks (paper, section V-A)."""

    def __init__(self, dataset: FewShotDataset, tokens: Tokens, task_share: float) -> None:
        """Lay the triples of the train tasks end to end; without a background they are all there is."""
        self.graph, self.tokens = dataset.graph, tokens
        sizes = [len(task.pairs) for task in dataset.train]
        relations = self.graph.relations.find([task.name for task in dataset.train]).astype(np.int64)
        own = tokens.first_task + np.arange(len(sizes))
        self.pairs = np.concatenate([np.empty((0, 2), np.int64), *(task.pairs for task in dataset.train)])
        self.relations = np.repeat(relations, sizes)
        self.relation_tokens = np.repeat(np.where(relations < 0, own, relations + NUM_SPECIAL), sizes)
        self.task_share = task_share if len(self.pairs) else 0.0
        if not self.graph.num_triples:
            self.task_share = min(1.0, float(len(self.pairs)))

    def __len__(self) -> int:
        return self.graph.num_triples + (len(self.pairs) if self.task_share else 0)

    def draw(self, count: int, rng: np.random.Generator) -> DrawnTriples:
        """Draw triples, each of its kind as often as any other."""
        from_tasks = rng.random(count) < self.task_share
        background = self._draw_background(int(np.sum(~from_tasks)), rng)
        rows = rng.integers(max(len(self.pairs), 1), size=int(np.sum(from_tasks)))
        columns = (self.pairs[rows, 0], self.pairs[rows, 1], self.relations[rows], self.relation_tokens[rows])
        return DrawnTriples(*(np.concatenate(both) for both in zip(background, columns, strict=True)))

    def _draw_background(self, count: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], ...]:
        graph = self.graph
        rows = rng.integers(max(graph.num_triples, 1), size=count)
        columns = (graph.head_ids, graph.relation_ids, graph.tail_ids)
        heads, relations, tails = (column[rows].astype(np.int64) for column in columns)
        backwards = rng.random(count) < 0.5
        heads, tails = np.where(backwards, tails, heads), np.where(backwards, heads, tails)
        return heads, tails, relations, self.tokens.relations(np.where(backwards, graph.inverse(relations), relations))


class RSCLTraining:
    """The stages of a training, and their losses."""

    def __init__(self, reader: ContextReader, dataset: FewShotDataset, shots: int) -> None:
        """Collect the triples of pre-training and the relations that episodes are drawn from.

        Args:
            reader: has the network, the extractor of contexts and the settings.
            dataset: to learn from, as the extractor sees it.
            shots: K.
        """
        self.reader, self.dataset = reader, dataset
        self.settings = settings = reader.settings
        seen = without_held_back(dataset, settings.held_back) if settings.held_back else dataset
        self.extractor = reader.extractor.on(seen.graph) if settings.held_back else reader.extractor
        self.triples = PretrainingTriples(seen, self.extractor.tokens, settings.pretraining_task_share)
        self.all_triples = PretrainingTriples(dataset, self.extractor.tokens, settings.pretraining_task_share)
        self.sampler = EpisodeSampler(
            dataset,
            shots,
            settings.batch_size // settings.relations_per_step,
            settings.num_negatives * settings.hardest_of,
            settings.regime,
            settings.background_share,
            held_back=settings.held_back,
            held_back_episodes=settings.held_back_episodes,
        )

    def stages(self) -> list[Stage]:
        """Return masked contexts, where they can teach something, and then episodes.

        Between the two the encoder that is kept beside the network may go on with masked contexts of all triples. The
        weights before the episodes are kept: other runs can start from them.
        """
        settings, module = self.settings, self.reader.module
        pretraining = Stage(
            "pre-training",
            self._pretraining_losses,
            settings.pretraining_steps,
            settings.pretraining_rate,
            "linear",
            settings.warmup,
            keep_as=PRETRAINED,
            finish=module.remember,
        )
        can_pretrain = settings.use_global and len(self.triples) > 0
        pretrains = can_pretrain and settings.pretraining_steps > 0 and not settings.pretrained
        remembers = can_pretrain and settings.remembering_steps > 0
        kept_beside = () if module.pretrained is None else tuple(module.pretrained.parameters())
        remembering = replace(
            pretraining,
            name="remembering",
            losses=self._remembering_losses,
            steps=settings.remembering_steps,
            finish=None,
        )
        episodes = Stage(
            "episodes",
            self._episode_losses,
            settings.steps,
            settings.learning_rate,
            settings.schedule,
            settings.warmup,
            validates=bool(self.dataset.valid),
            frozen=(*kept_beside, *((module.elements.weight,) if settings.frozen_elements else ())),
        )
        if remembers:
            module.requires_grad_(True)
        stages = ((pretraining, pretrains), (remembering, remembers), (episodes, True))
        return [stage for stage, is_wanted in stages if is_wanted]

    def _pretraining_losses(self, step: int, rng: np.random.Generator) -> Losses:
        """Mask contexts of triples, neither of which nor of whose contexts are held back for the episodes."""
        return self._masked_context_losses(self.reader.module, self.extractor, self.triples, step, rng)

    def _remembering_losses(self, step: int, rng: np.random.Generator) -> Losses:
        """Mask contexts of all triples for the encoder that is kept beside the network."""
        pretrained, extractor = self.reader.module.pretrained, self.reader.extractor
        assert pretrained is not None
        return self._masked_context_losses(pretrained, extractor, self.all_triples, step, rng)

    def _masked_context_losses(
        self,
        module: RSCL,
        extractor: ContextExtractor,
        triples: PretrainingTriples,
        step: int,
        rng: np.random.Generator,
    ) -> Losses:
        """Mask contexts of triples; the triple itself is kept out of its context, on both sides."""
        device = self.reader.device
        module.dropout.begin(step, self.settings.pretraining_dropout)
        drawn = triples.draw(self.settings.pretraining_batch_size, rng)
        hidden = HiddenEdges(drawn.relations, drawn.tails)
        contexts = extractor.extract(drawn.heads, drawn.tails, drawn.relation_tokens, rng, hidden)
        relations = torch.from_numpy(drawn.relation_tokens).to(device)
        return {"masking": self._masking_loss(module, ContextBatch.of(contexts, extractor, device), relations)}

    def _episode_losses(self, step: int, rng: np.random.Generator) -> Losses:
        """Rank true tails above wrong ones; mask the contexts of the true triples, too."""
        self.reader.module.dropout.begin(step, self.settings.dropout)
        episodes = [self.sampler.draw(rng) for _ in range(self.settings.relations_per_step)]
        if self.settings.hardest_of > 1:
            episodes = self.reader.keep_hardest(episodes, self.settings.num_negatives, rng)
        read = self.reader.read(episodes, rng)
        masking = self._episode_masking(read)  # first: the order of the operations decides how gradients are rounded
        return {"ranking": ranking_loss(read.scores[..., :1], read.scores[..., 1:], self.settings.margin), **masking}

    def _episode_masking(self, read: EpisodeScores) -> Losses:
        if not self.settings.masking_weight or read.true_contexts is None or read.relation_tokens is None:
            return {}
        masking = self._masking_loss(self.reader.module, read.true_contexts, read.relation_tokens)
        return {"masking": self.settings.masking_weight * masking}

    def _masking_loss(self, module: RSCL, batch: ContextBatch, relations: Tensor) -> Tensor:
        tokens = self.reader.extractor.tokens
        masked = mask(batch, tokens, relations, self.settings.masking_shares)
        return masking_loss(module, masked, tokens, self.settings.num_sampled)
