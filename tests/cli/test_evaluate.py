import json

import pytest


def test_methods_are_listed(run):
    code, out, _ = run("methods")
    assert code == 0
    assert "support-frequency" in out
    assert "pykeen:MODEL" in out


@pytest.mark.nell
def test_the_floor_on_nell_one_from_the_command_line(run, nell_folder, tmp_path):
    words = ("evaluate", nell_folder, "--method", "linked", "--shots", 5, "--json", tmp_path / "out.json")
    assert run(*words, "--ranks", tmp_path / "ranks.parquet")[0] == 0
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["queries"] == 2103
    assert document["micro"]["mrr"] == pytest.approx(0.347, abs=0.002)
    assert (tmp_path / "ranks.parquet").exists()
