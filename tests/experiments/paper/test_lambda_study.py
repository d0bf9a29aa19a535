import pytest

from experiments.paper.documents import collected, result, verdicts
from tripleshot.experiments.paper.lambda_study import curves_report, label_at, lambda_report
from tripleshot.experiments.variants import LAMBDAS


@pytest.mark.parametrize(("best", "verdict"), [(0.4, "held"), (0.6, "not held")])
def test_lambda_is_best_where_test_is_highest(tiny, best, verdict):
    studied = [result(label_at(share), 0.3 - abs(share - best) / 4, curve=[(10, 0.2)]) for share in LAMBDAS]
    report = lambda_report(collected(tiny, (), studied))
    assert verdicts(report)["Lambda .4 is best."] == verdict
    assert report.tables[0].rows[0] == ("0", f"{0.3 - best / 4:.3f}"[1:], ".200")
    assert verdicts(lambda_report(collected(tiny, (), studied[1:])))["Lambda .4 is best."] == "not known yet"


def test_learning_curves_cross_or_do_not(tiny):
    curves = {0.0: [(10, 0.2), (20, 0.22)], 0.4: [(10, 0.2), (20, 0.3)], 1.0: [(10, 0.1), (20, 0.25)]}
    studied = [result(label_at(share), 0.3, curve=curve) for share, curve in curves.items()]
    report = curves_report(collected(tiny, (), studied))
    assert set(verdicts(report).values()) == {"held"}
    assert report.data["1"] == curves[1.0]
    assert set(verdicts(curves_report(collected(tiny))).values()) == {"not known yet"}
    assert not curves_report(collected(tiny)).pictures
