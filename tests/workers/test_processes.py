import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from squares import DIES, DIES_ONCE, IS_WRONG, SLEEPS, Squares, opened
from tripleshot.errors import InputError, TripleshotError
from tripleshot.workers.processes import run_in_processes


def test_every_piece_is_done_once_by_workers_that_open_their_work_once_and_have_one_thread(tmp_path):
    results = list(run_in_processes(Squares(str(tmp_path)), range(20), 2))
    assert sorted(results) == [(number * number, "1") for number in range(20)]
    assert 1 <= len(opened(tmp_path)) <= 2
    assert not multiprocessing.active_children()


def test_without_pieces_no_worker_is_started(tmp_path):
    assert list(run_in_processes(Squares(str(tmp_path)), [], 2)) == []
    assert opened(tmp_path) == []


def test_a_worker_that_dies_is_replaced_and_its_piece_is_done_by_another(tmp_path):
    results = list(run_in_processes(Squares(str(tmp_path)), [1, DIES_ONCE, 2, 3], 1))
    assert [square for square, _ in results] == [1, 1, 4, 9]
    assert len(opened(tmp_path)) == 2


def test_a_piece_that_workers_die_over_is_given_up_and_named(tmp_path):
    with pytest.raises(
        TripleshotError, match="-2: given up, 3 workers died over it; the last one was killed by signal 9"
    ):
        list(run_in_processes(Squares(str(tmp_path)), [DIES], 1))
    assert len(opened(tmp_path)) == 3


def test_what_is_wrong_with_a_piece_is_raised_as_in_this_process(tmp_path):
    with pytest.raises(InputError, match="numbers: -3 is no number"):
        list(run_in_processes(Squares(str(tmp_path)), [IS_WRONG, SLEEPS], 2))
    assert not multiprocessing.active_children()


def test_nobody_goes_on_when_the_results_are_not_wanted_any_more(tmp_path):
    with closing(run_in_processes(Squares(str(tmp_path)), [2, SLEEPS, SLEEPS], 2)) as results:
        assert next(results)[0] == 4
    assert not multiprocessing.active_children()


def test_workers_end_with_the_process_that_was_killed_idle_or_in_the_middle_of_a_piece(tmp_path):
    lines = (
        "import time",
        "from squares import SLEEPS, Squares",
        "from tripleshot.workers.processes import run_in_processes",
        "if __name__ == '__main__':",
        f"    results = run_in_processes(Squares({str(tmp_path)!r}), [1, SLEEPS, 2], 3)",
        "    print(next(results), next(results), flush=True)",
        "    time.sleep(60)",
    )
    (tmp_path / "script.py").write_text("\n".join(lines))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    script = subprocess.Popen([sys.executable, tmp_path / "script.py"], stdout=subprocess.PIPE, env=environment)
    assert script.stdout is not None
    assert script.stdout.readline()
    script.send_signal(signal.SIGKILL)
    script.communicate()
    for worker in opened(tmp_path):  # the test ends long before a piece that sleeps
        while _is_alive(worker):
            time.sleep(0.05)


def _is_alive(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # dead, but nobody has asked how it ended
