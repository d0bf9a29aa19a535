"""Predictors that each see nothing of one relation: a few are kept, because the next question is often about the same.

Hiding a relation indexes the rest of the graph anew, which takes about as long as the first time and as much memory.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripleshot.answering.predictor import Predictor

MAX_KEPT = 8
MAX_TRIPLES = 5_000_000  # of all that are kept, some 100 bytes each; a larger graph is kept alone


class HiddenRelations:
    """The predictors of the relations that were asked about last; several threads may ask.

    One is made at a time, so that a relation is never indexed twice at once; whoever asks about one that is kept does
    not wait for it.
    """

    def __init__(self, max_kept: int = MAX_KEPT, max_triples: int = MAX_TRIPLES) -> None:
        self._max_kept, self._max_triples = max_kept, max_triples
        self._kept: OrderedDict[str, Predictor] = OrderedDict()  # the one asked about last stands last
        self._looking, self._making = threading.Lock(), threading.Lock()

    def get(self, name: str, num_triples: int, make: "Callable[[], Predictor]") -> "Predictor":
        """Return the predictor that does not see a relation.

        Args:
            name: of the relation.
            num_triples: how many the new one would have at most; others are dropped to make room for them.
            make: makes it.
        """
        found = self._find(name)
        if found is not None:
            return found
        with self._making:
            found = self._find(name)
            if found is None:
                self._make_room(num_triples)
                found = make()
                with self._looking:
                    self._kept[name] = found
            return found

    def _find(self, name: str) -> "Predictor | None":
        with self._looking:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def _make_room(self, num_triples: int) -> None:
        most = min(self._max_kept, max(1, self._max_triples // max(num_triples, 1)))
        with self._looking:
            while len(self._kept) >= most:
                self._kept.popitem(last=False)
