/*
 * mpi_all_reduce.c - what an MPI reaches: sum of fp32, out of place, ordinary buffers.
 *
 * Usage: mpi_all_reduce BYTES:ITERATIONS ...
 * For each size one line "bytes microseconds": the time of an operation, the slowest
 * rank's mean over the iterations, after as many again (at most 100) to warm up.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static double
time_one(const float *in, float *out, int count, long iterations)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) / (double)iterations;
}

int
main(int argc, char **argv)
{
    int rank = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        char *rest = NULL;
        const unsigned long bytes = strtoul(argv[i], &rest, 10);
        const long iterations = *rest == ':' ? strtol(rest + 1, NULL, 10) : 20;
        const int count = (int)(bytes / sizeof(float));
        float *const in = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        float *const out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        double worst = 0.0;

        for (int k = 0; k < count; k++) {
            in[k] = (float)(k % 7 + rank);
            out[k] = 0.0F;
        }
        (void)time_one(in, out, count, iterations < 100 ? iterations : 100);
        const double mine = time_one(in, out, count, iterations);
        MPI_Reduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("%lu %.4f\n", bytes, worst * 1e6);
        }
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
