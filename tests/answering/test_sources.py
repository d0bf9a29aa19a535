import numpy as np
import pytest

from tripleshot.answering.models import train
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.sources import as_dataset, is_run
from tripleshot.datasets.catalog import load_atlas
from tripleshot.errors import InputError

TRIPLES = [("city/1", "in", "land/1"), ("city/2", "in", "land/2")]


def test_every_triple_of_whatever_is_read_counts(tiny, tmp_path):
    (tmp_path / "graph.tsv").write_text("".join("\t".join(triple) + "\n" for triple in TRIPLES))
    tiny.save(tmp_path / "data")
    for source in (TRIPLES, tmp_path / "graph.tsv", str(tmp_path / "graph.tsv")):
        assert [*as_dataset(source).graph.triples()] == TRIPLES
    assert set(as_dataset(tmp_path / "data").graph.triples()) == set(tiny.whole.graph.triples())
    assert "on_sea" in as_dataset("atlas").graph.relations


def test_a_dataset_in_memory_stays_as_it_is_to_be_measured(tiny):
    assert as_dataset(tiny) is tiny


def test_types_are_used_where_they_are_and_not_asked_for(tiny):
    typed = [(f"city/{number}", "in", f"land/{number % 5}") for number in range(20)]
    types = as_dataset(typed).graph.types
    assert types is not None
    assert types.names == ("city", "land")
    assert as_dataset([("Rome", "in", "Italy")]).graph.types is None
    assert as_dataset(tiny.graph).graph is tiny.graph


def test_a_relation_that_is_a_task_keeps_its_label_when_triples_of_it_are_added():
    added = Predictor(load_atlas(), "degree").with_triples([("city/baku-az", "on_sea", "sea/caspian-sea")])
    relations = added.graph.relations
    assert relations.label(relations.id("on_sea")) == "lies on the"
    assert added.graph.pairs_of(relations.id("on_sea")).tolist() == [
        [added.resolve("city/baku-az"), added.resolve("sea/caspian-sea")]
    ]


def test_a_run_is_no_graph(tiny, tmp_path):
    train("degree", tiny, folder=tmp_path / "run", shots=3)
    assert is_run(tmp_path / "run")
    assert not is_run(tmp_path)
    with pytest.raises(InputError, match="is a run: load it"):
        Predictor(tmp_path / "run")


def test_a_path_is_asked_as_its_graph_is(tiny, tmp_path):
    (tmp_path / "graph.tsv").write_text("".join("\t".join(triple) + "\n" for triple in tiny.graph.triples()))
    examples = [("person:0", "city:0"), ("person:1", "city:1")]
    one, other = (Predictor(source) for source in (tmp_path / "graph.tsv", [*tiny.graph.triples()]))
    answers = [predictor.predict("person:2", examples=examples) for predictor in (one, other)]
    np.testing.assert_array_equal(answers[0].rankings[0].scores, answers[1].rankings[0].scores)
