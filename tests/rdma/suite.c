/* suite.c - the library over real RDMA verbs, TCP left out: every collective exact, a
 * killed rank, a call that differs, a training run, registered memory. Boots the guest
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
#include "lib/guest.h"
#include "lib/model.h"

#define GUEST_SECONDS 480
/* Emulated cores, and two of them: what takes a moment elsewhere takes seconds. */
#define SLOW_MS    60000
#define STRIKE_MS  8000
#define WIRE_BYTES 4096 /* of data in one packet, at most */

/* Ranks, and how many of them are on host a. */
typedef struct layout {
    uint32_t nranks;
    uint32_t on_a;
} layout;

static const layout layouts[] = {{2, 1}, {3, 2}, {4, 2}};

#define LAYOUTS (sizeof layouts / sizeof *layouts)

static bool
join(rank_self *self, const layout *spread, rondo_comm **comm)
{
    guest_host(self->rank >= spread->on_a);
    (void)setenv("RONDO_START_TIMEOUT", "60", 1);
    return rank_join(self, SLOW_MS, comm);
}

/* --- every collective --------------------------------------------------------------- */

typedef struct exact_case {
    rondo_dtype dtype;
    rondo_op op;
} exact_case;

static const exact_case exact_cases[] = {{RONDO_INT32, RONDO_SUM},
                                         {RONDO_BF16, RONDO_SUM},
                                         {RONDO_FP32, RONDO_AVG},
                                         {RONDO_UINT8, RONDO_MAX}};

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

/* Three areas of memory: what a call reads, writes and ought to have written. */
typedef struct areas {
    void *in, *out, *want;
} areas;

static bool
one_call(rank_self *self, rondo_comm *comm, call *made, const areas *at)
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

/* All kinds, with each rank as root in turn. */
static bool
all_kinds(rank_self *self, rondo_comm *comm, uint64_t count, exact_case with,
          const areas *at)
{
    bool good = true;

    for (call_kind kind = 0; good && kind < CALLS; kind++) {
        call made = {.kind = kind, .count = count, .dtype = with.dtype, .op = with.op};
        made.root = (uint32_t)(kind + count) % self->nranks;
        good = one_call(self, comm, &made, at);
    }
    return good;
}

#define COUNT_MAX 100003

static void
exact(rank_self *self)
{
    const layout *const spread = self->user;
    const uint32_t n = self->nranks;
    const uint64_t counts[] = {0, 1, n - 1, n, n + 1, 4099, COUNT_MAX};
    const size_t room = (size_t)COUNT_MAX * n * 4;
    const areas at = {malloc(room), malloc(room), malloc(room)};
    rondo_comm *comm = NULL;
    bool good = join(self, spread, &comm);

    for (size_t c = 0; good && c < sizeof counts / sizeof *counts; c++) {
        const size_t ncases = sizeof exact_cases / sizeof *exact_cases;
        for (size_t e = 0; good && e < ncases; e++) {
            good = all_kinds(self, comm, counts[c], exact_cases[e], &at);
        }
    }
    rondo_comm_destroy(comm);
    free(at.in);
    free(at.out);
    free(at.want);
}

/* An all-reduce between two hosts sends this much from each of them at least; with its
 * kin it is some ten times that, none of which may go by TCP. */
static void
expect_rdma(const guest_traffic *before, uint64_t bytes)
{
    const guest_traffic after = guest_traffic_now();
    const uint64_t packets = after.rdma_packets - before->rdma_packets;
    const uint64_t segments = after.tcp_segments - before->tcp_segments;

    print_message("  %d RDMA packets, %d sends; %d TCP segments\n", (int)packets,
                  (int)(after.rdma_sends - before->rdma_sends), (int)segments);
    assert_true(after.rdma_sends > before->rdma_sends);
    assert_true(packets >= bytes / WIRE_BYTES);
    assert_true(segments < packets / 4);
}

static void
every_collective(void **state)
{
    (void)state;
    for (size_t l = 0; l < LAYOUTS; l++) {
        layout spread = layouts[l];
        const guest_traffic before = guest_traffic_now();
        print_message("  %u ranks, %u of them on host a\n", spread.nranks, spread.on_a);
        run_ranks(spread.nranks, AS_PROCESSES, exact, &spread, 2 * SLOW_MS);
        expect_rdma(&before, UINT64_C(2) * COUNT_MAX * (4 + 2 + 4 + 1));
    }
}

/* --- a killed rank ------------------------------------------------------------------- */

typedef struct strike {
    layout spread;
    uint32_t victim;
    uint64_t count;
    _Atomic uint64_t struck_ms;
} strike;

static strike *blow;

static void
survive(rank_self *self)
{
    rondo_comm *comm = NULL;
    call made;

    if (!blame_buffers(self, CALL_ALL_REDUCE, blow->count, &made) ||
        !join(self, &blow->spread, &comm) ||
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
    blame_only(self, rondo_comm_error_text(comm), blow->victim);
    rank_expect(self, strchr(rondo_comm_error_text(comm), '\n') == NULL,
                "more than one line: %s", rondo_comm_error_text(comm));
    if (self->rank == (blow->victim + 1) % self->nranks) {
        print_message("  after %d ms: %s\n", (int)(noticed_ms - struck_ms),
                      rondo_comm_error_text(comm));
    }
    const uint64_t begin_ms = test_now_ms();
    rondo_comm_destroy(comm);
    rank_expect(self, test_now_ms() - begin_ms < STRIKE_MS, "destroy took %d ms",
                (int)(test_now_ms() - begin_ms));
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
    (void)kill(stage->pid[blow->victim], SIGKILL);
}

static void
killed_rank(void **state)
{
    static rank_report report;
    static const strike blows[] = {{{2, 1}, 1, 2, 0},
                                   {{2, 1}, 0, 1 << 18, 0},
                                   {{4, 2}, 3, 1 << 16, 0},
                                   {{4, 2}, 0, 2, 0}};

    (void)state;
    for (size_t b = 0; b < sizeof blows / sizeof *blows; b++) {
        blow->spread = blows[b].spread;
        blow->victim = blows[b].victim;
        blow->count = blows[b].count;
        atomic_store(&blow->struck_ms, 0);
        const rank_run run = {.nranks = blow->spread.nranks,
                              .kind = AS_PROCESSES,
                              .function = survive,
                              .deadline_ms = 2 * SLOW_MS,
                              .director = strike_when_all_loop};
        ranks_run(&run, &report);
        ranks_expect(&report, RANK_RETURNED, blow->victim);
    }
}

/* --- a call that differs -------------------------------------------------------------- */

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
    for (size_t l = 0; l < LAYOUTS; l++) {
        layout spread = layouts[l];
        run_ranks(spread.nranks, AS_PROCESSES, quarrel, &spread, 2 * SLOW_MS);
    }
}

/* --- training ------------------------------------------------------------------------- */

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
    expect_rdma(&before, UINT64_C(6) * 784 * 128 * 4);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective),
        cmocka_unit_test(killed_rank),
        cmocka_unit_test(mismatch),
        cmocka_unit_test(training),
    };

    (void)argc;
    if (!guest_inside()) {
        return guest_boot(argv[0], GUEST_SECONDS);
    }
    /* What is printed goes through a pipe, and a rank that is killed takes its part
     * with it. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    blow = test_shared(sizeof *blow);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
