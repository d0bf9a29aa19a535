from shown_html import HOSTILE, check_shown
from tripleshot.experiments.comparison_table import make_comparison


def result(method, mrr, seed=0):
    metrics = {"mrr": mrr, "hits@10": mrr, "hits@5": mrr, "hits@1": mrr}
    return {"method": method, "seed": seed, "seconds": 2.0, "queries": 50, "config": {}, "micro": metrics}


def test_a_comparison_shows_its_table_with_published_rows_fainter():
    comparison = make_comparison([result("degree", 0.071), result("evidence", 0.31)], "nell-one", 5, 30)
    html = comparison.to_html()
    shown = check_shown(html)
    assert comparison.title in shown.text
    assert "evidence.310" in shown.text
    assert html.count("opacity:.65") == len(comparison.other_published)
    assert "[1] " in shown.text


def test_the_bar_of_several_seeds_is_their_mean():
    comparison = make_comparison([result("degree", 0.2), result("degree", 0.4, 1)], "mine", 5, 30)
    assert "width:30%" in comparison.to_html()


def test_names_of_methods_and_datasets_are_text():
    shown = check_shown(make_comparison([result(HOSTILE[0], 0.5)], HOSTILE[1], 5, 30).to_html())
    assert HOSTILE[0] in shown.text
    assert HOSTILE[1] in shown.text
