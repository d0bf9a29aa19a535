import asyncio

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import make_graph
from server.conftest import EXAMPLES, QUESTION, Client, connect, detail
from tripleshot.answering.predictor import Predictor
from tripleshot.datasets.catalog import load_atlas
from tripleshot.evaluation.protocol import evaluate
from tripleshot.server import Limits, create_app


@pytest.fixture(scope="module")
def whole() -> tuple[Predictor, Client]:
    """Atlas with the triples of its tasks, as `tripleshot serve atlas` asks it."""
    predictor = Predictor(load_atlas().whole, "universal")
    return predictor, Client(create_app(predictor, Limits(), None))


def test_a_question_is_answered(client, predictor):
    page = client.post("/answer", json=QUESTION).json()
    result = page["results"][0]
    caspian = result["answers"][0]
    assert result["head"] == {
        "id": predictor.index.resolve("city/baku-az"),
        "name": "city/baku-az",
        "label": "Baku",
    }
    assert (caspian["rank"], caspian["entity"]["label"]) == (1, "Caspian Sea")
    assert (caspian["confidence"], caspian["is_known"], result["none"]) == (None, False, None)
    assert len(result["answers"]) == 3
    assert result["num_candidates"] == len(predictor.candidates(predictor.support([("Odesa", "Black Sea")])))
    assert page["seconds"] > 0


def test_what_is_calibrated_says_how_likely_each_answer_is_and_that_none_is_right():
    served = Client(create_app(Predictor(load_atlas(), "universal"), Limits(), None))
    (result,) = served.post("/answer", json=QUESTION).json()["results"]
    assert 0 < result["none"] < 1
    shares = [each["confidence"] for each in result["answers"]]
    assert shares == sorted(shares, reverse=True)


def test_an_answer_is_what_the_predictor_says(client, predictor):
    examples = [(pair["head"], pair["tail"]) for pair in EXAMPLES]
    asked = {**QUESTION, "heads": ["city/odesa-ua"], "candidates": ["sea", "country"], "with_known": True, "top": 7}
    found = client.post("/answer", json=asked).json()["results"][0]["answers"]
    asking = {"candidates": ("sea", "country"), "include_known": True}
    expected = predictor.predict("city/odesa-ua", examples=examples, k=7, **asking)[0]
    assert [(each["entity"]["id"], each["score"], each["is_known"]) for each in found] == [
        (each.id, each.score, each.is_known) for each in expected
    ]
    assert any(each["is_known"] for each in found)


def test_heads_are_asked_for_by_their_tail(client, predictor):
    asked = {"examples": EXAMPLES, "tails": ["sea/caspian-sea"], "top": 5, "relation": "lies on"}
    page = client.post("/answer", json=asked).json()
    (result,) = page["results"]
    pairs = [(pair["head"], pair["tail"]) for pair in EXAMPLES]
    expected = predictor.predict(tails="sea/caspian-sea", examples=pairs, k=5)[0]
    assert page["relation"] == "lies on"
    assert result["tail"]["label"] == "Caspian Sea"
    assert "head" not in result
    assert [(each["entity"]["id"], each["score"]) for each in result["answers"]] == [
        (each.id, each.score) for each in expected
    ]
    assert all(each["entity"]["name"].startswith("city/") for each in result["answers"])


def test_a_head_is_explained_as_the_answer_to_its_tail(client):
    asked = {"examples": EXAMPLES, "head": "Baku", "tail": "sea/caspian-sea", "asked": "tail", "relation": "lies on"}
    page = client.post("/explain", json=asked).json()
    assert page["text"].startswith("Why Baku for Caspian Sea (lies on)?\nBaku, mainly because examples share the path")
    assert (page["head"]["label"], page["tail"]["label"], page["asked"]) == ("Baku", "Caspian Sea", "tail")
    assert page["relation"] == "lies on"
    assert page["reasons"][0]["paths"][0]["entities"][0]["label"] == "Baku"


def test_a_served_score_is_the_one_that_evaluation_ranks(client, predictor):
    dataset = predictor.dataset
    ranks = evaluate(predictor.method, dataset, 3, candidates="open").ranks
    task = dataset.test[0]
    examples = [{"head": head, "tail": tail} for head, tail in task.support(3).tolist()]
    head, tail = task.queries(3)[0].tolist()
    asked = {"examples": examples, "heads": [head], "top": 100}
    answers = client.post("/answer", json=asked).json()["results"][0]["answers"]
    score = float(predictor.score(task.support(3), head, [tail])[0])
    served = next(each for each in answers if each["entity"]["id"] == tail)
    assert served["score"] == score
    known = set(task.known_tails(head).tolist()) - {tail}
    better = [each for each in answers if each["entity"]["id"] not in known | {tail} and each["score"] >= score]
    assert len(better) + 1 == ranks.pessimistic[0]


