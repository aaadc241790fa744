/* values.c - runs the steps on values that remember what they were made of. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "verify/bags.h"
#include "verify/results.h"

/* What a rank's own contribution hashes to, and what is done to a hash. */
enum { LEAF = 1, SUM = 2, FINISH = 3, ENCODE = 4, DECODE = 5 };

/* One slice a step works on: the values, where they are, how its element reads. */
static rondo_value *
values_of(const rondo_values *values, const rondo_event *event, rondo_slice slice)
{
    return &values->cells[event->phase][rondo_proof_cell(values->proof, event, slice)];
}

static uint64_t
leaf_hash(uint32_t rank)
{
    return rondo_hash_add(LEAF, rank);
}

/* What rank `rank` contributes, element by element: its IN. A barrier's messages hold
 * nothing of account, so its scratch counts as defined. */
static void
contribute(rondo_values *values, uint32_t phase, uint32_t rank)
{
    const rondo_coll *const coll = &values->proof->schedules[phase][rank]->coll;
    const rondo_layout *const layout = &values->proof->layouts[phase][rank];
    const bool barrier = coll->kind == RONDO_COLL_BARRIER;
    const uint64_t count = barrier
                               ? values->proof->schedules[phase][rank]->scratch_count
                               : rondo_coll_in_count(coll);
    const uint64_t first = layout->buffer[barrier ? RONDO_BUF_SCRATCH : RONDO_BUF_IN];

    for (uint64_t element = 0; element < count; element++) {
        values->cells[phase][first + element] =
            (rondo_value){.bag = rondo_bags_of(rank),
                          .element = barrier ? 0 : element,
                          .hash = leaf_hash(rank)};
    }
}

static rondo_status
check_plain(const rondo_values *values, uint64_t event, rondo_slice slice,
            const rondo_value *value)
{
    for (uint64_t at = 0; at < slice.count; at++) {
        if (value[at].bag == RONDO_BAG_NONE) {
            return rondo_proof_refuse(
                values->proof, event, "element %" PRIu64 " of %s is undefined",
                slice.first + at,
                slice.buffer == RONDO_BUF_IN ? "in" : "what it reads");
        }
    }
    return RONDO_OK;
}

