"""A relation as a classifier of scikit-learn: fitted on pairs of head and tail, it predicts the tails of other heads.

Nothing is trained: the examples are the support of a few-shot question, and every class is an entity that could be the
answer. So a relation can be cross-validated, put in a pipeline and searched over like any other classifier.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tripleshot.answering.examples import Pair, Reference, as_reference
from tripleshot.answering.predictor import DEFAULT_METHOD, Predictor
from tripleshot.answering.ranking import Candidates
from tripleshot.arrays import FloatArray, IntArray, is_integer
from tripleshot.errors import InputError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import Tags
    from sklearn.utils.validation import check_is_fitted, column_or_1d
except ModuleNotFoundError as missing:
    package = (missing.name or "").partition(".")[0]
    raise InputError(f"the classifier needs {package}: pip install 'tripleshot[sklearn]'") from None

Names = npt.NDArray[np.str_]


class RelationClassifier(ClassifierMixin, BaseEstimator):
    """A relation of which some pairs are known; it predicts the tails of heads.

    Heads and tails are names, labels that no other entity has, or ids, in any array or data frame; what is predicted
    are names. What the examples say of a head is certain.

    Example:
        >>> import tripleshot as ts
        >>> from tripleshot.answering.estimator import RelationClassifier
        >>> graph = ts.read_graph([("Baku", "capital of", "Azerbaijan"), ("Riga", "capital of", "Latvia")])
        >>> RelationClassifier(graph).fit([("Riga", "Latvia")]).predict(["Baku"]).tolist()
        ['Azerbaijan']

    Attributes:
        classes_: shape (n_classes,), names of the entities that could be an answer, sorted.
        predictor_: what answers.
        question_: the examples in ids.
        tail_ids_: shape (n_classes,), the id of each class.
        n_features_in_: 1, the head.
    """

    def __init__(
        self,
        graph: Any,  # noqa: ANN401 (whatever Predictor takes)
        method: Any = None,  # noqa: ANN401 (whatever Predictor takes)
        *,
        candidates: Candidates | str | Sequence[str] = "open",
        top: int | None = None,
    ) -> None:
        """Keep the settings; nothing is read before `fit`.

        Args:
            graph: what is asked: a graph, whatever `read_graph` reads, or a `Predictor`, which is asked as it is.
            method: of a graph that is no `Predictor`, the method that answers, as in `Predictor`.
            candidates: what could be an answer, as in `Predictor.predict`.
            top: how many tails of a head have a probability above zero; None gives one to each.
        """
        self.graph, self.method, self.candidates, self.top = graph, method, candidates, top

    def __sklearn_clone__(self) -> Self:
        """Return one with the same settings; a graph does not change, and is shared rather than copied."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Tags:
        """Say that heads are names, in one column or none."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags

    def fit(self, examples: Any, y: Any = None) -> Self:  # noqa: ANN401 (arrays and frames of any library)
        """Take the examples of the relation.

        Args:
            examples: shape (n, 2), heads and tails; or the heads alone, shape (n,) or (n, 1).
            y: shape (n,), the tails, where `examples` are the heads.
        """
        if self.top is not None and not (is_integer(self.top) and self.top >= 1):
            raise InputError(f"top: expected one answer or more, found {self.top!r}")
        pairs = _as_pairs(examples, y)
        self.predictor_ = self._make_predictor()
        self.question_ = self.predictor_.question(pairs)
        pool = self.predictor_.candidates_for(self.question_, self.candidates)
        ids = np.union1d(pool, self.question_.support[:, 1])
        names = self._names(ids)
        order = np.argsort(names)
        self.classes_, self.tail_ids_ = names[order], ids[order]
        self.n_features_in_ = 1
        return self

    def predict(self, heads: Any) -> Names:  # noqa: ANN401 (as in fit)
        """Return the best tail of each head, by name, shape (n,)."""
        check_is_fitted(self)
        best = [self._best(self._resolve(head), 1)[0][0] for head in _as_column(heads, "heads")]
        return self._names(np.array(best, dtype=np.int64))

    def predict_proba(self, heads: Any) -> FloatArray:  # noqa: ANN401 (as in fit)
        """Return how likely each class is to be the tail of each head, shape (n, n_classes).

        These are the confidences of the answers, divided by their sum: how likely an answer is if one of them is right.
        That none is right, and that several are, is something that a classifier cannot say; `Predictor.predict` does.
        """
        check_is_fitted(self)
        asked = [self._resolve(head) for head in _as_column(heads, "heads")]
        order = np.argsort(self.tail_ids_)
        probabilities = np.zeros((len(asked), len(self.classes_)))
        for row, head in zip(probabilities, asked, strict=True):
            tails, confidence = self._best(head, self.top or len(self.classes_))
            if confidence is None:
                raise InputError(f"{self.predictor_.name} has no confidence: it predicts, but without probabilities")
            row[order[np.searchsorted(self.tail_ids_, tails, sorter=order)]] = confidence / confidence.sum()
        return probabilities

    def score(self, examples: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ANN401 (as in fit)
        """Return the share of pairs whose tail is predicted; they are given as in `fit`."""
        check_is_fitted(self)
        pairs = _as_pairs(examples, y)
        tails = self._names(np.array([self._resolve(tail) for _, tail in pairs], dtype=np.int64))
        return float(super().score([head for head, _ in pairs], tails, sample_weight))

    def _make_predictor(self) -> Predictor:
        if not isinstance(self.graph, Predictor):
            return Predictor(self.graph, DEFAULT_METHOD if self.method is None else self.method)
        if self.method is not None:
            raise InputError("method: a predictor has its own; leave it out, or give the graph alone")
        return self.graph

    def _best(self, head: int, k: int) -> tuple[IntArray, FloatArray | None]:
        """Return the ids of the best tails of a head, the best first, and how sure each is."""
        support = self.question_.support
        if len(said := support[support[:, 0] == head, 1]):
            tails = np.array(list(dict.fromkeys(said.tolist())), dtype=np.int64)[:k]
            return tails, np.ones(len(tails))
        ranked = self.predictor_.rank_for(self.question_, head, np.sort(self.tail_ids_), k)
        return ranked.tails, ranked.confidence

    def _resolve(self, entity: Reference) -> int:
        return self.predictor_.resolve(entity)

    def _names(self, ids: IntArray) -> Names:
        entities = self.predictor_.graph.entities
        return np.array([entities.name(entity) for entity in ids.tolist()], dtype=np.str_)


def _as_pairs(examples: Any, y: Any) -> list[Pair]:  # noqa: ANN401 (as in fit)
    """Return heads and tails, given together or apart."""
    if y is None:
        pairs = _as_array(examples, "examples")
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InputError(f"examples: expected two columns, head and tail, or the tails as y; found {_shape(pairs)}")
        heads, tails = (_as_column(column, "examples") for column in pairs.T)
    else:
        heads, tails = _as_column(examples, "heads"), _as_column(column_or_1d(y, dtype=object, warn=True), "y")
    if len(heads) != len(tails):
        raise InputError(f"y: {len(tails):,} tails for {len(heads):,} heads")
    return list(zip(heads, tails, strict=True))


def _as_column(values: Any, origin: str) -> list[Reference]:  # noqa: ANN401 (as in fit)
    """Return names and ids that stand in one column."""
    array = _as_array(values, origin)
    if array.ndim != 1 and not (array.ndim == 2 and array.shape[1] == 1):
        raise InputError(f"{origin}: expected one column of names or ids, found {_shape(array)}")
    if not array.size:
        raise InputError(f"{origin}: give at least one")
    return [as_reference(value, f"{origin}: row {number}") for number, value in enumerate(array.ravel(), start=1)]


def _as_array(values: Any, origin: str) -> npt.NDArray[np.object_]:  # noqa: ANN401 (as in fit)
    if hasattr(values, "toarray"):
        raise InputError(f"{origin}: sparse matrices have no names; give an array or a data frame")
    return np.asarray(values, dtype=object)


def _shape(array: npt.NDArray[np.object_]) -> str:
    return "a single value" if not array.ndim else f"an array of shape {array.shape}"
