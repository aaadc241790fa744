/*
 * all_reduce.c - the first program: every rank brings a vector, all get the sum.
 *
 *   cc all_reduce.c $(pkg-config --cflags --libs rondo) -o all_reduce
 *   rondo-run -n 2 ./all_reduce
 */
#include <rondo/rondo.h>
#include <stdio.h>

int
main(void)
{
    enum { COUNT = 1000 };
    float in[COUNT], sum[COUNT];
    rondo_comm *comm = NULL;
    int wrong = 0;

    if (rondo_comm_create(NULL, &comm) != RONDO_OK) {
        fprintf(stderr, "all_reduce: %s\n", rondo_error_text());
        return 1;
    }
    const unsigned rank = rondo_comm_rank(comm), nranks = rondo_comm_nranks(comm);
    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)((rank + 1) * (unsigned)i);
    }
    if (rondo_all_reduce(comm, in, sum, COUNT, RONDO_FP32, RONDO_SUM) != RONDO_OK) {
        fprintf(stderr, "all_reduce: %s\n", rondo_comm_error_text(comm));
        return 1;
    }
    for (int i = 0; i < COUNT; i++) {
        wrong += sum[i] != (float)(nranks * (nranks + 1) / 2 * (unsigned)i);
    }
    printf("rank %u of %u: %d wrong\n", rank, nranks, wrong);
    rondo_comm_destroy(comm);
    return wrong != 0;
}
