/* Rank 0 sends a number to rank 1, with MPI. Any MPI library will do: dlaunch sees which one the program is linked with.
 *
 *     dlaunch -n 2 build/release/bin/examples/mpi_send_recv
 *
 * prints "Process 1 received number 43523 from process 0". send_number.cpp is the same without MPI. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int number = 43523;
    if (rank == 0) {
        MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        number = 0;
        MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("Process 1 received number %d from process 0\n", number);
    }
    MPI_Finalize();
    return 0;
}
