/*
 * order.c - lets the steps of all ranks run, and sees whether all come to an end.
 *
 * A step may run when all it needs is done; a message moves when both its sides may
 * run, for nothing is buffered; a wait is over when its signal has been given. What may
 * run at any time is settled by what is done, never by chance, so if one order comes to
 * an end all do.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "verify/proof.h"

struct run {
    rondo_proof *proof;
    uint64_t *missing;  /* by event: what it still waits for */
    uint64_t *after_at; /* by event, and one past: where its followers begin */
    uint64_t *after;    /* events that wait for it */
    uint64_t *ready;    /* what may run: a queue, or a stack */
    uint64_t first;     /* of the queue */
    uint64_t end;       /* behind the newest */
    uint64_t done;      /* events in the order */
};

static bool
is_message(const rondo_event *event)
{
    return event->step != NULL && (event->step->kind == RONDO_STEP_SEND ||
                                   event->step->kind == RONDO_STEP_RECV);
}

static bool
is_wait(const rondo_event *event)
{
    return event->step != NULL && event->step->kind == RONDO_STEP_WAIT;
}

/* Calls `note` for each pair of an event and one it waits for. */
static void
each_edge(struct run *run,
          void (*note)(struct run *run, uint64_t event, uint64_t earlier))
{
    const rondo_proof *const proof = run->proof;

    for (uint64_t event = 0; event < proof->nevents; event++) {
        const rondo_event *const found = &proof->events[event];
        const uint64_t local = rondo_proof_local(proof, event);

        if (found->step == NULL) {
            /* A mark waits for the steps in front of it and, lest there be none, for
             * the mark in front of them. */
            const uint64_t steps =
                local == 0 ? 0
                           : proof->schedules[found->phase - 1][found->rank]->nsteps;

            for (uint64_t back = 1; local > 0 && back <= steps + 1; back++) {
                note(run, event, event - back);
            }
            continue;
        }
        for (uint64_t at = 0; at < rondo_proof_needs(proof, event); at++) {
            note(run, event, rondo_proof_need(proof, event, at));
        }
        if (is_wait(found)) {
            note(run, event, found->other);
        }
    }
}

static void
count_edge(struct run *run, uint64_t event, uint64_t earlier)
{
    run->missing[event]++;
    run->after_at[earlier + 1]++;
}

static void
list_edge(struct run *run, uint64_t event, uint64_t earlier)
{
    run->after[run->after_at[earlier]++] = event;
}

static rondo_status
take(struct run *run)
{
    const uint64_t nevents = run->proof->nevents;
    rondo_status status =
        rondo_proof_take(nevents, sizeof(uint64_t), (void **)&run->missing);

    if (status == RONDO_OK) {
        status =
            rondo_proof_take(nevents + 1, sizeof(uint64_t), (void **)&run->after_at);
    }
    if (status == RONDO_OK) {
        status = rondo_proof_take(nevents, sizeof(uint64_t), (void **)&run->ready);
    }
    if (status != RONDO_OK) {
        return status;
    }
    each_edge(run, count_edge);
    for (uint64_t event = 0; event < nevents; event++) {
        run->after_at[event + 1] += run->after_at[event];
    }
    status = rondo_proof_take(run->after_at[nevents], sizeof(uint64_t),
                              (void **)&run->after);
    if (status != RONDO_OK) {
        return status;
    }
    each_edge(run, list_edge);
    /* Listing has moved each beginning to the next one's. */
    for (uint64_t event = nevents; event > 0; event--) {
        run->after_at[event] = run->after_at[event - 1];
    }
    run->after_at[0] = 0;
    return RONDO_OK;
}

static void
give(struct run *run)
{
    rondo_free(run->missing);
    rondo_free(run->after_at);
    rondo_free(run->after);
    rondo_free(run->ready);
}

/* An event waits for nothing of its own any more. A message needs both sides. */
static void
let(struct run *run, uint64_t event)
{
    const rondo_event *const found = &run->proof->events[event];

    if (!is_message(found)) {
        run->ready[run->end++] = event;
    } else if (run->missing[found->other] == 0) {
        run->ready[run->end++] =
            found->step->kind == RONDO_STEP_SEND ? event : found->other;
    }
}

static void
finish(struct run *run, uint64_t event)
{
    run->proof->order[run->done++] = event;
    for (uint64_t at = run->after_at[event]; at < run->after_at[event + 1]; at++) {
        run->missing[run->after[at]]--;
        if (run->missing[run->after[at]] == 0) {
            let(run, run->after[at]);
        }
    }
}

/* Some event that can start and cannot end: every other waits for such a one. */
static rondo_status
deadlock(const struct run *run)
{
    const rondo_proof *const proof = run->proof;

    for (uint64_t event = 0; event < proof->nevents; event++) {
        const rondo_event *const found = &proof->events[event];

        if (is_message(found) && run->missing[event] == 0 &&
            run->missing[found->other] > 0) {
            return rondo_proof_refuse(proof, event, "deadlock: %s never starts",
                                      rondo_proof_text(proof, found->other).text);
        }
    }
    for (uint64_t event = 0; event < proof->nevents; event++) {
        const rondo_event *const found = &proof->events[event];

        if (is_wait(found) && run->missing[event] == 1 &&
            run->missing[found->other] > 0) {
            return rondo_proof_refuse(proof, event,
                                      "deadlock: the signal is never given");
        }
    }
    return rondo_proof_refuse(proof, 0, "deadlock");
}

rondo_status
rondo_order_run(rondo_proof *proof, rondo_order order)
{
    struct run run = {.proof = proof};
    rondo_status status = take(&run);

    if (status != RONDO_OK) {
        give(&run);
        return status;
    }
    /* The starts: all else waits for something. */
    for (uint32_t rank = 0; rank < proof->nranks; rank++) {
        let(&run, proof->first_event[rank]);
    }
    while (run.first < run.end) {
        const uint64_t event =
            order == RONDO_ORDER_OLDEST ? run.ready[run.first++] : run.ready[--run.end];

        finish(&run, event);
        if (is_message(&proof->events[event])) {
            finish(&run, proof->events[event].other);
        }
    }
    status = run.done == proof->nevents ? RONDO_OK : deadlock(&run);
    give(&run);
    return status;
}
