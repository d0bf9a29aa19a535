"""Every kind of run is asked: one that counts evidence, one that has learnt."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tripleshot.answering.predictor import HEADS_PER_BATCH, Answerer, answer
from tripleshot.answering.ranking import choose_candidates
from tripleshot.cli.train import keep_run, train_run
from tripleshot.errors import InputError, InputWarning
from tripleshot.evaluation.calibration import CALIBRATION
from tripleshot.evaluation.protocol import evaluate
from tripleshot.methods import create_method
from tripleshot.methods.evidence.evidence_net import EvidenceNetSettings
from tripleshot.methods.rscl.settings import RSCLSettings
from tripleshot.training.fit import fit
from tripleshot.training.runs import VOCABULARY

QUICK = RSCLSettings(
    width=16,
    num_layers=1,
    num_heads=2,
    max_neighbors=4,
    max_distant=2,
    batch_size=16,
    pretraining_steps=10,
    num_sampled=8,
    steps=20,
    validate_every=10,
)
SHOTS = 3


@pytest.fixture(scope="module")
def data(tiny, tmp_path_factory):
    """The small dataset with three valid tasks, saved: fewer than two cannot be calibrated on."""
    dataset = replace(tiny, valid=(*tiny.valid, *tiny.train))
    folder = tmp_path_factory.mktemp("answering") / "data"
    dataset.save(folder)
    return dataset, folder


LEARNED = {"rscl": QUICK, "evidence-net": EvidenceNetSettings(steps=5)}


@pytest.fixture(scope="module", params=["evidence", *LEARNED])
def run(request, data, tmp_path_factory):
    dataset, folder = data
    path = tmp_path_factory.mktemp(request.param)
    if request.param in LEARNED:
        train_run(str(folder), dataset, path, request.param, SHOTS, asdict(LEARNED[request.param]))
    else:
        keep_run(str(folder), dataset, path, request.param, SHOTS)
    return path


@pytest.fixture(scope="module")
def answerer(run):
    return Answerer.load(run)


def question(answerer):
    task = answerer.dataset.task("works in")
    return task.support(SHOTS).astype(np.int64), int(task.queries(SHOTS)[0, 0])


def test_any_fitted_method_can_be_asked(tiny):
    task = tiny.task("works in")
    method = create_method("evidence")
    fit(method, tiny, 3)
    head = int(task.queries(3)[0, 0])
    found = answer(method, tiny.graph, task.support(3), head, top=3, with_reasons=True)
    assert [one.rank for one in found] == [1, 2, 3]
    assert (found[0].name, found[0].label, found[0].confidence) == ("city:3", "city:3", None)
    assert found[0].score >= found[1].score >= found[2].score
    assert "lives in" in found[0].reasons[0].text


def test_reasons_are_given_only_when_asked_for(tiny):
    method = create_method("evidence")
    fit(method, tiny, 3)
    assert not any(one.reasons for one in answer(method, tiny.graph, tiny.test[0].support(3), 5))


def test_the_best_answers_come_first_with_confidence(answerer):
    support, head = question(answerer)
    found = answerer.answer(support, head, top=3)
    assert [one.rank for one in found] == [1, 2, 3]
    assert found[0].score >= found[1].score >= found[2].score
    confidence = [one.confidence for one in found]
    assert confidence == sorted(confidence, reverse=True)
    assert all(0 <= share <= 1 for share in confidence)
    assert all(answerer.graph.entities.name(one.entity) == one.name for one in found)


def test_a_score_is_what_the_evaluation_computes(answerer):
    """The rank of every true tail among all answers is its rank by the protocol."""
    task = answerer.dataset.task("pays tax in")
    support = task.support(SHOTS)
    ranks = evaluate(answerer.method, answerer.dataset, SHOTS, candidates="open").ranks
    index = ranks.relation_names.index(task.name)
    for row in np.flatnonzero(ranks.relations == index)[:5]:
        found = answerer.answer(support, int(ranks.heads[row]), top=100)
        mine = next(one for one in found if one.entity == ranks.tails[row])
        assert mine.rank <= ranks.pessimistic[row]
        alone = answerer.method.score(support, int(ranks.heads[row]), np.array([mine.entity]))[0]
        assert mine.score == pytest.approx(alone, abs=1e-5)
        assert ranks.pessimistic[row] == sum(one.score >= mine.score for one in found)


def test_what_the_examples_say_and_the_head_itself_are_no_answers_unless_asked_for(answerer):
    support, _ = question(answerer)
    head, tail = support[0].tolist()
    everyone = {one.entity for one in answerer.answer(support, head, 100, "all")}
    assert everyone == set(range(answerer.graph.num_entities)) - {head, tail}
    found = {one.entity: one for one in answerer.answer(support, head, 100, "all", with_known=True)}
    assert found.keys() == set(range(answerer.graph.num_entities)) - {head}
    assert [one.entity for one in found.values() if one.is_known] == [tail]
    assert found[tail].confidence == 1


def test_known_answers_leave_the_others_as_they_are(answerer):
    support, _ = question(answerer)
    head = int(support[0, 0])
    without = {one.entity: one.confidence for one in answerer.answer(support, head, 100)}
    with_known = {one.entity: one.confidence for one in answerer.answer(support, head, 100, with_known=True)}
    assert without == pytest.approx({entity: with_known[entity] for entity in without}, abs=1e-5)


def test_examples_are_given_by_name_or_id(answerer):
    names = answerer.graph.entities
    first = names.id("person:0"), names.id("city:1")
    support = answerer.support([("person:0", "city:1"), first, (f"#{first[0]}", "city:1")])
    assert support.dtype == np.int64
    assert support.tolist() == [list(first)] * 3
    with pytest.raises(InputError, match="did you mean"):
        answerer.support([("person:0", "citty:1")])


def test_candidates_are_open_all_or_of_given_types(answerer):
    support, head = question(answerer)
    graph = answerer.graph
    assert {graph.entities.name(i)[:5] for i in answerer.candidates(support)} == {"city:"}
    assert len(answerer.candidates(support, "all")) == graph.num_entities
    assert len(answerer.candidates(support, ("country", "city"))) == 6
    assert {one.name[:7] for one in answerer.answer(support, head, candidates=("country",))} == {"country"}
    with pytest.raises(InputError, match="no entity is of type 'citty'; did you mean 'city'"):
        answerer.candidates(support, ("citty",))
    with pytest.raises(InputError, match="have no types"):
        choose_candidates(graph.with_types(None), support, ("city",))


@pytest.mark.parametrize(("examples", "top", "message"), [([], 1, "at least one example"), ([(0, 20)], 0, "top")])
def test_a_question_that_makes_no_sense_is_refused(answerer, examples, top, message):
    with pytest.raises(InputError, match=message):
        answerer.answer(answerer.support(examples), 3, top)


def test_many_heads_get_the_answers_that_each_gets_alone(answerer):
    support, _ = question(answerer)
    heads = [*range(20), *range(20)]
    batches = list(answerer.answer_many(support, iter(heads), top=2, with_known=True))
    assert len(batches) == -(-len(heads) // HEADS_PER_BATCH)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["rank"] for row in rows] == [1, 2] * len(heads)
    label = answerer.graph.entities.label
    for head, row in zip(heads, rows[::2], strict=True):
        alone = answerer.answer(support, head, 1, with_known=True)[0]
        assert (row["head_label"], row["tail"], row["is_known"]) == (label(head), alone.name, alone.is_known)
        assert (row["score"], row["confidence"]) == pytest.approx((alone.score, alone.confidence), abs=1e-5)


def test_threads_get_the_answers_they_would_get_alone(answerer):
    tasks = [task for _, task in answerer.dataset.all_tasks()]
    questions = [(task.support(SHOTS), head) for head in range(8) for task in tasks]
    alone = [answerer.answer(*one) for one in questions]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: answerer.answer(*one), questions * 4))
    for found, expected in zip(together, alone * 4, strict=True):
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)
        assert {one.entity for one in found} == {one.entity for one in expected}


def test_an_answer_can_be_explained(answerer):
    support, head = question(answerer)
    best = answerer.answer(support, head, 1)[0]
    explanation = answerer.explain(support, head, best.entity)
    assert explanation.score == pytest.approx(best.score, abs=1e-5)
    assert answerer.score(support, head, np.array([best.entity]))[0] == pytest.approx(best.score, abs=1e-5)


def test_new_triples_are_known_without_training(answerer):
    support, _ = question(answerer)
    more = answerer.with_triples(
        [("person:new", "lives in", "city:1"), ("person:new", "pen pal of", "person:3"), ("x", "part of", "country:0")]
    )
    assert answerer.graph.num_entities + 2 == more.graph.num_entities
    assert "person:new" not in answerer.graph.entities
    head = more.index.resolve("person:new")
    assert head in more.candidates(more.support([("city:0", "person:0")]))  # typed by its name
    assert more.index.resolve("x") not in more.candidates(support)
    found = more.answer(support, head, top=4)
    assert len(found) == 4
    assert all(np.isfinite(one.score) for one in found)


def test_what_new_triples_do_not_touch_is_answered_as_before(answerer):
    support, head = question(answerer)
    more = answerer.with_triples([("stranger", "greets", "other stranger")])
    tails = answerer.candidates(support, "all")
    before, after = (one.score(support, head, tails) for one in (answerer, more))
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_a_new_neighbor_counts_as_evidence(data, tmp_path):
    dataset, folder = data
    keep_run(str(folder), dataset, tmp_path, "evidence", SHOTS)
    more = Answerer.load(tmp_path).with_triples([("person:new", "lives in", "city:1")])
    support = dataset.task("works in").support(SHOTS)
    assert more.answer(support, more.index.resolve("person:new"))[0].name == "city:1"


def test_data_that_has_moved_is_found_where_it_is_now(run, data, tmp_path):
    moved = Path(data[1]).rename(tmp_path / "elsewhere")
    try:
        with pytest.raises(InputError, match="if the run's dataset has moved, say where it is now"):
            Answerer.load(run)
        assert Answerer.load(run, str(moved)).calibration is not None
    finally:
        moved.rename(data[1])


def test_a_run_finds_its_names_on_data_that_have_grown(run, data, tmp_path):
    dataset, _ = data
    support, head, tails = dataset.test[0].support(SHOTS), 5, np.arange(dataset.graph.num_entities)
    expected = Answerer.load(run).score(support, head, tails)
    graph = dataset.graph.with_triples([("stranger", "greets", "other stranger")])
    replace(dataset, graph=graph).save(tmp_path / "grown")
    if (run / VOCABULARY).exists():
        with pytest.warns(InputWarning, match="2 of 28 entities and 1 of 5 relations of tiny are new to the run"):
            grown = Answerer.load(run, str(tmp_path / "grown"))
    else:
        grown = Answerer.load(run, str(tmp_path / "grown"))
    np.testing.assert_allclose(grown.score(support, head, tails), expected, atol=1e-5)


def test_without_a_calibration_there_is_no_confidence(run, data):
    answerer = replace(Answerer.load(run), calibration=None)
    support, head = question(answerer)
    assert {one.confidence for one in answerer.answer(support, head)} == {None}
    assert next(answerer.answer_many(support, [head])).column("confidence").null_count == 4


def test_one_valid_task_is_too_few_to_calibrate_on(tiny, tmp_path):
    keep_run("tiny", tiny, tmp_path, "evidence", SHOTS)
    assert not (tmp_path / CALIBRATION).exists()


def test_a_run_without_names_takes_no_new_triples(data, tmp_path):
    dataset, folder = data
    train_run(str(folder), dataset, tmp_path, "rscl", SHOTS, asdict(replace(QUICK, pretraining_steps=1, steps=1)))
    (tmp_path / VOCABULARY).unlink()
    answerer = Answerer.load(tmp_path)
    with pytest.raises(InputError, match=f"has no {VOCABULARY}"):
        answerer.with_triples([("a", "b", "c")])


def test_train_tasks_that_a_method_sees_are_relations_of_its_graph(answerer, data):
    dataset, _ = data
    names = {task.name for task in dataset.train}
    assert (names <= set(answerer.graph.relations.names.to_pylist())) == (answerer.config.method == "evidence-net")


def test_a_triple_of_a_train_task_can_be_added(answerer, data):
    dataset, _ = data
    name = dataset.train[0].name
    added = answerer.with_triples([("newcomer", name, dataset.graph.entities.name(0))])
    assert added.graph.relations.names.to_pylist().count(name) == 1
    explained = added.explain(dataset.test[0].support(SHOTS), dataset.graph.num_entities, 0)
    assert explained.connections[0].relations == (added.graph.relations.id(name),)
