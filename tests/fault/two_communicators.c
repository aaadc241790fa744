/* two_communicators.c - two communicators on two threads of each rank, entered in
 * opposite order on two ranks with 4 MiB each, never block each other.
 * ctest: hosts */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/ranks.h"

#define COUNT  (1 << 20)
#define ROUNDS 6

/* One thread of a rank, with a communicator of its own. */
typedef struct driver {
    rank_self *self;
    rondo_comm *comm;
    uint64_t delay_ms; /* who enters first differs from rank to rank */
    float factor;
} driver;

static void *
drive(void *argument)
{
    const driver *const own = argument;
    rank_self *const self = own->self;
    float *const in = malloc(COUNT * sizeof *in);
    float *const out = malloc(COUNT * sizeof *out);
    const float share = own->factor * (float)(self->rank + 1);
    bool good = in != NULL && out != NULL;

    for (int round = 0; good && round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
            in[i] = share * (float)(i % 100 + round);
        }
        rank_pause(own->delay_ms);
        good = rank_expect_status(
            self, rondo_all_reduce(own->comm, in, out, COUNT, RONDO_FP32, RONDO_SUM),
            RONDO_OK, own->comm, "all_reduce");
        for (int i = 0; good && i < COUNT; i++) {
            const float want = 3.0F * own->factor * (float)(i % 100 + round);
            good = rank_expect(self, out[i] == want, "element %d is %g, not %g", i,
                               (double)out[i], (double)want);
        }
    }
    free(in);
    free(out);
    return NULL;
}

static void
opposite(rank_self *self)
{
    rondo_comm *first = NULL;
    rondo_comm *second = NULL;
    pthread_t thread;

    if (!rank_join(self, 10000, &first) ||
        !rank_expect_status(self, rondo_comm_split(first, 0, 0, &second), RONDO_OK,
                            first, "rondo_comm_split")) {
        return;
    }
    driver one = {self, first, self->rank == 0 ? 0 : 40, 1.0F};
    driver other = {self, second, self->rank == 0 ? 40 : 0, 2.0F};
    if (rank_expect(self, pthread_create(&thread, NULL, drive, &other) == 0,
                    "no thread")) {
        (void)drive(&one);
        (void)pthread_join(thread, NULL);
    }
    rondo_comm_destroy(second);
    rondo_comm_destroy(first);
}

static void
processes(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, opposite, NULL, 30000);
}

static void
threads(void **state)
{
    (void)state;
    run_ranks(2, AS_THREADS, opposite, NULL, 30000);
}

/* The stricter form: each thread enters its call and only then lets the other rank's
 * same thread go, so that both calls are certainly entered before either can end. */
static void *
enter_then_release(void *argument)
{
    const driver *const own = argument;
    rank_self *const self = own->self;
    const uint32_t lane = own->factor > 1.0F ? 1 : 0;
    const bool leads = self->rank == lane;
    float *const in = calloc(COUNT, sizeof *in);
    rondo_request *request = NULL;

    if (in == NULL || (!leads && !rank_reached(self, lane, lane, 10000))) {
        rank_expect(self, false, "the other rank did not enter");
        free(in);
        return NULL;
    }
    rondo_status status = rondo_all_reduce_start(own->comm, in, in, COUNT, RONDO_FP32,
                                                 RONDO_SUM, &request);
    rank_mark(self, lane);
    if (rank_expect_status(self, status, RONDO_OK, own->comm, "start")) {
        status = rondo_request_wait(request, RONDO_WAIT_FOREVER);
        rank_expect_status(self, status, RONDO_OK, own->comm, "wait");
    }
    free(in);
    return NULL;
}

static void
crossed(rank_self *self)
{
    rondo_comm *comm[2] = {NULL, NULL};
    pthread_t thread;

    if (!rank_join(self, 10000, &comm[0]) ||
        !rank_expect_status(self, rondo_comm_split(comm[0], 0, 0, &comm[1]), RONDO_OK,
                            comm[0], "rondo_comm_split")) {
        return;
    }
    driver one = {self, comm[0], 0, 1.0F};
    driver other = {self, comm[1], 0, 2.0F};
    if (rank_expect(self,
                    pthread_create(&thread, NULL, enter_then_release, &other) == 0,
                    "no thread")) {
        (void)enter_then_release(&one);
        (void)pthread_join(thread, NULL);
    }
    rondo_comm_destroy(comm[1]);
    rondo_comm_destroy(comm[0]);
}

static void
entered_crosswise(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, crossed, NULL, 30000);
    run_ranks(2, AS_THREADS, crossed, NULL, 30000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes),
        cmocka_unit_test(threads),
        cmocka_unit_test(entered_crosswise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
