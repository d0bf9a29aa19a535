import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from completions import make_predictor
from tripleshot.answering.proposals import Proposals, empty_batch, keep_best
from tripleshot.answering.provenance import Provenance
from tripleshot.errors import InputError


def batch(*shares):
    rows = {"head": [f"h{share}" for share in shares], "confidence": pa.array(shares, type=pa.float64())}
    return pa.RecordBatch.from_pydict(rows)


def test_the_best_are_kept_without_holding_all():
    parts = (batch(number / 1000, 1 - number / 1000) for number in range(500))
    (best,) = keep_best(parts, 3)
    assert best.column("confidence").to_pylist() == [1.0, 0.999, 0.998]


def test_the_first_among_equals_is_kept():
    twins = [pa.RecordBatch.from_pydict({"head": [str(place)], "confidence": [0.5]}) for place in range(20)]
    (best,) = keep_best(twins, 2)
    assert best.column("head").to_pylist() == ["0", "1"]


def test_a_number_below_one_is_an_error():
    with pytest.raises(InputError, match="most: expected one proposal or more, found 0"):
        list(keep_best([batch(0.5)], 0))


def test_proposals_are_a_table_and_print_as_triples():
    found = make_predictor().complete("lives in", k=1, missing_only=True)
    assert tuple(found.to_pandas().columns) == Proposals.COLUMNS
    assert "person 20 — lives in → city 0" in str(found)
    assert str(found).count("\n") == len(found) - 1


def test_nothing_at_all_is_written_as_an_empty_table(tmp_path):
    Proposals.of([empty_batch()], Provenance()).write(tmp_path / "none.parquet")
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0
