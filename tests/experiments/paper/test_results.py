import json

import pytest

from experiments.paper.documents import result
from tripleshot.evaluation.results import write_json_lines
from tripleshot.experiments.paper.results import (
    MAIN_FILE,
    STUDIES_FILE,
    Results,
    collect_results,
    find_missing,
    find_results,
    format_mean,
    result_folders,
    result_notes,
    seed_mean,
)


def results(*documents):
    return Results((documents,))


def write(document, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def test_results_of_the_runs_below_a_folder_and_in_it_are_found(tmp_path):
    write(result("rscl", 0.3), tmp_path / "runs" / "rscl-5-shot-seed-0" / "result.json")
    write(result("evidence", 0.4), tmp_path / "evidence-5-shot.json")
    found = find_results([tmp_path], "h" * 64)
    assert len(found.of("rscl", 5)) == len(found.of("evidence", 5)) == 1
    assert not found.of("rscl", 1)


def test_packed_results_are_found_and_a_row_takes_the_seeds_of_one_budget(tmp_path):
    with_budget = [result("rscl", 0.3, seed=seed, budget=1800.0) for seed in (1, 0)]
    write_json_lines([*with_budget, result("rscl", 0.2, seed=2)], tmp_path / MAIN_FILE)
    found = find_results([tmp_path], "h" * 64)
    assert [one["seed"] for one in found.of("rscl", 5)] == [0, 1]
    assert len(found.in_rows()) == 2


def test_variants_come_from_the_runs_below_out_or_else_from_one_packed_file(tiny, tmp_path):
    data_hash = tiny.content_hash
    packed = [result(label, 0.2, data_hash=data_hash) for label in ("rscl", "rscl@without-local")]
    write_json_lines(packed, tmp_path / STUDIES_FILE)
    collected = collect_results(tiny, "tiny", tmp_path / "out")
    assert len(collected.studies.in_rows()) == 2
    assert not collected.main.in_rows()
    assert collected.arguments == ("tiny", "--out", str(tmp_path / "out"))
    write(result("rscl", 0.3, data_hash=data_hash), tmp_path / "out" / "studies" / "runs" / "rscl" / "result.json")
    assert [one["micro"]["mrr"] for one in collect_results(tiny, "tiny", tmp_path / "out").studies.in_rows()] == [0.3]


def test_results_about_something_else_are_left_alone(tmp_path):
    for number, other in enumerate(({"data_hash": "0"}, {"split": "valid"}, {"candidates": "open"})):
        write({**result("rscl", 0.3), **other}, tmp_path / f"{number}.json")
    write({"rows": []}, tmp_path / "table.json")
    write([1], tmp_path / "list.json")
    (tmp_path / "broken.json").write_text("{")
    assert not find_results([tmp_path], "h" * 64).in_rows()


def test_all_seeds_of_a_row_come_from_the_nearest_place(tmp_path):
    write(result("rscl", 0.3, seed=1), tmp_path / "near" / "b.json")
    write(result("rscl", 0.2, seed=0), tmp_path / "near" / "a.json")
    write(result("rscl", 0.9, seed=2), tmp_path / "far" / "a.json")
    found = find_results([tmp_path / "near", tmp_path / "far"], "h" * 64)
    assert [one["seed"] for one in found.of("rscl", 5)] == [0, 1]
    assert len(found.in_rows()) == 2


def test_results_lie_in_out_beside_it_and_above_it(tmp_path):
    (tmp_path / "compare" / "runs").mkdir(parents=True)
    (tmp_path / "after-1m" / "runs").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    assert result_folders(tmp_path / "paper") == [tmp_path / "paper", tmp_path, tmp_path / "compare"]


def test_runs_and_files_of_a_folder_are_never_mixed_in_a_row(tmp_path):
    write(result("rscl", 0.3), tmp_path / "runs" / "rscl-5-shot-seed-0" / "result.json")
    write(result("rscl", 0.2), tmp_path / "rscl-5-shot.json")
    assert [one["micro"]["mrr"] for one in find_results([tmp_path], "h" * 64).of("rscl", 5)] == [0.3]


def test_settings_tell_the_variant_of_a_result_that_names_none():
    document = result("metar", 0.2)
    del document["variant"]
    assert results({**document, "config": {"regime": "pre-train"}}).of("metar@pre-train", 5)


def test_seeds_are_averaged_and_what_is_not_there_is_a_dash():
    found = results(result("rscl", 0.3), result("rscl", 0.32, seed=1)).of("rscl", 5)
    assert seed_mean(found, "micro", "mrr") == pytest.approx(0.31)
    assert format_mean(found, "micro", "mrr") == ".310 ± .014"
    assert format_mean(found[:1], "micro", "mrr") == ".300"
    assert format_mean(found, "micro", "nothing") == format_mean((), "micro", "mrr") == "–"


def test_what_is_missing_is_named_with_the_command_that_made_the_rest():
    wanted = [("rscl", 5), ("rscl@without-local", 5), ("rscl@without-local", 1)]
    (absent,) = find_missing(results(result("rscl", 0.3)), wanted, "lambda", ())
    assert absent.runs == ("rscl@without-local, 5-shot", "rscl@without-local, 1-shot")
    assert absent.listed() == "5-shot: rscl@without-local; 1-shot: rscl@without-local"
    assert absent.command == "tripleshot paper lambda tiny --out here --budget 5m --shots 1,5"
    (absent,) = find_missing(results(), wanted, "ablation", ("tiny", "--out", "there"))
    assert absent.command == "tripleshot paper ablation tiny --out there --shots 1,5"
    assert find_missing(results(result("rscl", 0.3)), [("rscl", 5)], "main", ()) == ()


def test_flags_about_what_was_made_before_are_not_part_of_the_command():
    made = result("rscl", 0.3, command="tripleshot paper main tiny --methods rscl --shots 5 --seeds 2")
    (absent,) = find_missing(results(made), [("faan", 5)], "main", ())
    assert absent.command == "tripleshot paper main tiny --seeds 2 --shots 5"


def test_a_table_says_that_it_rests_on_a_sample():
    assert result_notes([(result("rscl", 0.3),)]) == ()
    assert "30 test queries" in result_notes([(result("rscl", 0.3, sample=25),)])[0]


def test_a_table_says_what_its_runs_started_from():
    start = {"method": "transe", "spent": 600.0}
    started = [result(label, 0.3, training={"pretrained": start}) for label in ("faan", "gana")]
    assert result_notes([started]) == ("Started from transe (10 min, not counted): faan, gana.",)
