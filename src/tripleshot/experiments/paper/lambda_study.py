"""The paper's figures about lambda: MRR over its values, and the learning curves of three of them."""

from tripleshot.experiments.figures import COLORS, MEASURED_STYLE, STYLES, SeriesStyle, draw_line_plot
from tripleshot.experiments.paper.report import Claim, Inequality, Picture, Report, Table, check_claim, format_value
from tripleshot.experiments.paper.results import (
    PaperResults,
    Results,
    find_missing,
    format_mean,
    result_notes,
    seed_mean,
)
from tripleshot.experiments.variants import LAMBDAS
from tripleshot.files.atomic import write_figure

BEST = 0.4  # the best value in the paper, and the default of RSCL
CURVES = (0.0, BEST, 1.0)
EARLY, LATE = "The first validations favor lambda 0 over 1.", "In the end lambda 1 is above lambda 0 on dev."


def label_at(share: float) -> str:
    """Return the method or variant with this lambda."""
    return "rscl" if share == BEST else f"rscl@lambda-{share:g}"


def lambda_report(collected: PaperResults, shots: int = 5) -> Report:
    """Make the table and the figure of test and dev MRR over lambda, one training per value as in the paper."""
    results = collected.studies
    found = {share: results.of(label_at(share), shots) for share in LAMBDAS}
    rows = tuple(
        (f"{share:g}", format_mean(some, "micro", "mrr"), format_mean(some, "training", "best", "valid_mrr"))
        for share, some in found.items()
    )
    test = {share: seed_mean(some, "micro", "mrr") for share, some in found.items()}
    dev = {share: seed_mean(some, "training", "best", "valid_mrr") for share, some in found.items()}
    note = "The paper prints a curve without numbers: a peak at .4, and lambda 1 above lambda 0."
    table = Table(f"{shots}-shot", ("lambda", "test MRR", "dev MRR"), rows, (note, *result_notes(found.values())))
    return Report(
        "lambda",
        "Lambda: global against local",
        (
            "With lambda 1 only the global score counts, with lambda 0 only the local one, which still reads the "
            "states of the global encoder. Each value is a training of its own. Weights are chosen on dev; the "
            "paper's curve shows test.",
        ),
        (table,),
        (_lambda_picture(test, dev),) if any(found.values()) else (),
        (
            _peak(test),
            check_claim("Lambda 1 is above lambda 0 on test.", [Inequality("test MRR", test[1.0], test[0.0])]),
        ),
        find_missing(results, [(label_at(share), shots) for share in LAMBDAS], "lambda", collected.arguments),
        {
            "test": {f"{share:g}": test[share] for share in LAMBDAS},
            "dev": {f"{share:g}": dev[share] for share in LAMBDAS},
        },
    )


def _lambda_picture(test: dict[float, float | None], dev: dict[float, float | None]) -> Picture:
    lines = {
        name: [(share, value) for share, value in values.items() if value is not None]
        for name, values in (("test", test), ("dev", dev))
    }
    styles = {"test": MEASURED_STYLE, "dev": SeriesStyle(COLORS[1], "--", "s")}
    drawn = draw_line_plot(lines, styles, "lambda, the share of the global score", "MRR")
    return Picture(
        "lambda",
        "MRR over lambda, on test and on the dev queries by which weights were chosen.",
        lambda p: write_figure(drawn, p),
    )


def _peak(test: dict[float, float | None]) -> Claim:
    text = "Lambda .4 is best."
    known = {share: value for share, value in test.items() if value is not None}
    detail = ", ".join(f"{share:g}: {format_value(value)}" for share, value in known.items())
    if len(known) < len(test):
        return Claim(text, "not known yet", detail)
    best = max(known, key=known.__getitem__)
    detail = f"The best of test is at {best:g} ({detail})."
    return Claim(text, "held" if best == BEST else "not held", detail)


def curves_report(collected: PaperResults, shots: int = 5) -> Report:
    """Draw the dev MRR of each validation for three values of lambda."""
    results = collected.studies
    curves = {share: _curve(results, share, shots) for share in CURVES}
    lines = {f"lambda {share:g}": points for share, points in curves.items() if points}
    styles = {
        f"lambda {share:g}": SeriesStyle(color, *style)
        for share, color, style in zip(CURVES, COLORS, STYLES, strict=False)
    }
    pictures = ()
    if lines:
        drawn = draw_line_plot(lines, styles, "training steps", "dev MRR")
        caption = "Dev MRR while training, at the steps where each run was validated."
        pictures = (Picture("curves", caption, lambda path: write_figure(drawn, path)),)
    return Report(
        "curves",
        "Learning curves",
        ("The dev queries of a validation are the same for every run.",),
        pictures=pictures,
        claims=tuple(_curve_claims(curves[0.0], curves[1.0])),
        missing=find_missing(results, [(label_at(share), shots) for share in CURVES], "curves", collected.arguments),
        data={f"{share:g}": points for share, points in curves.items()},
    )


def _curve(results: Results, share: float, shots: int) -> list[tuple[float, float]]:
    """Return step and dev MRR of each validation of the first seed."""
    found = results.of(label_at(share), shots)
    return [(row["step"], row["valid_mrr"]) for row in found[0].get("training", {}).get("curve", [])] if found else []


def _curve_claims(local: list[tuple[float, float]], whole: list[tuple[float, float]]) -> list[Claim]:
    if not local or not whole:
        return [Claim(EARLY, "not known yet"), Claim(LATE, "not known yet")]
    return [
        check_claim(EARLY, [Inequality("dev MRR", local[0][1], whole[0][1])]),
        check_claim(LATE, [Inequality("dev MRR", whole[-1][1], local[-1][1])]),
    ]
