/* s09_counts.c - ranks that pass different counts or types: an error on all of them,
 * and nothing written behind the smaller buffer (it ends at a page that cannot be
 * touched).
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/differ.h"

/* What rank 0 calls and what the others call. */
typedef struct example {
    call odd, even; /* buffers are filled in */
    const char *parts[5];
} example;

static const example examples[] = {
    {{CALL_ALL_REDUCE, NULL, NULL, 256000, RONDO_FP32, RONDO_SUM, 0},
     {CALL_ALL_REDUCE, NULL, NULL, 512000, RONDO_FP32, RONDO_SUM, 0},
     {"rank 0", "256000", "512000", NULL}},
    {{CALL_ALL_REDUCE, NULL, NULL, 512000, RONDO_FP32, RONDO_SUM, 0},
     {CALL_ALL_REDUCE, NULL, NULL, 256000, RONDO_FP32, RONDO_SUM, 0},
     {"rank 0", "256000", "512000", NULL}},
    {{CALL_ALL_REDUCE, NULL, NULL, 1, RONDO_FP32, RONDO_SUM, 0},
     {CALL_ALL_REDUCE, NULL, NULL, 2, RONDO_FP32, RONDO_SUM, 0},
     {"rank 0", "of 1 ", "of 2 ", NULL}},
    {{CALL_ALL_REDUCE, NULL, NULL, 2000, RONDO_BF16, RONDO_SUM, 0},
     {CALL_ALL_REDUCE, NULL, NULL, 1000, RONDO_FP32, RONDO_SUM, 0},
     {"rank 0", "bf16", "fp32", NULL}},
    {{CALL_BROADCAST, NULL, NULL, 5000, RONDO_FP32, RONDO_SUM, 0},
     {CALL_BROADCAST, NULL, NULL, 3000, RONDO_FP32, RONDO_SUM, 0},
     {"rank 0", "5000", "3000", NULL}},
};

/* `bytes` that end at a page nobody may touch. */
static void *
guarded(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (bytes + page - 1) / page * page;
    unsigned char *const memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + room, page, PROT_NONE) != 0) {
        return NULL;
    }
    return memory + room - bytes;
}

static void
differ(rank_self *self)
{
    const example *const shown = self->user;
    call mine = self->rank == 0 ? shown->odd : shown->even;
    const size_t bytes = mine.count * rondo_dtype_bytes(mine.dtype);
    rondo_comm *comm = NULL;

    mine.in = guarded(bytes);
    mine.out = guarded(bytes);
    if (!rank_expect(self, mine.in != NULL && mine.out != NULL, "no memory") ||
        !rank_join(self, 20000, &comm)) {
        return;
    }
    calls_differ(self, comm, &mine, shown->parts);
    rondo_comm_destroy(comm);
}

static void
every_example(void **state)
{
    (void)state;
    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++) {
        example shown = examples[e];
        run_ranks(4, AS_PROCESSES, differ, &shown, 30000);
        run_ranks(4, AS_THREADS, differ, &shown, 30000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
