"""Made-up results with the fields of real ones, and what reports are made from."""

from tripleshot.experiments.paper.main_table import ROWS
from tripleshot.experiments.paper.results import PaperResults, Results


def metrics(mrr):
    return {"mrr": mrr, "hits@10": min(1.0, 1.5 * mrr), "hits@5": min(1.0, 1.2 * mrr), "hits@1": 0.5 * mrr}


def result(label, mrr, shots=5, seed=0, curve=(), relations=None, **more):
    method, _, variant = label.partition("@")
    points = [{"step": step, "seconds": step, "spent": step, "valid_mrr": value} for step, value in curve]
    best = max(points, key=lambda point: point["valid_mrr"], default=None)
    training = {"command": "tripleshot paper ablation tiny --out here", "commit": "c" * 40, "spent": 60.0}
    return {
        "method": method,
        "variant": variant,
        "dataset": "tiny",
        "data_hash": "h" * 64,
        "shots": shots,
        "split": "test",
        "candidates": "benchmark",
        "seed": seed,
        "config": {},
        "command": "tripleshot paper ablation tiny --out here --budget 5m",
        "commit": "c" * 40,
        "queries": 30,
        "micro": metrics(mrr),
        "relations": {name: {"queries": 15, **metrics(value)} for name, value in (relations or {}).items()},
        "long_tail": {"queries": 12, "micro": metrics(mrr / 2)},
        **({} if method in ("degree", "evidence") else {"training": {**training, "best": best, "curve": points}}),
        **more,
    }


ABLATED = {"rscl": 0.3, "rscl@without-distant": 0.28, "rscl@without-global": 0.2, "rscl@without-local": 0.31}
STUDIED = [result(label, mrr, shots) for shots in (1, 5) for label, mrr in ABLATED.items()]
TRAINED = [result(label, 0.1 + 0.01 * number) for number, label in enumerate(ROWS)]


def collected(dataset, main=(), studies=()):
    """Return what reports are made from: these results and no others."""
    main, studies = (Results((tuple(some),)) for some in (main, studies))
    return PaperResults(dataset, main, studies, "h" * 64, ("tiny", "--out", "there"))


def verdicts(report):
    return {claim.text: claim.verdict for claim in report.claims}
