import numpy as np
import pytest

from graphs import make_graph
from server.conftest import Client
from tripleshot.answering.predictor import Predictor
from tripleshot.answering.steps import finish
from tripleshot.datasets.catalog import load_atlas
from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.server import Limits, create_app
from tripleshot.server.suggestion import suggest_question

COUNTRIES = {f"city {place}": f"country {place % 6}" for place in range(30)}


class NeverRight:
    """Knows every answer, and puts it last."""

    def __init__(self, dataset: FewShotDataset) -> None:
        self.graph = dataset.graph
        self.truth = {tuple(pair) for task in (*dataset.test, *dataset.valid) for pair in task.known.tolist()}

    def prepare(self, dataset: FewShotDataset, shots: int) -> None:
        pass

    def score(self, support: np.ndarray, head: int, tails: np.ndarray) -> np.ndarray:
        return np.array([-1.0 * ((head, tail) in self.truth) for tail in tails.tolist()])


@pytest.mark.parametrize("method", ["evidence", "linked", "universal"])
@pytest.mark.parametrize("is_whole", [False, True])
def test_the_offered_question_on_atlas_is_answered_rightly(method, is_whole):
    atlas = load_atlas()
    client = Client(create_app(Predictor(atlas.whole if is_whole else atlas, method, shots=5), Limits(), None))
    offered = client.get("/example").json()["question"]
    examples = [{side: pair[side]["name"] for side in ("head", "tail")} for pair in offered["examples"]]
    named = {"examples": examples, "relation": offered["relation"]}
    asked = {**named, "heads": [offered["head"]["name"]], "with_known": offered["with_known"]}
    reply = client.post("/answer", json=asked).json()
    first = reply["results"][0]["answers"][0]
    relations = atlas.whole.graph.relations
    pairs = atlas.whole.graph.pairs_of(relations.exact(offered["relation"])[0])
    assert [offered["head"]["id"], first["entity"]["id"]] in pairs.tolist()
    assert first["is_known"]
    assert first["entity"]["name"] not in [pair["tail"] for pair in examples]
    ends = {"head": offered["head"]["name"], "tail": first["entity"]["name"]}
    why = client.post("/explain", json={**named, **ends}).json()
    assert why["score"] == pytest.approx(first["score"])
    assert offered["relation"] not in [step["label"] for path in why["connections"] for step in path["relations"]]
    assert len(examples) == 5
    assert reply["relation"] == offered["relation"]


def test_the_question_about_a_plain_graph_is_one_of_its_relations():
    cities = [(city, "is in", country) for city, country in COUNTRIES.items()]
    taxes = [(city, "pays taxes to", country) for city, country in COUNTRIES.items()]
    predictor = Predictor(make_graph([*cities, *taxes]))
    found = finish(suggest_question(predictor))
    assert found is not None
    assert found.relation in ("is in", "pays taxes to")
    asking = {"examples": found.support.tolist(), "relation": found.relation}
    best = predictor.predict(found.head, **asking, include_known=True)[0][0]
    assert best.name == COUNTRIES[predictor.graph.entities.name(found.head)]


def test_a_relation_that_only_its_own_triples_answer_is_not_offered():
    cities = [(city, "is in", country) for city, country in COUNTRIES.items()]
    predictor = Predictor(make_graph([*cities, *((f"mayor {city}", "leads", city) for city in COUNTRIES)]))
    assert finish(suggest_question(predictor)) is None


def test_a_relation_whose_label_another_has_too_is_offered_by_its_name():
    cities = [(city, "is in", country) for city, country in COUNTRIES.items()]
    graph = make_graph([*cities, *((city, "pays taxes to", country) for city, country in COUNTRIES.items())])
    found = finish(suggest_question(Predictor(graph.with_relation_labels({"is in": "of", "pays taxes to": "of"}))))
    assert found is not None
    assert found.relation in ("is in", "pays taxes to")


def test_a_wrong_answer_is_never_offered():
    atlas = load_atlas()
    assert finish(suggest_question(Predictor.of(atlas, NeverRight(atlas), "never-right", 5))) is None


def test_a_graph_too_small_for_examples_has_no_question():
    assert finish(suggest_question(Predictor(make_graph([("a", "next to", "b"), ("b", "next to", "c")])))) is None


def test_the_search_can_be_put_down_before_each_question_is_answered():
    steps = suggest_question(Predictor(load_atlas()))
    next(steps)
    steps.close()
    assert list(steps) == []
