/* results.c - whether the values a collective leaves are right. */
#include "verify/results.h"

#include <inttypes.h>

/* What element `at` of OUT must be made of. */
typedef struct wanted {
    uint64_t bag;
    uint64_t element;
    bool reduced;
} wanted;

static wanted
wanted_at(const rondo_values *values, const rondo_coll *coll, uint64_t at)
{
    switch (coll->kind) {
    case RONDO_COLL_REDUCE_SCATTER:
        return (wanted){values->bags.all, coll->rank * coll->count + at, true};
    case RONDO_COLL_ALL_GATHER:
        return (wanted){rondo_bags_of((uint32_t)(at / coll->count)), at % coll->count,
                        false};
    case RONDO_COLL_BROADCAST:
        return (wanted){rondo_bags_of(coll->root), at, false};
    default:
        return (wanted){values->bags.all, at, true};
    }
}

/* All ranks that get a result get the same bits: their sums are the same tree. */
static bool
agrees(rondo_values *values, uint32_t phase, const rondo_coll *coll, uint64_t hash,
       uint64_t at)
{
    if (values->uniform_hash == 0) {
        values->uniform_hash = hash;
    }
    values->verdict->uniform = values->verdict->uniform && values->uniform_hash == hash;
    if (coll->kind != RONDO_COLL_ALL_REDUCE) {
        return true;
    }
    uint64_t *const expected = &values->expected[phase][at];
    if (*expected == 0) {
        *expected = hash;
    }
    return *expected == hash;
}

static rondo_status
check_element(rondo_values *values, uint64_t mark, const rondo_value *value,
              uint64_t at)
{
    const rondo_event *const event = &values->proof->events[mark];
    const uint32_t phase = event->phase - 1;
    const rondo_coll *const coll = &values->proof->schedules[phase][event->rank]->coll;
    const wanted want = wanted_at(values, coll, at);
    const rondo_recipe *const recipe = &values->recipes[value->recipe];
    const char *fault = NULL;

    if (value->recipe == RONDO_UNDEFINED) {
        fault = "is undefined";
    } else if (recipe->code != 0) {
        fault = "is encoded bytes";
    } else if (value->element != want.element) {
        fault = "holds another element";
    } else if (recipe->bag != want.bag) {
        fault = "is not of the ranks it should be of";
    } else if (recipe->finished != (want.reduced && coll->nranks > 1)) {
        fault = "was not finished, where an average divides";
    } else if (want.reduced && !agrees(values, phase, coll, recipe->hash, at)) {
        fault = "is computed in another order than on another rank";
    }
    if (fault != NULL) {
        return rondo_proof_refuse(values->proof, mark,
                                  "element %" PRIu64 " of its out %s", at, fault);
    }
    return RONDO_OK;
}

rondo_status
rondo_results_check(rondo_values *values, uint64_t mark)
{
    const rondo_event *const event = &values->proof->events[mark];
    const uint32_t phase = event->phase - 1;
    const rondo_coll *const coll = &values->proof->schedules[phase][event->rank]->coll;
    const rondo_layout *const layout = &values->proof->layouts[phase][event->rank];
    const rondo_value *const out = &values->cells[phase][layout->buffer[RONDO_BUF_OUT]];
    const uint64_t count = rondo_coll_out_count(coll);
    rondo_status status = RONDO_OK;

    for (uint64_t at = 0; status == RONDO_OK && at < count; at++) {
        status = check_element(values, mark, &out[at], at);
    }
    return status;
}
