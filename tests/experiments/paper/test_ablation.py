from dataclasses import replace

from experiments.paper.documents import STUDIED, collected, verdicts
from tripleshot.experiments.paper.ablation import ablation_report


def test_the_ablation_says_which_parts_help(tiny):
    report = ablation_report(collected(replace(tiny, name="nell-one"), (), STUDIED))
    assert [table.title for table in report.tables] == ["1-shot", "5-shot"]
    assert [table.rows[1][:3] for table in report.tables] == [
        ("without distant neighbors", ".280", ".234"),
        ("without distant neighbors", ".280", ".284"),
    ]
    assert verdicts(report) == {
        "Distant neighbors help.": "held",
        "The global encoder helps.": "held",
        "The local encoder helps.": "not held",
        "The global encoder alone beats the local one alone.": "held",
    }
    half = ablation_report(collected(tiny, (), STUDIED[:2]))
    assert verdicts(half)["Distant neighbors help."] == "not known yet"
    assert half.missing[0].command.startswith("tripleshot paper ablation")
