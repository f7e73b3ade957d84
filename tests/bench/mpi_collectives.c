/* The peer of collective_bench: collectives of floats by MPI, measured in the same way: the median of the slowest rank.
 * As there, a size counts all blocks of a rank's buffer.
 *
 *     mpi_collectives [--once] [--op NAME] BYTES...    --once: one call of each size, to see how long the start takes
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void all_reduce(float* in, float* out, int n) { MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void reduce(float* in, float* out, int n) { MPI_Reduce(in, out, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); }
static void broadcast(float* in, float* out, int n) { (void)in, MPI_Bcast(out, n, MPI_FLOAT, 0, MPI_COMM_WORLD); }
static void gather(float* in, float* out, int n) { MPI_Gather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, MPI_COMM_WORLD); }
static void scatter(float* in, float* out, int n) {
    MPI_Scatter(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
}
static void all_gather(float* in, float* out, int n) {
    MPI_Allgather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD);
}
static void reduce_scatter(float* in, float* out, int n) {
    MPI_Reduce_scatter_block(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void all_to_all(float* in, float* out, int n) {
    MPI_Alltoall(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD);
}
static void send_recv(float* in, float* out, int n) {
    MPI_Sendrecv(in, n, MPI_FLOAT, (rank + 1) % ranks, 0, out, n, MPI_FLOAT, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void barrier(float* in, float* out, int n) { (void)in, (void)out, (void)n, MPI_Barrier(MPI_COMM_WORLD); }

static const struct {
    const char* name;
    int blocks; /* the buffer of one side holds one for each rank */
    void (*call)(float* in, float* out, int n);
} operations[] = {{"all_reduce", 0, all_reduce},
                  {"reduce", 0, reduce},
                  {"broadcast", 0, broadcast},
                  {"gather", 1, gather},
                  {"scatter", 1, scatter},
                  {"all_gather", 1, all_gather},
                  {"reduce_scatter", 1, reduce_scatter},
                  {"all_to_all", 1, all_to_all},
                  {"send_recv", 0, send_recv},
                  {"barrier", 0, barrier}};

static int by_size(const void* a, const void* b) { return *(const double*)a < *(const double*)b ? -1 : 1; }

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int at = 1, once = 0;
    size_t op = 0;
    for (; at < argc && argv[at][0] == '-'; ++at) {
        if (strcmp(argv[at], "--once") == 0) once = 1;
        if (strcmp(argv[at], "--op") != 0 || ++at == argc) continue;
        for (op = 0; op < sizeof operations / sizeof *operations && strcmp(operations[op].name, argv[at]) != 0; ++op) {}
    }
    if (op == sizeof operations / sizeof *operations) return MPI_Finalize(), 2;
    for (; at < argc; ++at) {
        const size_t bytes = strtoul(argv[at], NULL, 10), parts = operations[op].blocks ? (size_t)ranks : 1;
        const size_t count = bytes / sizeof(float) / parts;
        const int usual = bytes <= 1024 ? 1000 : bytes <= 65536 ? 400 : bytes <= 1 << 20 ? 100 : 15;
        const int iterations = once ? 1 : usual, warm = once ? 0 : usual / 10 + 1;
        float *in = malloc(bytes), *out = malloc(bytes);
        double* times = malloc(sizeof(double) * iterations);
        for (size_t k = 0; k < count * parts; ++k) in[k] = out[k] = 1;
        for (int k = -warm; k < iterations; ++k) {
            MPI_Barrier(MPI_COMM_WORLD);
            double time = MPI_Wtime();
            operations[op].call(in, out, (int)count);
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
