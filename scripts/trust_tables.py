"""The tables of what a server endures, what several processes save, and what faults have lost."""

from benchmark_tables import benchmark

FAULTS = {
    "kill": "a process killed at a random moment",
    "full disk": "a disk that is full at a random size",
    "no place": "a folder that cannot be written",
    "damage": "a file cut short, or with a flipped bit",
    "fuzz": "an input made up from a valid one",
}


def enduring_table() -> str:
    """Return what 64 clients saw of a server, alone and beside a hostile crowd."""
    lines = [
        "| graph | beside | requests | not as alone | p50 | p99 | requests/s | memory, then | at the end |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for graph, found in benchmark("enduring")["enduring"].items():
        for kind, beside in (("calm", "nobody"), ("hostile", "the crowd")):
            seen = found[kind]
            times = f"{seen['p50_ms']:,.0f} ms | {seen['p99_ms']:,.0f} ms | {seen['requests_per_second']:,.0f}"
            last = seen["memory"][-1][1]
            memory = f"{last / (1 + seen['growth']):,.0f} MiB | {last:,.0f} MiB"
            lines.append(f"| {graph} | {beside} | {seen['requests']:,} | {seen['differing']:,} | {times} | {memory} |")
    return "\n".join(lines)


def crowd_table() -> str:
    """Return what became of the crowd."""
    lines = [
        "| graph | silent connections opened | cut | most at once | requests too large: 413 | cut | p99 beside it |",
        "|---|---|---|---|---|---|---|",
    ]
    for graph, found in benchmark("enduring")["enduring"].items():
        crowd = found["crowd"]
        refused = crowd["oversized"]
        sockets = " | ".join(f"{crowd[name]:,}" for name in ("opened", "cut", "most_open"))
        bodies = " | ".join(f"{refused.get(name, 0):,}" for name in ("413", "cut"))
        lines.append(f"| {graph} | {sockets} | {bodies} | {found['p99_ratio']:.2f} times |")
    return "\n".join(lines)


def workers_table() -> str:
    """Return how many heads worker processes and a cluster answer in a second."""
    found = benchmark("workers")
    lines = ["| answered by | heads | heads/s | whole time |", "|---|---|---|---|"]
    for name, row in found["figures"].items():
        lines.append(f"| {name} | {row['heads']:,} | {row['heads_per_second']:,.0f} | {row['whole_seconds']:,.0f} s |")
    return "\n".join(lines)


def workers_line() -> str:
    """Return what was asked, and what came of it."""
    found = benchmark("workers")
    killed = next(row["killed_after_heads"] for row in found["figures"].values() if "killed_after_heads" in row)
    return (
        f"Two workers answer {found['speed_up']:.2f} times as many heads in a second as one. The heads are "
        f"{found['heads']:,} drawn from the entities of {found['data']}, {found['different_heads']:,} different ones, "
        f"each with {found['candidates']:,} candidates; {found['answers']:,} answers in all. The node was killed after "
        f"{killed:,} heads. Every file of the cluster has the bytes of that of two workers, and so have the files that "
        "one worker has written."
    )


def distributed_table() -> str:
    """Return what two processes save in training."""
    lines = [
        "| method | steps | steps/s, one process | two | times | valid MRR, one | two | difference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method, found in benchmark("distributed")["methods"].items():
        one, two = found["figures"].values()
        steps = f"{one['steps_per_second']:,.1f} | {two['steps_per_second']:,.1f} | {found['speed_up']:.2f}"
        validation = f"{one['valid_mrr']:.4f} | {two['valid_mrr']:.4f}"
        lines.append(f"| `{method}` | {found['steps']:,} | {steps} | {validation} | {found['difference']:.0e} |")
    return "\n".join(lines)


def faults_table() -> str:
    """Return what was tried, of each kind, and what was lost."""
    found = benchmark("faults")
    lines = ["| fault | tried | in different commands or files | lost |", "|---|---|---|---|"]
    for kind, about in FAULTS.items():
        parts = [
            counts for part, counts in found["parts"].items() if part.partition(":")[0] == kind and counts["tried"]
        ]
        lost = sum(counts["lost"] for counts in parts)
        lines.append(f"| {about} | {found['tried'][kind]:,} | {len(parts)} | {lost} |")
    return "\n".join(lines)


def kills_table() -> str:
    """Return how often each command was killed."""
    parts = benchmark("faults")["parts"]
    lines = ["| command | killed | lost |", "|---|---|---|"]
    for part, counts in parts.items():
        kind, _, command = part.partition(": ")
        if kind == "kill":
            lines.append(f"| {command} | {counts['tried']:,} | {counts['lost']} |")
    return "\n".join(lines)


TRUST_TABLES = {
    "enduring": enduring_table,
    "crowd": crowd_table,
    "workers": workers_table,
    "workers-line": workers_line,
    "distributed": distributed_table,
    "faults": faults_table,
    "kills": kills_table,
}
