from dataclasses import dataclass

import numpy as np
import pytest

from tripleshot.answering.predictor import Predictor
from tripleshot.datasets.catalog import load_dataset
from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate, split_queries
from tripleshot.evaluation.ranking_work import RankingWork

SHOTS = 3


@dataclass(frozen=True)
class Source:
    folder: str

    def open(self):
        dataset = load_dataset(self.folder)
        return Predictor(dataset, "evidence"), dataset


@pytest.fixture
def source(tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    return Source(str(tmp_path / "tiny"))


@pytest.mark.parametrize("heads_per_piece", [1, 3, 1000])
def test_pieces_have_every_query_once(tiny, heads_per_piece):
    pieces = split_queries(tiny, SHOTS, "test", heads_per_piece)
    assert max(len(piece.heads) for piece in pieces) <= heads_per_piece
    found = [(piece.task, head) for piece in pieces for head in piece.heads]
    expected = {(number, head) for number, task in enumerate(tiny.test) for head in task.queries(SHOTS)[:, 0].tolist()}
    assert len(found) == len(expected)
    assert {*found} == expected


@pytest.mark.parametrize("candidates", ["benchmark", "open"])
def test_ranks_of_pieces_in_any_order_are_those_of_one_process(source, candidates):
    model, dataset = source.open()
    rank = RankingWork(source, dataset.content_hash, SHOTS, "test", candidates).open()

    def crew(pieces):
        yield from map(rank, pieces[::-1])

    here = evaluate(model, dataset, SHOTS, candidates=candidates)
    shared = evaluate(model, dataset, SHOTS, candidates=candidates, crew=crew)
    for name in ("optimistic", "pessimistic", "num_candidates"):
        np.testing.assert_array_equal(getattr(here.ranks, name), getattr(shared.ranks, name))


def test_a_dataset_that_has_changed_meanwhile_is_refused(source):
    with pytest.raises(InputError, match="has changed since the evaluation began"):
        RankingWork(source, "another", SHOTS, "test", "benchmark").open()
