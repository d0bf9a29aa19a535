from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from graphs import make_graph
from tripleshot.answering.answers import Answers, write_answers
from tripleshot.answering.ranking import Ranked

GRAPH = make_graph([("Odesa", "faces", "Black Sea"), ("Jeddah", "faces", "Red Sea")])
ID = GRAPH.entities.id


def ranked(*tails, confidence=None):
    ids = np.array([ID(tail) for tail in tails], dtype=np.int64)
    return Ranked(ids, np.arange(len(ids), 0, -1.0), confidence, np.zeros(len(ids), dtype=bool), 4)


@pytest.fixture
def answers():
    rankings = (ranked("Black Sea", "Red Sea", confidence=np.array([0.7, 0.2])), ranked("Red Sea"), ranked())
    return Answers(GRAPH, (ID("Odesa"), ID("Jeddah"), ID("Red Sea")), rankings)


def test_answers_are_found_by_name_and_by_place(answers):
    assert len(answers) == 3
    assert [one.name for one in answers["Odesa"]] == ["Black Sea", "Red Sea"]
    assert [one.rank for one in answers[0]] == [1, 2]
    assert answers["Red Sea"] == []
    with pytest.raises(KeyError):
        answers["Baku"]


def test_a_score_is_never_printed_as_a_zero_with_a_sign():
    scores = np.array([0.0004, -0.0, -0.0004, -0.0006])
    nearly = replace(ranked(*["Red Sea"] * 4), scores=scores)
    _, *lines = str(Answers(GRAPH, (ID("Odesa"),), (nearly,))).splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == ["(0.000)", "(0.000)", "(0.000)", "(-0.001)"]


def test_one_row_for_each_answer(answers):
    rows = answers.to_arrow().to_pylist()
    assert [(row["head"], row["rank"], row["tail"]) for row in rows] == [
        ("Odesa", 1, "Black Sea"),
        ("Odesa", 2, "Red Sea"),
        ("Jeddah", 1, "Red Sea"),
    ]
    assert [row["confidence"] for row in rows] == [0.7, 0.2, None]
    assert list(answers.to_pandas().columns) == answers.to_polars().columns == list(rows[0])


def test_ids_are_for_who_asks_for_them(answers):
    table = answers.to_arrow(ids=True)
    assert table.column("tail_id").to_pylist() == [ID("Black Sea"), ID("Red Sea"), ID("Red Sea")]
    assert "tail_id" not in answers.to_arrow().column_names


def test_answers_are_written_whole(answers, tmp_path):
    answers.write(tmp_path / "answers.parquet")
    assert pq.read_table(tmp_path / "answers.parquet").to_pylist() == answers.to_arrow().to_pylist()


def test_progress_counts_heads_while_batches_are_written(answers, tmp_path):
    done = []
    batches = (Answers(GRAPH, answers.asked[:2], answers.rankings[:2]).to_arrow().to_batches()[0] for _ in range(3))
    write_answers(batches, tmp_path / "answers.csv", done.append)
    assert done == [2, 4, 6]
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 10


def test_answers_read_like_a_list(answers):
    assert str(answers).splitlines()[:2] == ["Odesa", "  1. Black Sea  70%  (2.000)"]


def test_answers_for_tails_have_heads():
    found = Answers(GRAPH, (ID("Black Sea"),), (ranked("Odesa"),), side="tail")
    assert found.to_arrow().to_pylist()[0]["head"] == "Odesa"
    assert found.to_dict()["results"][0]["tail"]["name"] == "Black Sea"
