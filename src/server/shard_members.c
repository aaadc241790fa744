/* shard_members.c - clocks of workers, and workers that leave and join. */
#include "base/error.h"
#include "server/shard.h"

/* --- clocks ----------------------------------------------------------------------- */

uint32_t
rondo_shard_living(const rondo_shard *shard)
{
    uint32_t living = 0;

    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        living += shard->workers[i].living ? 1 : 0;
    }
    return living;
}

uint64_t
rondo_shard_least(const rondo_shard *shard)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        if (shard->workers[i].living && shard->workers[i].clock < least) {
            least = shard->workers[i].clock;
        }
    }
    return least == UINT64_MAX ? 0 : least;
}

uint64_t
rondo_shard_most(const rondo_shard *shard)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        if (shard->workers[i].living && shard->workers[i].clock > most) {
            most = shard->workers[i].clock;
        }
    }
    return most;
}

void
rondo_shard_note_spread(rondo_shard *shard)
{
    const uint64_t spread = rondo_shard_most(shard) - rondo_shard_least(shard);

    if (spread > shard->stats.spread_largest) {
        shard->stats.spread_largest = spread;
    }
}

/* The rule keeps workers together because they pull before they push; whoever does not
 * is refused, so that the bound holds whatever callers do. */
rondo_status
rondo_shard_clock_check(const rondo_shard *shard, uint32_t worker, uint64_t clock)
{
    const uint64_t least = rondo_shard_least(shard);

    if (clock == UINT64_MAX) {
        return rondo_error(RONDO_ERR_ARG,
                           "worker %u is at clock %llu: there is no "
                           "next one",
                           worker, (unsigned long long)clock);
    }
    if (shard->config.rule != RONDO_SHARD_BOUNDED || clock <= least ||
        clock - least - 1 <= shard->config.bound) {
        return RONDO_OK;
    }
    return rondo_error(RONDO_ERR_STATE,
                       "worker %u comes to clock %llu, and the slowest is at %llu; the "
                       "bound is %llu: it has to wait in a pull first",
                       worker, (unsigned long long)clock, (unsigned long long)least,
                       (unsigned long long)shard->config.bound);
}

/* --- who is there ----------------------------------------------------------------- */

rondo_status
rondo_shard_worker_check(const rondo_shard *shard, uint32_t worker, const char *call)
{
    if (shard == NULL) {
        return rondo_error(RONDO_ERR_ARG, "%s: the shard is null", call);
    }
    if (worker >= shard->config.nworkers) {
        return rondo_error(RONDO_ERR_ARG, "%s: worker is %u; allowed is 0 to %u", call,
                           worker, shard->config.nworkers - 1);
    }
    return RONDO_OK;
}

rondo_status
rondo_shard_leave(rondo_shard *shard, uint32_t worker)
{
    const rondo_status status =
        rondo_shard_worker_check(shard, worker, "rondo_shard_leave");

    if (status != RONDO_OK) {
        return status;
    }
    shard->workers[worker].living = false;
    (void)rondo_shard_settle(shard);
    return RONDO_OK;
}

uint64_t
rondo_shard_newcomer_clock(const rondo_shard *shard)
{
    uint64_t furthest = 0;

    if (rondo_shard_living(shard) > 0) {
        return rondo_shard_least(shard);
    }
    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        if (shard->workers[i].clock > furthest) {
            furthest = shard->workers[i].clock;
        }
    }
    return furthest;
}

rondo_status
rondo_shard_join(rondo_shard *shard, uint32_t worker, uint64_t *clock)
{
    rondo_status status = rondo_shard_worker_check(shard, worker, "rondo_shard_join");

    if (status == RONDO_OK && clock == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_shard_join: clock is null");
    }
    /* Whoever is there comes as a new one: what it was before is gone. */
    if (status == RONDO_OK) {
        status = rondo_shard_leave(shard, worker);
    }
    if (status != RONDO_OK) {
        return status;
    }
    rondo_shard_worker *const who = &shard->workers[worker];
    const uint64_t begin = rondo_shard_newcomer_clock(shard);
    /* In lockstep, a gradient of its that still waits is of the next clock: its next
     * one is the one after. */
    const bool ahead = who->waits && shard->config.rule == RONDO_SHARD_BOUNDED;
    who->clock = ahead ? who->clock : begin;
    who->living = true;
    who->has_pulled = false;
    *clock = who->clock;
    return RONDO_OK;
}

bool
rondo_shard_lives(const rondo_shard *shard, uint32_t worker)
{
    return worker < shard->config.nworkers && shard->workers[worker].living;
}
