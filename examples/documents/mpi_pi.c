/* Approximates pi with MPI: each rank computes one term of the series 1 - 1/3 + 1/5 - ..., and rank 0 adds them up.
 *
 *     dlaunch -n 4 build/release/bin/examples/mpi_pi
 *
 * prints a line per rank, "rank=0 total=1.000000", and "Total is = 2.895238". ../pi.cpp is the same without MPI. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double term = (rank % 2 == 0 ? 1.0 : -1.0) / (2 * rank + 1);
    printf("rank=%d total=%f\n", rank, term);
    double total = 0;
    MPI_Reduce(&term, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("Total is = %f\n", 4 * total);
    MPI_Finalize();
    return 0;
}
