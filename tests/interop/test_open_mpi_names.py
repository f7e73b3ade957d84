"""Programs of Open MPI that publish names and connect by them, on one node and on several."""

import pytest
from hosts import PORT
from mpi_programs import built

pytestmark = pytest.mark.needs("mpicc.openmpi")

# Rank 0 publishes a port and accepts all other ranks, which connect at the same time.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, size, sent = 0, sum = 0;
    MPI_Comm other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("the ocean", MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int count = 1; rank == 0 && count < size; ++count) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        MPI_Recv(&sent, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&other);
        sum += sent;
    }
    if (rank != 0) {
        MPI_Lookup_name("the ocean", MPI_INFO_NULL, port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        MPI_Send(&rank, 1, MPI_INT, 0, 0, other);
        MPI_Comm_disconnect(&other);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Unpublish_name("the ocean", MPI_INFO_NULL, port);
        printf("sum %d, then %s\n", sum, MPI_Lookup_name("the ocean", MPI_INFO_NULL, port) ? "unknown" : "known");
    }
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return built("mpicc.openmpi", tmp_path_factory.mktemp("open_mpi_names"), PROGRAM)


def test_ranks_of_one_node_connect(dlaunch, program):
    result = dlaunch("-n", 4, program)
    assert (result.rc, result.out) == (0, "sum 6, then unknown\n"), result.err


def test_ranks_of_two_nodes_connect(hosts, program):
    net = hosts("node1", "node2")
    options = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}", "--rdzv-id=j", "--nproc-per-node=2"]
    runs = [host.start(*options, program, env={"OMPI_MCA_btl_tcp_if_include": "eth0"}) for host in net.all]
    results = [run.wait(60) for run in runs]
    assert [result.rc for result in results] == [0, 0], "".join(result.err for result in results)
    assert "".join(result.out for result in results) == "sum 6, then unknown\n"


CONNECT = r"""
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Comm other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0 && argc == 1) {
        char port[MPI_MAX_PORT_NAME];
        MPI_Open_port(MPI_INFO_NULL, port);
        puts(port);
    } else if (rank == 0)
        puts(MPI_Comm_connect(argv[1], MPI_INFO_NULL, 0, MPI_COMM_SELF, &other) ? "refused" : "connected");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("port", ["garbage", "", "tag#0$port#1"])
def test_a_text_that_is_no_port_is_refused_at_once(dlaunch, tmp_path, port):
    result = dlaunch("-n", 2, built("mpicc.openmpi", tmp_path, CONNECT), port, timeout=20)  # a port waits for 60 s
    assert (result.rc, result.out) == (0, "refused\n"), result.err


def test_a_port_of_another_job_is_refused_at_once(dlaunch, tmp_path):
    program, same_port = built("mpicc.openmpi", tmp_path, CONNECT), ["--master-port=29417"]
    port = dlaunch("-n", 2, *same_port, program).out.strip()
    assert port
    result = dlaunch("-n", 2, *same_port, program, port, timeout=20)
    assert (result.rc, result.out) == (0, "refused\n"), result.err


UNPUBLISH = r"""
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char port[MPI_MAX_PORT_NAME] = "of rank 0";
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) MPI_Publish_name("the ocean", MPI_INFO_NULL, port);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Unpublish_name("the ocean", MPI_INFO_NULL, port);
        puts(MPI_Lookup_name("the ocean", MPI_INFO_NULL, port) ? "unknown" : port);
    }
    MPI_Finalize();
    return 0;
}
"""


def test_only_its_publisher_unpublishes_a_name(dlaunch, tmp_path):
    result = dlaunch("-n", 2, built("mpicc.openmpi", tmp_path, UNPUBLISH))
    assert (result.rc, result.out) == (0, "of rank 0\n"), result.err
