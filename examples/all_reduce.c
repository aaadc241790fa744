/*
 * all_reduce.c - the first program: every rank brings a vector, all get the sum.
 *
 *   cc all_reduce.c $(pkg-config --cflags --libs rondo) -o all_reduce
 *   rondo-run -n 2 ./all_reduce
 */
#include <rondo/rondo.h>
#include <stdio.h>

enum { COUNT = 1000 };

/* Element i of rank r is (r + 1) * i, so the sum over n ranks is n (n + 1) / 2 * i. */
static int
wrong_elements(const float *sum, uint32_t nranks)
{
    int wrong = 0;

    for (int i = 0; i < COUNT; i++) {
        const float want = (float)(nranks * (nranks + 1) / 2) * (float)i;
        wrong += sum[i] != want;
    }
    return wrong;
}

int
main(void)
{
    rondo_comm *comm = NULL;
    rondo_status status = rondo_comm_create(NULL, &comm);

    if (status != RONDO_OK) {
        fprintf(stderr, "rondo_comm_create: %s\n", rondo_error_text());
        return 1;
    }
    const uint32_t rank = rondo_comm_rank(comm);
    const uint32_t nranks = rondo_comm_nranks(comm);
    float in[COUNT], sum[COUNT];

    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)(rank + 1) * (float)i;
    }
    status = rondo_all_reduce(comm, in, sum, COUNT, RONDO_FP32, RONDO_SUM);
    if (status != RONDO_OK) {
        fprintf(stderr, "rondo_all_reduce: %s\n", rondo_comm_error_text(comm));
        rondo_comm_destroy(comm);
        return 1;
    }
    const int wrong = wrong_elements(sum, nranks);
    printf("rank %u of %u: %d wrong\n", (unsigned)rank, (unsigned)nranks, wrong);
    rondo_comm_destroy(comm);
    return wrong != 0;
}
