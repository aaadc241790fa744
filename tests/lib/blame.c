/* blame.c - checks on errors that come from another rank's failure. */
#include "lib/blame.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESTROY_MS 2000

/* "send to rank 2" and "recv from rank 2" say what was called and blame nobody. */
static bool
is_the_call(const char *text, const char *at)
{
    return (at - text >= 8 && strncmp(at - 8, "send to ", 8) == 0) ||
           (at - text >= 10 && strncmp(at - 10, "recv from ", 10) == 0);
}

bool
blame_only(rank_self *self, const char *text, uint32_t culprit)
{
    char own[32];
    bool named = false;

    (void)snprintf(own, sizeof own, "rank %u of %u", self->rank, self->nranks);
    const char *const front = strstr(text, own);
    const char *at = front != NULL ? front + strlen(own) : text;
    for (at = strstr(at, "rank "); at != NULL; at = strstr(at + 1, "rank ")) {
        if (!isdigit((unsigned char)at[5]) || is_the_call(text, at)) {
            continue;
        }
        const unsigned long rank = strtoul(at + 5, NULL, 10);
        if (!rank_expect(self, rank == culprit, "rank %u is to blame, not %lu: \"%s\"",
                         culprit, rank, text)) {
            return false;
        }
        named = true;
    }
    return rank_expect(self, named, "rank %u is not named in \"%s\"", culprit, text);
}

rondo_status
blame_loop(rank_self *self, rondo_comm *comm, const call *made, uint64_t rounds)
{
    rondo_status status = RONDO_OK;

    for (uint64_t i = 0; status == RONDO_OK && i < rounds; i++) {
        rank_note(self, "%s %d of %d", call_text(made->kind), (int)i, (int)made->count);
        status = call_run(comm, made);
    }
    return status;
}

/* Where the call reads, as what may be freed. */
static void *
in_of(const call *made)
{
    void *in = NULL;

    memcpy(&in, &made->in, sizeof in);
    return in;
}

void
blame_leave(rank_self *self, rondo_comm *comm, call *made, const leftover *before)
{
    char text[RANK_TEXT_MAX];
    const uint64_t begin_ms = test_now_ms();

    rank_note(self, "destroying");
    rondo_comm_destroy(comm);
    const uint64_t took_ms = test_now_ms() - begin_ms;
    rank_expect(self, took_ms < DESTROY_MS, "destroy took %d ms", (int)took_ms);
    if (made != NULL) {
        rondo_mem_free(in_of(made));
        rondo_mem_free(made->out);
    }
    /* Threads share what is counted; the last one to leave would be to blame. */
    if (self->kind == AS_PROCESSES) {
        rank_expect(self, leftover_same(before, text, sizeof text),
                    "left behind: %.500s", text);
    }
}

bool
blame_buffers(rank_self *self, call_kind kind, uint64_t count, call *made)
{
    void *block[2] = {NULL, NULL};
    const size_t bytes = count * self->nranks * sizeof(float);
    bool good = true;

    for (int i = 0; i < 2; i++) {
        good = good && rank_expect_status(self, rondo_mem_alloc(bytes, &block[i]),
                                          RONDO_OK, NULL, "rondo_mem_alloc");
    }
    *made = (call){kind, block[0], block[1], count, RONDO_FP32, RONDO_SUM, 0};
    return good;
}

bool
blame_mapped(rank_self *self, rondo_comm *comm, call *made)
{
    return rank_expect_status(self, rondo_mem_register(comm, in_of(made)), RONDO_OK,
                              comm, "rondo_mem_register") &&
           rank_expect_status(self, rondo_mem_register(comm, made->out), RONDO_OK, comm,
                              "rondo_mem_register");
}
