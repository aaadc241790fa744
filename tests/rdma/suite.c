/* suite.c - the library over real RDMA verbs, TCP left out: every collective exact, a
 * killed rank, a call that differs, registered memory, a training run. Boots the guest
 * of tests/rdma/vm once and runs itself there.
 * ctest: timeout=600 label=slow serial label=noasan label=notsan */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/blame.h"
#include "lib/differ.h"
#include "lib/exact.h"
#include "lib/guest.h"
#include "lib/halfway.h"

#define GUEST_SECONDS 480
/* Emulated cores, and two of them: what takes a moment elsewhere takes seconds. */
#define SLOW_MS    60000
#define STRIKE_MS  8000
#define WIRE_BYTES 4096 /* of data in one packet, at most */

/* Some of the ranks are on host a, the others on b. */
typedef struct layout {
    uint32_t nranks;
    uint32_t on_a;
} layout;

static const layout layouts[] = {{2, 1}, {3, 2}, {4, 2}};

static bool
join(rank_self *self, const layout *spread, rondo_comm **comm)
{
    guest_host(self->rank >= spread->on_a);
    (void)setenv("RONDO_START_TIMEOUT", "60", 1);
    return rank_join(self, SLOW_MS, comm);
}

/* --- every collective ------------------------------------------------------------- */

#define COUNT_MAX 100003

static const struct {
    rondo_dtype dtype;
    rondo_op op;
} numbers[] = {{RONDO_INT32, RONDO_SUM},
               {RONDO_BF16, RONDO_SUM},
               {RONDO_FP32, RONDO_AVG},
               {RONDO_UINT8, RONDO_MAX}};

static void
exact(rank_self *self)
{
    const layout *const spread = self->user;
    const uint32_t n = self->nranks;
    const uint64_t counts[] = {0, 1, n - 1, n, n + 1, 4099, COUNT_MAX};
    const size_t room = (size_t)COUNT_MAX * n * 4;
    const exact_areas at = {malloc(room), malloc(room), malloc(room)};
    rondo_comm *comm = NULL;
    bool good = join(self, spread, &comm);

    for (size_t c = 0; good && c < sizeof counts / sizeof *counts; c++) {
        for (size_t e = 0; good && e < sizeof numbers / sizeof *numbers; e++) {
            const call like = {
                .count = counts[c], .dtype = numbers[e].dtype, .op = numbers[e].op};
            good = exact_every_kind(self, comm, &like, &at);
        }
    }
    rondo_comm_destroy(comm);
    free(at.in);
    free(at.out);
    free(at.want);
}

/* What the kernel has counted since; the least there must be, for `bytes` of data. */
static guest_traffic
expect_rdma(const guest_traffic *before, uint64_t bytes)
{
    guest_traffic since = guest_traffic_now();

    since.rdma_packets -= before->rdma_packets;
    since.rdma_sends -= before->rdma_sends;
    since.tcp_segments -= before->tcp_segments;
    print_message("  %d RDMA packets, %d sends; %d TCP segments\n",
                  (int)since.rdma_packets, (int)since.rdma_sends,
                  (int)since.tcp_segments);
    assert_true(since.rdma_sends > 0);
    assert_true(since.rdma_packets >= bytes / WIRE_BYTES);
    return since;
}

static void
every_collective(void **state)
{
    (void)state;
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        layout spread = layouts[l];
        const guest_traffic before = guest_traffic_now();
        print_message("  %u ranks, %u of them on host a\n", spread.nranks, spread.on_a);
        run_ranks(spread.nranks, AS_PROCESSES, exact, &spread, 2 * SLOW_MS);
        /* Each host's sum has to reach the other one, for all four types. */
        (void)expect_rdma(&before, UINT64_C(2) * COUNT_MAX * (4 + 2 + 4 + 1));
    }
}

/* --- registered memory ------------------------------------------------------------ */

#define LARGE  ((uint64_t)1 << 18)
#define ROUNDS 4

static uint64_t
zero_copied(rank_self *self, rondo_comm *comm, uint64_t *net_bytes)
{
    rondo_comm_counters counters = {.size = sizeof counters};

    rank_expect_status(self, rondo_comm_counters_get(comm, &counters), RONDO_OK, comm,
                       "counters");
    rank_expect(self, counters.hosts == 2, "%d hosts", (int)counters.hosts);
    *net_bytes = counters.net_sent_bytes;
    return counters.zero_copy_bytes;
}

/* All-reduces from memory of the moment: registered, all that is sent is sent from
 * where it lies; else nothing is. */
