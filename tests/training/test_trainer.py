"""The trainer: stages, validation, patience, resume to the bit, and what is left when it is killed."""

import json
import logging
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import nn

from tripleshot.errors import InputError, TripleshotError
from tripleshot.evaluation.validation import Validation
from tripleshot.methods.trainable import Stage, TrainedWeights
from tripleshot.training.checkpoints import load_weights, save_weights
from tripleshot.training.log import LOG, read_log
from tripleshot.training.trainer import CHECKPOINT, StoppedError, Trainer, TrainerOptions
from tripleshot.training.weight_files import read_weights


class Small(nn.Module):
    """A sparse embedding and a dense layer: both kinds of optimizer are in play."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.rows = nn.Embedding(50, 4, sparse=True)
        self.layer = nn.Linear(4, 1)


def trainer(folder, scores=(0.1, 0.2, 0.3), steps=30, options=None, stop_at=None, noise=True):
    module = Small()
    answers = iter(scores)

    def losses(step, rng):
        if stop_at is not None and step == stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        rows = torch.from_numpy(rng.integers(50, size=8))
        out = module.layer(module.rows(rows)).squeeze(1)
        return {"fit": (out - rows / 50 + torch.randn(8) * noise).square().mean()}

    stages = [
        Stage("first", losses, 10, 0.01, "linear", 3),
        Stage("second", losses, steps, 0.02, "stepwise", 3, validates=True),
    ]
    folder.mkdir(exist_ok=True)
    return module, Trainer(
        module,
        stages,
        folder,
        seed=1,
        validate=lambda *limits: Validation(np.array([next(answers, 0.01)]), 1),
        keep=lambda: save_weights(module, folder),
        options=options or TrainerOptions(validate_every=10, patience=0, checkpoint_every=7),
    )


def weights(module):
    return torch.cat([parameter.detach().reshape(-1) for parameter in module.parameters()])


def test_all_stages_run_and_the_log_says_so(tmp_path):
    _, made = trainer(tmp_path / "run")
    progress = made.run()
    assert progress.finished
    assert (progress.best_mrr, progress.best_step) == (0.3, 30)
    log = read_log(tmp_path / "run" / LOG)
    assert [line["finished"] for line in log if "finished" in line] == ["first", "second"]
    assert [line["valid_mrr"] for line in log if "valid_mrr" in line] == [0.1, 0.2, 0.3]


def test_the_weights_that_were_best_are_kept(tmp_path):
    module, made = trainer(tmp_path / "run", scores=(0.5, 0.2, 0.3))
    made.run()
    kept = Small()
    load_weights(kept, tmp_path / "run")
    assert not torch.equal(weights(kept), weights(module))
    assert made.progress.best_step == 10


def test_training_stops_when_it_no_longer_gets_better(tmp_path):
    options = TrainerOptions(validate_every=10, patience=2, checkpoint_every=7)
    _, made = trainer(tmp_path / "run", scores=(0.5, 0.2, 0.3, 0.9), steps=100, options=options)
    made.run()
    assert made.progress.step == 30
    assert made.progress.best_mrr == 0.5


@pytest.mark.parametrize("stop_at", [0, 4, 9])
def test_a_stopped_and_resumed_run_ends_like_one_that_was_not(tmp_path, stop_at):
    whole, made = trainer(tmp_path / "whole")
    made.run()
    _, stopped = trainer(tmp_path / "run", stop_at=stop_at)
    with pytest.raises(StoppedError, match=r"resume the run to go on \(--resume\)"):
        stopped.run()
    module, resumed = trainer(tmp_path / "run")
    resumed.run(resume=True)
    assert torch.equal(weights(module), weights(whole))
    without_time = [
        [{key: value for key, value in line.items() if key != "seconds"} for line in read_log(tmp_path / name / LOG)]
        for name in ("run", "whole")
    ]
    assert without_time[0] == without_time[1]


def test_resuming_from_an_older_checkpoint_writes_no_step_twice(tmp_path):
    whole, made = trainer(tmp_path / "whole")
    made.run()
    _, stopped = trainer(tmp_path / "run", stop_at=9)
    with pytest.raises(StoppedError):
        stopped.run()
    with (tmp_path / "run" / LOG).open("a") as file:
        file.write(json.dumps({"stage": "second", "step": 25, "seconds": 1.0, "losses": {}}) + "\n")
    module, resumed = trainer(tmp_path / "run")
    resumed.run(resume=True)
    assert torch.equal(weights(module), weights(whole))
    assert sum(line["step"] == 25 for line in read_log(tmp_path / "run" / LOG)) == 0


def test_weights_and_a_checkpoint_precede_the_first_validation_which_a_resumed_run_does_first(tmp_path):
    whole, made = trainer(tmp_path / "whole")
    made.run()

    def cut_power(*limits):
        raise RuntimeError("power cut")

    module, broken = trainer(tmp_path / "run")
    broken.validate = cut_power
    with pytest.raises(RuntimeError, match="power cut"):
        broken.run()
    kept = Small()
    load_weights(kept, tmp_path / "run")
    assert torch.equal(weights(kept), weights(module))
    module, resumed = trainer(tmp_path / "run")
    progress = resumed.run(resume=True)
    assert torch.equal(weights(module), weights(whole))
    assert progress.validations == 3
    logs = [[line.get("valid_mrr") for line in read_log(tmp_path / name / LOG)] for name in ("run", "whole")]
    assert logs[0] == logs[1]


def test_a_validation_is_logged_once_also_if_the_process_dies_right_after_it(tmp_path):
    _, made = trainer(tmp_path / "whole")
    made.run()

    def cut_power(update):
        if update.best_mrr >= 0:
            raise RuntimeError("power cut")

    _, broken = trainer(tmp_path / "run")
    broken.callback = cut_power
    with pytest.raises(RuntimeError, match="power cut"):
        broken.run()
    _, resumed = trainer(tmp_path / "run")
    resumed.run(resume=True)
    logs = [[line.get("valid_mrr") for line in read_log(tmp_path / name / LOG)] for name in ("run", "whole")]
    assert logs[0] == logs[1]


def test_weights_are_compared_on_the_queries_that_both_validations_asked(tmp_path):
    """The second validation was cut short: it has the higher mean, and is worse on what both asked."""
    _, made = trainer(tmp_path / "run")
    found = iter([[0.5, 0.1, 0.1, 0.1], [0.4, 0.0, 0.0, 0.0], [0.5, 0.2, 0.0, 0.0]])
    made.validate = lambda *limits: Validation(np.array(next(found)), 4)
    progress = made.run()
    assert (progress.best_step, progress.best_ranks) == (30, [0.5, 0.2, 0.0, 0.0])
    log = [line for line in read_log(tmp_path / "run" / LOG) if "valid_mrr" in line]
    assert [(line["queries"], line["is_best"]) for line in log] == [(4, True), (1, False), (2, True)]


def test_without_a_budget_a_validation_has_no_limit_but_asks_what_the_first_asked(tmp_path):
    _, made = trainer(tmp_path / "run")
    limits = []

    def validate(num_heads, is_over):
        limits.append((num_heads, is_over))
        return Validation(np.array([0.5]), 7)

    made.validate = validate
    made.run()
    assert limits == [(0, None), (7, None), (7, None)]


def test_resuming_a_finished_run_changes_nothing(tmp_path):
    module, made = trainer(tmp_path / "run")
    made.run()
    again, resumed = trainer(tmp_path / "run")
    resumed.run(resume=True)
    assert torch.equal(weights(module), weights(again))


def test_a_broken_checkpoint_is_one_clear_error(tmp_path):
    _, made = trainer(tmp_path / "run")
    made.run()
    (tmp_path / "run" / CHECKPOINT).write_bytes(b"rubbish")
    with pytest.raises(InputError, match="not a readable checkpoint"):
        trainer(tmp_path / "run")[1].run(resume=True)


def test_a_loss_that_is_not_a_number_stops_with_advice(tmp_path):
    module, made = trainer(tmp_path / "run")
    module.layer.weight.data.fill_(float("nan"))
    with pytest.raises(TripleshotError, match="lower the learning rate"):
        made.run()


def test_an_unwritable_folder_is_one_clear_error(tmp_path):
    _, made = trainer(tmp_path / "run")
    (tmp_path / "run").rmdir()
    (tmp_path / "run").write_text("a file in the way")
    with pytest.raises(TripleshotError, match="cannot be written"):
        made.run()


def test_what_happens_is_said_to_the_logger(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "tripleshot")
    options = TrainerOptions(validate_every=10, patience=2, checkpoint_every=7)
    trainer(tmp_path / "run", scores=(0.1, 0.5, 0.3, 0.2), steps=100, options=options)[1].run()
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert said == [
        "stage first begins at step 0: 10 steps",
        "stage first ends at step 10",
        "stage second begins at step 0: 100 steps",
        "second, step 10: valid MRR 0.1000 on 1 queries, the best so far",
        "second, step 20: valid MRR 0.5000 on 1 queries, the best so far",
        "second, step 30: valid MRR 0.3000 on 1 queries",
        "second, step 40: valid MRR 0.2000 on 1 queries",
        "stage second ends at step 40: no better in 2 validations",
    ]
    details = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert "checkpoint at first, step 7" in details
    assert f"best weights kept in {tmp_path / 'run'}" in details
    assert {record.name for record in caplog.records} == {"tripleshot.training.trainer"}


def test_a_checkpoint_is_no_pickle(tmp_path):
    _, made = trainer(tmp_path / "run")
    made.run()
    with safe_open(tmp_path / "run" / CHECKPOINT, framework="pt") as file:
        assert json.loads(file.metadata()["state"])["progress"]["finished"]


VICTIMS = """
import json, os, signal, sys, time
sys.path.insert(0, {tests!r})
import torch
from pathlib import Path
from test_trainer import trainer
from tripleshot.training.trainer import TrainerOptions

