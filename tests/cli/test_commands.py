import json
import subprocess
import sys
from dataclasses import replace

import pytest

from tripleshot.answering.models import train
from tripleshot.datasets.catalog import load_dataset
from tripleshot.methods.evidence.evidence_net import EvidenceNetSettings
from tripleshot.methods.rscl.settings import demo as demo_settings


@pytest.fixture
def triples(tmp_path):
    lines = ["head\trelation\ttail"]
    lines += [f"person:{i}\tr{r}\tcity:{(i * (r + 1)) % 9}" for r in range(6) for i in range(60 + r)]
    lines += [f"city:{i}\tin\tcountry:{i % 3}" for i in range(9)]
    path = tmp_path / "graph.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_demo_trains_ranks_the_methods_and_answers_questions(run, tmp_path, monkeypatch):
    short = replace(demo_settings(), width=8, num_layers=1, pretraining_steps=2, steps=2, valid_queries=5)
    shorter = EvidenceNetSettings(steps=60, validate_every=60, valid_queries=5, num_negatives=32)
    monkeypatch.setattr("tripleshot.cli.demo.demo_settings", lambda: short)
    monkeypatch.setattr("tripleshot.cli.demo.evidence_net_settings", lambda: shorter)
    code, out, err = run("demo", "--run", tmp_path / "run")
    assert (code, err) == (0, "")
    assert "evidence" in out
    assert "On which sea or ocean does Baku lie?" in out
    assert "  1. " in out
    assert (tmp_path / "run" / "rscl" / "weights.safetensors").exists()
    assert (tmp_path / "run" / "evidence-net" / "weights.safetensors").exists()


def test_the_demo_does_not_replace_what_is_no_run(run, tmp_path):
    (tmp_path / "precious").mkdir()
    code, _, err = run("demo", "--run", tmp_path / "precious")
    assert code == 1
    assert "is not a demo's" in err


def test_own_triples_become_a_dataset_that_can_be_evaluated(run, triples, tmp_path):
    code, out, _ = run("data", "make", triples, tmp_path / "mine", "--types-from-names", "--num-test", 2)
    assert code == 0
    assert "tripleshot evaluate" in out
    code, out, _ = run(
        "evaluate", tmp_path / "mine", "--method", "linked", "--shots", 3, "--json", tmp_path / "out.json"
    )
    assert code == 0
    assert "micro (as published)" in out
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["method"] == "linked"
    assert document["dataset"] == "mine"
    assert len(document["relations"]) == 2


def test_train_tasks_are_held_out_for_a_choice_between_methods(run, tmp_path):
    code, out, _ = run("data", "hold-out", "atlas", tmp_path / "part", "--part", 2)
    atlas, part = load_dataset("atlas"), load_dataset(str(tmp_path / "part"))
    assert code == 0
    assert f"{len(part.test)} test tasks" in out
    assert [task.name for task in part.test] == [task.name for task in atlas.train[1::3]]
    run("evaluate", tmp_path / "part", "--method", "degree", "--shots", 5, "--json", tmp_path / "out.json")
    assert len(json.loads((tmp_path / "out.json").read_text())["relations"]) == len(part.test)


def test_the_nell_layout_can_be_written_and_read(run, triples, tmp_path):
    assert run("data", "make", triples, tmp_path / "nell", "--types-from-names", "--layout", "nell-one")[0] == 0
    assert {path.name for path in (tmp_path / "nell").iterdir()} >= {
        "path_graph",
        "rel2candidates.json",
        "e1rel_e2.json",
    }
    code, out, _ = run("data", "stats", tmp_path / "nell", "--json", tmp_path / "stats.json")
    assert code == 0
    assert "nell: dataset" in out
    assert json.loads((tmp_path / "stats.json").read_text())["tasks"] == {"train": 4, "valid": 1, "test": 1}


