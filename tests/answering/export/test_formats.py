import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from completions import make_predictor
from tripleshot.answering.export import EXPORT_SUFFIXES, write_triples
from tripleshot.answering.provenance import METADATA, Provenance
from tripleshot.errors import InputError


@pytest.fixture(scope="module")
def proposals():
    return make_predictor().complete("lives in", k=1, missing_only=True)


@pytest.mark.parametrize("suffix", EXPORT_SUFFIXES)
def test_the_ending_says_what_is_written(proposals, tmp_path, suffix):
    path = tmp_path / f"found{suffix}"
    proposals.write(path)
    text = path.read_bytes().decode("utf-8", "replace")
    assert text
    if suffix not in (".parquet",):
        assert "person" in text
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_lines_of_json_have_one_proposal_each(proposals, tmp_path):
    proposals.write(tmp_path / "found.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert rows == proposals.to_arrow().to_pylist()


def test_a_parquet_file_says_where_it_comes_from(proposals, tmp_path):
    proposals.write(tmp_path / "found.parquet")
    metadata = pq.read_schema(tmp_path / "found.parquet").metadata
    assert Provenance.from_dict(json.loads(metadata[METADATA]), "here") == proposals.provenance


def test_another_ending_is_an_error(proposals, tmp_path):
    with pytest.raises(InputError, match=r"goes by the ending of the file: \.parquet, .*\.trig, .*\.cypher"):
        proposals.write(tmp_path / "found.docx")


@pytest.mark.parametrize("suffix", [".nq", ".cypher"])
def test_a_file_appears_whole_or_not_at_all(tmp_path, suffix):
    def batches():
        yield pa.RecordBatch.from_pydict({"head": ["a"], "relation": ["r"], "tail": ["b"]})
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        write_triples(batches(), tmp_path / f"found{suffix}", Provenance())
    assert not list(tmp_path.iterdir())
