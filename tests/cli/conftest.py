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


PLACES = {f"person {i}": f"city {i * 7 % 60 % 6}" for i in range(60)}
"""Where each person of `companies` works: a relation that the graph does not have."""


@pytest.fixture(scope="session")
def company_triples():
    """Three relations of 60 triples each: fewer than three of them could be split away, and none should be."""
    rows = [(f"person {i}", "works at", f"company {i * 7 % 60}") for i in range(60)]
    rows += [(f"company {i}", "located in", f"city {i % 6}") for i in range(60)]
    rows += [(f"person {i}", "knows", f"person {(i * 11 + 1) % 60}") for i in range(60)]
    return rows


@pytest.fixture
def companies(company_triples, tmp_path):
    """A CSV file with a header, as someone has it."""
    path = tmp_path / "companies.csv"
    path.write_text("subject,predicate,object\n" + "".join(f"{','.join(row)}\n" for row in company_triples))
    return path


@pytest.fixture
def places():
    """Examples of where people work, as flags."""

    def flags(count):
        return [word for name in list(PLACES)[:count] for word in ("--example", f"{name} | {PLACES[name]}")]

    return flags
