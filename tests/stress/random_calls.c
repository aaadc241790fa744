/* random_calls.c - random sequences of calls against the naive model: counts, types,
 * operators, roots, in place or not, registered memory or not, blocking or in flight,
 * on 1 to 8 ranks. RONDO_TEST_SEED=N repeats a sequence.
 * ctest: timeout=180 label=slow hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lib/calls.h"
#include "lib/model.h"
#include "lib/ranks.h"

#define SLOTS       4     /* calls in flight at once */
#define COUNT_MAX   60000 /* elements of one block */
#define BYTES_MAX   ((size_t)COUNT_MAX * 8 * 8 + 64)
#define GUARD_BYTES 32
#define SPAN_MS     1200 /* of each sequence */

/* What all ranks draw alike. */
typedef struct common {
    call_kind kind;
    uint64_t count;
    rondo_dtype dtype;
    rondo_op op;
    uint32_t root;
    bool in_flight;
    model numbers;
} common;

/* A place for one call: two areas of memory of either sort. */
typedef struct slot {
    unsigned char *area[2][2]; /* [registered][in, out] */
    common drawn;
    call made;
    unsigned char *out;
    call_flight flight;
} slot;

typedef struct player {
    rank_self *self;
    rondo_comm *comm;
    uint64_t common_state; /* of the sequence all share */
    uint64_t own_state;
    slot slots[SLOTS];
    unsigned char *want;
    uint64_t calls;
} player;

static uint64_t
count_draw(uint64_t *state)
{
    const uint64_t bits = model_random(state) % 17;
    const uint64_t count = model_random(state) % (UINT64_C(1) << bits);

    return count < COUNT_MAX ? count : COUNT_MAX;
}

static common
common_draw(player *p)
{
    uint64_t *const state = &p->common_state;
    common drawn;

    drawn.kind = (call_kind)(model_random(state) % CALLS);
    drawn.count = count_draw(state);
    drawn.dtype = (rondo_dtype)(model_random(state) % RONDO_DTYPES);
    drawn.op = (rondo_op)(model_random(state) % RONDO_OPS);
    drawn.root = (uint32_t)(model_random(state) % p->self->nranks);
    drawn.in_flight = model_random(state) % 3 == 0;
    drawn.numbers =
        (model){drawn.dtype, drawn.op, p->self->nranks, model_random(state)};
    return drawn;
}

/* This rank's own choices: where the buffers lie, and whether they are one. */
static void
place(player *p, slot *at)
{
    const common *const drawn = &at->drawn;
    const uint32_t rank = p->self->rank;
    const uint64_t width = rondo_dtype_bytes(drawn->dtype);
    const uint64_t draw = model_random(&p->own_state);
    const uint32_t registered = draw & 1;
    const bool in_place = (draw & 6) == 0 && drawn->kind != CALL_SHIFT;
    unsigned char *in = at->area[registered][0] + (draw >> 8) % 4 * width;
    unsigned char *out = at->area[(draw >> 3) & 1][1] + (draw >> 16) % 4 * width;

    at->made = (call){drawn->kind,  NULL,      NULL,       drawn->count,
                      drawn->dtype, drawn->op, drawn->root};
    if (in_place && drawn->kind == CALL_REDUCE_SCATTER) {
        out = in + rank * drawn->count * width;
    } else if (in_place && drawn->kind == CALL_ALL_GATHER) {
        in = out + rank * drawn->count * width;
    } else if (in_place) {
        in = out;
    }
    at->made.in = in;
    at->made.out = out;
    at->out = out;
}

/* The input and, where OUT is apart from it, something else behind OUT's end. */
static void
fill(player *p, slot *at)
{
    const call *const made = &at->made;
    const uint32_t nranks = p->self->nranks;
    const uint64_t width = rondo_dtype_bytes(made->dtype);
    const uint64_t results = call_out_count(made, p->self->rank, nranks);
    unsigned char *in = NULL;

    memcpy(&in, &made->in, sizeof in);
    memset(at->out + results * width, 0xa5, GUARD_BYTES);
    model_input(&at->drawn.numbers, p->self->rank, 0,
                call_in_count(made, p->self->rank, nranks), in);
}

/* What OUT must hold. */
static uint64_t
expected(player *p, const slot *at, unsigned char *want)
{
    const common *const drawn = &at->drawn;
    const uint32_t nranks = p->self->nranks;
    const uint32_t rank = p->self->rank;
    const uint64_t width = rondo_dtype_bytes(drawn->dtype);
    const model *const numbers = &drawn->numbers;

    switch (drawn->kind) {
    case CALL_ALL_REDUCE:
    case CALL_REDUCE:
        model_result(numbers, 0, drawn->count, want);
        break;
    case CALL_REDUCE_SCATTER:
        model_result(numbers, rank * drawn->count, drawn->count, want);
        break;
    case CALL_ALL_GATHER:
        for (uint32_t r = 0; r < nranks; r++) {
            model_input(numbers, r, 0, drawn->count, want + r * drawn->count * width);
        }
        break;
    case CALL_BROADCAST:
        model_input(numbers, drawn->root, 0, drawn->count, want);
        break;
    case CALL_SHIFT:
        model_input(numbers, (rank + nranks - 1) % nranks, 0, drawn->count, want);
        break;
    case CALL_BARRIER:
    case CALLS:
        break;
    }
    return call_out_count(&at->made, rank, nranks) * width;
}

