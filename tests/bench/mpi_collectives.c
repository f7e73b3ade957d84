/* The peer of collective_bench: an all-reduce of floats by MPI, in the same way: the median of the slowest rank.
 *
 *     mpi_collectives [--once] BYTES...      --once: one call of each size, to see how long the start takes */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void* a, const void* b) { return *(const double*)a < *(const double*)b ? -1 : 1; }

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int once = argc > 1 && strcmp(argv[1], "--once") == 0;
    for (int i = 1 + once; i < argc; ++i) {
        const size_t bytes = strtoul(argv[i], NULL, 10), count = bytes / sizeof(float);
        const int usual = bytes <= 1024 ? 1000 : bytes <= 65536 ? 400 : bytes <= 1 << 20 ? 100 : 15;
        const int iterations = once ? 1 : usual, warm = once ? 0 : usual / 10 + 1;
        float *in = malloc(bytes), *out = malloc(bytes);
        double* times = malloc(sizeof(double) * iterations);
        for (size_t k = 0; k < count; ++k) in[k] = out[k] = 1;
        for (int k = -warm; k < iterations; ++k) {
            MPI_Barrier(MPI_COMM_WORLD);
            double time = MPI_Wtime();
            MPI_Allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            time = (MPI_Wtime() - time) * 1e6;
            MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            if (k >= 0) times[k] = time;
        }
        qsort(times, iterations, sizeof(double), by_size);
        if (rank == 0) printf("%zu,%.2f\n", bytes, times[iterations / 2]);
        free(in), free(out), free(times);
    }
    MPI_Finalize();
    return 0;
}