def test_an_answer_is_explained(client):
    asked = {"examples": EXAMPLES, "head": "Baku", "tail": "sea/caspian-sea"}
    page = client.post("/explain", json=asked).json()
    assert page["tail"]["label"] == "Caspian Sea"
    assert len(page["examples"]) == 3
    assert page["text"].startswith("Why Caspian Sea for Baku?")
    assert page["connections"][0]["entities"][0]["name"] == "city/baku-az"
    assert page["neighbors"][0]["relation"].keys() == {"id", "name", "label", "is_inverse"}


def made_up_cities() -> Predictor:
    """A graph in which nothing but the triple itself says in which country a city is."""
    cities = [(f"city {place}", "is in", f"country {place % 6}") for place in range(30)]
    return Predictor(make_graph([*cities, *((f"mayor {place}", "leads", f"city {place}") for place in range(30))]))


def test_a_relation_is_not_answered_from_its_own_triples():
    served = Client(create_app(made_up_cities(), Limits(), None))
    examples = [{"head": f"city {place}", "tail": f"country {place}"} for place in range(5)]
    asked = {"examples": examples, "heads": ["city 29"], "relation": "is in"}
    (result,) = served.post("/answer", json=asked).json()["results"]
    assert result["none"] is None  # one answer is known, and nothing says whether there is another
    assert "country 5" not in [each["entity"]["name"] for each in result["answers"]]
    assert all(each["confidence"] < 0.9 for each in result["answers"])
    (result,) = served.post("/answer", json={**asked, "with_known": True}).json()["results"]
    scores = {each["entity"]["name"]: (each["score"], each["is_known"]) for each in result["answers"]}
    assert scores["country 5"] == (min(score for score, _ in scores.values()), True)
    ends = {"head": "city 29", "tail": "country 5"}
    explained = served.post("/explain", json={"examples": examples, "relation": "is in", **ends}).json()
    assert explained["score"] == pytest.approx(scores["country 5"][0])
    assert explained["connections"] == []
    assert "is in" not in [neighbor["relation"]["name"] for neighbor in explained["neighbors"]]


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("with_known", [False, True])
@pytest.mark.parametrize("examples", [EXAMPLES, None])
def test_a_relation_of_the_graph_is_asked_about_as_the_predictor_does(whole, side, with_known, examples):
    predictor, served = whole
    entity, answer = ("city/baku-az", "sea/caspian-sea") if side == "head" else ("sea/caspian-sea", "city/baku-az")
    given = {} if examples is None else {"examples": examples}
    body = {**given, "relation": "on_sea", f"{side}s": [entity], "with_known": with_known}
    page = served.post("/answer", json=body).json()
    pairs = None if examples is None else [(pair["head"], pair["tail"]) for pair in examples]
    asking = {"examples": pairs, "relation": "on_sea"}
    expected = predictor.predict(**{f"{side}s": entity}, **asking, include_known=with_known)
    assert {**page, "seconds": 0} == {**expected.to_dict(), "seconds": 0}
    assert page["relation"] == "lies on the"
    head, tail = (entity, answer) if side == "head" else (answer, entity)
    why = served.post(
        "/explain", json={**given, "relation": "on_sea", "head": head, "tail": tail, "asked": side}
    ).json()
    told = predictor.explain(head, tail, **asking, asked_side=side)
    assert (why["text"], why["score"]) == (str(told), told.score)
    assert "on_sea" not in [neighbor["relation"]["name"] for neighbor in why["neighbors"]]


def test_relations_asked_about_in_turn_by_several_clients_are_answered_as_alone(whole):
    predictor, served = whole
    names = ["on_sea", "is spoken chiefly in", *predictor.graph.relations.names.to_pylist()[:8]]
    bodies = [{"relation": name, "heads": [0, 5, 2411], "with_known": True} for name in names]
    alone = [predictor.predict([0, 5, 2411], relation=name, include_known=True).to_dict()["results"] for name in names]

    async def ask_all() -> list[httpx.Response]:
        async with connect(served.app) as client:
            return await asyncio.gather(*(client.post("/answer", json=body) for body in bodies * 3))

    for number, reply in enumerate(asyncio.run(ask_all())):
        assert reply.json()["results"] == alone[number % len(names)]