static bool
moved(rank_self *self, rondo_comm *comm, bool registered)
{
    const size_t bytes = LARGE * self->nranks * sizeof(float);
    exact_areas at = {NULL, NULL, malloc(bytes)};
    call made = {
        .kind = CALL_ALL_REDUCE, .count = LARGE, .dtype = RONDO_FP32, .op = RONDO_SUM};
    void **const block[2] = {&at.in, &at.out};
    uint64_t net_before = 0;
    uint64_t net_after = 0;
    bool good = true;

    for (int i = 0; i < 2; i++) {
        good = good &&
               rank_expect_status(self, rondo_mem_alloc(bytes, block[i]), RONDO_OK,
                                  NULL, "rondo_mem_alloc") &&
               (!registered ||
                rank_expect_status(self, rondo_mem_register(comm, *block[i]), RONDO_OK,
                                   comm, "rondo_mem_register"));
    }
    const uint64_t zero_before = zero_copied(self, comm, &net_before);
    for (int round = 0; good && round < ROUNDS; round++) {
        good = exact_call(self, comm, &made, &at);
    }
    const uint64_t zero = zero_copied(self, comm, &net_after) - zero_before;
    const uint64_t net = net_after - net_before;
    rank_expect(self, registered ? zero >= net / 10 * 9 : zero == 0,
                "%llu of %llu bytes went without a copy", (unsigned long long)zero,
                (unsigned long long)net);
    rank_expect(self, net >= ROUNDS * LARGE, "%llu bytes", (unsigned long long)net);
    for (int i = 0; i < 2; i++) {
        good = good && (!registered ||
                        rank_expect_status(self, rondo_mem_deregister(comm, *block[i]),
                                           RONDO_OK, comm, "rondo_mem_deregister"));
        rondo_mem_free(*block[i]);
    }
    free(at.want);
    return good;
}

static void
zero_copy(rank_self *self)
{
    rondo_comm *comm = NULL;

    if (join(self, self->user, &comm)) {
        /* The second block may get the address of the first; what the device knows of
         * that must be forgotten. */
        (void)(moved(self, comm, true) && moved(self, comm, true) &&
               moved(self, comm, false));
    }
    rondo_comm_destroy(comm);
}

static void
registered_memory(void **state)
{
    layout spread = {2, 1};
    const guest_traffic before = guest_traffic_now();

    (void)state;
    run_ranks(2, AS_PROCESSES, zero_copy, &spread, 2 * SLOW_MS);
    const guest_traffic since =
        expect_rdma(&before, 3 * ROUNDS * 2 * LARGE * sizeof(float));
    /* What the ranks have to tell each other about a call fits a few; the data alone
     * would be as many as the packets. */
    assert_true(since.tcp_segments < since.rdma_packets / 4);
}

/* --- a killed rank ---------------------------------------------------------------- */

typedef struct strike {
    layout spread;
    uint32_t victim;
    uint64_t count;
} strike;

/* What ranks and director share. */
static struct blow {
    strike of;
    _Atomic uint64_t struck_ms;
} * blow;

static void
survive(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    call made;

    if (!blame_buffers(self, CALL_ALL_REDUCE, blow->of.count, &made) ||
        !join(self, &blow->of.spread, &comm) ||
        !rank_expect_status(self, blame_loop(self, comm, &made, 3), RONDO_OK, comm,
                            "before the strike")) {
        return;
    }
    rank_mark(self, 0);
    const rondo_status status = blame_loop(self, comm, &made, UINT64_MAX);
    const uint64_t noticed_ms = test_now_ms();
    const uint64_t struck_ms = atomic_load(&blow->struck_ms);
    rank_expect_status(self, status, RONDO_ERR_PEER, comm, "after the strike");
    rank_expect(self, struck_ms != 0, "failed before the strike: %s",
                rondo_comm_error_text(comm));
    rank_expect(self, noticed_ms < struck_ms + STRIKE_MS, "noticed after %d ms",
                (int)(noticed_ms - struck_ms));
    blame_only(self, rondo_comm_error_text(comm), blow->of.victim);
    rank_expect(self, strchr(rondo_comm_error_text(comm), '\n') == NULL,
                "more than one line: %s", rondo_comm_error_text(comm));
    if (self->rank == (blow->of.victim + 1) % self->nranks) {
        print_message("  after %d ms: %s\n", (int)(noticed_ms - struck_ms),
                      rondo_comm_error_text(comm));
    }
    blame_leave(self, comm, &made, &before);
}

static void
strike_when_all_loop(const rank_stage *stage, void *user)
{
    (void)user;
    for (uint32_t r = 0; r < stage->nranks; r++) {
        (void)stage_reached(stage, r, 0, SLOW_MS);
    }
    rank_pause(300);
    atomic_store(&blow->struck_ms, test_now_ms());
    (void)kill(stage->pid[blow->of.victim], SIGKILL);
}

