from dataclasses import dataclass

import pytest

from tripleshot.training.budget import pace_of
from tripleshot.training.checkpoints import TrainingProgress


@dataclass(frozen=True)
class Part:
    steps: int
    validates: bool = False


def pace(spent=0.0, budget=100.0, stage=0, validate_every=10, **progress):
    parts = [Part(20), Part(60, validates=True)]
    return pace_of(parts, TrainingProgress(stage=stage, spent=spent, **progress), validate_every, budget)


def test_without_a_budget_steps_decide():
    assert not pace(step=19, budget=0, spent=1e6).is_over()
    assert pace(step=20, budget=0).is_over()
    assert pace(step=30, budget=0, stage=1).is_time_to_validate()
    assert not pace(step=31, budget=0, stage=1).is_time_to_validate()


def test_stages_share_a_budget_by_their_steps():
    assert not pace(spent=24.9, step=1000).is_over()
    assert pace(spent=25).is_over()
    assert not pace(spent=25, stage=1, stage_began=25).is_over()
    assert pace(spent=100, stage=1, stage_began=25).is_over()


def test_the_position_in_a_stage_follows_the_share_of_its_time():
    assert pace(spent=12.5).position() == pytest.approx(10)
    assert pace(spent=62.5, stage=1, stage_began=25.0).position() == pytest.approx(30)
    assert pace(spent=500, stage=1, stage_began=25.0).position() == 60


def test_a_stage_that_began_late_goes_through_its_schedule_in_what_is_left():
    assert pace(spent=50, stage=1, stage_began=50.0).position() == 0
    assert pace(spent=75, stage=1, stage_began=50.0).position() == pytest.approx(30)
    assert pace(spent=120, stage=1, stage_began=120.0).is_over()


def test_validations_keep_their_share_of_a_stage():
    """Every 10 of 60 steps is every 12.5 of 75 seconds."""
    assert not pace(spent=37, stage=1, stage_began=25.0).is_time_to_validate()
    assert pace(spent=38, stage=1, stage_began=25.0).is_time_to_validate()
    assert not pace(spent=45, stage=1, stage_began=25.0, validated_at=10.1).is_time_to_validate()
    assert pace(spent=51, stage=1, stage_began=25.0, validated_at=10.1).is_time_to_validate()


def test_validations_that_take_too_much_time_wait():
    costly = {"validating": 10.0, "validations": 1, "validated_at": 10.0}
    assert not pace(spent=55, stage=1, stage_began=25.0, **costly).is_time_to_validate()
    assert pace(spent=66, stage=1, stage_began=25.0, **costly).is_time_to_validate()


def test_time_is_left_for_the_last_validation():
    assert pace(spent=96, stage=1, stage_began=25.0, validating=8.0, validations=2).is_over()
    assert not pace(spent=95.9, stage=1, stage_began=25.0, validating=8.0, validations=2).is_over()
