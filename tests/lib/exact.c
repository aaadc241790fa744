/* exact.c - calls compared with the naive model. */
#include "lib/exact.h"

#include <string.h>

#include "lib/model.h"

/* What OUT of `made` must hold; its bytes. */
static uint64_t
expected(const call *made, const model *numbers, uint32_t rank, unsigned char *want)
{
    const uint32_t nranks = numbers->nranks;
    const uint64_t bytes = made->count * rondo_dtype_bytes(made->dtype);

    switch (made->kind) {
    case CALL_ALL_REDUCE:
    case CALL_REDUCE:
        model_result(numbers, 0, made->count, want);
        break;
    case CALL_REDUCE_SCATTER:
        model_result(numbers, rank * made->count, made->count, want);
        break;
    case CALL_ALL_GATHER:
        for (uint32_t r = 0; r < nranks; r++) {
            model_input(numbers, r, 0, made->count, want + r * bytes);
        }
        break;
    case CALL_BROADCAST:
        model_input(numbers, made->root, 0, made->count, want);
        break;
    case CALL_SHIFT:
        model_input(numbers, (rank + nranks - 1) % nranks, 0, made->count, want);
        break;
    case CALL_BARRIER:
    case CALLS:
        break;
    }
    return call_out_count(made, rank, nranks) * rondo_dtype_bytes(made->dtype);
}

bool
exact_call(rank_self *self, rondo_comm *comm, call *made, const exact_areas *at)
{
    const uint32_t nranks = self->nranks;
    const model numbers = {made->dtype, made->op, nranks, 7 + made->count};
    const uint64_t reads = call_in_count(made, self->rank, nranks);

    made->in = at->in;
    made->out = at->out;
    model_input(&numbers, self->rank, 0, reads, at->in);
    const uint64_t bytes = expected(made, &numbers, self->rank, at->want);
    memset(at->out, 0xa5, bytes);
    rank_note(self, "%s of %d %s", call_text(made->kind), (int)made->count,
              rondo_dtype_text(made->dtype));
    return rank_expect_status(self, call_run(comm, made), RONDO_OK, comm,
                              call_text(made->kind)) &&
           rank_expect(self, memcmp(at->out, at->want, bytes) == 0,
                       "%s of %d %s: another result", call_text(made->kind),
                       (int)made->count, rondo_dtype_text(made->dtype));
}

bool
exact_every_kind(rank_self *self, rondo_comm *comm, const call *like,
                 const exact_areas *at)
{
    bool good = true;

    for (call_kind kind = 0; good && kind < CALLS; kind++) {
        call made = *like;
        made.kind = kind;
        made.root = (uint32_t)((uint64_t)kind + like->count) % self->nranks;
        good = exact_call(self, comm, &made, at);
    }
    return good;
}
