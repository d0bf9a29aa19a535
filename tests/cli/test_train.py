import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

from cli.conftest import EXAMPLES, PLACES
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import fast

SMALL = ("--width", 8, "--num-layers", 1, "--num-heads", 2, "--batch-size", 8)
TINY_RUN = ("--method", "rscl", *SMALL, "--pretraining-steps", 4, "--steps", 6)
NARROW = {"width": 16, "num_heads": 2, "max_neighbors": 4, "max_distant": 2, "batch_size": 16, "relations_per_step": 1}


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
        (("--track", "tensorbord:curves"), "track: 'tensorbord' is none of tensorboard, wandb, notebook"),
        (("--num-negatives", 0), "--num-negatives must be 1 or more"),
        (("--without-evidence", "lnik"), "no evidence of the kind 'lnik'; did you mean 'link'"),
    ],
)
def test_a_wrong_flag_is_named_and_leaves_no_run_behind(run, tmp_path, flags, message):
    code, _, err = run("train", "atlas", tmp_path / "run", *flags)
    assert code in (1, 2)
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_a_training_is_followed_in_tensorboard_and_goes_on_without_one_who_fails(run, tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    (tmp_path / "file").write_text("in the way")
    words = ("train", tmp_path / "tiny", tmp_path / "run", "--method", "transe", "--shots", 3, "--steps", 100)
    followed = ("--track", f"tensorboard:{tmp_path / 'curves'}", "--track", f"tensorboard:{tmp_path / 'file'}")
    code, out, err = run(*words, "--validate-every", 50, *followed)
    assert code == 0
    assert "tripleshot evaluate" in out
    assert err.count("no longer follows the training, which goes on") == 1
    assert len([*(tmp_path / "curves").glob("events.*")]) == 1


def test_a_method_that_does_not_learn_makes_a_run_too(run, tmp_path):
    code, out, err = run("train", "atlas", tmp_path / "run", "--method", "linked")
    assert (code, err) == (0, "")
    assert "tripleshot ask" in out
    kept = {"config.json", "vocabulary.arrow", "calibration.json", "log.jsonl"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == kept
    assert run("ask", tmp_path / "run", *EXAMPLES, "--head", "Baku")[0] == 0
    assert run("evaluate", "atlas", "--run", tmp_path / "run", "--split", "valid")[0] == 0


def test_a_budget_is_a_flag_of_train(run, tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(RSCLMethod.presets, "fast", lambda: replace(fast(), **NARROW))
    tiny.save(tmp_path / "tiny")
    words = ("train", tmp_path / "tiny", tmp_path / "run", "--method", "rscl", "--shots", 3)
    assert run(*words, "--budget", "1s")[0] == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["budget"] == 1.0
    code, _, err = run("train", tmp_path / "tiny", tmp_path / "other", "--budget", "0s")
    assert code == 1
    assert "budget: a time to train in, such as 20m" in err


def test_a_run_is_asked_from_another_directory(run, triples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("train", "graph.tsv", "run", "--method", "evidence")[0] == 0
    monkeypatch.chdir("/")
    words = ("ask", tmp_path / "run", "--example", "person:1 | city:1", "--head", "person:2")
    code, _, err = run(*words)
    assert (code, err) == (0, "")
    triples.rename(tmp_path / "moved.tsv")
    code, _, err = run(*words)
    assert code == 1
    assert f"{triples}: no such file" in err
    assert "--data" in err
    assert run(*words, "--data", tmp_path / "moved.tsv")[0] == 0


def test_a_dataset_of_the_catalog_is_kept_by_its_name(evidence_run):
    assert json.loads((evidence_run / "config.json").read_text())["data"] == "atlas"


def test_a_run_with_its_graph_is_given_away(run, triples, tmp_path):
    words = ("train", triples, tmp_path / "run", "--method", "evidence", "--with-graph")
    assert run(*words)[::2] == (0, "")
    triples.unlink()
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    code, _, err = run("ask", tmp_path / "elsewhere", "--example", "person:1 | city:1", "--head", "person:2")
    assert (code, err) == (0, "")


TINY_NET = ("--preset", "tiny", "--shots", 2)


def pretrained(folder):
    return json.loads((folder / "config.json").read_text())["settings"]["pretrained"]


def test_a_training_starts_from_the_universal_weights_from_scratch_or_from_a_run(run, triples, tmp_path):
    for name, flags in {"default": (), "universal": ("--from", "universal"), "scratch": ("--from", "scratch")}.items():
        code, _, err = run("train", triples, tmp_path / name, *TINY_NET, *flags)
        assert (code, err) == (0, "")
    assert [pretrained(tmp_path / name) for name in ("default", "universal", "scratch")] == ["universal"] * 2 + [""]
    one, two = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("default", "universal"))
    assert one == two
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"p{i}\tr{r}\tp{(i + r * r + 1) % 60}\n" for r in range(9) for i in range(60)))
    code, _, err = run("train", other, tmp_path / "next", *TINY_NET, "--steps", 0, "--from", tmp_path / "scratch")
    assert (code, err) == (0, "")
    assert pretrained(tmp_path / "next") == str(tmp_path / "scratch")
    before, after = (load_file(tmp_path / name / "weights.safetensors") for name in ("scratch", "next"))
    assert not np.array_equal(before["hidden.weight"], after["hidden.weight"]), "they are fitted to the other graph"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--method", "rscl", "--from", "universal"), "rscl does not start from the network of another"),
        (("--method", "evidence", "--from", "universal"), "evidence does not start from the network of another"),
        (("--from", "nowhere"), "nowhere"),
    ],
)
def test_a_start_that_a_method_cannot_take_is_refused(run, triples, tmp_path, flags, message):
    code, _, err = run("train", triples, tmp_path / "run", *flags)
    assert (code, err.count("\n")) == (1, 1)
    assert message in err
    assert not (tmp_path / "run").exists()


