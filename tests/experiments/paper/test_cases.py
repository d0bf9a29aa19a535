from dataclasses import replace

import pytest

from experiments.paper.documents import collected, result, verdicts
from tripleshot.experiments.paper.cases import cases_report, count_neighbors, short_names


def test_cases_count_neighbors_of_the_examples_and_relations_that_rscl_wins(tiny):
    names = [task.name for task in tiny.test]
    ours = [
        result("rscl", 0.3, relations={names[0]: 0.3, names[1]: 0.5}),
        result("faan", 0.3, relations=dict.fromkeys(names, 0.4)),
    ]
    report = cases_report(collected(tiny, ours))
    assert report.tables[0].rows[0][0] == names[0]
    assert verdicts(report) == {next(iter(verdicts(report))): "not held"}
    assert report.claims[0].detail == "On 1 of 2, by MRR."
    counts = count_neighbors(tiny, tiny.test[0], 5)
    support = tiny.test[0].support(5)
    assert counts.heads == pytest.approx(tiny.graph.num_neighbors[support[:, 0]].mean())


def test_relations_are_called_without_namespaces_unless_they_would_be_called_the_same(tiny):
    def called(*names):
        tasks = tuple(replace(task, name=name, label="") for task, name in zip(tiny.test, names, strict=False))
        return short_names(replace(tiny, test=tasks))

    assert called("concept:of:born", "concept:died") == ["born", "died"]
    assert called("one:born", "two:born") == ["one:born", "two:born"]
