/* trainer_agree.c - one wrong bit on one rank: the comparison of parameters finds it on
 * every rank and names the one that differs. */
#include "lib/ranks.h"
#include "trainer/agree.h"
#include "trainer/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define FLOATS      1000u
#define DEADLINE_MS 20000u

/* The rank whose parameters get a wrong bit; none if it is the number of ranks. */
static uint32_t odd_rank;

static void
compare_as_rank(rank_self *self)
{
    ranks all = {.rank = self->rank, .count = self->nranks};
    if (!rank_join(self, DEADLINE_MS, &all.comm)) {
        return;
    }
    float parameter[FLOATS];
    for (uint32_t i = 0; i < FLOATS; i++) {
        parameter[i] = (float)i;
    }
    if (self->rank == odd_rank) {
        parameter[FLOATS / 2] = -parameter[FLOATS / 2];
    }
    problem why = {.text = ""};
    const uint64_t hash = hash_bytes(parameter, sizeof parameter);
    const bool same = agree_parameters(&all, hash, 17, &why);
    const bool all_equal = odd_rank == self->nranks;
    rank_expect(self, same == all_equal, "the comparison says %s",
                same ? "same" : "not");
    if (!all_equal) {
        /* Two ranks cannot outvote each other: then rank 0 counts as right. */
        char named[64];
        (void)snprintf(named, sizeof named,
                       "after step 17 the parameters of rank %u differ",
                       self->nranks == 2 ? 1 : odd_rank);
        rank_expect_text(self, why.text, named, "agree_parameters");
        rank_expect(self, why.known_to_all, "not known to all");
    }
    ranks_leave(&all);
}

static void
test_the_odd_rank_is_named_on_all(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 5; count++) {
        for (odd_rank = count == 1 ? 1 : 0; odd_rank <= count; odd_rank++) {
            run_ranks(count, AS_PROCESSES, compare_as_rank, NULL, DEADLINE_MS);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_odd_rank_is_named_on_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
