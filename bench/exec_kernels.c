/* exec_kernels.c - what the reduction kernels reach, per type, operator and place of
 * the data: GB/s of result, plain C beside AVX2.
 *
 * Usage: exec_kernels [BYTES...]   bytes of each operand; default 16 KiB and 32 MiB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "exec/kernels_tables.h"

#define ROUNDS   7
#define ROUND_NS (3 * RONDO_NS_PER_MS)

struct operands {
    char *to;
    char *a;
    char *b;
    uint64_t bytes;
};

/* GB/s of the best round: other load only ever makes it worse. */
static double
measure(rondo_kernel kernel, const struct operands *operands, uint64_t width)
{
    double best = 0;

    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t begin_ns = rondo_now_ns();
        uint64_t now_ns = begin_ns;
        uint64_t calls = 0;

        do {
            kernel(operands->to, operands->a, operands->b, operands->bytes / width, 2);
            calls++;
            now_ns = rondo_now_ns();
        } while (now_ns - begin_ns < ROUND_NS);
        const double rate =
            (double)(calls * operands->bytes) / (double)(now_ns - begin_ns);
        best = rate > best ? rate : best;
    }
    return best;
}

static void
measure_type(rondo_dtype dtype, const struct operands *operands)
{
    const uint64_t width = rondo_dtype_bytes(dtype);

    for (int op = 0; op < RONDO_OPS; op++) {
        const rondo_kernel plain = rondo_kernels_plain[dtype][op];
        const rondo_kernel vectors = rondo_kernels_avx2[dtype][op];
        const double slow = measure(plain, operands, width);

        (void)printf("%10llu  %-6s  %-4s  %8.2f", (unsigned long long)operands->bytes,
                     rondo_dtype_text(dtype), rondo_op_text((rondo_op)op), slow);
        if (vectors != NULL && rondo_cpu_has_avx2()) {
            (void)printf("  %8.2f\n", measure(vectors, operands, width));
        } else {
            (void)printf("         -\n");
        }
    }
}

static void *
filled(uint64_t bytes)
{
    void *const memory = malloc(bytes);

    if (memory == NULL) {
        (void)fprintf(stderr, "exec_kernels: no memory\n");
        exit(1);
    }
    /* 0x3c3c... is an ordinary number in every type. */
    memset(memory, 0x3c, bytes);
    return memory;
}

static void
measure_size(uint64_t bytes)
{
    const struct operands operands = {
        .to = filled(bytes), .a = filled(bytes), .b = filled(bytes), .bytes = bytes};

    for (int dtype = 0; dtype < RONDO_DTYPES; dtype++) {
        measure_type((rondo_dtype)dtype, &operands);
    }
    free(operands.to);
    free(operands.a);
    free(operands.b);
}

int
main(int argc, char **argv)
{
    (void)printf("#    bytes  type    op       plain      avx2  (GB/s of result)\n");
    for (int at = 1; at < argc; at++) {
        measure_size(strtoull(argv[at], NULL, 10));
    }
    if (argc == 1) {
        measure_size(UINT64_C(16) << 10);
        measure_size(UINT64_C(32) << 20);
    }
    return 0;
}
