import pytest

from tripleshot.datasets.statistics import describe_dataset, neighbor_histogram


def test_a_dataset_is_counted(tiny):
    statistics = describe_dataset(tiny, shots=5)
    assert (statistics.entities, statistics.background_relations, statistics.triples) == (26, 4, 48)
    assert statistics.tasks == {"train": 2, "valid": 1, "test": 2}
    assert statistics.task_triples == {"train": 40, "valid": 20, "test": 40}
    assert statistics.types == 3
    assert statistics.degree["mean"] == pytest.approx(2 * 48 / 26)
    assert (statistics.long_tail["test"].queries, statistics.long_tail["test"].of) == (30, 30)


def test_the_histogram_counts_every_connected_entity_once(tiny):
    neighbors, entities = neighbor_histogram(tiny.graph)
    assert entities.sum() == 26
    assert neighbors.min() >= 1


@pytest.mark.nell
def test_nell_one_has_the_sizes_of_the_paper(nell_one):
    statistics = describe_dataset(nell_one, shots=5)
    assert (statistics.entities, statistics.background_relations, statistics.triples) == (68544, 291, 181109)
    assert (statistics.long_tail["test"].queries, statistics.long_tail["test"].of) == (1686, 2103)
    assert (statistics.long_tail["valid"].queries, statistics.long_tail["valid"].of) == (697, 979)
    assert statistics.one_neighbor == pytest.approx(0.632, abs=0.001)
    assert statistics.few_neighbors == pytest.approx(0.963, abs=0.001)
    assert statistics.degree["50%"] == 2
    assert statistics.degree["largest"] == 9756
