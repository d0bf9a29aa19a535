"""A graph with something missing, and a predictor that knows how sure it is, without weights."""

from graphs import make_graph
from tripleshot.answering.predictor import Predictor
from tripleshot.evaluation.calibration import Calibration
from tripleshot.evaluation.confidence_curves import Curve

NUM_PEOPLE, NUM_CITIES, NUM_KNOWN = 24, 4, 16
ROWS = [
    *((f"person {i}", "works at", f"company {i % 12}") for i in range(NUM_PEOPLE)),
    *((f"company {i}", "located in", f"city {i % NUM_CITIES}") for i in range(12)),
    *((f"person {i}", "lives in", f"city {i % 12 % NUM_CITIES}") for i in range(NUM_KNOWN)),
]
MISSING = {(f"person {i}", f"city {i % 12 % NUM_CITIES}") for i in range(NUM_KNOWN, NUM_PEOPLE)}
"""Where those live of whom the graph does not say it: where they work, as the others do."""

CALIBRATION = Calibration(Curve(0.1, 1.0, 2.0, 1.0, 1.0), 2, 10, 0.1, 0.1)


def make_predictor(rows=ROWS, calibration: Calibration | None = CALIBRATION) -> Predictor:
    types = {name: name.split()[0] for head, _, tail in rows for name in (head, tail)}
    return Predictor(make_graph(rows, types), "evidence", calibration=calibration)


def pairs_of(proposals) -> set[tuple[str, str]]:
    table = proposals.to_arrow()
    return set(zip(table["head"].to_pylist(), table["tail"].to_pylist(), strict=True))
