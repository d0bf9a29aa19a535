"""Result documents as `results.describe` lays them out, made up."""


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
