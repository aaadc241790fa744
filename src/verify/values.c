/* values.c - runs the steps on values that remember what they were made of. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "verify/bags.h"
#include "verify/results.h"

/* What hashes begin with: a rank's contribution, and what is done to values. */
enum { LEAF = 1, SUM = 2, FINISH = 3, ENCODE = 4, DECODE = 5 };

/* The values of a slice of a step. */
static rondo_value *
values_of(const rondo_values *values, const rondo_event *event, rondo_slice slice)
{
    return &values->cells[event->phase][rondo_proof_cell(values->proof, event, slice)];
}

static uint64_t
larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static rondo_status
new_recipe(rondo_values *values, rondo_recipe recipe, uint32_t *index)
{
    const rondo_status status =
        rondo_alloc_grow((void **)&values->recipes, values->nrecipes,
                         &values->recipes_room, sizeof *values->recipes);

    if (status != RONDO_OK || values->nrecipes == UINT32_MAX) {
        return status == RONDO_OK ? rondo_error(RONDO_ERR_ARG, "too many sums")
                                  : status;
    }
    *index = (uint32_t)values->nrecipes;
    values->recipes[values->nrecipes++] = recipe;
    rondo_verdict *const verdict = values->verdict;
    verdict->encodings_max = larger(recipe.encodings, verdict->encodings_max);
    verdict->roundings_max = larger(recipe.roundings, verdict->roundings_max);
    return RONDO_OK;
}

/* What rank `rank` contributes, element by element: its IN. A barrier's messages hold
 * nothing of account, so its scratch counts as defined. */
static rondo_status
contribute(rondo_values *values, uint32_t phase, uint32_t rank)
{
    const rondo_schedule *const schedule = values->proof->schedules[phase][rank];
    const bool barrier = schedule->coll.kind == RONDO_COLL_BARRIER;
    const uint64_t count =
        barrier ? schedule->scratch_count : rondo_coll_in_count(&schedule->coll);
    const uint64_t first = values->proof->layouts[phase][rank]
                               .buffer[barrier ? RONDO_BUF_SCRATCH : RONDO_BUF_IN];
    const rondo_recipe own = {.bag = rondo_bags_of(rank),
                              .hash = rondo_hash_add(LEAF, rank)};
    uint32_t recipe = 0;
    const rondo_status status = new_recipe(values, own, &recipe);

    for (uint64_t element = 0; status == RONDO_OK && element < count; element++) {
        values->cells[phase][first + element] =
            (rondo_value){.element = element, .recipe = recipe};
    }
    return status;
}

/* Encoded bytes are taken whole, as they were made. */
static rondo_status
check_code(const rondo_values *values, uint64_t event, rondo_slice slice,
           const rondo_value *value)
{
    const rondo_recipe *const first = &values->recipes[value[0].recipe];

    for (uint64_t at = 0; at < slice.count; at++) {
        const rondo_recipe *const recipe = &values->recipes[value[at].recipe];

        if (recipe->code == 0 || recipe->code != first->code ||
            recipe->code_count != slice.count || value[at].code_at != at) {
            return rondo_proof_refuse(
                values->proof, event,
                "element %" PRIu64 " is not where its code has it", slice.first + at);
        }
    }
    return RONDO_OK;
}

static rondo_status
check_operand(const rondo_values *values, uint64_t event, rondo_slice slice)
{
    const rondo_value *const value =
        values_of(values, &values->proof->events[event], slice);

    for (uint64_t at = 0; at < slice.count; at++) {
        if (value[at].recipe == RONDO_UNDEFINED) {
            return rondo_proof_refuse(values->proof, event,
                                      "element %" PRIu64 " of its operand is undefined",
                                      slice.first + at);
        }
    }
    if (slice.count == 0 || slice.buffer != RONDO_BUF_WIRE) {
        return RONDO_OK;
    }
    return check_code(values, event, slice, value);
}

