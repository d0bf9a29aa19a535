import json
import subprocess
import sys

import pytest

from cli.conftest import EXAMPLES
from server.conftest import Client
from tripleshot.answering.loading import load
from tripleshot.server import Limits, create_app
from tripleshot.server.schemas import Answers


def test_a_question_is_answered_and_explained(run, evidence_run):
    code, out, err = run("ask", evidence_run, *EXAMPLES, "--head", "Baku", "--top", 3, "--explain")
    assert (code, err) == (0, "")
    assert "Caspian Sea" in out
    assert "confidence" in out
    assert "Why Caspian Sea for Baku?" in out


def test_answers_are_printed_as_json(run, evidence_run):
    code, out, _ = run("ask", evidence_run, *EXAMPLES, "--head", "Baku", "--head", "city/mumbai-in", "--json")
    assert code == 0
    first, second = json.loads(out)["results"]
    assert first["head"]["label"] == "Baku"
    assert first["num_candidates"] == second["num_candidates"] + 1
    best = first["answers"][0]
    assert best["rank"] == 1
    assert best["entity"]["name"] == "sea/caspian-sea"
    assert best.keys() == {"rank", "entity", "score", "confidence", "is_known"}
    words = ("--head", "city/mumbai-in", "--json", "--with-known", "--explain", "--top", 100)
    (result,) = json.loads(run("ask", evidence_run, *EXAMPLES, *words)[1])["results"]
    assert result["num_candidates"] == len(result["answers"]) == first["num_candidates"]
    assert sum(one["is_known"] for one in result["answers"]) == 1
    assert result["text"].startswith("Why ")


def test_the_json_is_the_one_that_the_server_answers_with(run, evidence_run):
    words = ("--head", "Baku", "--head", "city/mumbai-in", "--json", "--with-known", "--top", 4, "--candidates", "sea")
    printed = json.loads(run("ask", evidence_run, *EXAMPLES, *words)[1])
    names = (("Barcelona", "Mediterranean Sea"), ("city/mumbai-in", "sea/arabian-sea"), ("Odesa", "Black Sea"))
    question = {
        "examples": [{"head": head, "tail": tail} for head, tail in names],
        "heads": ["Baku", "city/mumbai-in"],
        "top": 4,
        "candidates": ["sea"],
        "with_known": True,
    }
    served = Client(create_app(load(evidence_run), Limits(), None)).post("/answer", json=question).json()
    assert Answers.model_validate(printed, extra="forbid").model_dump() == printed
    assert printed.pop("seconds") >= 0
    assert served.pop("seconds") >= 0
    assert printed == served


def test_many_questions_go_from_file_to_file(run, evidence_run, tmp_path):
    (tmp_path / "examples.tsv").write_text("Barcelona\tMediterranean Sea\n\nMumbai\tArabian Sea\n")
    (tmp_path / "heads.txt").write_text("Baku\nOdesa\n")
    files = ("--examples", tmp_path / "examples.tsv", "--heads", tmp_path / "heads.txt")
    code, out, err = run("ask", evidence_run, *files, "--out", tmp_path / "out.tsv", "--candidates", "sea", "--top", 2)
    assert (code, err) == (0, "")
    assert "2 heads" in out
    assert (tmp_path / "out.tsv").read_text().count("\n") == 5


def test_new_triples_can_be_asked_about(run, evidence_run, tmp_path):
    (tmp_path / "new.tsv").write_text("city/new-baku\tin_country\tcountry/azerbaijan\n")
    code, out, err = run("ask", evidence_run, *EXAMPLES, "--head", "city/new-baku", "--add", tmp_path / "new.tsv")
    assert (code, err) == (0, "")
    assert "1 │ Caspian Sea" in out


def test_an_answer_is_drawn(run, evidence_run, tmp_path):
    assert run("ask", evidence_run, *EXAMPLES, "--head", "Baku", "--picture", tmp_path / "baku.png")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"baku-reasons.png"}


@pytest.mark.parametrize("name", ["evidence_run", "evidence_net_run"])
def test_asking_for_evidence_waits_for_nothing_heavy(name, request, tmp_path):
    (tmp_path / "more.tsv").write_text("city/new\tis in\tcity/baku-az\n")
    question = (*EXAMPLES, "--head", "Baku", "--explain", "--add", str(tmp_path / "more.tsv"))
    lines = (
        "import sys",
        "from tripleshot.cli import app",
        f"app({['ask', str(request.getfixturevalue(name)), *question]!r}, result_action='return_value')",
        "print([name for name in ('torch', 'matplotlib') if name in sys.modules])",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.stdout.endswith("[]\n"), done.stderr


def test_an_unknown_entity_suggests_the_nearest(run, evidence_run):
    code, _, err = run("ask", evidence_run, *EXAMPLES, "--head", "Bakuu")
    assert code == 1
    assert "unknown entity 'Bakuu': did you mean city/baku-az" in err


def test_a_wrong_line_of_examples_is_named(run, tmp_path):
    (tmp_path / "examples.tsv").write_text("a\tb\na b\n")
    code, _, err = run("ask", tmp_path, "--examples", tmp_path / "examples.tsv", "--head", "x")
    assert code == 1
    assert "examples.tsv:2: expected head, tab, tail" in err
