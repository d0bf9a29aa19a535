from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tripleshot.errors import InputError
from tripleshot.evaluation.calibration import (
    CALIBRATION,
    Calibration,
    Curve,
    Question,
    ask_valid,
    calibrate,
    fit_calibration,
    load_calibration,
    reliability,
    save_calibration,
)
from tripleshot.methods import create_method
from tripleshot.training.fit import fit

numbers = st.floats(-1e3, 1e3)
curves = st.builds(Curve, st.floats(1e-3, 1e3), st.floats(0, 10), st.floats(-20, 20), st.none(), st.floats(0, 10))
scores = arrays(np.float64, st.integers(0, 30), elements=numbers)


def fitted(questions) -> Calibration:
    calibration = fit_calibration(questions)
    assert calibration is not None
    return calibration


def made_up(rng, num_tasks=4, num_questions=60, num_candidates=30, scale=1.0):
    """Make questions whose right answer is drawn from the softmax of the scores: the truth is known."""
    questions = []
    for index in range(num_tasks * num_questions):
        logits = rng.normal(size=num_candidates) * 3
        shares = np.exp(logits) / np.exp(logits).sum()
        right = np.arange(num_candidates) == rng.choice(num_candidates, p=shares)
        questions.append(Question(index % num_tasks, scale * logits + rng.normal() * 100, right))
    return questions


def after(count):
    """Return a function that tells, from its so-manieth call on, that time is over."""
    calls = iter(range(1, 10_000))
    return lambda: next(calls) >= count


@given(curves, scores)
def test_confidence_is_a_probability_that_rises_with_the_score(curve, some):
    confidence = curve.confidence(some)
    assert confidence.shape == some.shape
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert (np.diff(confidence[np.argsort(some, kind="stable")]) >= -1e-12).all()


@given(curves, scores, numbers)
def test_shifting_all_scores_changes_nothing(curve, some, shift):
    wide = replace(curve, temperature=max(curve.temperature, 1.0))
    np.testing.assert_allclose(wide.confidence(some + shift), wide.confidence(some), atol=1e-9)


@given(curves, arrays(np.float64, st.integers(2, 30), elements=numbers), st.floats(0, 100))
def test_a_higher_score_never_lowers_a_candidates_confidence(curve, some, more):
    higher = some.copy()
    higher[0] += more
    assert curve.confidence(higher)[0] >= curve.confidence(some)[0] - 1e-12


def test_the_truth_is_found_whatever_the_scale_of_the_scores():
    for scale in (0.01, 1.0, 50.0):
        calibration = fitted(made_up(np.random.default_rng(0), scale=scale))
        asked = made_up(np.random.default_rng(1), scale=scale)
        predicted = np.array([calibration.confidence(one.scores).max() for one in asked])
        right = np.array([one.is_right[one.scores.argmax()] for one in asked])
        assert predicted.mean() == pytest.approx(right.mean(), abs=0.08)
        assert calibration.calibration_error < 0.12
        assert calibration.brier_score < 0.25
        assert (calibration.num_tasks, calibration.num_questions) == (4, 240)


def test_scores_that_mislead_earn_no_confidence():
    questions = [replace(one, scores=-one.scores) for one in made_up(np.random.default_rng(0))]
    calibration = fitted(questions)
    assert min(calibration.curve.slope, calibration.curve.behind or 0) >= 0
    assert max(calibration.confidence(question.scores).max() for question in questions) < 0.05


def test_equal_scores_can_be_calibrated():
    questions = [Question(i % 2, np.zeros(4), np.arange(4) == i % 4) for i in range(40)]
    assert fitted(questions).confidence(np.zeros(4)) == pytest.approx(0.25, abs=0.05)


def test_one_task_or_no_right_answer_is_not_enough():
    questions = made_up(np.random.default_rng(0), num_tasks=1)
    assert fit_calibration(questions) is None
    assert fit_calibration([]) is None
    wrong = [replace(one, is_right=np.zeros(30, dtype=bool)) for one in made_up(np.random.default_rng(0))]
    assert fit_calibration(wrong) is None


def test_every_task_counts_the_same():
    """A task with ten times the questions does not outvote the other."""
    rng = np.random.default_rng(0)
    easy = [Question(0, np.array([1.0, 0.0]), np.array([True, False])) for _ in range(200)]
    hard = [Question(1, np.array([1.0, 0.0]), np.array([rng.random() < 0.2, False])) for _ in range(20)]
    found = fitted([*easy, *hard]).confidence(np.array([1.0, 0.0]))[0]
    assert found == pytest.approx((1 + np.mean([one.is_right[0] for one in hard])) / 2, abs=0.05)


def test_reliability_of_perfect_and_of_useless_confidence():
    weights = np.full(4, 0.25)
    right = np.array([True, True, False, False])
    assert reliability(right.astype(float), right, weights) == (0, 0)
    assert reliability(1.0 - right, right, weights) == (1, 1)