def test_limits_hold_for_what_the_graph_says_of_a_relation(whole):
    predictor, _ = whole
    served = Client(create_app(predictor, Limits(max_examples=2, max_candidates=20), None))
    asked = {"relation": "on_sea", "head": "city/baku-az", "tail": "sea/caspian-sea"}
    assert len(served.post("/explain", json=asked).json()["examples"]) == 2
    body = {"relation": "on_sea", "heads": ["Baku"]}
    assert "candidates: 25 are more than the 20" in detail(served.post("/answer", json=body), 400)
    body["relation"] = "x" * 1001
    assert "letters of a name" in detail(served.post("/answer", json=body), 400)


def test_names_are_searched(client, predictor):
    found = client.get("/entities", params={"q": "bakku", "limit": 2}).json()["entities"]
    assert found[0]["name"] == "city/baku-az"
    assert found[0]["types"] == ["city"]
    assert found[0]["degree"] == predictor.graph.degrees[found[0]["id"]]
    assert len(found) == 2
    assert client.get("/entities", params={"q": ""}).json() == {"entities": []}


def test_neighbors_are_listed_in_both_directions(client, predictor):
    country = predictor.index.resolve("country/azerbaijan")
    page = client.get(f"/entity/{country}/neighbors", params={"limit": 1000}).json()
    assert page["entity"]["label"] == "Azerbaijan"
    assert page["degree"] == len(page["neighbors"])
    assert {edge["relation"]["is_inverse"] for edge in page["neighbors"]} == {True, False}
    assert "unknown entity #99999999" in detail(client.get("/entity/99999999/neighbors"), 404)
    for text in ("007", "+7", "7.0", "1_0", "-1", "%207"):
        assert "an id is a number without sign" in detail(client.get(f"/entity/{text}/neighbors"), 422)
    assert len(client.get(f"/entity/{country}/neighbors?limit=1").json()["neighbors"]) == 1


def test_the_server_says_what_it_serves(client, predictor):
    page = client.get("/about").json()
    assert (page["name"], page["method"], page["shots"]) == ("atlas", "evidence", 3)
    assert page["num_entities"] == predictor.graph.num_entities
    assert "city" in page["types"]
    assert page["num_types"] == len(page["types"])
    assert page["has_confidence"] is False
    assert client.get("/health").json() == {"status": "ok"}


def test_types_are_listed_page_by_page(predictor):
    client = Client(create_app(predictor, Limits(max_listed=2), None))
    about = client.get("/about").json()
    every = predictor.graph.types.names
    assert (about["types"], about["num_types"]) == (list(every[:2]), len(every))
    pages = [client.get(f"/types?first={first}&limit=2").json() for first in range(0, len(every), 2)]
    assert [name for page in pages for name in page["types"]] == list(every)
    assert {page["num_found"] for page in pages} == {len(every)}
    assert client.get("/types?q=CITY&limit=2").json()["types"] == [name for name in every if "city" in name][:2]
    assert client.get("/types?limit=3").status_code == 422


