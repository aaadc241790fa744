/* spoil.c - schedules spoilt in one place, as an author's slip would spoil them. */
#include "lib/spoil.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

bool
spoil_drop(struct spoil_steps *steps, uint64_t at)
{
    memmove(&steps->at[at], &steps->at[at + 1],
            (steps->count - at - 1) * sizeof *steps->at);
    steps->count--;
    return true;
}

bool
spoil_peer(struct spoil_steps *steps, uint64_t at)
{
    rondo_step *const step = &steps->at[at];
    const bool has_peer = step->kind == RONDO_STEP_SEND ||
                          step->kind == RONDO_STEP_RECV ||
                          step->kind == RONDO_STEP_WAIT;

    do {
        step->peer = (step->peer + 1) % steps->coll.nranks;
    } while (step->peer == steps->coll.rank);
    return has_peer && steps->coll.nranks > 2;
}

static bool
shift_to(struct spoil_steps *steps, uint64_t at)
{
    steps->at[at].to.first++;
    return steps->at[at].to.count > 0;
}

static bool
shift_to_back(struct spoil_steps *steps, uint64_t at)
{
    const bool fits = steps->at[at].to.count > 0 && steps->at[at].to.first > 0;

    steps->at[at].to.first--;
    return fits;
}

static bool
shift_a(struct spoil_steps *steps, uint64_t at)
{
    steps->at[at].a.first++;
    return steps->at[at].a.count > 0;
}

static bool
shift_a_back(struct spoil_steps *steps, uint64_t at)
{
    const bool fits = steps->at[at].a.count > 0 && steps->at[at].a.first > 0;

    steps->at[at].a.first--;
    return fits;
}

static bool
shift_b(struct spoil_steps *steps, uint64_t at)
{
    steps->at[at].b.first++;
    return steps->at[at].b.count > 0;
}

/* The block of the next rank where there is one: the author's classic. */
static bool
shift_block(struct spoil_steps *steps, uint64_t at)
{
    rondo_slice *const slice =
        steps->at[at].to.count > 0 ? &steps->at[at].to : &steps->at[at].a;

    slice->first += slice->count;
    return slice->count > 0;
}

static bool
shorten(struct spoil_steps *steps, uint64_t at)
{
    rondo_step *const step = &steps->at[at];
    const uint64_t count = step->to.count > 0 ? step->to.count : step->a.count;

    step->to.count -= step->to.count > 0;
    step->a.count -= step->a.count > 0;
    step->b.count -= step->b.count > 0;
    return count > 1;
}

bool
spoil_longer(struct spoil_steps *steps, uint64_t at)
{
    rondo_step *const step = &steps->at[at];

    step->to.count += step->to.count > 0;
    step->a.count += step->a.count > 0;
    step->b.count += step->b.count > 0;
    return step->to.count > 0 || step->a.count > 0;
}

static bool
reduce_twice(struct spoil_steps *steps, uint64_t at)
{
    const rondo_step step = steps->at[at];

    memmove(&steps->at[at + 2], &steps->at[at + 1],
            (steps->count - at - 1) * sizeof *steps->at);
    steps->at[at].final = false;
    steps->at[at + 1] = step;
    steps->at[at + 1].a = step.to;
    steps->count++;
    return step.kind == RONDO_STEP_REDUCE;
}

static bool
copy_for_reduce(struct spoil_steps *steps, uint64_t at)
{
    rondo_step *const step = &steps->at[at];
    const bool fits = step->kind == RONDO_STEP_REDUCE;

    step->kind = RONDO_STEP_COPY;
    step->final = false;
    step->a = step->b;
    step->b.count = 0;
    return fits;
}

bool
spoil_operands(struct spoil_steps *steps, uint64_t at)
{
    rondo_step *const step = &steps->at[at];
    const rondo_slice a = step->a;

    step->a = step->b;
    step->b = a;
    return step->kind == RONDO_STEP_REDUCE;
}

static bool
flip_final(struct spoil_steps *steps, uint64_t at)
{
    steps->at[at].final = !steps->at[at].final;
    return steps->at[at].kind == RONDO_STEP_REDUCE;
}

bool
spoil_wait_less(struct spoil_steps *steps, uint64_t at)
{
    steps->at[at].signal--;
    return steps->at[at].kind == RONDO_STEP_WAIT && steps->at[at].signal > 0;
}

bool
spoil_wait_more(struct spoil_steps *steps, uint64_t at)
{
    steps->at[at].signal++;
    return steps->at[at].kind == RONDO_STEP_WAIT;
}

bool
spoil_order(struct spoil_steps *steps, uint64_t at)
{
    if (at + 1 == steps->count) {
        return false;
    }
    const rondo_step step = steps->at[at];
    steps->at[at] = steps->at[at + 1];
    steps->at[at + 1] = step;
    return true;
}

const struct spoil_row spoil_rows[SPOIL_ROWS] = {
    {"step dropped", spoil_drop},         {"peer swapped", spoil_peer},
    {"destination shifted", shift_to},    {"destination shifted back", shift_to_back},
    {"operand shifted", shift_a},         {"operand shifted back", shift_a_back},
    {"second operand shifted", shift_b},  {"block shifted", shift_block},
    {"count one less", shorten},          {"count one more", spoil_longer},
    {"reduction doubled", reduce_twice},  {"copy for reduction", copy_for_reduce},
    {"operands swapped", spoil_operands}, {"final flag flipped", flip_final},
    {"wait for less", spoil_wait_less},   {"wait for more", spoil_wait_more},
    {"neighbours swapped", spoil_order},
};

static void
append(rondo_schedule *schedule, const rondo_step *step)
{
    switch (step->kind) {
    case RONDO_STEP_SEND:
        rondo_schedule_send(schedule, step->peer, step->a);
        break;
    case RONDO_STEP_RECV:
        rondo_schedule_recv(schedule, step->peer, step->to);
        break;
    case RONDO_STEP_COPY:
        rondo_schedule_copy(schedule, step->to, step->a);
        break;
    case RONDO_STEP_REDUCE:
        if (step->final) {
            rondo_schedule_reduce_final(schedule, step->to, step->a, step->b);
        } else {
            rondo_schedule_reduce(schedule, step->to, step->a, step->b);
        }
        break;
    case RONDO_STEP_SIGNAL:
        rondo_schedule_signal(schedule);
        break;
    case RONDO_STEP_WAIT:
        rondo_schedule_wait(schedule, step->peer, step->signal);
        break;
    default:
        fail_msg("no row encodes");
    }
}

rondo_schedule *
spoil_schedule(const rondo_schedule *schedule, uint64_t at, spoil_function spoil)
{
    rondo_schedule *const copy = schedules_copy(schedule);
    struct spoil_steps steps = {copy->steps, copy->nsteps, schedule->coll};
    rondo_schedule *mutant = NULL;

    if (spoil(&steps, at)) {
        assert_int_equal(rondo_schedule_create(&schedule->coll, &mutant), RONDO_OK);
        (void)rondo_schedule_scratch(mutant, schedule->scratch_count);
        for (uint64_t index = 0; index < steps.count; index++) {
            append(mutant, &steps.at[index]);
        }
        assert_int_equal(rondo_schedule_seal(mutant), RONDO_OK);
    }
    rondo_schedule_destroy(copy);
    return mutant;
}