/* Encoded bytes are taken whole, as they were made. */
static rondo_status
check_code(const rondo_values *values, uint64_t event, rondo_slice slice,
           const rondo_value *value)
{
    for (uint64_t at = 0; at < slice.count; at++) {
        if (value[at].code == 0 || value[at].code != value[0].code ||
            value[at].code_at != at || value[at].code_count != slice.count) {
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
    const rondo_status status = check_plain(values, event, slice, value);

    if (status != RONDO_OK || slice.buffer != RONDO_BUF_WIRE) {
        return status;
    }
    return check_code(values, event, slice, value);
}

static rondo_status
add(rondo_values *values, uint64_t event, uint64_t at, const rondo_value *a,
    const rondo_value *b, rondo_value *sum)
{
    const rondo_proof *const proof = values->proof;
    const rondo_step *const step = proof->events[event].step;

    if (a->element != b->element) {
        return rondo_proof_refuse(
            proof, event, "at %" PRIu64 ", element %" PRIu64 " meets element %" PRIu64,
            at, a->element, b->element);
    }
    if (a->finished || b->finished) {
        return rondo_proof_refuse(proof, event,
                                  "at %" PRIu64 ", adds to a finished result", at);
    }
    if (values->last.a != a->bag || values->last.b != b->bag) {
        const rondo_status status =
            rondo_bags_union(&values->bags, a->bag, b->bag, &values->last.sum);
        if (status != RONDO_OK) {
            return status;
        }
        values->last.a = a->bag;
        values->last.b = b->bag;
    }
    if (values->last.sum == RONDO_BAG_NONE) {
        return rondo_proof_refuse(proof, event,
                                  "at %" PRIu64 ", rank %" PRIu32 " is added twice", at,
                                  rondo_bags_shared(&values->bags, a->bag, b->bag));
    }
    if (step->final && values->last.sum != values->bags.all) {
        return rondo_proof_refuse(proof, event,
                                  "at %" PRIu64 ", finishes without rank %" PRIu32, at,
                                  rondo_bags_missing(&values->bags, values->last.sum));
    }
    const uint64_t hash = rondo_hash_add(rondo_hash_add(SUM, a->hash), b->hash);
    *sum = (rondo_value){.bag = values->last.sum,
                         .element = a->element,
                         .hash = step->final ? rondo_hash_add(FINISH, hash) : hash,
                         .encodings =
                             a->encodings > b->encodings ? a->encodings : b->encodings,
                         .finished = step->final};
    return RONDO_OK;
}

static rondo_status
reduce(rondo_values *values, uint64_t event)
{
    const rondo_event *const found = &values->proof->events[event];
    const rondo_value *const a = values_of(values, found, found->step->a);
    const rondo_value *const b = values_of(values, found, found->step->b);
    rondo_value *const to = values_of(values, found, found->step->to);
    rondo_status status = RONDO_OK;

    for (uint64_t at = 0; status == RONDO_OK && at < found->step->to.count; at++) {
        rondo_value sum = {0};

        status = add(values, event, at, &a[at], &b[at], &sum);
        to[at] = sum;
    }
    return status;
}

static void
copy(const rondo_value *from, uint64_t count, rondo_value *to)
{
    for (uint64_t at = 0; at < count; at++) {
        to[at] = from[at];
    }
}

static void
encode(rondo_values *values, const rondo_event *event)
{
    const rondo_value *const from = values_of(values, event, event->step->a);
    rondo_value *const to = values_of(values, event, event->step->to);

    values->codes++;
    for (uint64_t at = 0; at < event->step->to.count; at++) {
        to[at] = from[at];
        to[at].hash = rondo_hash_add(ENCODE, from[at].hash);
        to[at].encodings++;
        to[at].code = values->codes;
        to[at].code_at = at;
        to[at].code_count = event->step->to.count;
        if (to[at].encodings > values->encodings_max) {
            values->encodings_max = to[at].encodings;
        }
    }
}

static void
decode(const rondo_values *values, const rondo_event *event)
{
    const rondo_value *const from = values_of(values, event, event->step->a);
    rondo_value *const to = values_of(values, event, event->step->to);

    for (uint64_t at = 0; at < event->step->to.count; at++) {
        to[at] = from[at];
        to[at].hash = rondo_hash_add(DECODE, from[at].hash);
        to[at].code = 0;
        to[at].code_at = 0;
        to[at].code_count = 0;
    }
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
        encode(values, found);
        return RONDO_OK;
    case RONDO_STEP_DECODE:
        decode(values, found);
        return RONDO_OK;
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
        contribute(values, event->phase, event->rank);
    }
    return status;
}

static rondo_status
take(rondo_values *values)
{
    const rondo_proof *const proof = values->proof;
    rondo_status status = rondo_bags_make(proof->nranks, &values->bags);

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
rondo_values_check(const rondo_proof *proof, uint64_t *encodings_max, bool *uniform)
{
    rondo_values values = {.proof = proof, .uniform = true};
    rondo_status status = take(&values);

    for (uint64_t at = 0; status == RONDO_OK && at < proof->nevents; at++) {
        const uint64_t event = proof->order[at];

        status = proof->events[event].step == NULL ? run_mark(&values, event)
                                                   : run_step(&values, event);
    }
    if (status == RONDO_OK) {
        *encodings_max = values.encodings_max;
        *uniform = values.uniform;
    }
    for (uint32_t phase = 0; phase < RONDO_PHASES; phase++) {
        rondo_free(values.cells[phase]);
        rondo_free(values.expected[phase]);
    }
    rondo_bags_clear(&values.bags);
    return status;
}
