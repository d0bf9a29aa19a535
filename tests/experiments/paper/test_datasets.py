from dataclasses import replace

from tripleshot.experiments.paper.datasets import datasets_report


def test_the_dataset_table_has_the_printed_sizes_beside_ours_on_their_own_dataset(tiny):
    assert [row[0] for row in datasets_report(tiny).tables[0].rows] == ["here"]
    (table,) = datasets_report(replace(tiny, name="nell-one")).tables
    assert table.rows[0][:5] == ("here", "26", "9", "2", "2")
    assert table.rows[1][:3] == ("printed", "68,545", "358")
