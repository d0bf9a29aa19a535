import pytest

from tripleshot.answering.models import train

PAIRS = ("Barcelona | Mediterranean Sea", "city/mumbai-in|sea/arabian-sea", "Odesa | Black Sea")
EXAMPLES = tuple(word for pair in PAIRS for word in ("--example", pair))


@pytest.fixture
def triples(tmp_path):
    lines = ["head\trelation\ttail"]
    lines += [f"person:{i}\tr{r}\tcity:{(i * (r + 1)) % 9}" for r in range(6) for i in range(60 + r)]
    lines += [f"city:{i}\tin\tcountry:{i % 3}" for i in range(9)]
    path = tmp_path / "graph.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def evidence_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    train("evidence", "atlas", shots=5, folder=folder)
    return folder


@pytest.fixture(scope="session")
def evidence_net_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence-net")
    train("evidence-net", "atlas", shots=5, folder=folder, preset="tiny", settings={"valid_queries": 5})
    return folder
