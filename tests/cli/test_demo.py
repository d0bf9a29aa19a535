from dataclasses import replace

from tripleshot.cli.demo import SHOTS
from tripleshot.datasets.catalog import load_atlas
from tripleshot.methods.evidence.evidence_net import EvidenceNet, EvidenceNetSettings
from tripleshot.methods.rscl.method import RSCLMethod
from tripleshot.methods.rscl.settings import demo as demo_settings


def test_the_demo_trains_ranks_the_methods_and_answers_questions(run, tmp_path, monkeypatch):
    short = replace(demo_settings(), width=8, num_layers=1, pretraining_steps=2, steps=2, valid_queries=5)
    shorter = EvidenceNetSettings(steps=60, validate_every=60, valid_queries=5, num_negatives=32)
    monkeypatch.setitem(RSCLMethod.presets, "demo", lambda: short)
    monkeypatch.setitem(EvidenceNet.presets, "demo", lambda: shorter)
    atlas = load_atlas()
    asked = (replace(task, pairs=task.pairs[: SHOTS + 3], known=task.known) for task in atlas.test)
    few_queries = replace(atlas, test=tuple(asked))
    monkeypatch.setattr("tripleshot.cli.demo.load_atlas", lambda: few_queries)
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
