import pyarrow.parquet as pq
import pytest

from completions import ROWS
from tripleshot.answering.asking import Asking
from tripleshot.answering.completing import Rules
from tripleshot.answering.completion_partitions import Completing, complete_in_partitions
from tripleshot.answering.manifest import MANIFEST
from tripleshot.answering.proposal_files import read_proposals
from tripleshot.errors import InputError


@pytest.fixture
def completing(tmp_path):
    path = tmp_path / "graph.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in ROWS))
    return Completing(Asking(str(path), method="evidence"), ("lives in", "works at"), rules=Rules(k=1))


class Crew:
    """Does the work in this process; stops after some pieces if it is to."""

    def __init__(self, stops_after=None):
        self.stops_after, self.done = stops_after, []

    def __call__(self, work, pieces):
        do = work.open()
        for piece in pieces:
            if len(self.done) == self.stops_after:
                raise KeyboardInterrupt
            self.done.append(piece.number)
            yield do(piece)


def test_partitions_together_are_the_proposals_in_memory(completing, tmp_path):
    reports = []
    crew = Crew()
    provenance = complete_in_partitions(
        completing, tmp_path / "found", crew, partition_size=7, progress=lambda *now: reports.append(now)
    )
    expected = completing.asking.open().complete(["lives in", "works at"], k=1)
    assert pq.read_table(tmp_path / "found").equals(expected.to_arrow())
    assert reports[0] == (0, 48)
    assert reports[-1] == (48, 48)
    assert len(crew.done) == 8
    assert [origin.num_heads for origin in provenance.relations] == [24, 24]


def test_a_second_run_does_what_the_first_has_left(completing, tmp_path):
    folder = tmp_path / "found"
    with pytest.raises(KeyboardInterrupt):
        complete_in_partitions(completing, folder, Crew(3), partition_size=7)
    with pytest.raises(InputError, match="is not finished, 21 of 48 heads are done"):
        read_proposals(folder)
    crew = Crew()
    complete_in_partitions(completing, folder, crew, partition_size=7)
    assert crew.done == [3, 4, 5, 6, 7]
    complete_in_partitions(completing, tmp_path / "other", Crew(), partition_size=7)
    parts = [path.name for path in folder.glob("part-*")]
    assert {(folder / name).read_bytes() == (tmp_path / "other" / name).read_bytes() for name in parts} == {True}


def test_a_folder_of_other_proposals_is_refused(completing, tmp_path):
    complete_in_partitions(completing, tmp_path / "found", Crew())
    other = Completing(completing.asking, ("works at",), rules=Rules(k=1))
    with pytest.raises(InputError, match="has the answers to another question: other examples and other entities"):
        complete_in_partitions(other, tmp_path / "found", Crew())


def test_a_folder_is_read_back_with_its_provenance(completing, tmp_path):
    provenance = complete_in_partitions(completing, tmp_path / "found", Crew())
    found = read_proposals(tmp_path / "found")
    assert found.provenance == provenance
    assert sum(len(batch) for batch in found.batches()) == 48


def test_a_damaged_manifest_is_named(completing, tmp_path):
    complete_in_partitions(completing, tmp_path / "found", Crew())
    manifest = tmp_path / "found" / MANIFEST
    manifest.write_text("{}\n" + manifest.read_text().split("\n", 1)[1])
    with pytest.raises(InputError, match="not a readable manifest"):
        read_proposals(tmp_path / "found")