/* The recipe of the sum of two, at element `at` of the step. */
static rondo_status
add(rondo_values *values, uint64_t event, uint64_t at, uint32_t left, uint32_t right)
{
    const rondo_proof *const proof = values->proof;
    const bool final = proof->events[event].step->final;
    const rondo_recipe a = values->recipes[left];
    const rondo_recipe b = values->recipes[right];
    uint64_t bag = RONDO_BAG_NONE;

    if (a.finished || b.finished) {
        return rondo_proof_refuse(proof, event,
                                  "at %" PRIu64 ", adds to a finished result", at);
    }
    const rondo_status status = rondo_bags_union(&values->bags, a.bag, b.bag, &bag);
    if (status != RONDO_OK) {
        return status;
    }
    if (bag == RONDO_BAG_NONE) {
        return rondo_proof_refuse(proof, event,
                                  "at %" PRIu64 ", rank %" PRIu32 " is added twice", at,
                                  rondo_bags_shared(&values->bags, a.bag, b.bag));
    }
    if (final && bag != values->bags.all) {
        return rondo_proof_refuse(proof, event,
                                  "at %" PRIu64 ", finishes without rank %" PRIu32, at,
                                  rondo_bags_missing(&values->bags, bag));
    }
    const uint64_t hash = rondo_hash_add(rondo_hash_add(SUM, a.hash), b.hash);
    const rondo_recipe sum = {.bag = bag,
                              .hash = final ? rondo_hash_add(FINISH, hash) : hash,
                              .encodings = (uint32_t)larger(a.encodings, b.encodings),
                              .roundings =
                                  (uint32_t)larger(a.roundings, b.roundings) + 1,
                              .finished = final};
    values->last = (rondo_sum){.a = left, .b = right, .final = final};
    return new_recipe(values, sum, &values->last.recipe);
}

static rondo_status
reduce(rondo_values *values, uint64_t event)
{
    const rondo_event *const found = &values->proof->events[event];
    const bool final = found->step->final;
    const rondo_value *const a = values_of(values, found, found->step->a);
    const rondo_value *const b = values_of(values, found, found->step->b);
    rondo_value *const to = values_of(values, found, found->step->to);
    const rondo_sum *const last = &values->last;

    for (uint64_t at = 0; at < found->step->to.count; at++) {
        if (a[at].element != b[at].element) {
            return rondo_proof_refuse(values->proof, event,
                                      "at %" PRIu64 ", element %" PRIu64
                                      " meets element %" PRIu64,
                                      at, a[at].element, b[at].element);
        }
        if (a[at].recipe != last->a || b[at].recipe != last->b ||
            final != last->final) {
            const rondo_status status =
                add(values, event, at, a[at].recipe, b[at].recipe);
            if (status != RONDO_OK) {
                return status;
            }
        }
        to[at] = (rondo_value){.element = a[at].element, .recipe = last->recipe};
    }
    return RONDO_OK;
}

/* Copies; where the recipe changes, `change` makes it another. */
static rondo_status
convert(rondo_values *values, const rondo_event *event,
        void (*change)(const rondo_values *values, const rondo_step *step,
                       rondo_recipe *recipe))
{
    const rondo_value *const from = values_of(values, event, event->step->a);
    rondo_value *const to = values_of(values, event, event->step->to);
    uint32_t old = RONDO_UNDEFINED;
    uint32_t recipe = RONDO_UNDEFINED;

    for (uint64_t at = 0; at < event->step->to.count; at++) {
        if (from[at].recipe != old) {
            rondo_recipe changed = values->recipes[from[at].recipe];

            change(values, event->step, &changed);
            old = from[at].recipe;
            const rondo_status status = new_recipe(values, changed, &recipe);
            if (status != RONDO_OK) {
                return status;
            }
        }
        to[at] = (rondo_value){.element = from[at].element, .recipe = recipe};
        if (event->step->kind == RONDO_STEP_ENCODE) {
            to[at].code_at = (uint32_t)at;
        }
    }
    return RONDO_OK;
}