def test_types_and_labels_can_come_from_files(run, triples, tmp_path):
    names = [*(f"person:{i}" for i in range(65)), *(f"city:{i}" for i in range(9)), *(f"country:{i}" for i in range(3))]
    (tmp_path / "types.json").write_text(json.dumps({name: name.partition(":")[0] for name in names}))
    (tmp_path / "labels.tsv").write_text("r0\tlikes\nperson:0\tAnn\n")
    words = ("data", "make", triples, tmp_path / "mine", "--types", tmp_path / "types.json")
    assert run(*words, "--labels", tmp_path / "labels.tsv")[0] == 0
    page = json.loads((tmp_path / "mine" / "dataset.json").read_text())
    assert page["types"] == ["person", "city", "country"]
    assert "likes" in {task["label"] for task in page["tasks"]}


def test_two_sources_of_types_are_one_too_many(run, triples, tmp_path):
    code, _, err = run("data", "make", triples, tmp_path / "x", "--types-from-names", "--type-relation", "in")
    assert code == 1
    assert err == "error: give one source of types: --types-from-names, --type-relation or --types\n"


def test_an_existing_folder_is_safe(run, triples, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("x")
    code, _, err = run("data", "make", triples, tmp_path / "mine")
    assert code == 1
    assert "exists already" in err
    assert (tmp_path / "mine" / "precious").read_text() == "x"


def test_a_wrong_line_is_one_line_of_error_with_its_number(run, tmp_path):
    (tmp_path / "bad.tsv").write_text("a\tr\tb\na\tr\n")
    code, out, err = run("data", "stats", tmp_path / "bad.tsv")
    assert code == 1
    assert out == ""
    assert err.startswith(f"error: {tmp_path / 'bad.tsv'}:2: ")
    assert err.count("\n") == 1


def test_a_warning_is_one_line_too(run, triples, tmp_path):
    triples.write_text(triples.read_text() + triples.read_text().splitlines()[1] + "\n")
    code, _, err = run("data", "stats", triples)
    assert code == 0
    assert err.startswith(f"warning: {triples}:")
    assert "duplicate triple skipped" in err


def test_a_sound_dataset_passes_the_check_and_a_leaky_one_does_not(run, tmp_path, triples):
    assert run("data", "check", "atlas")[0] == 0
    run("data", "make", triples, tmp_path / "nell", "--layout", "nell-one")
    tasks = json.loads((tmp_path / "nell" / "test_tasks.json").read_text())
    with (tmp_path / "nell" / "path_graph").open("a") as file:
        file.writelines("\t".join((head, "copy", tail)) + "\n" for rows in tasks.values() for head, _, tail in rows)
    code, out, err = run("data", "check", tmp_path / "nell")
    assert code == 1
    assert "background relation 'copy' is a copy" in out
    assert "1 problem found" in err


def test_a_figure_is_drawn(run, tmp_path):
    assert run("data", "stats", "atlas", "--figure", tmp_path / "figure.png")[0] == 0
    assert (tmp_path / "figure.png").stat().st_size > 1000


SMALL = ("--width", 8, "--num-layers", 1, "--num-heads", 2, "--batch-size", 8)
TINY_RUN = ("--method", "rscl", *SMALL, "--pretraining-steps", 4, "--steps", 6)


def test_a_method_is_trained_evaluated_and_not_overwritten(run, triples, tmp_path):
    run("data", "make", triples, tmp_path / "mine", "--types-from-names")
    words = ("train", tmp_path / "mine", tmp_path / "run", "--shots", 2, *TINY_RUN, "--validate-every", 3)
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "tripleshot evaluate" in out
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"config.json", "weights.safetensors", "log.jsonl"}
    code, _, err = run(*words)
    assert code == 1
    assert "a run is there already" in err
    assert run("train", tmp_path / "mine", tmp_path / "run", "--resume")[0] == 0
    code, out, _ = run("evaluate", tmp_path / "mine", "--run", tmp_path / "run", "--json", tmp_path / "out.json")
    assert code == 0
    document = json.loads((tmp_path / "out.json").read_text())
    assert (document["method"], document["shots"], document["config"]["width"]) == ("rscl", 2, 8)


