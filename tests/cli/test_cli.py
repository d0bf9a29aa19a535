from importlib.metadata import version
from types import SimpleNamespace

import pytest

from cli.conftest import EXAMPLES


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("evaluate", "atlas", "--method", "evidense"), "did you mean 'evidence'?"),
        (("evaluate", "atlas", "--method", "linked", "--shots", "100"), "100 shots leave no query"),
        (("evaluate", "nowhere", "--method", "linked"), "nowhere: no such file, folder or dataset"),
        (("data", "fetch", "atlas"), "atlas comes with the package"),
        (("evaluate", "atlas", "--method", "rscl"), "rscl has to learn first"),
        (("evaluate", "atlas"), "say what to evaluate"),
        (("train", "atlas", "nowhere", "--method", "evidense"), "did you mean 'evidence'?"),
        (("ask", "nowhere", *EXAMPLES), "say what to ask about: --head NAME"),
        (("ask", "nowhere", *EXAMPLES, "--head", "Baku", "--tail", "x"), "about heads or about tails, not both"),
        (("ask", "nowhere", "--head", "Baku"), "give examples of the relation"),
        (("ask", "nowhere", *EXAMPLES, "--head", "Baku"), "nowhere: no such file, folder or dataset"),
        (("ask", "atlas", *EXAMPLES, "--head", "Baku", "--method", "rscl"), "rscl has to learn first: train it"),
        (("ask", "atlas", *EXAMPLES, "--head", "Baku", "--data", "x"), "atlas: is no run; --data says"),
        (("ask", "nowhere", "--example", "Baku", "--head", "Baku"), 'expected "HEAD | TAIL"'),
        (("ask", "nowhere", "--examples", "none.tsv", "--head", "Baku"), "none.tsv: cannot be read"),
        (("ask", "nowhere", *EXAMPLES, "--head", "Baku", "--out", "out.xlsx"), "out.xlsx: what is written goes by"),
    ],
)
def test_the_users_mistakes_are_named(run, words, message):
    code, _, err = run(*words)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["torch", "tripleshot.nowhere"])
def test_a_command_that_needs_torch_says_so_where_it_is_not_installed(run, monkeypatch, name):
    def fail(words):
        raise ImportError("Cannot import module") from ModuleNotFoundError("no such module", name=name)

    monkeypatch.setattr("tripleshot.cli.app", SimpleNamespace(meta=fail))
    if name != "torch":
        with pytest.raises(ImportError):
            run("train")
        return
    code, out, err = run("train")
    assert (code, out, err) == (1, "", "error: this command needs PyTorch, which is not installed: pip install torch\n")


def test_help_teaches(run):
    for words in ((), ("data", "make"), ("evaluate",), ("data", "fetch"), ("ask",)):
        code, out, _ = run(*words, "--help")
        assert code == 0
        assert "Usage: tripleshot" in out


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"{version('tripleshot')}\n", "")


def test_quiet_shows_results_and_errors_alone(run, triples, tmp_path):
    triples.write_text(triples.read_text() + triples.read_text().splitlines()[1] + "\n")
    for words in (("--quiet", "data", "make"), ("data", "make", "-q")):
        code, out, err = run(*words, triples, tmp_path / "mine", "--overwrite")
        assert (code, err) == (0, "")
        assert "mine: dataset" in out
        assert "try:" not in out
    code, out, err = run("data", "stats", "nowhere", "--quiet")
    assert (code, out) == (1, "")
    assert err == "error: nowhere: no such file, folder or dataset\n"


def test_verbose_says_what_happens_and_twice_every_detail(run, evidence_run):
    words = ("ask", evidence_run, *EXAMPLES, "--head", "Baku")
    assert run(*words)[2] == ""
    said = run(*words, "--verbose")[2]
    assert f"info: loaded evidence, 5-shot, from {evidence_run}" in said
    assert "debug: " not in said
    in_detail = run("-vv", *words)[2]
    assert "debug: " in in_detail
    assert run(*words)[2] == ""


def test_a_command_says_on_every_help_page_how_loud_it_can_be(run):
    for words in ((), ("data", "make"), ("ask",)):
        assert "--verbose" in run(*words, "--help")[1]
