"""Fill the README's tables from the files under `results/`, so that no figure in it was typed by hand."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "nell-one"
METRICS = ("mrr", "hits@10", "hits@5", "hits@1")
FLOOR = ("degree", "support-frequency", "linked", "evidence")
PUBLISHED = {"RSCL, as published": {1: (0.262, 0.401, 0.342, 0.186), 5: (0.317, 0.452, 0.386, 0.243)}}


def short(value: float) -> str:
    """Write a share as papers do, without the zero before the point."""
    return f"{value:.3f}".removeprefix("0")


def nell_table() -> str:
    """Lay out every method on NELL-One's test set beside the paper's own row."""
    lines = ["| method | shots | training | MRR | Hits@10 | Hits@5 | Hits@1 |", "|---|---|---|---|---|---|---|"]
    for shots in (1, 5):
        for method in FLOOR:
            document = json.loads((RESULTS / f"{method}-{shots}-shot.json").read_text())
            lines.append(row(f"`{method}`", shots, "none", measured(document)))
        for path in sorted(RESULTS.glob(f"*-seed-*-{shots}-shot.json")):
            document = json.loads(path.read_text())
            minutes = f"{document['training']['seconds'] / 60:.0f} min"
            lines.append(row(f"`{document['method']}`, seed {document['seed']}", shots, minutes, measured(document)))
        for name, rows in PUBLISHED.items():
            lines.append(row(name, shots, "", rows[shots]))
    return "\n".join(lines)


def measured(document: dict[str, Any]) -> tuple[float, ...]:
    """Return the four figures of a result."""
    return tuple(document["micro"][name] for name in METRICS)


def row(name: str, shots: int, training: str, values: tuple[float, ...]) -> str:
    """Lay out one line."""
    return f"| {name} | {shots} | {training} | {' | '.join(short(value) for value in values)} |"


def ingest_table() -> str:
    """Lay out the reading of a graph of Wiki-One's size beside PyKEEN's."""
    document = json.loads((ROOT / "results" / "ingest.json").read_text())
    lines = ["| reader | seconds | peak memory |", "|---|---|---|"]
    for name, figures in document["figures"].items():
        lines.append(f"| {name} | {figures['seconds']:.1f} | {figures['peak_mib']:,.0f} MiB |")
    return "\n".join(lines)


def fill(text: str, name: str, table: str) -> str:
    """Put a table between its two marks."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{table}\n{end}{after}"


def filled(text: str) -> str:
    """Return the README with every table as the results have it now."""
    return fill(fill(text, "nell-one", nell_table()), "ingest", ingest_table())


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8")), encoding="utf-8")
