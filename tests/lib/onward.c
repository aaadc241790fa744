/* onward.c - a communicator that was shrunk works like any other. */
#include "lib/onward.h"

#define FLOATS 70000

static rondo_status
in_place(rank_self *self, rondo_comm *comm, float *block)
{
    const uint32_t nranks = rondo_comm_nranks(comm);
    const float mine = (float)(rondo_comm_rank(comm) + 1);
    const float sum = (float)(nranks * (nranks + 1) / 2);

    for (uint32_t i = 0; i < FLOATS; i++) {
        block[i] = mine;
    }
    const rondo_status status =
        rondo_all_reduce(comm, block, block, FLOATS, RONDO_FP32, RONDO_SUM);
    for (uint32_t i = 0; status == RONDO_OK && i < FLOATS; i += 997) {
        rank_expect(self, block[i] == sum, "element %u is %g, not %g", i,
                    (double)block[i], (double)sum);
    }
    return status;
}

/* Messages, then mapped memory. */
static rondo_status
reduce(rank_self *self, rondo_comm *comm)
{
    void *block = NULL;
    rondo_status status = rondo_mem_alloc(FLOATS * sizeof(float), &block);

    if (status == RONDO_OK) {
        status = in_place(self, comm, block);
    }
    if (status == RONDO_OK) {
        status = rondo_mem_register(comm, block);
    }
    if (status == RONDO_OK) {
        status = in_place(self, comm, block);
    }
    if (status == RONDO_OK) {
        status = rondo_mem_deregister(comm, block);
    }
    rondo_mem_free(block);
    return status;
}

static rondo_status
shift(rank_self *self, rondo_comm *comm)
{
    const uint32_t nranks = rondo_comm_nranks(comm);
    const uint32_t rank = rondo_comm_rank(comm);
    const uint32_t before = (rank + nranks - 1) % nranks;
    rondo_request *request = NULL;
    uint32_t got = UINT32_MAX;

    if (nranks == 1) {
        return RONDO_OK;
    }
    rondo_status status =
        rondo_recv_start(comm, &got, 1, RONDO_UINT32, before, &request);
    if (status == RONDO_OK) {
        status = rondo_send(comm, &rank, 1, RONDO_UINT32, (rank + 1) % nranks);
        const rondo_status received = rondo_request_wait(request, RONDO_WAIT_FOREVER);
        status = status == RONDO_OK ? received : status;
    }
    if (status == RONDO_OK) {
        rank_expect(self, got == before, "%u came from rank %u", got, before);
    }
    return status;
}

static rondo_status
parts(rank_self *self, rondo_comm *comm)
{
    const uint32_t rank = rondo_comm_rank(comm);
    const uint32_t nranks = rondo_comm_nranks(comm);
    const uint32_t one = 1;
    uint32_t sum = 0;
    rondo_comm *part = NULL;

    rondo_status status = rondo_comm_split(comm, (int32_t)(rank % 2), 0, &part);
    if (status == RONDO_OK) {
        rank_expect(self, rondo_comm_former_rank(part, 0) == rank % 2,
                    "rank 0 of the part was rank %u", rondo_comm_former_rank(part, 0));
        status = rondo_all_reduce(part, &one, &sum, 1, RONDO_UINT32, RONDO_SUM);
    }
    if (status == RONDO_OK) {
        rank_expect(self, sum == (nranks + 1 - rank % 2) / 2, "the part has %u ranks",
                    sum);
    }
    rondo_comm_destroy(part);
    return status;
}

rondo_status
onward_among(rank_self *self, rondo_comm *comm)
{
    rondo_status status = reduce(self, comm);

    if (status == RONDO_OK) {
        status = shift(self, comm);
    }
    if (status == RONDO_OK) {
        status = parts(self, comm);
    }
    return status == RONDO_OK ? rondo_barrier(comm) : status;
}

bool
onward_works(rank_self *self, rondo_comm *comm, const uint32_t *origin,
             uint32_t norigin)
{
    const uint32_t nranks = rondo_comm_nranks(comm);
    uint32_t seen[RANKS_MAX];

    if (!rank_expect(self, nranks == norigin, "%u ranks go on, not %u", nranks,
                     norigin)) {
        return false;
    }
    rondo_status status = rondo_all_gather(comm, &self->rank, seen, 1, RONDO_UINT32);
    for (uint32_t i = 0; status == RONDO_OK && i < nranks; i++) {
        rank_expect(self, seen[i] == origin[i], "rank %u is %u, not %u", i, seen[i],
                    origin[i]);
    }
    status = status == RONDO_OK ? onward_among(self, comm) : status;
    return rank_expect_status(self, status, RONDO_OK, comm, "going on");
}
