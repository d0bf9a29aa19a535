"""On a Ray cluster of two nodes on this machine; skipped where Ray is not installed, which `make test-cluster` does."""

import os
import sys
from functools import partial

import pytest

from noted_work import NotedWork, begun_pieces
from squares import DIES, DIES_ONCE, IS_WRONG, Squares, opened
from tripleshot.answering.asking import Asking
from tripleshot.answering.partitions import answer_in_partitions
from tripleshot.errors import InputError, TripleshotError
from tripleshot.workers.processes import run_in_processes
from tripleshot.workers.ray_cluster import run_on_cluster

pytest.importorskip("ray", reason="needs the extra ray", exc_type=ImportError)
pytestmark = pytest.mark.filterwarnings("default")  # Ray's own


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        yield made
        made.shutdown()


def test_pieces_are_done_on_the_cluster_and_a_process_that_dies_is_replaced(cluster, tmp_path):
    results = list(run_on_cluster(Squares(str(tmp_path)), [*range(2, 9), DIES_ONCE], cluster.address))
    assert sorted(results) == [(number * number, "1") for number in (1, *range(2, 9))]
    assert os.getpid() not in opened(tmp_path)


def test_a_piece_that_is_wrong_or_that_processes_die_over_is_named(cluster, tmp_path):
    with pytest.raises(InputError, match="numbers: -3 is no number"):
        list(run_on_cluster(Squares(str(tmp_path)), [IS_WRONG], cluster.address))
    with pytest.raises(TripleshotError, match="-2: given up, 3 workers died over it"):
        list(run_on_cluster(Squares(str(tmp_path)), [DIES], cluster.address))


def test_answers_are_those_of_one_process_although_a_node_dies(cluster, tmp_path):
    examples = (("Barcelona", "Mediterranean Sea"), ("Odesa", "Black Sea"))
    asking = Asking("atlas", examples, k=3, method="evidence")
    heads = [name for name in asking.open().graph.entities.names.to_pylist() if name.startswith("city/")][:400]
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    notes = tmp_path / "notes"
    notes.mkdir()

    def crew(work, pieces):
        return run_on_cluster(NotedWork(work, str(notes), node.node_id), pieces, cluster.address)

    def kill(done, _):
        if done and cluster.worker_nodes:
            cluster.remove_node(node, allow_graceful=False)

    size = {"partition_size": 20}
    answer_in_partitions(asking, heads, tmp_path / "one", partial(run_in_processes, num_workers=1), **size)
    answer_in_partitions(asking, heads, tmp_path / "two", crew, progress=kill, **size)
    assert not cluster.worker_nodes
    assert len(begun_pieces(notes)) == 21  # what the dead node had begun was begun again
    assert len({*begun_pieces(notes)}) == 20
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert len(one) == 21
    assert one == other


def test_an_address_without_a_cluster_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere: no Ray cluster can be reached there"):
        list(run_on_cluster(Squares(str(tmp_path)), [1], "nowhere"))