static bool
verify(player *p, const slot *at, rondo_status status)
{
    const common *const drawn = &at->drawn;
    const unsigned char *const out = at->out;
    char what[160];

    (void)snprintf(what, sizeof what, "call %d: %s of %d %s, %s, root %u%s%s",
                   (int)p->calls, call_text(drawn->kind), (int)drawn->count,
                   rondo_dtype_text(drawn->dtype), rondo_op_text(drawn->op),
                   drawn->root, at->made.in == at->made.out ? ", in place" : "",
                   drawn->in_flight ? ", in flight" : "");
    if (!rank_expect_status(p->self, status, RONDO_OK, p->comm, what)) {
        return false;
    }
    const uint64_t bytes = expected(p, at, p->want);
    for (uint64_t i = 0; i < bytes; i++) {
        if (!rank_expect(p->self, out[i] == p->want[i],
                         "%s: byte %llu is %02x, not %02x", what, (unsigned long long)i,
                         out[i], p->want[i])) {
            return false;
        }
    }
    /* In place there is input behind the end of a reduce-scatter's part. */
    const bool apart = drawn->kind != CALL_REDUCE_SCATTER;
    for (uint64_t i = 0; apart && drawn->kind != CALL_BARRIER && i < GUARD_BYTES; i++) {
        if (call_out_count(&at->made, p->self->rank, p->self->nranks) == 0) {
            break;
        }
        if (!rank_expect(p->self, out[bytes + i] == 0xa5, "%s: written behind the end",
                         what)) {
            return false;
        }
    }
    return true;
}

/* Some calls, all in flight before the first is waited for. */
static bool
play_flight(player *p, uint32_t ncalls)
{
    uint32_t begun = 0;
    bool good = true;

    for (; good && begun < ncalls; begun++) {
        slot *const at = &p->slots[begun];
        place(p, at);
        fill(p, at);
        good = rank_expect_status(p->self, call_start(p->comm, &at->made, &at->flight),
                                  RONDO_OK, p->comm, "starting a call");
    }
    for (uint32_t c = 0; c < begun; c++) {
        const rondo_status status = call_wait(&p->slots[c].flight);
        good = good && verify(p, &p->slots[c], status);
        p->calls++;
    }
    return good;
}

static bool
play_turn(player *p)
{
    const uint32_t ncalls = 1 + (uint32_t)(model_random(&p->common_state) % SLOTS);

    for (uint32_t c = 0; c < ncalls; c++) {
        p->slots[c].drawn = common_draw(p);
    }
    rank_note(p->self, "call %d: %s of %d %s", (int)p->calls,
              call_text(p->slots[0].drawn.kind), (int)p->slots[0].drawn.count,
              rondo_dtype_text(p->slots[0].drawn.dtype));
    if (p->slots[0].drawn.in_flight) {
        return play_flight(p, ncalls);
    }
    slot *const at = &p->slots[0];
    place(p, at);
    fill(p, at);
    const bool good = verify(p, at, call_run(p->comm, &at->made));
    p->calls++;
    return good;
}

static bool
areas_get(player *p)
{
    for (int s = 0; s < SLOTS; s++) {
        for (int side = 0; side < 2; side++) {
            void *block = NULL;
            if (!rank_expect_status(p->self, rondo_mem_alloc(BYTES_MAX, &block),
                                    RONDO_OK, NULL, "rondo_mem_alloc") ||
                !rank_expect_status(p->self, rondo_mem_register(p->comm, block),
                                    RONDO_OK, p->comm, "rondo_mem_register")) {
                return false;
            }
            p->slots[s].area[1][side] = block;
            p->slots[s].area[0][side] = malloc(BYTES_MAX);
        }
    }
    p->want = malloc(BYTES_MAX);
    return p->want != NULL;
}

static void
areas_give(player *p)
{
    for (int s = 0; s < SLOTS; s++) {
        for (int side = 0; side < 2; side++) {
            void *const block = p->slots[s].area[1][side];
            rank_expect_status(p->self, rondo_mem_deregister(p->comm, block), RONDO_OK,
                               p->comm, "rondo_mem_deregister");
            rondo_mem_free(block);
            free(p->slots[s].area[0][side]);
        }
    }
    free(p->want);
}

static void
play(rank_self *self)
{
    const uint64_t seed = *(const uint64_t *)self->user;
    player *const p = calloc(1, sizeof *p);
    uint32_t going = 1;

    if (p == NULL || !rank_join(self, 30000, &p->comm)) {
        free(p);
        return;
    }
    p->self = self;
    p->common_state = seed;
    p->own_state = seed * 31 + self->rank + 1;
    const uint64_t until_ms = test_now_ms() + SPAN_MS;
    bool good = areas_get(p);
    /* Rank 0's clock says when it is enough, at the same call for all. */
    for (uint64_t turn = 1; good && going != 0; turn++) {
        good = play_turn(p);
        if (good && turn % 16 == 0) {
            going = test_now_ms() < until_ms;
            good = rank_expect_status(
                self, rondo_broadcast(p->comm, &going, &going, 1, RONDO_UINT32, 0),
                RONDO_OK, p->comm, "going on");
        }
    }
    if (good) {
        areas_give(p);
    }
    rondo_comm_destroy(p->comm);
    free(p);
}

static uint64_t
seed_get(void)
{
    const char *const text = getenv("RONDO_TEST_SEED");

    return text != NULL ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
}

static void
each_rank_count(rank_kind kind)
{
    uint64_t seed = seed_get();

    for (uint32_t nranks = 1; nranks <= 8; nranks++) {
        print_message("%u %s, RONDO_TEST_SEED=%llu\n", nranks,
                      kind == AS_THREADS ? "threads" : "processes",
                      (unsigned long long)seed);
        run_ranks(nranks, kind, play, &seed, 40000);
    }
}

static void
threads(void **state)
{
    (void)state;
    if (!test_over_hosts()) {
        each_rank_count(AS_THREADS);
    }
}

static void
processes(void **state)
{
    (void)state;
    each_rank_count(AS_PROCESSES);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads),
        cmocka_unit_test(processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
