/* mapped.c - registered buffers: the mapped path is taken when all ranks can, never
 * when one cannot; results are right either way, in place and not, also mixed.
 * ctest: timeout=180 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/ranks.h"

#define COUNT_MAX  200003
#define RANKS_HERE 5

/* Which ranks use what in a round. */
typedef enum habit {
    ALL_MAPPED,
    ALL_IN_PLACE,
    EVEN_IN_PLACE,
    LAST_UNMAPPED, /* one rank's buffers are its own */
    INSIDE,        /* at an offset within the block, unaligned */
    HABITS
} habit;

static const uint64_t counts[] = {0, 1, 3, 4096, 5000, 65536, COUNT_MAX};

static uint64_t
mapped_bytes(const rondo_comm *comm)
{
    rondo_comm_counters counters = {.size = sizeof counters};

    return rondo_comm_counters_get(comm, &counters) == RONDO_OK ? counters.mapped_bytes
                                                                : UINT64_MAX;
}

typedef struct buffers {
    unsigned char *in;
    unsigned char *out;
    unsigned char *own_in;
    unsigned char *own_out;
} buffers;

static void
one_round(rank_self *self, rondo_comm *comm, const buffers *all, habit how,
          uint64_t count)
{
    const bool apart = how == LAST_UNMAPPED && self->rank == self->nranks - 1;
    const bool in_place =
        how == ALL_IN_PLACE || (how == EVEN_IN_PLACE && self->rank % 2 == 0);
    const uint64_t shift = how == INSIDE ? 4 * self->rank + 1 : 0;
    unsigned char *const in = (apart ? all->own_in : all->in) + shift;
    unsigned char *const out =
        in_place ? in : (apart ? all->own_out : all->out) + shift;
    const uint64_t before = mapped_bytes(comm);

    for (uint64_t i = 0; i < count; i++) {
        const int32_t value = (int32_t)(i * 3 + self->rank * 1000);
        memcpy(in + i * 4, &value, 4);
    }
    memset(out + count * 4, 0x5a, 4);
    const rondo_status status =
        rondo_all_reduce(comm, in, out, count, RONDO_INT32, RONDO_SUM);
    rank_expect(self, status == RONDO_OK, "habit %d, count %llu: %s", (int)how,
                (unsigned long long)count, rondo_comm_error_text(comm));
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t n = self->nranks;
        int32_t sum = 0;

        memcpy(&sum, out + i * 4, 4);
        rank_expect(self, sum == (int32_t)(i * 3 * n + 500 * n * (n - 1)),
                    "habit %d, count %llu: element %llu is %d", (int)how,
                    (unsigned long long)count, (unsigned long long)i, sum);
    }
    rank_expect(self, out[count * 4] == 0x5a, "habit %d: written past the end",
                (int)how);
    const bool used = mapped_bytes(comm) != before;
    /* Where it pays is for the tuner to say; that far up it always does. */
    const bool wanted = how != LAST_UNMAPPED && self->nranks > 1;
    rank_expect(self, used == wanted || (!used && count < 65536),
                "habit %d, count %llu: the mapped path was%s taken", (int)how,
                (unsigned long long)count, used ? "" : " not");
}

static void
rounds(rank_self *self)
{
    static unsigned char own[2][RANKS_HERE][COUNT_MAX * 4 + 256];
    rondo_comm *comm = NULL;
    buffers all = {.own_in = own[0][self->rank], .own_out = own[1][self->rank]};
    void *in = NULL;
    void *out = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    rank_expect(self, rondo_mem_alloc(COUNT_MAX * 4 + 256, &in) == RONDO_OK, "alloc");
    rank_expect(self, rondo_mem_alloc(COUNT_MAX * 4 + 256, &out) == RONDO_OK, "alloc");
    rank_expect(self, rondo_mem_register(comm, in) == RONDO_OK, "%s",
                rondo_comm_error_text(comm));
    rank_expect(self, rondo_mem_register(comm, out) == RONDO_OK, "%s",
                rondo_comm_error_text(comm));
    rank_expect(self, rondo_mem_register(comm, out) == RONDO_ERR_ARG, "twice");
    all.in = in;
    all.out = out;
    for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (uint32_t how = 0; how < HABITS; how++) {
            one_round(self, comm, &all, (habit)how, counts[i]);
        }
    }
    rank_expect(self, rondo_mem_deregister(comm, in) == RONDO_OK, "%s",
                rondo_comm_error_text(comm));
    /* With IN no longer mapped, all fall back. */
    one_round(self, comm, &all, LAST_UNMAPPED, COUNT_MAX);
    rank_expect(self, rondo_mem_register(comm, in) == RONDO_OK, "%s",
                rondo_comm_error_text(comm));
    one_round(self, comm, &all, ALL_MAPPED, COUNT_MAX);
    rondo_comm_destroy(comm);
    rondo_mem_free(in);
    rondo_mem_free(out);
}

static void
mapped_or_not(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= RANKS_HERE; nranks++) {
        run_ranks(nranks, AS_PROCESSES, rounds, NULL, 60000);
        run_ranks(nranks, AS_THREADS, rounds, NULL, 60000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mapped_or_not)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
