/* differ.c - checks on the errors of ranks that made different calls. */
#include "lib/differ.h"

#define BOUND_MS 5000

bool
calls_differ(rank_self *self, rondo_comm *comm, const call *mine,
             const char *const *parts)
{
    const uint64_t begin_ms = test_now_ms();

    rank_note(self, "%s of %d, which differs", call_text(mine->kind), (int)mine->count);
    rondo_status status = call_run(comm, mine);
    if (status == RONDO_OK) {
        rank_note(self, "barrier after a %s that differed", call_text(mine->kind));
        status = rondo_barrier(comm);
    }
    const uint64_t took_ms = test_now_ms() - begin_ms;
    bool good = rank_expect_status(self, status, RONDO_ERR_MISMATCH, comm,
                                   call_text(mine->kind));
    for (const char *const *part = parts; good && *part != NULL; part++) {
        good = rank_expect_text(self, rondo_comm_error_text(comm), *part,
                                call_text(mine->kind));
    }
    good = good && rank_expect(self, took_ms < BOUND_MS, "noticed after %d ms only",
                               (int)took_ms);
    return good &&
           rank_expect_status(self, rondo_barrier(comm), RONDO_ERR_MISMATCH, comm,
                              "a later call") &&
           rank_expect(self, rondo_comm_state(comm) == RONDO_ERR_MISMATCH,
                       "the state is %s", rondo_status_name(rondo_comm_state(comm)));
}
