/* slot.c - a shard on its server: lanes of workers, and vectors that are used again. */
#include <string.h>

#include "base/alloc.h"
#include "server/server_inside.h"

/* A lane holds half a push and a copy of an answer at most. */
#define VECTORS_PER_LANE 2U

/* Parameters are about to change: whoever is in the middle of getting them gets the
 * rest of what it was promised. Without memory for it, it gets all of the new ones. */
static void
keep_answers(void *user)
{
    rondo_server_slot *const slot = user;
    const float *const parameters = rondo_shard_parameters(slot->shard, NULL);

    for (uint32_t i = 0; i < slot->nworkers; i++) {
        rondo_server_lane *const lane = &slot->lanes[i];
        if (!lane->answering || lane->copy != NULL) {
            continue;
        }
        if (rondo_slot_vector(slot, &lane->copy) != RONDO_OK) {
            lane->answering = false;
            lane->asks = true;
            continue;
        }
        memcpy(lane->copy + lane->sent, parameters + lane->sent,
               (slot->count - lane->sent) * sizeof *parameters);
    }
}

rondo_status
rondo_slot_open(rondo_server_slot *slot, rondo_shard *shard, uint32_t nworkers)
{
    void *lanes = NULL;
    void *spare = NULL;
    rondo_status status = rondo_alloc_zero(nworkers * sizeof *slot->lanes, &lanes);

    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_alloc_zero((size_t)nworkers * VECTORS_PER_LANE * sizeof *slot->spare,
                              &spare);
    if (status != RONDO_OK) {
        rondo_free(lanes);
        return status;
    }
    *slot = (rondo_server_slot){.shard = shard,
                                .count = shard->count,
                                .loads = shard->loads,
                                .lanes = lanes,
                                .nworkers = nworkers,
                                .spare = spare};
    for (uint32_t i = 0; i < nworkers; i++) {
        slot->lanes[i].deaf = true;
    }
    rondo_shard_watch(shard, keep_answers, slot);
    return RONDO_OK;
}

void
rondo_slot_close(rondo_server_slot *slot)
{
    if (slot->shard == NULL) {
        return;
    }
    rondo_shard_watch(slot->shard, NULL, NULL);
    for (uint32_t i = 0; i < slot->nworkers; i++) {
        rondo_slot_forget(slot, &slot->lanes[i]);
    }
    for (uint32_t i = 0; i < slot->nspare; i++) {
        rondo_free(slot->spare[i]);
    }
    rondo_free(slot->spare);
    rondo_free(slot->lanes);
    *slot = (rondo_server_slot){.shard = NULL};
}

void
rondo_slot_forget(rondo_server_slot *slot, rondo_server_lane *lane)
{
    rondo_slot_spare(slot, lane->half);
    rondo_slot_spare(slot, lane->copy);
    lane->half = NULL;
    lane->filled = 0;
    lane->copy = NULL;
    lane->asks = false;
    lane->answering = false;
    lane->due = 0;
}

rondo_status
rondo_slot_vector(rondo_server_slot *slot, float **vector)
{
    void *memory = NULL;

    if (slot->nspare > 0) {
        *vector = slot->spare[--slot->nspare];
        return RONDO_OK;
    }
    const rondo_status status =
        rondo_alloc_zero(slot->count * sizeof **vector, &memory);
    if (status == RONDO_OK) {
        *vector = memory;
    }
    return status;
}

void
rondo_slot_spare(rondo_server_slot *slot, float *vector)
{
    if (vector != NULL) {
        slot->spare[slot->nspare++] = vector;
    }
}
