import json

import pytest


def test_methods_are_listed(run):
    code, out, _ = run("methods")
    assert code == 0
    assert "support-frequency" in out
    assert "pykeen:MODEL" in out


def test_settings_of_a_run_that_need_no_training_can_be_changed(run, tiny, tmp_path, quick_rscl):
    tiny.save(tmp_path / "tiny")
    words = ("train", tmp_path / "tiny", tmp_path / "run", "--method", "rscl", "--shots", 3, "--preset", quick_rscl)
    assert run(*words)[0] == 0
    words = ("evaluate", tmp_path / "tiny", "--run", tmp_path / "run", "--json", tmp_path / "out.json")
    assert run(*words, "--variant", "masked-score+expected_share=0.5")[0] == 0
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["variant"] == "masked-score+expected_share=0.5"
    assert (document["config"]["masked_score"], document["config"]["expected_share"]) == (True, 0.5)
    assert run(*words)[0] == 0
    assert not json.loads((tmp_path / "out.json").read_text())["config"]["masked_score"]
    code, _, err = run(*words, "--variant", "num_layers=2")
    assert code == 1
    assert "belongs to another configuration" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "linked", "--variant", "masked-score"), "--variant changes settings of a run"),
        (("--run", "evidence", "--variant", "masked-score"), "evidence does not learn and has no variants"),
        (("--run", "evidence-net", "--variant", "masked-score"), "evidence-net has no variant 'masked-score'"),
    ],
)
def test_a_variant_that_the_method_does_not_have_is_refused(run, evidence_run, evidence_net_run, words, message):
    runs = {"evidence": evidence_run, "evidence-net": evidence_net_run}
    code, _, err = run("evaluate", "atlas", *(runs.get(word, word) for word in words))
    assert code == 1
    assert message in err


@pytest.mark.nell
def test_the_floor_on_nell_one_from_the_command_line(run, nell_folder, tmp_path):
    words = ("evaluate", nell_folder, "--method", "linked", "--shots", 5, "--json", tmp_path / "out.json")
    assert run(*words, "--ranks", tmp_path / "ranks.parquet")[0] == 0
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["queries"] == 2103
    assert document["micro"]["mrr"] == pytest.approx(0.347, abs=0.002)
    assert (tmp_path / "ranks.parquet").exists()


def test_ranks_are_the_same_with_any_number_of_workers(run, tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    for name, words in {"here": (), "two": ("--workers", 2)}.items():
        asked = ("evaluate", tmp_path / "tiny", "--method", "evidence", "--shots", 3, "--candidates", "open")
        code, _, err = run(*asked, *words, "--ranks", tmp_path / f"{name}.parquet")
        assert (code, err) == (0, "")
    assert (tmp_path / "two.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_what_is_evaluated_is_a_method_or_a_run(run, tmp_path):
    for words in ((), ("--method", "evidence", "--run", tmp_path)):
        code, _, err = run("evaluate", "atlas", *words)
        assert code == 1
        assert "say what to evaluate: --method NAME or --run FOLDER" in err


def test_results_are_means_over_draws_of_the_examples_the_first_of_which_is_as_published(run, tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    asked = ("evaluate", tmp_path / "tiny", "--method", "evidence", "--shots", 2)
    documents = {}
    for name, words in {"one": (), "three": ("--draws", 3), "shared": ("--draws", 3, "--workers", 2)}.items():
        code, out, err = run(*asked, *words, "--json", tmp_path / f"{name}.json")
        assert (code, err) == (0, "")
        assert ("by draw of the examples" in out) == (name != "one")
        documents[name] = json.loads((tmp_path / f"{name}.json").read_text())
    drawn = documents["three"]
    assert drawn["micro"] == drawn["micro_by_draw"][0] == documents["one"]["micro"]
    assert drawn["mean_of_draws"]["mrr"] == pytest.approx(sum(one["mrr"] for one in drawn["micro_by_draw"]) / 3)
    assert drawn["micro_by_draw"] == documents["shared"]["micro_by_draw"]
    code, _, err = run(*asked, "--draws", 2, "--ranks", tmp_path / "ranks.parquet")
    assert code == 1
    assert "--ranks writes the ranks of one draw" in err