def test_several_graphs_are_learned_from_together_and_the_run_serves_any_other(run, tiny, triples, tmp_path):
    tiny.save(tmp_path / "tiny")
    code, out, err = run("train", triples, tmp_path / "tiny", tmp_path / "run", *TINY_NET, "--steps", 4)
    assert (code, err) == (0, "")
    assert "tripleshot evaluate" in out
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["dataset"], config["settings"]["pretrained"]) == ("graph + tiny", "")
    assert run("evaluate", "atlas", "--run", tmp_path / "run", "--split", "valid")[::2] == (0, "")
    (tmp_path / "other.tsv").write_text("Baku\tcapital of\tAzerbaijan\nRiga\tcapital of\tLatvia\n")
    words = ("ask", tmp_path / "run", "--example", "Riga | Latvia", "--head", "Baku")
    code, out, err = run(*words, "--data", tmp_path / "other.tsv")
    assert (code, err) == (0, "")
    assert "Azerbaijan" in out
    code, _, err = run(*words)
    assert code == 1
    assert "--data" in err


def test_only_evidence_net_learns_from_several_graphs(run, tiny, triples, tmp_path):
    tiny.save(tmp_path / "tiny")
    code, _, err = run("train", triples, tmp_path / "tiny", tmp_path / "run", "--method", "rscl")
    assert code == 1
    assert "rscl learns from one graph" in err
    code, _, err = run("train", triples)
    assert code == 1
    assert "tripleshot train DATA RUN" in err
    assert not (tmp_path / "run").exists()


def test_weights_of_one_graph_are_evaluated_on_another(run, triples, evidence_net_run):
    code, out, err = run("evaluate", triples, "--run", evidence_net_run, "--split", "valid", "--shots", 2)
    assert (code, err) == (0, "")
    assert "MRR" in out


def test_a_graph_without_valid_tasks_keeps_the_weights_it_starts_from(run, companies, places, tmp_path):
    code, _, err = run("train", companies, tmp_path / "run", *TINY_NET)
    assert code == 0
    assert "Traceback" not in err
    code, out, err = run("ask", tmp_path / "run", *places(5), "--head", "person 30")
    assert (code, err) == (0, "")
    assert "confidence" in out
    assert f"1 │ {PLACES['person 30']}" in out
