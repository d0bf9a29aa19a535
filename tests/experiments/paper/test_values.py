import pytest

from tripleshot.experiments.paper.values import printed_rows
from tripleshot.experiments.published import published_for
from tripleshot.experiments.variants import Variant

QUERIES = (410, 64, 173, 208, 381, 135, 91, 69, 336, 138, 98)  # of NELL-One's test relations, in the paper's order


def test_tables_are_complete():
    assert [len(printed_rows("ablation", name)) for name in ("nell-one", "wiki-one")] == [4, 0]
    assert [len(printed_rows("long_tail", name)) for name in ("nell-one", "wiki-one")] == [13, 13]
    assert len(printed_rows("cases", "nell-one")) == 11
    assert not printed_rows("cases", "tiny")


@pytest.mark.parametrize(("metric", "total"), [("mrr", 0.317), ("hits@10", 0.452)])
def test_the_case_study_adds_up_to_the_main_table(metric, total):
    values = [row["rscl"][metric] for row in printed_rows("cases", "nell-one")]
    mean = sum(count * value for count, value in zip(QUERIES, values, strict=True)) / sum(QUERIES)
    assert mean == pytest.approx(total, abs=0.001)


@pytest.mark.parametrize("shots", [1, 5])
def test_the_full_model_of_the_ablation_is_the_one_of_the_main_table(shots):
    full = printed_rows("ablation", "nell-one")[0][str(shots)]
    (main,) = [row for row in published_for("nell-one", shots) if row.name == "RSCL"]
    assert full == {name: main.metrics[name] for name in full}


def test_every_row_names_a_method_or_variant_that_exists():
    for table in ("ablation", "long_tail"):
        for row in printed_rows(table, "nell-one"):
            assert str(Variant.read(row["method"])) == row["method"]


def test_hits_rise_with_their_number():
    for dataset in ("nell-one", "wiki-one"):
        for row in printed_rows("long_tail", dataset):
            assert row["hits@1"] <= row["hits@5"] <= row["hits@10"]


def test_the_printed_relations_are_those_of_the_dataset(nell_one):
    assert {row["relation"] for row in printed_rows("cases", "nell-one")} == {task.name for task in nell_one.test}
    assert tuple(len(nell_one.task(row["relation"]).queries(5)) for row in printed_rows("cases", "nell-one")) == QUERIES
