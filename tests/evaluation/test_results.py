import json
import subprocess
from math import isclose

import pytest

from tripleshot.errors import InputError
from tripleshot.evaluation.protocol import evaluate
from tripleshot.evaluation.results import (
    RESULT,
    RUNS,
    EvaluationSpec,
    commit,
    describe,
    describe_environment,
    read_results,
    write_json,
    write_json_lines,
)
from tripleshot.methods import create_method
from tripleshot.training.fit import fit


@pytest.fixture
def evaluation(tiny):
    method = create_method("linked")
    fit(method, tiny, 5)
    return evaluate(method, tiny, 5)


def test_a_document_has_all_that_is_needed_to_believe_it(tiny, evaluation, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/tripleshot", "evaluate", "my data"])
    document = describe(evaluation, tiny, EvaluationSpec("linked", 5, "test", config={"weight": 1}))
    assert document["command"] == "tripleshot evaluate 'my data'"
    assert document["data_hash"] == tiny.content_hash
    assert (document["method"], document["dataset"], document["shots"], document["split"]) == (
        "linked",
        "tiny",
        5,
        "test",
    )
    assert document["seed"] == 0
    assert document["config"] == {"weight": 1}
    assert document["queries"] == 30
    assert set(document["micro"]) == set(document["macro"]) == {"mrr", "hits@1", "hits@5", "hits@10"}
    assert set(document["relations"]["works in"]) == {"queries", "mrr", "hits@1", "hits@5", "hits@10"}
    assert set(document["ties"]) == {"optimistic", "realistic"}
    assert document["ties"]["optimistic"]["micro"]["mrr"] >= document["micro"]["mrr"]
    assert document["long_tail"]["queries"] == 30
    assert isclose(document["long_tail"]["micro"]["mrr"], document["micro"]["mrr"])


def test_documents_are_plain_json(tiny, evaluation, tmp_path):
    document = describe(evaluation, tiny, EvaluationSpec("linked", 5, "test"))
    write_json(document, tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == document


def test_results_are_read_from_lines_from_a_single_file_and_from_a_folder_of_runs(tmp_path):
    results = [{"method": "linked", "seed": seed, "text": "a\u2028b"} for seed in (0, 1)]
    write_json_lines(results, tmp_path / "study.jsonl")
    assert len((tmp_path / "study.jsonl").read_text().rstrip("\n").split("\n")) == 2
    for result in results:
        write_json(result, tmp_path / RUNS / f"linked-seed-{result['seed']}" / RESULT)
    assert read_results(tmp_path / "study.jsonl") == read_results(tmp_path) == results
    assert read_results(tmp_path / RUNS / "linked-seed-1" / RESULT) == results[1:]


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "study.jsonl").write_text('{"seed": 0}\n{"seed":\n')
    with pytest.raises(InputError, match=r"study.jsonl, line 2"):
        read_results(tmp_path / "study.jsonl")
    with pytest.raises(InputError, match=r"nothing.jsonl: not readable"):
        read_results(tmp_path / "nothing.jsonl")


def test_the_environment_names_command_source_and_machine(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/tripleshot", "compare"])
    document = describe_environment()
    assert document["command"] == "tripleshot compare"
    assert document["machine"]["cores"] >= 1


def test_the_commit_is_the_one_of_the_source(monkeypatch):
    asked = []

    def run(words, **_):
        asked.append(words[1])
        answers = {"ls-files": "results.py", "rev-parse": "abc\n", "status": " M results.py"}
        return subprocess.CompletedProcess(words, 0, answers[words[1]])

    monkeypatch.setattr(subprocess, "run", run)
    assert commit() == "abc+changes"


def test_without_git_there_is_no_commit(monkeypatch):
    def run(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", run)
    assert commit() is None
