/* verify.c - proves a set of schedules right. */
#include "verify/verify.h"

#include "base/alloc.h"
#include "base/error.h"
#include "verify/proof.h"

/* The longest chain of messages and signals of one collective; `depth` is room for all
 * events. */
static uint64_t
count_turns(const rondo_proof *proof, uint64_t *depth)
{
    uint64_t turns = 0;

    for (uint64_t at = 0; at < proof->nevents; at++) {
        const uint64_t event = proof->order[at];
        const rondo_event *const found = &proof->events[event];
        uint64_t longest = 0;

        if (found->step == NULL) {
            depth[event] = 0;
            continue;
        }
        for (uint64_t need = 0; need < rondo_proof_needs(proof, event); need++) {
            const uint64_t before = depth[rondo_proof_need(proof, event, need)];

            longest = before > longest ? before : longest;
        }
        if (found->step->kind == RONDO_STEP_RECV) {
            /* The send, which stands right in front, takes its turn with it. */
            const uint64_t before = depth[found->other];

            longest = (before > longest ? before : longest) + 1;
            depth[found->other] = longest;
        } else if (found->step->kind == RONDO_STEP_WAIT) {
            const uint64_t given = depth[found->other] + 1;

            longest = given > longest ? given : longest;
        }
        depth[event] = longest;
        turns = longest > turns ? longest : turns;
    }
    return turns;
}

static void
count_messages(const rondo_proof *proof, rondo_verdict *verdict)
{
    for (uint32_t rank = 0; rank < proof->nranks; rank++) {
        const rondo_schedule *const schedule = proof->schedules[0][rank];
        uint64_t sent = 0;

        for (uint64_t index = 0; index < schedule->nsteps; index++) {
            const rondo_step *const step = &schedule->steps[index];

            if (step->kind == RONDO_STEP_SEND) {
                sent += step->a.count;
                verdict->messages_total++;
            }
        }
        verdict->sent_total += sent;
        verdict->sent_max = sent > verdict->sent_max ? sent : verdict->sent_max;
    }
}

/* The proof proper. The order of steps may not matter; that it does not is proved by
 * the race check, and seen once more by running them in another order. */
static rondo_status
prove(rondo_proof *proof, rondo_verdict *verdict)
{
    rondo_status status = rondo_proof_begin(proof);

    if (status == RONDO_OK) {
        status = rondo_reach_check(proof);
    }
    if (status == RONDO_OK) {
        status = rondo_order_run(proof, RONDO_ORDER_OLDEST);
    }
    if (status == RONDO_OK) {
        status = rondo_races_check(proof);
    }
    if (status == RONDO_OK) {
        status = rondo_values_check(proof, verdict);
    }
    if (status == RONDO_OK) {
        verdict->turns = count_turns(proof, proof->stack);
        count_messages(proof, verdict);
        status = rondo_order_run(proof, RONDO_ORDER_NEWEST);
    }
    if (status == RONDO_OK) {
        status = rondo_values_check(proof, verdict);
    }
    return status;
}

rondo_status
rondo_verify(const rondo_schedule *const *schedules, uint32_t nranks,
             rondo_verdict *verdict)
{
    rondo_proof proof = {.schedules = {schedules}, .nranks = nranks, .phases = 1};
    rondo_verdict found = {0};

    if (nranks == 0) {
        return rondo_error(RONDO_ERR_ARG, "no schedules");
    }
    const rondo_status status = prove(&proof, &found);
    rondo_proof_end(&proof);
    if (status == RONDO_OK && verdict != NULL) {
        *verdict = found;
    }
    return status;
}

rondo_status
rondo_verify_pair(const rondo_schedule *const *first,
                  const rondo_schedule *const *second, uint32_t nranks)
{
    rondo_proof proof = {.schedules = {first, second}, .nranks = nranks, .phases = 2};
    rondo_verdict found = {0};

    if (nranks == 0) {
        return rondo_error(RONDO_ERR_ARG, "no schedules");
    }
    const rondo_status status = prove(&proof, &found);
    rondo_proof_end(&proof);
    return status;
}
