"""The batch scripts of examples/slurm, as they are but for the number of GPUs."""

# ctest: timeout 600

import pytest

from cluster import WORKER, Cluster
from conftest import ROOT
from pmi1 import pmi1_text
from processes import until

SCRIPTS = ROOT / "examples/slurm"
MPI_CLIENT = """
pmi.init()
pmi.put(f"host{rank}", os.uname().nodename)
pmi.barrier()
note(f"{rank}.hosts", "".join(pmi.get(f"host{r}") + " " for r in range(pmi.size)))
pmi.finalize()
"""
SHOW = 'note "$RANK.place" "$(hostname) $WORLD_SIZE"\n'


def places(seen):
    return [path.read_text().split() for path in sorted(seen.glob("*.place"))]


@pytest.mark.parametrize("name, nodes, expected", [
    ("one_node.sh", 1, ["node1", "node1"]),
    ("several_nodes.sh", 2, ["node1", "node1", "node2", "node2"]),
    ("tasks.sh", 1, ["node1"] * 8),
    ("heterogeneous.sh", 3, ["node1", "node2", "node2", "node3", "node3"]),
])  # fmt: skip
def test_starts_all_workers(slurm, seen, shell_worker, name, nodes, expected):
    cluster = slurm(nodes)
    job = cluster.sbatch(SCRIPTS / name, arguments=[shell_worker(SHOW)])
    status, output = cluster.ended(job)
    assert status == 0 and places(seen) == [[host, str(len(expected))] for host in expected], output


def test_mpi_ranks_of_all_nodes_have_one_space(slurm, seen, script):
    client = script("client", pmi1_text(MPI_CLIENT))
    cluster = slurm(2)
    status, output = cluster.ended(cluster.sbatch(SCRIPTS / "mpi.sh", arguments=["--mpi=pmi1", client]))
    assert status == 0, output
    assert [path.read_text() for path in sorted(seen.glob("*.hosts"))] == ["node1 " * 4 + "node2 " * 4] * 8


def test_a_spare_replaces_a_lost_node(slurm, seen, script):
    cluster = slurm(5)
    workers = Cluster(cluster.net, seen, script("worker", WORKER))
    job = cluster.sbatch(SCRIPTS / "elastic_with_spares.sh", "--gpus-per-node=1", arguments=["--no-python", workers.program])
    before = workers.world(4, seconds=60)
    lost = cluster.net[next(host for host in before.hosts if host != "node1")]  # node1 runs the batch script
    lost.lose()
    after = workers.world(4, after=before, seconds=60)
    assert lost.name not in after.hosts and after.restarts == {0}, cluster.output(job)
    for rank in range(4):
        workers.order(rank, "exit 0")
    until(lambda: f"rendezvous-{job}" not in [path.name for path in cluster.folder.parent.iterdir()], 30, "the end of the script")


def test_an_element_of_an_array_runs_again(slurm, seen, shell_worker):
    cluster = slurm(1)
    worker = "trap 'exit 0' TERM\nnote $SLURM_ARRAY_TASK_ID.$RANK.${SLURM_RESTART_COUNT:-0}\nwhile :; do sleep 0.05; done\n"
    job = cluster.sbatch(SCRIPTS / "array_with_requeue.sh", "--array=0-1", "--cpus-per-task=4", arguments=[shell_worker(worker)])
    until(lambda: len(list(seen.glob("*.*.0"))) == 4, 40, "both elements")
    cluster.ask("scancel", "--signal=TERM", f"{job}_0")
    until(lambda: "Restarts=1" in cluster.ask("scontrol", "show", "job", f"{job}_0"), 30, "the requeue of element 0")
    assert "Restarts=0" in cluster.ask("scontrol", "show", "job", f"{job}_1"), "the other element runs on"
    cluster.ask("scancel", "--batch", "--signal=TERM", f"{job}_1")
    until(lambda: "Restarts=1" in cluster.ask("scontrol", "show", "job", f"{job}_1"), 30, "the requeue of element 1")
