/* presence.c - who is there: ranks, goodbyes and a shard's own idea are kept alike. */
#include "server/server_inside.h"

/* Whether this worker is to live in the shard now, given that it `lives` or not. */
static bool
is_here(const rondo_server_lane *lane, bool has_rank, bool lives, bool is_new)
{
    if (!has_rank || lane->gone) {
        return false;
    }
    return lives || is_new || lane->absent;
}

rondo_status
rondo_server_presence(rondo_server *server, rondo_server_slot *slot, bool is_new)
{
    uint64_t clock = 0;

    for (uint32_t i = 0; i < slot->nworkers; i++) {
        rondo_server_lane *const lane = &slot->lanes[i];
        const bool has_rank = server->place.rank_of[i] != UINT32_MAX;
        const bool lives = rondo_shard_lives(slot->shard, i);
        const bool here = is_here(lane, has_rank, lives, is_new);
        rondo_status status = RONDO_OK;

        if (lives && !here) {
            status = rondo_shard_leave(slot->shard, i);
        } else if (here && !lives) {
            status = rondo_shard_join(slot->shard, i, &clock);
        }
        if (status != RONDO_OK) {
            return status;
        }
        lane->absent = !has_rank && !lane->gone;
        lane->session = lane->absent ? 0 : lane->session;
    }
    return RONDO_OK;
}
