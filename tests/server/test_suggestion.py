import numpy as np
import pytest

from graphs import make_graph
from server.conftest import Client
from tripleshot.answering.predictor import Predictor
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


@pytest.mark.parametrize("method", ["evidence", "linked"])
def test_the_offered_question_on_atlas_is_answered_rightly(method):
    atlas = load_atlas()
    client = Client(create_app(Predictor(atlas, method, shots=5), Limits(), None))
    offered = client.get("/example").json()["question"]
    examples = [{side: pair[side]["name"] for side in ("head", "tail")} for pair in offered["examples"]]
    asked = {"examples": examples, "heads": [offered["head"]["name"]], "relation": offered["relation"]}
    reply = client.post("/answer", json=asked).json()
    best = reply["results"][0]["answers"][0]["entity"]
    task = next(task for task in (*atlas.test, *atlas.valid) if task.label == offered["relation"])
    assert best["id"] in task.known_tails(offered["head"]["id"])
    assert best["name"] not in [pair["tail"] for pair in examples]
    assert len(examples) == 5
    assert reply["relation"] == offered["relation"]


def test_the_question_about_a_plain_graph_is_one_of_its_relations():
    cities = [(city, "is in", country) for city, country in COUNTRIES.items()]
    predictor = Predictor(make_graph([*cities, *((f"mayor {city}", "leads", city) for city in COUNTRIES)]))
    found = suggest_question(predictor)
    assert found is not None
    assert found.relation in ("is in", "leads")
    truth = dict(predictor.support([(head, tail) for head, _, tail in predictor.graph.triples()]).tolist())
    best = predictor.rank(found.support, found.head, predictor.candidates(found.support), 1)
    assert best.tails[0] == truth[found.head]


def test_a_wrong_answer_is_never_offered():
    atlas = load_atlas()
    assert suggest_question(Predictor.of(atlas, NeverRight(atlas), "never-right", 5)) is None


def test_a_graph_too_small_for_examples_has_no_question():
    assert suggest_question(Predictor(make_graph([("a", "next to", "b"), ("b", "next to", "c")]))) is None


def test_the_search_stops_when_nobody_waits():
    assert suggest_question(Predictor(load_atlas()), lambda: True) is None
