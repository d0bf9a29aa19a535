"""Draw the figures of comparisons that the README and the docs show, from the files under `results/`."""

from dataclasses import replace

from fill_tables import RESULTS, ROOT, nell_comparison
from tripleshot.evaluation.results import read_results
from tripleshot.experiments.comparison_table import Comparison, make_comparison
from tripleshot.experiments.figures import draw_comparison
from tripleshot.experiments.over_time import draw_over_time
from tripleshot.experiments.paper.results import budget_of
from universal_tables import draw_reliability

IMAGES = ROOT / "docs" / "images"
OVER_TIME = ("evidence-net", "metar", "rscl", "evidence", "linked")


def over_time_comparisons() -> list[Comparison]:
    """Return one comparison per budget, the longest last; methods without training are in the last."""
    results = read_results(RESULTS / "nell-one/over-time.jsonl")
    budgets = sorted({one["training"]["budget"] for one in results})
    shorter = [
        make_comparison([one for one in results if budget_of(one) == budget], "nell-one", 5, budget)
        for budget in budgets
    ]
    longest = nell_comparison()
    rows = sorted((row for row in longest.rows if row.method in OVER_TIME), key=lambda row: OVER_TIME.index(row.method))
    return [*shorter, replace(longest, rows=tuple(rows))]


if __name__ == "__main__":
    draw_comparison(nell_comparison(), IMAGES / "compare-5-shot.png")
    draw_reliability(IMAGES / "reliability.png")
    draw_over_time(over_time_comparisons(), IMAGES / "over-time-5-shot.png")
