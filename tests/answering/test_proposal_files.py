import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from completions import MISSING, make_predictor
from tripleshot.answering.proposal_files import read_proposals
from tripleshot.errors import InputError

DECISIONS = """head\trelation\ttail\tdecision\tconfidence\tdecided_at
person 20\tlives in\tcity 0\taccepted\t0.9\t2026-01-01T00:00:00Z
person "21"\tlives in\tcity 1\taccepted\t\t2026-01-01T00:00:00Z
person 22\tlives in\tcity 2\trejected\t0.8\t2026-01-01T00:00:00Z
"""


def rows(found, **options):
    return [row for batch in found.batches(**options) for row in batch.to_pylist()]


@pytest.mark.parametrize("suffix", [".parquet", ".tsv", ".csv"])
def test_what_was_written_is_read_back(tmp_path, suffix):
    proposals = make_predictor().complete("lives in", k=1, missing_only=True)
    path = tmp_path / f"found{suffix}"
    proposals.write(path)
    found = read_proposals(path)
    assert {(row["head"], row["tail"]) for row in rows(found)} == MISSING
    assert (found.provenance == proposals.provenance) == (suffix == ".parquet")
    assert len(rows(found, min_confidence=1.0)) == 0


def test_of_decisions_only_what_was_accepted_is_taken(tmp_path):
    (tmp_path / "decisions.tsv").write_text(DECISIONS)
    found = read_proposals(tmp_path / "decisions.tsv")
    assert [(row["head"], row["confidence"]) for row in rows(found)] == [("person 20", 0.9), ('person "21"', None)]


def test_a_file_without_triples_is_named(tmp_path):
    (tmp_path / "pairs.csv").write_text("head,tail\na,b\n")
    with pytest.raises(InputError, match=r"pairs\.csv: has no column 'relation'"):
        read_proposals(tmp_path / "pairs.csv")
    with pytest.raises(InputError, match=r"a folder of `complete`, or a \.parquet"):
        read_proposals(tmp_path / "graph.ttl")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match=r"broken\.parquet: cannot be read"):
        read_proposals(tmp_path / "broken.parquet")
    with pytest.raises(InputError, match=r"none\.tsv: cannot be read"):
        read_proposals(tmp_path / "none.tsv")


def test_a_threshold_needs_confidence(tmp_path):
    (tmp_path / "plain.tsv").write_text("head\trelation\ttail\na\tr\tb\n")
    found = read_proposals(tmp_path / "plain.tsv")
    assert rows(found) == [{"head": "a", "relation": "r", "tail": "b"}]
    with pytest.raises(InputError, match="has no column 'confidence'"):
        rows(found, min_confidence=0.5)


def test_columns_of_another_kind_and_names_that_are_no_text_are_named(tmp_path):
    (tmp_path / "bytes.tsv").write_bytes(b"head\trelation\ttail\t\xff\na\tr\tb\tc\n")
    with pytest.raises(InputError, match=r"bytes\.tsv: cannot be read"):
        read_proposals(tmp_path / "bytes.tsv")
    triple = {"head": ["a"], "relation": ["r"], "tail": ["b"]}
    for name, value in {"confidence": "very", "tail": ["b", "c"]}.items():
        pq.write_table(pa.table({**triple, name: [value]}), tmp_path / "other.parquet")
        with pytest.raises(InputError, match=rf"other\.parquet: column '{name}' cannot be read"):
            rows(read_proposals(tmp_path / "other.parquet"))
