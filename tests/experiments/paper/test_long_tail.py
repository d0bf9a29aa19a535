from dataclasses import replace

from experiments.paper.documents import STUDIED, TRAINED, collected, verdicts
from tripleshot.experiments.paper.long_tail import long_tail_report


def test_the_long_tail_has_methods_and_variants_apart(tiny):
    report = long_tail_report(collected(replace(tiny, name="nell-one"), TRAINED, STUDIED))
    methods, variants = ({row[0]: row for row in table.rows} for table in report.tables)
    assert methods["rscl"][1:3] == (".135", ".347")
    assert variants["without global encoder"][1:3] == (".100", ".238")
    assert variants["full model"][-1] == "12"
    assert verdicts(report)["On the long tail the full model is above its three variants."] == "not held"
    assert len(long_tail_report(collected(tiny)).missing) == 2
