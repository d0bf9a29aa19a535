import pytest

from tripleshot.errors import InputError
from tripleshot.training.log import LOG, describe_training, read_log, shorten_log, write_log


def test_a_log_is_begun_anew_and_read_back(tmp_path):
    path = tmp_path / LOG
    write_log(path, {"step": 1})
    write_log(path, None)
    write_log(path, {"step": 2})
    assert read_log(path) == [{"step": 2}]


def test_a_training_is_described_by_its_curve_and_its_time(tmp_path):
    rows: list[dict[str, object]] = [
        {"step": 10, "seconds": 1.0, "losses": {"ranking": 2.0}},
        {"step": 10, "seconds": 1.0, "valid_mrr": 0.3},
        {"step": 20, "seconds": 2.5, "valid_mrr": 0.2},
    ]
    for row in rows:
        write_log(tmp_path / LOG, row)
    described = describe_training(tmp_path)
    assert described["seconds"] == 2.5
    assert described["best"] == {"step": 10, "seconds": 1.0, "valid_mrr": 0.3}
    assert [row["step"] for row in described["curve"]] == [10, 20]


def test_the_best_validation_is_the_one_that_was_kept_not_the_highest_on_fewer_queries(tmp_path):
    rows: list[dict[str, object]] = [
        {"stage": "one", "step": 9, "seconds": 1.0, "finished": "one"},
        {"step": 10, "seconds": 1.0, "valid_mrr": 0.3, "queries": 50, "is_best": True},
        {"step": 20, "seconds": 2.5, "valid_mrr": 0.4, "queries": 20, "is_best": False},
        {"stage": "other", "step": 20, "seconds": 2.5, "finished": "other"},
    ]
    for row in rows:
        write_log(tmp_path / LOG, row)
    described = describe_training(tmp_path)
    assert described["best"] == {"step": 10, "seconds": 1.0, "valid_mrr": 0.3, "queries": 50}
    assert described["steps"] == {"one": 9, "other": 20}


@pytest.mark.parametrize("content", ["{\n", "7\n", '{"step": "one"}\n', '{"step": 1}\n{"stage": []}\n'])
def test_a_broken_log_is_named(tmp_path, content):
    (tmp_path / LOG).write_text(content)
    with pytest.raises(InputError, match=LOG):
        read_log(tmp_path / LOG)


def test_a_line_that_a_killed_training_did_not_finish_is_dropped(tmp_path):
    path = tmp_path / LOG
    for step in (1, 2, 3):
        write_log(path, {"stage": "only", "step": step})
    path.write_text(path.read_text() + '{"stage": "on')
    assert [row["step"] for row in read_log(path)] == [1, 2, 3]
    shorten_log(path, 2)
    write_log(path, {"stage": "only", "step": 3})
    assert [row["step"] for row in read_log(path)] == [1, 2, 3]


def test_a_number_that_has_changed_since_it_was_written_is_noticed_with_its_line(tmp_path):
    path = tmp_path / LOG
    for step in (1, 2):
        write_log(path, {"step": step, "valid_mrr": 0.25})
    first, second = path.read_text().splitlines(keepends=True)
    path.write_text(first + second.replace("0.25", "0.75"))
    with pytest.raises(InputError, match=rf"{LOG}, line 2: changed since it was written"):
        read_log(path)


def test_a_log_of_before_there_were_checksums_is_read_as_it_is(tmp_path):
    (tmp_path / LOG).write_text('{"step": 1, "valid_mrr": 0.25}\n')
    assert read_log(tmp_path / LOG) == [{"step": 1, "valid_mrr": 0.25}]
    shorten_log(tmp_path / LOG, 1)
    assert read_log(tmp_path / LOG) == [{"step": 1, "valid_mrr": 0.25}]
