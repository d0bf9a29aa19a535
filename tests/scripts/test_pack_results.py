"""Packing the results of runs into one file."""

import pytest

from experiments.paper.documents import result
from fill_tables import RESULTS
from pack_results import identity, pack
from tripleshot.evaluation.results import read_results, write_json


def write_run(folder, document, data="/somewhere/nell-1", budget=60.0):
    run = folder / "runs" / f"{document['method']}-seed-{document['seed']}"
    write_json(document, run / "result.json")
    write_json({"data": data, "budget": budget}, run / "config.json")


def test_results_are_packed_without_machine_paths_and_replace_earlier_ones(tmp_path):
    command = "tripleshot compare /somewhere/nell-1 --pretrained rscl=../runs/first --out results/tiny"
    write_run(tmp_path, result("rscl", 0.3, command=command, config={"pretrained": "/home/me/runs/transe-seed-0"}))
    write_run(tmp_path, result("degree", 0.1), budget=0.0)
    into = tmp_path / "study.jsonl"
    assert pack([tmp_path], into) == 2
    degree, rscl = read_results(into)
    assert (degree["budget"], degree["data"]) == (0.0, "tiny")
    assert rscl["command"] == "tripleshot compare tiny --pretrained rscl=first --out results/tiny"
    assert rscl["config"] == {"pretrained": "transe-seed-0"}
    write_run(tmp_path, result("rscl", 0.4))
    assert pack([tmp_path], into) == 2
    assert [one["micro"]["mrr"] for one in read_results(into)] == [0.1, 0.4]


STUDIES = [path for path in sorted(RESULTS.glob("*/*.jsonl")) if path.stem != "reports"]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_result_stands_twice_in_a_file(path):
    found = [identity(one) for one in read_results(path)]
    assert len(set(found)) == len(found)
