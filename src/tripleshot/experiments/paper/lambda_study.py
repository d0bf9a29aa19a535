"""The paper's figures about lambda: MRR over its values, and the learning curves of three of them."""

from tripleshot.experiments.figures import COLORS, OURS, STYLES, Look, draw_lines, save
from tripleshot.experiments.paper.claims import Contest, judge
from tripleshot.experiments.paper.report import Claim, Picture, Report, Table
from tripleshot.experiments.paper.results import Material, Results, average, figure, missing, notes_on, printed_figure
from tripleshot.experiments.variants import LAMBDAS

BEST = 0.4  # where the paper finds its peak, and RSCL's own setting
CURVES = (0.0, BEST, 1.0)
EARLY, LATE = "The first validations favor lambda 0 over 1.", "In the end lambda 1 is above lambda 0 on dev."


def label_at(share: float) -> str:
    """Return the method or variant with this lambda."""
    return "rscl" if share == BEST else f"rscl@lambda-{share:g}"


def lambda_report(material: Material, shots: int = 5) -> Report:
    """Lay out test and dev MRR over lambda, one training each as in the paper."""
    results = material.studies
    found = {share: results.of(label_at(share), shots) for share in LAMBDAS}
    rows = tuple(
        (f"{share:g}", figure(some, "micro", "mrr"), figure(some, "training", "best", "valid_mrr"))
        for share, some in found.items()
    )
    test = {share: average(some, "micro", "mrr") for share, some in found.items()}
    dev = {share: average(some, "training", "best", "valid_mrr") for share, some in found.items()}
    note = "The paper prints a curve and no figures: a peak at .4, and lambda 1 above lambda 0."
    table = Table(f"{shots}-shot", ("lambda", "test MRR", "dev MRR"), rows, (note, *notes_on(found.values())))
    return Report(
        "lambda",
        "Lambda: global against local",
        (
            "Lambda 1 counts the global score alone, lambda 0 the local one, which still reads the states of the "
            "global encoder. Each value is a training of its own. Dev chooses; the paper's curve shows test.",
        ),
        (table,),
        (_lambda_picture(test, dev),) if any(found.values()) else (),
        (_peak(test), judge("Lambda 1 is above lambda 0 on test.", [Contest("test MRR", test[1.0], test[0.0])])),
        missing(results, [(label_at(share), shots) for share in LAMBDAS], "lambda", material.words),
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
    looks = {"test": OURS, "dev": Look(COLORS[1], "--", "s")}
    drawn = draw_lines(lines, looks, "lambda, the share of the global score", "MRR")
    return Picture(
        "lambda", "MRR over lambda, on test and on the dev queries that chose the weights.", lambda p: save(drawn, p)
    )


def _peak(test: dict[float, float | None]) -> Claim:
    text = "Lambda .4 is best."
    known = {share: value for share, value in test.items() if value is not None}
    detail = ", ".join(f"{share:g}: {printed_figure(value)}" for share, value in known.items())
    if len(known) < len(test):
        return Claim(text, "not known yet", detail)
    best = max(known, key=known.__getitem__)
    detail = f"The best of test is at {best:g} ({detail})."
    return Claim(text, "held" if best == BEST else "not held", detail)


def curves_report(material: Material, shots: int = 5) -> Report:
    """Draw the dev MRR of each validation for three values of lambda."""
    results = material.studies
    curves = {share: _curve(results, share, shots) for share in CURVES}
    lines = {f"lambda {share:g}": points for share, points in curves.items() if points}
    looks = {
        f"lambda {share:g}": Look(color, *style) for share, color, style in zip(CURVES, COLORS, STYLES, strict=False)
    }
    pictures = ()
    if lines:
        drawn = draw_lines(lines, looks, "training steps", "dev MRR")
        caption = "Dev MRR while training, at the steps where each run was validated."
        pictures = (Picture("curves", caption, lambda path: save(drawn, path)),)
    return Report(
        "curves",
        "Learning curves",
        ("The dev queries of a validation are the same for every run.",),
        pictures=pictures,
        claims=tuple(_curve_claims(curves[0.0], curves[1.0])),
        missing=missing(results, [(label_at(share), shots) for share in CURVES], "curves", material.words),
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
        judge(EARLY, [Contest("dev MRR", local[0][1], whole[0][1])]),
        judge(LATE, [Contest("dev MRR", whole[-1][1], local[-1][1])]),
    ]
