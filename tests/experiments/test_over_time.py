from experiments.paper.documents import result
from tripleshot.experiments.comparison_table import make_comparison
from tripleshot.experiments.over_time import draw_over_time, over_time_document, over_time_markdown, over_time_table


def comparison(budget, mrr, *more):
    training = {"spent": budget, "commit": "c" * 40}
    return make_comparison([result("rscl", mrr, seconds=2.0, training=training), *more], "tiny", 5, budget)


UNTRAINED = result("degree", 0.1, seconds=2.0)
COMPARISONS = [comparison(60.0, 0.2), comparison(300.0, 0.3, UNTRAINED)]


def test_a_method_has_one_value_per_budget_and_one_without_training_has_one_value():
    assert over_time_table(COMPARISONS) == [
        ["method", "untrained", "1m", "5m"],
        ["rscl", "", ".200", ".300"],
        ["degree", ".100", "", ""],
    ]
    assert "| `rscl` |  | .200 | .300 |" in over_time_markdown(COMPARISONS)


def test_the_document_names_budgets_and_commits():
    document = over_time_document(COMPARISONS)
    assert document["budgets"] == [60.0, 300.0]
    trained, untrained = document["rows"]
    assert [point["mrr"] for point in trained["points"]] == [0.2, 0.3]
    assert untrained == {"method": "degree", "seeds": 1, "mrr": 0.1, "commits": ["c" * 40]}


def test_the_figure_can_be_drawn(tmp_path):
    draw_over_time(COMPARISONS, tmp_path / "over-time.png")
    assert (tmp_path / "over-time.png").read_bytes().startswith(b"\x89PNG")