def test_a_run_refuses_other_data(run, triples, tmp_path):
    run("data", "make", triples, tmp_path / "mine", "--types-from-names")
    run("train", tmp_path / "mine", tmp_path / "run", "--shots", 2, *TINY_RUN)
    code, _, err = run("evaluate", "atlas", "--run", tmp_path / "run")
    assert code == 1
    assert "the weights would not fit its ids" in err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--shots", 0), '"0" for --shots'),
        (("--threads", -1), '"-1" for --threads'),
        (("--device", "toaster"), "device 'toaster' cannot be used here"),
        (("--method", "evidence", "--device", "toaster"), "device 'toaster' cannot be used here"),
        (("--num-negatives", 0), "num_negatives must be 1 or more"),
        (("--without-evidence", "lnik"), "no evidence of the kind 'lnik'; did you mean 'link'"),
    ],
)
def test_a_wrong_flag_is_named_and_leaves_no_run_behind(run, tmp_path, flags, message):
    code, _, err = run("train", "atlas", tmp_path / "run", *flags)
    assert code in (1, 2)
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


PAIRS = ("Barcelona | Mediterranean Sea", "city/mumbai-in|sea/arabian-sea", "Odesa | Black Sea")
EXAMPLES = tuple(word for pair in PAIRS for word in ("--example", pair))


@pytest.fixture(scope="module")
def evidence_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    train("evidence", "atlas", shots=5, folder=folder)
    return folder


def test_a_method_that_does_not_learn_makes_a_run_too(run, tmp_path):
    code, out, err = run("train", "atlas", tmp_path / "run", "--method", "linked")
    assert (code, err) == (0, "")
    assert "tripleshot ask" in out
    kept = {"config.json", "vocabulary.arrow", "calibration.json", "log.jsonl"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == kept
    assert run("ask", tmp_path / "run", *EXAMPLES, "--head", "Baku")[0] == 0
    assert run("evaluate", "atlas", "--run", tmp_path / "run", "--split", "valid")[0] == 0


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
    assert {path.name for path in tmp_path.iterdir()} == {"baku-neighbors.png"}


def test_methods_are_listed(run):
    code, out, _ = run("methods")
    assert code == 0
    assert "support-frequency" in out
    assert "pykeen:MODEL" in out


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
        (("ask", "nowhere", *EXAMPLES), "say what to ask"),
        (("ask", "nowhere", *EXAMPLES, "--head", "Baku"), "nowhere: not a run"),
        (("ask", "nowhere", "--example", "Baku", "--head", "Baku"), 'expected "HEAD | TAIL"'),
        (("ask", "nowhere", "--examples", "none.tsv", "--head", "Baku"), "none.tsv: cannot be read"),
        (("ask", "nowhere", *EXAMPLES, "--head", "Baku", "--out", "out.xlsx"), "answers are written as"),
    ],
)
def test_the_users_mistakes_are_named(run, words, message):
    code, _, err = run(*words)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


def test_asking_a_run_without_a_network_waits_for_nothing_heavy(evidence_run):
    lines = (
        "import sys",
        "from tripleshot.cli import app",
        f"app({['ask', str(evidence_run), *EXAMPLES, '--head', 'Baku']!r}, result_action='return_value')",
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


def test_help_teaches(run):
    for words in ((), ("data", "make"), ("evaluate",), ("data", "fetch"), ("ask",)):
        code, out, _ = run(*words, "--help")
        assert code == 0
        assert "Usage: tripleshot" in out


@pytest.mark.nell
def test_the_floor_on_nell_one_from_the_command_line(run, nell_folder, tmp_path):
    words = ("evaluate", nell_folder, "--method", "linked", "--shots", 5, "--json", tmp_path / "out.json")
    assert run(*words, "--ranks", tmp_path / "ranks.parquet")[0] == 0
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["queries"] == 2103
    assert document["micro"]["mrr"] == pytest.approx(0.347, abs=0.002)
    assert (tmp_path / "ranks.parquet").exists()
