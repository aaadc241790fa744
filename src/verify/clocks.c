/* clocks.c - what each event knows of the other ranks, by messages and signals. */
#include "verify/clocks.h"

#include "base/alloc.h"
#include "base/check.h"

static uint32_t *
clock_of(const rondo_proof *proof, const rondo_clocks *clocks, uint64_t event)
{
    return &clocks->known[event * proof->nranks];
}

static void
learn_all(const rondo_proof *proof, const rondo_clocks *clocks, uint64_t event,
          uint64_t from)
{
    uint32_t *const to = clock_of(proof, clocks, event);
    const uint32_t *const known = clock_of(proof, clocks, from);

    for (uint32_t rank = 0; rank < proof->nranks; rank++) {
        to[rank] = known[rank] > to[rank] ? known[rank] : to[rank];
    }
}

/* `event` hears from `from`, of another rank, and so that all up to `done` is done. */
static void
hear(const rondo_proof *proof, const rondo_clocks *clocks, uint64_t event,
     uint64_t from, uint64_t done)
{
    const uint32_t local = (uint32_t)rondo_proof_local(proof, done) + 1;
    const uint32_t rank = proof->events[from].rank;
    uint32_t *const to = clock_of(proof, clocks, event);

    learn_all(proof, clocks, event, from);
    to[rank] = local > to[rank] ? local : to[rank];
}

static void
advance(const rondo_proof *proof, const rondo_clocks *clocks, uint64_t event)
{
    const rondo_event *const found = &proof->events[event];

    if (found->step == NULL) {
        const uint64_t first = proof->first_event[found->rank];

        for (uint64_t earlier = event; earlier > first; earlier--) {
            learn_all(proof, clocks, event, earlier - 1);
        }
        return;
    }
    for (uint64_t at = 0; at < rondo_proof_needs(proof, event); at++) {
        learn_all(proof, clocks, event, rondo_proof_need(proof, event, at));
    }
    if (found->step->kind == RONDO_STEP_RECV) {
        hear(proof, clocks, event, found->other, proof->events[found->other].opening);
    } else if (found->step->kind == RONDO_STEP_WAIT) {
        hear(proof, clocks, event, found->other, found->other);
    }
}

static bool
is_mapped(rondo_slice slice)
{
    return slice.count > 0 && slice.owner != RONDO_OWN;
}

static bool
are_wanted(const rondo_proof *proof)
{
    for (uint32_t phase = 0; phase < proof->phases; phase++) {
        if (proof->schedules[phase][0]->coll.kind == RONDO_COLL_BARRIER) {
            return true;
        }
    }
    for (uint64_t event = 0; event < proof->nevents; event++) {
        const rondo_step *const step = proof->events[event].step;

        if (step != NULL &&
            (is_mapped(step->to) || is_mapped(step->a) || is_mapped(step->b))) {
            return true;
        }
    }
    return false;
}

rondo_status
rondo_clocks_make(const rondo_proof *proof, rondo_clocks *clocks)
{
    clocks->known = NULL;
    if (!are_wanted(proof)) {
        return RONDO_OK;
    }
    const rondo_status status = rondo_proof_take(
        proof->nevents, proof->nranks * sizeof *clocks->known, (void **)&clocks->known);
    if (status != RONDO_OK) {
        return status;
    }
    for (uint64_t at = 0; at < proof->nevents; at++) {
        advance(proof, clocks, proof->order[at]);
    }
    return RONDO_OK;
}

void
rondo_clocks_clear(rondo_clocks *clocks)
{
    rondo_free(clocks->known);
    clocks->known = NULL;
}

bool
rondo_clocks_know(const rondo_proof *proof, const rondo_clocks *clocks, uint64_t event,
                  uint64_t earlier)
{
    const uint32_t rank = proof->events[earlier].rank;

    RONDO_ASSERT(clocks->known != NULL);
    return clock_of(proof, clocks, event)[rank] > rondo_proof_local(proof, earlier);
}
