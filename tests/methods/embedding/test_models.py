"""The six scores: by hand, beside PyKEEN's, forwards and backwards."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from tripleshot.methods.embedding.models import (
    SCORINGS,
    EmbeddingModel,
    Relations,
    conjugate,
    grouped_product,
    times,
    unit,
)

WIDTH = 6
NO_SUPPORTS = torch.zeros(0, 1, 2, dtype=torch.int64)


def make_model(name, norm=2, num_entities=12, num_relations=5):
    torch.manual_seed(0)
    model = EmbeddingModel(SCORINGS[name], num_entities, num_relations, WIDTH, norm, NO_SUPPORTS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def draw(model, count=7):
    """Return heads, relations (sorted) and tails."""
    rng = np.random.default_rng(1)
    heads, tails = (torch.from_numpy(rng.integers(12, size=count)) for _ in range(2))
    return heads, torch.from_numpy(np.sort(rng.integers(5, size=count))), tails


def scores_of(model, heads, rows, tails):
    vectors = model.entity_vectors(torch.stack([heads, tails], 1))
    return model.score(vectors, Relations(model.tables(), rows))[:, 0]


def by_hand(name, h, t, tables, norm):
    """Score one triple as the papers write it."""
    if name == "rescal":
        return h @ tables["matrices"] @ t
    r = tables["vectors"]
    if name == "distmult":
        return (h * r * t).sum()
    if name == "complex":
        h, r, t = (torch.complex(*vector.chunk(2)) for vector in (h, r, t))
        return (h * r * t.conj()).sum().real
    if name == "transh":
        w = tables["normals"] / tables["normals"].norm()
        h, t = h - (w @ h) * w, t - (w @ t) * w
    if name == "transr":
        h, t = h @ tables["matrices"], t @ tables["matrices"]
        h, t = h / h.norm().clamp(min=1), t / t.norm().clamp(min=1)
    return -(h + r - t).norm(p=norm)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("name", SCORINGS)
def test_scores_are_those_of_the_papers(name, norm):
    model = make_model(name, norm)
    heads, rows, tails = draw(model)
    found = scores_of(model, heads, rows, tails)
    for i in range(len(heads)):
        h, t = model.entity_vectors(heads[i]), model.entity_vectors(tails[i])
        tables = {part: table[rows[i]] for part, table in model.tables().items()}
        torch.testing.assert_close(found[i], by_hand(name, h, t, tables, norm), atol=1e-5, rtol=0)


def test_a_translation_in_numbers():
    model = EmbeddingModel(SCORINGS["transe"], 2, 1, 2, 1, NO_SUPPORTS)
    with torch.no_grad():
        model.entities.weight[:2] = torch.tensor([[2.0, 0.0], [0.0, 3.0]])  # (1, 0) and (0, 1) once of length one
        model.relations["vectors"][0] = torch.tensor([-0.5, 0.5])
    found = scores_of(model, torch.tensor([0]), torch.tensor([0]), torch.tensor([1]))
    assert found.item() == pytest.approx(-1.0)


@pytest.mark.parametrize("name", SCORINGS)
def test_backwards_is_the_same_score(name):
    """Where the tail is given and the head compared, the triple scores as it does the other way round."""
    model = make_model(name)
    heads, rows, tails = draw(model)
    turned = model.entity_vectors(torch.stack([tails, heads], 1))
    backwards = torch.ones(len(rows), dtype=torch.bool)
    found = model.score(turned, Relations(model.tables(), rows), backwards)[:, 0]
    torch.testing.assert_close(found, scores_of(model, heads, rows, tails), atol=1e-5, rtol=0)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("name", SCORINGS)
def test_entities_that_all_rows_share_score_as_in_each_row_alone(name, norm):
    model = make_model(name, norm)
    heads, rows, tails = draw(model)
    relations, backwards = Relations(model.tables(), rows), torch.arange(len(rows)) % 2 == 0
    shared = torch.tensor([3, 1, 4])
    repeated = torch.cat([torch.stack([heads, tails], 1), shared.expand(len(rows), -1)], 1)
    expected = model.score(model.entity_vectors(repeated), relations, backwards)
    own, others = model.entity_vectors(repeated[:, :2]), model.entity_vectors(shared)
    torch.testing.assert_close(model.score(own, relations, backwards, others), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", SCORINGS)
def test_scores_are_those_of_pykeen(name):
    pytest.importorskip("pykeen", reason="PyKEEN, an oracle of these scores, is not installed")
    from pykeen.nn import modules  # type: ignore[missing-import]

    model = make_model(name)
    heads, rows, tails = draw(model)
    h, t = model.entity_vectors(heads), model.entity_vectors(tails)
    tables = {part: table[rows] for part, table in model.tables().items()}
    oracles = {
        "transe": lambda: modules.TransEInteraction(p=2)(h, tables["vectors"], t),
        "transh": lambda: modules.TransHInteraction(p=2)(
            h, (functional.normalize(tables["normals"], dim=-1), tables["vectors"]), t
        ),
        "transr": lambda: modules.TransRInteraction(p=2, power_norm=False)(
            h, (tables["vectors"], tables["matrices"]), t
        ),
        "rescal": lambda: modules.RESCALInteraction()(h, tables["matrices"], t),
        "distmult": lambda: modules.DistMultInteraction()(h, tables["vectors"], t),
        "complex": lambda: modules.ComplExInteraction()(
            *(torch.complex(*vector.chunk(2, -1)) for vector in (h, tables["vectors"], t))
        ),
    }
    torch.testing.assert_close(scores_of(model, heads, rows, tails), oracles[name](), atol=1e-5, rtol=0)


def test_complex_numbers_multiply_as_they_do():
    left, right = torch.randn(3, 8), torch.randn(3, 8)
    expected = torch.complex(*left.chunk(2, -1)) * torch.complex(*conjugate(right).chunk(2, -1))
    torch.testing.assert_close(times(left, conjugate(right)), torch.cat([expected.real, expected.imag], -1))


@pytest.mark.parametrize("name", SCORINGS)
def test_an_entity_that_was_never_seen_scores_too(name):
    model = make_model(name)
    with torch.no_grad():
        model.entities.weight[-1] = 0
    unseen = torch.tensor([12])
    assert torch.isfinite(scores_of(model, unseen, torch.tensor([0]), unseen)).all()


def test_entity_gradients_are_sparse():
    model = make_model("transe")
    heads, rows, tails = draw(model)
    scores_of(model, heads, rows, tails).sum().backward()
    slope = model.entities.weight.grad
    assert slope is not None
    assert slope.is_sparse


def test_a_unit_vector_and_its_gradient_are_those_of_normalize():
    vectors = torch.randn(4, 3, 5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(unit(vectors), functional.normalize(vectors, dim=-1))
    assert torch.autograd.gradcheck(unit, vectors)


def test_a_zero_vector_stays_zero():
    vectors = torch.zeros(2, 3, requires_grad=True)
    found = unit(vectors)
    found.sum().backward()
    assert not found.any()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rows", [[0, 0, 2, 2, 2, 3], [1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 4]])
def test_grouped_products_and_their_gradients_are_those_of_one_product_per_row(rows, transposed):
    vectors = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(5, *((2, 4) if transposed else (4, 2)), dtype=torch.float64, requires_grad=True)
    rows = torch.tensor(rows)

    def product(vectors, matrices):
        return grouped_product(vectors, matrices, rows, transposed)

    plain = matrices.transpose(1, 2) if transposed else matrices
    torch.testing.assert_close(product(vectors, matrices), torch.bmm(vectors, plain[rows]))
    assert torch.autograd.gradcheck(product, (vectors, matrices))