static void
encoded(const rondo_values *values, const rondo_step *step, rondo_recipe *recipe)
{
    recipe->hash = rondo_hash_add(ENCODE, recipe->hash);
    recipe->encodings++;
    recipe->code = values->codes;
    recipe->code_count = step->to.count;
}

static void
decoded(const rondo_values *values, const rondo_step *step, rondo_recipe *recipe)
{
    (void)values;
    (void)step;
    recipe->hash = rondo_hash_add(DECODE, recipe->hash);
    recipe->code = 0;
    recipe->code_count = 0;
}

static void
copy(const rondo_value *from, uint64_t count, rondo_value *to)
{
    memmove(to, from, count * sizeof *to);
}

static rondo_status
run_step(rondo_values *values, uint64_t event)
{
    const rondo_event *const found = &values->proof->events[event];
    const rondo_step *const step = found->step;
    rondo_status status = RONDO_OK;

    if (step->a.count > 0) {
        status = check_operand(values, event, step->a);
    }
    if (status == RONDO_OK && step->b.count > 0) {
        status = check_operand(values, event, step->b);
    }
    if (status != RONDO_OK) {
        return status;
    }
    switch (step->kind) {
    case RONDO_STEP_RECV: {
        const rondo_event *const sender = &values->proof->events[found->other];

        copy(values_of(values, sender, sender->step->a), step->to.count,
             values_of(values, found, step->to));
        return RONDO_OK;
    }
    case RONDO_STEP_COPY:
        copy(values_of(values, found, step->a), step->to.count,
             values_of(values, found, step->to));
        return RONDO_OK;
    case RONDO_STEP_REDUCE:
        return reduce(values, event);
    case RONDO_STEP_ENCODE:
        values->codes++;
        return convert(values, found, encoded);
    case RONDO_STEP_DECODE:
        return convert(values, found, decoded);
    default:
        return RONDO_OK;
    }
}

/* At a mark the collective in front of it is looked at, the one behind it begins. */
static rondo_status
run_mark(rondo_values *values, uint64_t mark)
{
    const rondo_event *const event = &values->proof->events[mark];
    rondo_status status = RONDO_OK;

    if (event->phase > 0) {
        status = rondo_results_check(values, mark);
    }
    if (status == RONDO_OK && event->phase < values->proof->phases) {
        status = contribute(values, event->phase, event->rank);
    }
    return status;
}

static rondo_status
take(rondo_values *values)
{
    const rondo_proof *const proof = values->proof;
    uint32_t undefined = 0;
    rondo_status status = rondo_bags_make(proof->nranks, &values->bags);

    if (status == RONDO_OK) {
        status = new_recipe(values, (rondo_recipe){.bag = RONDO_BAG_NONE}, &undefined);
    }
    for (uint32_t phase = 0; status == RONDO_OK && phase < proof->phases; phase++) {
        status = rondo_proof_take(proof->cells[phase], sizeof(rondo_value),
                                  (void **)&values->cells[phase]);
        if (status == RONDO_OK) {
            status =
                rondo_proof_take(proof->schedules[phase][0]->coll.count,
                                 sizeof(uint64_t), (void **)&values->expected[phase]);
        }
    }
    return status;
}

rondo_status
rondo_values_check(const rondo_proof *proof, rondo_verdict *verdict)
{
    rondo_values values = {.proof = proof, .verdict = verdict};
    rondo_status status = take(&values);

    verdict->uniform = true;
    for (uint64_t at = 0; status == RONDO_OK && at < proof->nevents; at++) {
        const uint64_t event = proof->order[at];

        status = proof->events[event].step == NULL ? run_mark(&values, event)
                                                   : run_step(&values, event);
    }
    for (uint32_t phase = 0; phase < RONDO_PHASES; phase++) {
        rondo_free(values.cells[phase]);
        rondo_free(values.expected[phase]);
    }
    rondo_free(values.recipes);
    rondo_bags_clear(&values.bags);
    return status;
}