torch.set_num_threads(1)
options = TrainerOptions(validate_every=10, patience=0, checkpoint_every=1)
trainer(Path({folder!r}, "warm"))[1].run()
codes = []
for moment in {moments!r}:
    victim = os.fork()
    if victim == 0:
        try:
            trainer(Path({folder!r}, "run"), scores=[0.1] * 1000, steps=400, options=options)[1].run(resume=True)
        finally:
            os._exit(0)
    time.sleep(moment)
    os.kill(victim, signal.SIGKILL)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(victim, 0)[1]))
print(json.dumps(codes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="what is killed is forked, so that it trains at once")
def test_killed_at_any_moment_the_last_good_checkpoint_is_left(tmp_path):
    """Kill it again and again, at random moments, and go on: the end is that of a run in peace."""
    options = TrainerOptions(validate_every=10, patience=0, checkpoint_every=1)
    whole, made = trainer(tmp_path / "whole", scores=[0.1] * 1000, steps=400, options=options)
    made.run()
    moments = np.random.default_rng(0).uniform(0.01, 0.25, size=10).tolist()
    script = VICTIMS.format(tests=str(Path(__file__).parent), folder=str(tmp_path), moments=moments)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert -signal.SIGKILL in json.loads(done.stdout)
    assert (tmp_path / "run" / CHECKPOINT).exists()
    module, last = trainer(tmp_path / "run", scores=[0.1] * 1000, steps=400, options=options)
    last.run(resume=True)
    assert torch.equal(weights(module), weights(whole))


def test_a_callback_is_told_of_every_step(tmp_path):
    seen = []
    _, made = trainer(tmp_path / "run")
    made.callback = seen.append
    made.run()
    assert [(update.stage, update.step) for update in seen] == [
        *(("first", step) for step in range(1, 11)),
        *(("second", step) for step in range(1, 31)),
    ]
    assert (seen[0].steps, seen[0].best_mrr, seen[0].budget) == (10, -1, 0)
    assert seen[0].losses.keys() == {"fit"}
    assert seen[-1].best_mrr == 0.3


def test_a_callback_that_fails_stops_the_training_and_the_run_can_be_resumed(tmp_path):
    whole, made = trainer(tmp_path / "whole")
    made.run()

    def cut_power(update):
        if (update.stage, update.step) == ("second", 9):
            raise RuntimeError("power cut")

    _, broken = trainer(tmp_path / "run")
    broken.callback = cut_power
    with pytest.raises(RuntimeError, match="power cut"):
        broken.run()
    module, resumed = trainer(tmp_path / "run")
    resumed.run(resume=True)
    assert torch.equal(weights(module), weights(whole))


def test_a_stage_can_keep_its_weights_in_a_file_of_its_own(tmp_path):
    module, made = trainer(tmp_path / "run")
    made.stages[0] = replace(made.stages[0], keep_as="first.safetensors")
    made.run()
    kept = Small()
    TrainedWeights.of(read_weights(tmp_path / "run" / "first.safetensors"), None, "first").load_into(kept)
    assert not torch.equal(weights(kept), weights(module))


def test_a_stage_can_do_something_after_its_last_step_and_not_again_when_resumed(tmp_path):
    finished = []

    def watched():
        module, made = trainer(tmp_path / "run")
        made.stages[0] = replace(
            made.stages[0], keep_as="first.safetensors", finish=lambda: finished.append(weights(module).clone())
        )
        return made

    def cut_power(update):
        if (update.stage, update.step) == ("second", 25):
            raise RuntimeError("power cut")

    broken = watched()
    broken.callback = cut_power
    with pytest.raises(RuntimeError, match="power cut"):
        broken.run()
    watched().run(resume=True)
    kept = Small()
    TrainedWeights.of(read_weights(tmp_path / "run" / "first.safetensors"), None, "first").load_into(kept)
    assert len(finished) == 1
    assert torch.equal(finished[0], weights(kept))
