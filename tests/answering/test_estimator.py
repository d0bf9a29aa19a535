"""The classifier: what it predicts, that tools of scikit-learn can use it, and scikit-learn's own checks."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from tripleshot.answering.estimator import RelationClassifier
from tripleshot.answering.predictor import Predictor
from tripleshot.datasets.catalog import load_atlas
from tripleshot.errors import InputError
from tripleshot.graph.readers import read_graph

SEAS = [
    ("city/barcelona-es", "sea/mediterranean-sea"),
    ("city/mumbai-in", "sea/arabian-sea"),
    ("city/odesa-ua", "sea/black-sea"),
    ("city/baku-az", "sea/caspian-sea"),
    ("city/varna-bg", "sea/black-sea"),
]
HEADS, TAILS = ([pair[side] for pair in SEAS] for side in (0, 1))

ONE_COLUMN = "heads are one column, and the check has or slices a table of several"
NAMES = "what comes out are names, and the check compares them with the numbers it has given"
OWN_WORDS = "numbers that are no ids are refused, but in words of our own"
FAILING = {
    "check_dont_overwrite_parameters": ONE_COLUMN,
    "check_n_features_in_after_fitting": ONE_COLUMN,
    "check_n_features_in": ONE_COLUMN,
    "check_estimators_nan_inf": ONE_COLUMN,
    "check_estimator_sparse_array": ONE_COLUMN,
    "check_f_contiguous_array_estimator": ONE_COLUMN,
    "check_classifiers_one_label": ONE_COLUMN,
    "check_methods_sample_order_invariance": ONE_COLUMN,
    "check_methods_subset_invariance": ONE_COLUMN,
    "check_fit2d_1sample": ONE_COLUMN,
    "check_fit2d_1feature": ONE_COLUMN,
    "check_fit2d_predict1d": ONE_COLUMN,
    "check_dict_unchanged": ONE_COLUMN,
    "check_estimators_empty_data_messages": OWN_WORDS,
    "check_estimators_dtypes": OWN_WORDS,
    "check_complex_data": OWN_WORDS,
    "check_positive_only_tag_during_fit": OWN_WORDS,
    "check_classifiers_regression_target": OWN_WORDS,
    "check_classifiers_classes": "its tails, such as 'one', are no entities of the graph",
    "check_classifier_data_not_an_array": NAMES,
    "check_classifiers_train": NAMES,
    "check_supervised_y_2d": NAMES,
    "check_fit_idempotent": NAMES,
    "check_estimators_pickle": "what is fitted holds a graph and its locks; it is saved by Predictor.save",
}
"""The checks of scikit-learn that fail, and why; those that would mean something for names are tests of our own."""


def numbered_graph():
    """A graph with as many entities as the checks have numbers, which are ids to it."""
    return read_graph([(f"a{number}", "r", f"a{(number * 7 + 1) % 400}") for number in range(400)])


@parametrize_with_checks(
    [RelationClassifier(numbered_graph(), "evidence")],
    expected_failed_checks=lambda _: FAILING,
    xfail_strict=True,
)
def test_checks_of_scikit_learn_that_apply_pass(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor(load_atlas())


@pytest.fixture(scope="module")
def fitted(predictor) -> RelationClassifier:
    return RelationClassifier(predictor).fit(SEAS[:3])


def test_the_answers_are_those_of_the_predictor(predictor, fitted):
    answers = predictor.predict(HEADS[3:], examples=SEAS[:3], k=1)
    assert fitted.predict(HEADS[3:]).tolist() == [answers[head][0].name for head in HEADS[3:]] == TAILS[3:]
    assert fitted.score(SEAS[3:]) == fitted.score(HEADS[3:], TAILS[3:]) == 1
    assert fitted.score([("city/baku-az", "Black Sea"), ("city/varna-bg", "Black Sea")]) == 0.5


def test_probabilities_are_the_confidences_of_the_answers_divided_by_their_sum(predictor, fitted):
    probabilities = fitted.predict_proba(HEADS[3:])
    assert probabilities.shape == (2, len(fitted.classes_))
    assert np.allclose(probabilities.sum(1), 1)
    assert fitted.classes_[probabilities.argmax(1)].tolist() == fitted.predict(HEADS[3:]).tolist()
    assert fitted.classes_.tolist() == sorted(fitted.classes_)
    answers = predictor.predict(HEADS[3:], examples=SEAS[:3], k=1000)
    for row, head in zip(probabilities, HEADS[3:], strict=True):
        confidence = {answer.name: answer.confidence for answer in answers[head]}
        total = sum(value for value in confidence.values() if value is not None)
        for name, found in zip(fitted.classes_.tolist(), row, strict=True):
            assert found == pytest.approx((confidence.get(name) or 0) / total)


def test_what_the_examples_say_is_certain(predictor):
    both = [*SEAS[:3], ("city/mumbai-in", "sea/black-sea")]
    fitted = RelationClassifier(predictor).fit(both)
    assert fitted.predict(HEADS[:3]).tolist() == TAILS[:3]
    row = dict(zip(fitted.classes_.tolist(), fitted.predict_proba(["city/mumbai-in"])[0], strict=True))
    assert (row["sea/arabian-sea"], row["sea/black-sea"], sum(row.values())) == (0.5, 0.5, 1)


def test_only_the_best_have_a_probability_if_so_many_are_wanted(predictor, fitted):
    best = RelationClassifier(predictor, top=2).fit(SEAS[:3]).predict_proba(["city/baku-az"])[0]
    everything = fitted.predict_proba(["city/baku-az"])[0]
    assert np.count_nonzero(best) == 2
    assert best.sum() == pytest.approx(1)
    assert set(np.argsort(-everything)[:2]) == set(np.flatnonzero(best))


def test_the_same_is_predicted_in_another_order_one_by_one_and_after_another_fit(predictor, fitted):
    heads = HEADS[::-1]
    expected = fitted.predict_proba(HEADS)
    assert np.array_equal(fitted.predict_proba(heads), expected[::-1])
    assert np.array_equal(np.concatenate([fitted.predict_proba([head]) for head in HEADS]), expected)
    again = RelationClassifier(predictor).fit(SEAS[3:]).fit(SEAS[:3])
    assert np.array_equal(again.predict_proba(HEADS), expected)


@pytest.mark.parametrize(
    "frame",
    [
        np.array(SEAS[:3]),
        np.array(SEAS[:3], dtype=object),
        pd.DataFrame(SEAS[:3], columns=["head", "tail"]),
        pl.DataFrame(SEAS[:3], schema=["head", "tail"], orient="row"),
    ],
    ids=["text", "objects", "pandas", "polars"],
)
def test_arrays_and_frames_are_taken(predictor, fitted, frame):
    made = RelationClassifier(predictor).fit(frame)
    assert made.predict(np.array([["city/baku-az"]])).tolist() == ["sea/caspian-sea"]
    assert np.array_equal(
        made.predict_proba(frame[:, :1] if isinstance(frame, np.ndarray) else HEADS[:3]),
        fitted.predict_proba(HEADS[:3]),
    )


def test_labels_and_ids_mean_the_entities_and_names_come_out(predictor, fitted):
    ids = np.array([[predictor.resolve(entity) for entity in pair] for pair in SEAS[:3]])
    assert RelationClassifier(predictor).fit(ids).predict(ids[:, 0]).tolist() == TAILS[:3]
    assert fitted.score([("city/baku-az", "Caspian Sea")]) == 1


def test_the_candidates_are_the_classes(predictor):
    rivers = RelationClassifier(predictor, candidates=["river"]).fit(SEAS[:3])
    assert {name.partition("/")[0] for name in rivers.classes_} == {"river", "sea"}
    assert {name for name in rivers.classes_ if name.startswith("sea")} == set(TAILS[:3])


def test_a_relation_is_cross_validated_searched_over_and_put_in_a_pipeline(predictor):
    scores = cross_val_score(RelationClassifier(predictor), HEADS, TAILS, cv=LeaveOneOut())
    assert scores.shape == (5,)
    assert scores.mean() > 0.5
    search = GridSearchCV(RelationClassifier(load_atlas().graph), {"method": ["degree", "evidence"]}, cv=LeaveOneOut())
    assert search.fit(HEADS, TAILS).best_params_ == {"method": "evidence"}
    pipeline = make_pipeline(FunctionTransformer(np.char.lower), RelationClassifier(predictor))
    assert pipeline.fit(np.array(HEADS), TAILS).predict(np.array(["CITY/BAKU-AZ"])).tolist() == ["sea/caspian-sea"]


def test_a_clone_shares_the_graph_and_has_the_settings(predictor):
    made = clone(RelationClassifier(predictor, candidates="all", top=3).set_params(top=4))
    assert made.get_params() == {"graph": predictor, "method": None, "candidates": "all", "top": 4}
    assert made.graph is predictor
    with pytest.raises(NotFittedError):
        made.predict(["city/baku-az"])


@pytest.mark.parametrize(
    ("settings", "examples", "y", "message"),
    [
        ({}, HEADS, None, r"examples: expected two columns, head and tail, or the tails as y; found .* \(5,\)"),
        ({}, [("a", "b", "c")], None, r"examples: expected two columns"),
        ({}, [("a", "b"), ("c",)], None, r"examples: expected two columns.* \(2,\)"),
        ({}, [], [], "heads: give at least one"),
        ({}, HEADS, TAILS[:2], "y: 2 tails for 5 heads"),
        ({}, ["city/bakku-az"], ["Black Sea"], "unknown entity 'city/bakku-az': did you mean city/baku-az"),
        ({}, [("city/baku-az", 1.5)], None, "examples: row 1: expected a name or an id, found 1.5"),
        ({}, [True], ["Black Sea"], "heads: row 1: expected a name or an id, found True"),
        ({}, csr_array(np.eye(2)), None, "examples: sparse matrices have no names"),
        ({"top": 0}, SEAS, None, "top: expected one answer or more, found 0"),
        ({"method": "evidence"}, SEAS, None, "method: a predictor has its own"),
        ({"candidates": ["rivers"]}, SEAS, None, "no entity is of type 'rivers'; did you mean 'river'"),
    ],
)
def test_wrong_input_is_named(predictor, settings, examples, y, message):
    with pytest.raises(InputError, match=message):
        RelationClassifier(predictor, **settings).fit(examples, y)


def test_a_method_without_confidence_predicts_but_not_how_likely():
    fitted = RelationClassifier(load_atlas().graph, "evidence").fit(SEAS[:3])
    assert fitted.predict(["city/baku-az"]).tolist() == ["sea/caspian-sea"]
    with pytest.raises(InputError, match="evidence has no confidence"):
        fitted.predict_proba(["city/baku-az"])


def test_a_missing_extra_is_named_in_one_line():
    script = "import sys; sys.modules['sklearn'] = None; import tripleshot.answering.estimator"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stderr.endswith("InputError: the classifier needs sklearn: pip install 'tripleshot[sklearn]'\n")
