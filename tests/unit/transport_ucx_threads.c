/* transport_ucx_threads.c - several threads, each with ranks of its own, on one wire:
 * whoever has the lock makes progress for all. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "lib/fakehosts.h"
#include "lib/traffic.h"

#define PATIENCE_MS 30000
#define COMMS       4

static const uint64_t sizes[] = {8, 0, 128, 129, 5000, 8000, 30000, 1, 64, 100000};

/* A thread drives one rank of one communicator: flows to and from all others. */
struct worker {
    pthread_t thread;
    fakehosts *hosts;
    rondo_transport *transport;
    uint64_t comm;
    uint32_t rank;
    uint64_t rounds;
    bool good;
    char why[400];
};

static void
flow_set(const struct worker *worker, traffic_flow *flow, uint32_t peer, bool outward)
{
    const uint32_t from = outward ? worker->rank : peer;
    const uint32_t to = outward ? peer : worker->rank;

    *flow = (traffic_flow){.transport = worker->transport,
                           .peer = peer,
                           .lane = (rondo_lane)(worker->comm % RONDO_LANES),
                           .seed = worker->comm * 100 + from * 10 + to,
                           .sizes = sizes,
                           .nsizes = sizeof sizes / sizeof sizes[0],
                           .nmessages = worker->rounds};
}

/* One call of each flow; true: all are through. */
static bool
step_all(struct worker *worker, traffic_flow flows[][2])
{
    bool all = true;

    for (uint32_t peer = 0; peer < worker->hosts->nranks; peer++) {
        if (peer == worker->rank) {
            continue;
        }
        const rondo_status sent = traffic_send(&flows[peer][0]);
        const rondo_status received = traffic_receive(&flows[peer][1]);
        if (sent < 0 || received < 0) {
            (void)snprintf(worker->why, sizeof worker->why, "%d %d: %s; %s", sent,
                           received, flows[peer][1].why, rondo_error_text());
            return true;
        }
        all = all && sent == RONDO_OK && received == RONDO_OK;
    }
    return all;
}

static void *
work(void *user)
{
    struct worker *const worker = user;
    traffic_flow flows[FAKEWIRES_MAX][2];
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS);
    bool all = false;

    for (uint32_t peer = 0; peer < worker->hosts->nranks; peer++) {
        flow_set(worker, &flows[peer][0], peer, true);
        flow_set(worker, &flows[peer][1], peer, false);
    }
    while (!all && rondo_now_ns() < deadline_ns) {
        all = step_all(worker, flows);
        (void)sched_yield();
    }
    if (!all) {
        (void)snprintf(worker->why, sizeof worker->why, "not through in time");
    }
    rondo_ucx_flush(worker->transport, RONDO_NS_PER_S);
    worker->good = worker->why[0] == '\0';
    return NULL;
}

/* nranks ranks of COMMS communicators on few wires, a thread each. */
static void
run_workers(fakehosts *hosts, uint64_t rounds)
{
    static struct worker workers[COMMS * 8];
    const uint32_t n = COMMS * hosts->nranks;

    memset(workers, 0, sizeof workers);
    fakehosts_open(hosts);
    for (uint32_t i = 0; i < n; i++) {
        struct worker *const worker = &workers[i];
        worker->hosts = hosts;
        worker->comm = i / hosts->nranks;
        worker->rank = i % hosts->nranks;
        worker->rounds = rounds;
        worker->transport = fakehosts_rank(hosts, worker->comm, worker->rank);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]),
                         0);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(workers[i].why, "");
        workers[i].transport->ops->destroy(workers[i].transport);
    }
    fakehosts_end(hosts);
}

static void
threads_share_a_wire(void **state)
{
    static const uint32_t shapes[][2] = {{2, 2}, {4, 2}, {4, 4}, {3, 1}};

    (void)state;
    for (uint64_t k = 0; k < 4; k++) {
        fakehosts hosts = {.wire = {.seed = k, .late_percent = 40, .idle_percent = 30},
                           .nranks = shapes[k][0],
                           .nwires = shapes[k][1]};
        run_workers(&hosts, 20);
    }
}

/* A thread that does nothing but arm, as the service does, beside two that work. */
struct armer {
    rondo_ucx *ucx;
    _Atomic bool stop;
};

static void *
arm_always(void *user)
{
    struct armer *const armer = user;

    while (!atomic_load(&armer->stop)) {
        (void)rondo_ucx_arm(armer->ucx);
        (void)sched_yield();
    }
    return NULL;
}

static void
a_service_may_make_progress_too(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};
    struct worker workers[2];
    struct armer armers[2];
    pthread_t threads[2];

    (void)state;
    memset(workers, 0, sizeof workers);
    fakehosts_make(&hosts);
    for (uint32_t i = 0; i < 2; i++) {
        workers[i] = (struct worker){
            .hosts = &hosts, .transport = hosts.ranks[i], .rank = i, .rounds = 60};
        armers[i] = (struct armer){.ucx = hosts.ucx[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, arm_always, &armers[i]), 0);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]),
                         0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_string_equal(workers[i].why, "");
    }
    for (uint32_t i = 0; i < 2; i++) {
        atomic_store(&armers[i].stop, true);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    fakehosts_end(&hosts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_wire),
        cmocka_unit_test(a_service_may_make_progress_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
