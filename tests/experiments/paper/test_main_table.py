from dataclasses import replace

from experiments.paper.documents import TRAINED, collected, verdicts
from tripleshot.experiments.paper.main_table import main_report


def test_the_main_table_has_every_method_with_its_own_printed_figures(tiny):
    report = main_report(collected(replace(tiny, name="nell-one"), TRAINED), (5,))
    (table,) = report.tables
    rows = {row[0]: row for row in table.rows}
    assert rows["rscl"][1:3] == (".270", ".317")
    assert (rows["metar"][2], rows["metar@pre-train"][2]) == (".261", ".209")
    assert rows["degree"][-1] == "none"
    assert set(verdicts(report).values()) == {"held"}
    assert not report.missing
    assert "faan" in main_report(collected(tiny), (5,)).missing[0].listed()