static void
killed_rank(void **state)
{
    static rank_report report;
    static const strike strikes[] = {
        {{2, 1}, 1, 2}, {{2, 1}, 0, 1 << 18}, {{4, 2}, 3, 1 << 16}, {{4, 2}, 0, 2}};

    (void)state;
    for (size_t b = 0; b < sizeof strikes / sizeof *strikes; b++) {
        blow->of = strikes[b];
        atomic_store(&blow->struck_ms, 0);
        const rank_run run = {.nranks = blow->of.spread.nranks,
                              .kind = AS_PROCESSES,
                              .function = survive,
                              .deadline_ms = 2 * SLOW_MS,
                              .director = strike_when_all_loop};
        ranks_run(&run, &report);
        ranks_expect(&report, RANK_RETURNED, blow->of.victim);
    }
}

/* --- a peer that goes while the connection is made -------------------------------- */

/* A stopped peer is waited for as long as an operation may take. */
#define STOPPED_MS 5000

/* Turns that rank 1 takes at its first message before it goes; it is through sooner. */
static const struct {
    int turns;
    halfway_end end;
} moments[] = {
    {0, HALFWAY_DIES}, {0, HALFWAY_IS_LEFT},  {0, HALFWAY_STOPS},
    {1, HALFWAY_DIES}, {1, HALFWAY_IS_LEFT},  {1, HALFWAY_STOPS},
    {4, HALFWAY_DIES}, {4, HALFWAY_IS_LEFT},  {4, HALFWAY_STOPS},
    {9, HALFWAY_DIES}, {40, HALFWAY_IS_LEFT}, {40, HALFWAY_DIES},
};

static void
connect_half(rank_self *self)
{
    guest_host(self->rank == 1);
    halfway_run(self, self->user);
}

static void
half_connected(void **state)
{
    static rank_report report;

    (void)state;
    for (size_t m = 0; m < sizeof moments / sizeof *moments; m++) {
        halfway at = {moments[m].turns, moments[m].end, SLOW_MS, SLOW_MS};
        if (at.end == HALFWAY_STOPS) {
            at.op_timeout_ms = STOPPED_MS;
        }
        const rank_run run = {.nranks = 2,
                              .kind = AS_PROCESSES,
                              .function = connect_half,
                              .user = &at,
                              .deadline_ms = 2 * SLOW_MS,
                              .director = halfway_clear};
        ranks_run(&run, &report);
        if (report.outcome[0].end != RANK_RETURNED) {
            print_error("moment %d\n", (int)m);
        }
        ranks_expect(&report, RANK_RETURNED, at.end == HALFWAY_IS_LEFT ? RANKS_MAX : 1);
    }
}

/* --- a call that differs ---------------------------------------------------------- */

static void
quarrel(rank_self *self)
{
    static float in[8192], out[8192];
    static const char *const parts[] = {"4096", "4097", "rank 1", NULL};
    const layout *const spread = self->user;
    const call mine = {CALL_ALL_REDUCE, in,        out, self->rank == 1 ? 4097 : 4096,
                       RONDO_FP32,      RONDO_SUM, 0};
    rondo_comm *comm = NULL;

    if (!join(self, spread, &comm)) {
        return;
    }
    rank_expect_status(self, rondo_barrier(comm), RONDO_OK, comm, "before");
    if (rank_meet(self, 0, SLOW_MS)) {
        calls_differ(self, comm, &mine, parts);
    }
    if (self->rank == 0) {
        print_message("  %s\n", rondo_comm_error_text(comm));
    }
    rondo_comm_destroy(comm);
}

static void
mismatch(void **state)
{
    (void)state;
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        layout spread = layouts[l];
        run_ranks(spread.nranks, AS_PROCESSES, quarrel, &spread, 2 * SLOW_MS);
    }
}

/* --- training --------------------------------------------------------------------- */

/* Each rank of rondo-run becomes one of its host, then the trainer. */
static const char train[] =
    "timeout 150 \"$RONDO_BIN/rondo-run\" -n 2 -- sh -c '"
    "export RONDO_HOST_ID=h$RANK RONDO_RDMA=rxe$((RANK + 1)):1 "
    "RONDO_INTERFACE=veth$((RANK + 1)) MASTER_ADDR=10.99.0.1 RONDO_START_TIMEOUT=60 && "
    "exec \"$RONDO_BIN/rondo-train\" --global-batch 64 --steps 6 --log-every 1'";

static void
training(void **state)
{
    const guest_traffic before = guest_traffic_now();

    (void)state;
    assert_int_equal(system(train), 0);
    /* Gradients of six steps, of 784 x 128 weights at least. */
    (void)expect_rdma(&before, UINT64_C(6) * 784 * 128 * 4);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective), cmocka_unit_test(registered_memory),
        cmocka_unit_test(killed_rank),      cmocka_unit_test(half_connected),
        cmocka_unit_test(mismatch),         cmocka_unit_test(training),
    };

    (void)argc;
    if (!guest_inside()) {
        return guest_boot(argv[0], GUEST_SECONDS);
    }
    /* What is printed goes through a pipe, and a rank that is killed takes its part
     * with it. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    blow = test_shared(sizeof *blow);
    cmocka_set_test_filter(getenv("RONDO_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