def test_a_server_is_ready_once_names_are_indexed():
    served = Client(create_app(made_up_cities(), Limits(), "sesame"))
    assert detail(served.get("/ready"), 503) == "the names are still being indexed"
    served.get("/entities?q=city", headers={"Authorization": "Bearer sesame"})
    assert served.get("/ready").json() == {"status": "ready"}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (QUESTION | {"heads": ["city/bakku-az"]}, 400, "unknown entity 'city/bakku-az': did you mean city/baku-az"),
        (QUESTION | {"heads": [10**9]}, 400, "unknown entity #1000000000"),
        (QUESTION | {"examples": []}, 400, "examples: give at least one pair of head and tail"),
        ({"heads": ["Baku"]}, 400, "give at least one pair of head and tail, or the name of a relation of the graph"),
        ({"heads": ["Baku"], "relation": "on_see"}, 400, "no relation 'on_see' to take examples from; did you mean"),
        (QUESTION | {"examples": EXAMPLES * 400}, 400, "1,200 are more than the 100"),
        (QUESTION | {"heads": ["Baku"] * 101}, 400, "heads: 101 are more"),
        (QUESTION | {"top": 101}, 400, "top: 101"),
        (QUESTION | {"heads": ["x" * 1001]}, 400, "letters of a name"),
        (QUESTION | {"candidates": ["seas"]}, 400, "no entity is of type 'seas'; did you mean 'sea'"),
        (QUESTION | {"heads": ["\x00\x07\u202e"]}, 400, "unknown entity"),
        (QUESTION | {"heads": [-1]}, 422, "heads.0"),
        (QUESTION | {"heads": [True]}, 422, "heads.0"),
        (QUESTION | {"top": 0}, 422, "top"),
        (QUESTION | {"top": 1.5}, 422, "top"),
        (QUESTION | {"tops": 1}, 422, "tops: Extra inputs"),
        ({"examples": EXAMPLES}, 400, "give the heads or the tails that are asked about, and not both"),
        (QUESTION | {"tails": ["Black Sea"]}, 400, "give the heads or the tails that are asked about, and not both"),
        ({"examples": EXAMPLES, "tails": ["Black Sea"] * 101}, 400, "tails: 101 are more"),
        ({"examples": EXAMPLES, "tails": []}, 422, "tails: List should have at least 1 item"),
        (QUESTION | {"relation": "x" * 1001}, 400, "letters of a name"),
        (QUESTION | {"relation": ""}, 422, "relation: String should have at least 1 character"),
        (QUESTION | {"heads": []}, 422, "heads: List should have at least 1 item"),
        ([], 422, "body: Input should be"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_sentence(client, body, status, message):
    assert message in detail(client.post("/answer", json=body), status)


def test_what_is_json_is_not_called_something_else(client):
    assert not detail(client.post("/answer", json=[]), 422).startswith("not JSON")
    broken = client.post("/answer", content=b"{", headers={"Content-Type": "application/json"})
    assert detail(broken, 422).startswith("not JSON: ")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"examples": [], "heads": [NaN]}',
        b'{"examples": [], "heads": [1e999]}',
        b'{"examples": [], "heads": ["\\ud800"]}',
        b'{"examples": [], "heads": [], "\\udfff": 1}',
        b'{"examples": [], "heads": [' + b"9" * 5000 + b"]}",
        b"[" * 100_000,
    ],
)
def test_what_is_no_proper_json_is_refused(client, body):
    response = client.post("/answer", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (400, 422)
    assert list(response.json()) == ["detail"]


@given(data=st.data())
def test_any_entities_make_a_question(client, predictor, data):
    entities = st.integers(0, predictor.graph.num_entities - 1)
    body = {
        "examples": data.draw(st.lists(st.fixed_dictionaries({"head": entities, "tail": entities}), min_size=1)),
        "heads": data.draw(st.lists(entities.map(lambda entity: f"#{entity}"), min_size=1, max_size=3)),
        "top": data.draw(st.integers(1, 100)),
        "candidates": data.draw(st.sampled_from(["open", "all", ["sea"], []])),
        "with_known": data.draw(st.booleans()),
    }
    response = client.post("/answer", json=body)
    assert response.status_code == 200, response.text
    for result in response.json()["results"]:
        scores = [each["score"] for each in result["answers"]]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == min(body["top"], result["num_candidates"])


def test_too_many_candidates_are_refused(predictor):
    client = Client(create_app(predictor, Limits(max_candidates=10), None))
    assert "candidates" in detail(client.post("/answer", json=QUESTION), 400)


def test_types_of_candidates_are_counted_once_each_and_before_they_are_looked_up(client, predictor):
    once, often = (client.post("/answer", json=QUESTION | {"candidates": ["sea"] * times}) for times in (1, 10_000))
    assert often.json()["results"] == once.json()["results"]
    few = Client(create_app(predictor, Limits(max_types=2), None))
    assert few.post("/answer", json=QUESTION | {"candidates": ["sea", "city"] * 100}).status_code == 200
    refused = detail(few.post("/answer", json=QUESTION | {"candidates": ["sea", "nothing", "city"]}), 400)
    assert refused == "types of candidates: 3 are more than the 2 that this server allows"
    assert "letters of a name" in detail(client.post("/answer", json=QUESTION | {"candidates": ["x" * 1001]}), 400)


def test_unknown_addresses_and_methods_are_refused(client):
    assert detail(client.get("/nothing"), 404)
    assert detail(client.get("/answer"), 405)
    assert detail(client.get("/../pyproject.toml"), 404)
    assert detail(client.get("/%2e%2e/__init__.py"), 404)