def test_only_valid_tasks_are_asked(tiny):
    class Watched:
        def __init__(self):
            self.asked = []

        def score(self, support, head, tails):
            self.asked.append(support.tobytes())
            return np.arange(len(tails), dtype=float)

    method = Watched()
    calibrate(method, tiny, 3)
    assert set(method.asked) == {task.support(3).tobytes() for task in tiny.valid}


def test_a_method_is_calibrated_on_a_dataset_and_saved(tiny, tmp_path):
    method = create_method("evidence")
    fit(method, tiny, 3)
    steps = []
    dataset = replace(tiny, valid=(*tiny.valid, *tiny.train))
    calibration = calibrate(method, dataset, 3, progress=lambda done, total: steps.append((done, total)))
    assert isinstance(calibration, Calibration)
    assert calibration.num_tasks == 3
    assert steps[-1] == (calibration.num_questions, calibration.num_questions)
    save_calibration(calibration, tmp_path)
    assert load_calibration(tmp_path) == calibration


def test_a_number_that_was_changed_is_noticed(tmp_path):
    save_calibration(Calibration(Curve(1.0, 1.0, 0.0), 2, 10, 0.1, 0.1), tmp_path)
    path = tmp_path / CALIBRATION
    path.write_text(path.read_text().replace('"slope": 1.0', '"slope": 1.5'))
    with pytest.raises(InputError, match=r"calibration\.json: changed since it was written"):
        load_calibration(tmp_path)


def test_a_run_without_calibration_has_none(tmp_path):
    assert load_calibration(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"curve": {"temperature": 0, "slope": 1, "bias": 0}, "num_tasks": 2, "num_questions": 3,'
        ' "calibration_error": 0, "brier_score": 0}',
        '{"curve": {"temperature": 1, "slope": 1, "bias": NaN}, "num_tasks": 2, "num_questions": 3,'
        ' "calibration_error": 0, "brier_score": 0}',
    ],
)
def test_a_broken_calibration_is_refused(tmp_path, text):
    (tmp_path / CALIBRATION).write_text(text)
    with pytest.raises(InputError, match=CALIBRATION):
        load_calibration(tmp_path)


@pytest.mark.parametrize(("calls", "asked"), [(1, 2), (6, 7)])
def test_when_time_is_over_no_more_is_asked_but_two_tasks_once(tiny, calls, asked):
    dataset = replace(tiny, valid=(*tiny.valid, *tiny.train))
    method = create_method("evidence")
    fit(method, dataset, 3)
    everything = ask_valid(method, dataset, 3, 100_000, 0)
    fewer = ask_valid(method, dataset, 3, 100_000, 0, is_over=after(calls))
    assert len(fewer) == asked < len(everything)
    for one, other in zip(fewer, everything, strict=False):
        np.testing.assert_array_equal(one.scores, other.scores)
    calibration = calibrate(method, dataset, 3, is_over=after(calls))
    assert calibration is not None
    assert calibration.num_questions == asked


def test_no_candidate_is_likely_to_be_right_where_the_best_one_is_not():
    rng = np.random.default_rng(5)
    questions = [
        replace(question, is_right=question.is_right & (np.max(question.scores) - np.median(question.scores) > 7))
        for question in made_up(rng)
    ]
    calibration = fitted(questions)
    asked = [(calibration.none_of(question.scores), not question.is_right.any()) for question in questions]
    said, has_none = np.array(asked, float).T
    assert said[has_none == 1].mean() > said[has_none == 0].mean()
    assert said.mean() == pytest.approx(has_none.mean(), abs=0.05)


def test_of_no_candidates_none_is_right():
    assert fitted(made_up(np.random.default_rng(0))).none_of(np.empty(0)) == 1.0


def test_a_calibration_from_before_knows_nothing_of_no_candidate(tmp_path):
    calibration = replace(fitted(made_up(np.random.default_rng(0))), none=None)
    save_calibration(calibration, tmp_path)
    assert load_calibration(tmp_path) == calibration
    assert calibration.none_of(np.arange(3.0)) is None


def test_many_tasks_are_left_out_several_at_a_time():
    calibration = fitted(made_up(np.random.default_rng(3), num_tasks=45, num_questions=8))
    assert calibration.num_tasks == 45
    assert calibration.calibration_error < 0.1


def test_a_curve_without_a_distance_of_its_own_goes_by_shares():
    scores = np.array([1.0, 3.0, 2.0])
    shares = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(Curve(1.0, 0.7, 0.2).log_odds(scores), 0.2 + 0.7 * np.log(shares))
    np.testing.assert_allclose(Curve(1.0, 0.7, 0.2, 0.7).log_odds(scores), Curve(1.0, 0.7, 0.2).log_odds(scores))
