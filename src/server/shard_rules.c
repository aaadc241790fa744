/* shard_rules.c - when pushes become updates, and who may pull: a table of rules. */
#include "base/check.h"
#include "server/shard.h"

static float *
kept_of(const rondo_shard *shard, uint32_t worker)
{
    RONDO_ASSERT(shard->kept != NULL);
    return shard->kept + worker * shard->count;
}

/* --- updates ---------------------------------------------------------------------- */

static void
count_used(rondo_shard *shard, uint64_t staleness)
{
    rondo_shard_stats *const stats = &shard->stats;
    const uint64_t place =
        staleness < RONDO_STALENESS_MAX ? staleness : RONDO_STALENESS_MAX;

    stats->used++;
    stats->staleness_sum += staleness;
    stats->staleness[place]++;
    if (staleness > stats->staleness_largest) {
        stats->staleness_largest = staleness;
    }
}

static void
update(rondo_shard *shard, const rondo_shard_update *what, const float *gradient)
{
    rondo_shard_changing(shard);
    shard->config.update(shard->config.user, what, gradient, shard->parameters,
                         shard->count);
    shard->version++;
}

void
rondo_shard_apply(rondo_shard *shard, const rondo_shard_push_taken *push)
{
    const uint64_t staleness = shard->version - push->version;
    const bool slower = shard->config.staleness_aware != 0 && staleness > 1;
    const rondo_shard_update what = {.version = shard->version,
                                     .staleness = staleness,
                                     .staleness_of = slower ? staleness : 1,
                                     .worker = push->worker,
                                     .gradients = 1};

    count_used(shard, staleness);
    update(shard, &what, rondo_shard_mend(shard, push));
}

static void
add(float *restrict sum, const float *restrict term, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        sum[i] += term[i];
    }
}

static void
add_scaled(float *restrict sum, const float *restrict term, float factor,
           uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        sum[i] += factor * term[i];
    }
}

static void
scale(float *values, float factor, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        values[i] *= factor;
    }
}

static void
divide(float *values, float divisor, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        values[i] /= divisor;
    }
}

/* Which of the gradients that wait go into the mean. */
typedef struct chosen {
    uint32_t first;
    uint32_t gradients;
    double weight; /* of all of them */
    bool alike;    /* all have the same weight */
} chosen;

static bool
counts(const rondo_shard *shard, uint32_t worker)
{
    return shard->workers[worker].waits && shard->workers[worker].weight > 0;
}

static chosen
choose(const rondo_shard *shard)
{
    chosen found = {.first = UINT32_MAX, .alike = true};

    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        if (!counts(shard, i)) {
            continue;
        }
        if (found.gradients == 0) {
            found.first = i;
        }
        found.gradients++;
        found.weight += shard->workers[i].weight;
        found.alike &= shard->workers[i].weight == shard->workers[found.first].weight;
    }
    return found;
}

/* The mean, in the memory of the first gradient. Equal weights: ((g0 + g1) + g2) ...,
 * then one division, which are the bits of an all-reduce that adds in rank order. Else
 * the weighted terms are added in the same order. */
static float *
mean_of(const rondo_shard *shard, const chosen *found)
{
    const uint64_t count = shard->count;
    float *const sum = kept_of(shard, found->first);

    if (!found->alike) {
        scale(sum, (float)(shard->workers[found->first].weight / found->weight), count);
    }
    for (uint32_t i = found->first + 1; i < shard->config.nworkers; i++) {
        if (!counts(shard, i)) {
            continue;
        }
        if (found->alike) {
            add(sum, kept_of(shard, i), count);
        } else {
            const float factor = (float)(shard->workers[i].weight / found->weight);
            add_scaled(sum, kept_of(shard, i), factor, count);
        }
    }
    if (found->alike) {
        divide(sum, (float)found->gradients, count);
    }
    return sum;
}

bool
rondo_shard_settle(rondo_shard *shard)
{
    if (!shard->rule->keeps || !shard->rule->due(shard)) {
        return false;
    }
    const chosen found = choose(shard);
    if (found.gradients > 0) {
        const bool alone = found.gradients == 1;
        const rondo_shard_update what = {.version = shard->version,
                                         .staleness_of = 1,
                                         .worker = alone ? found.first : UINT32_MAX,
                                         .gradients = found.gradients};
        update(shard, &what, mean_of(shard, &found));
    }
    for (uint32_t i = 0; i < found.gradients; i++) {
        count_used(shard, 0);
    }
    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        shard->workers[i].waits = false;
    }
    return found.gradients > 0;
}

/* A gradient waits for others, and may be the last one of them. */
static rondo_push_outcome
keep(rondo_shard *shard, const rondo_shard_push_taken *push)
{
    rondo_shard_worker *const who = &shard->workers[push->worker];

    who->waits = true;
    who->weight = push->weight;
    if (push->weight > 0) {
        const float *restrict const from = push->gradient;
        float *restrict const to = kept_of(shard, push->worker);
        for (uint64_t i = 0; i < shard->count; i++) {
            to[i] = from[i];
        }
    }
    return rondo_shard_settle(shard) ? RONDO_PUSH_APPLIED : RONDO_PUSH_KEPT;
}

/* --- async ------------------------------------------------------------------------ */

static rondo_push_outcome
at_once(rondo_shard *shard, const rondo_shard_push_taken *push)
{
    if (push->weight == 0) {
        return RONDO_PUSH_KEPT;
    }
    rondo_shard_apply(shard, push);
    return RONDO_PUSH_APPLIED;
}

static bool
any_time(const rondo_shard *shard, uint32_t worker)
{
    (void)shard;
    (void)worker;
    return true;
}

/* --- backup ----------------------------------------------------------------------- */

static rondo_push_outcome
keep_or_drop(rondo_shard *shard, const rondo_shard_push_taken *push)
{
    /* A second gradient of the same version is as superfluous as a late one. */
    if (push->version == shard->version && !shard->workers[push->worker].waits) {
        return keep(shard, push);
    }
    shard->stats.dropped += push->weight > 0 ? 1 : 0;
    return RONDO_PUSH_DROPPED;
}

static bool
next_version(const rondo_shard *shard, uint32_t worker)
{
    return !shard->workers[worker].waits;
}

static bool
quorum_is_there(const rondo_shard *shard)
{
    const uint32_t living = rondo_shard_living(shard);
    const uint32_t wanted =
        shard->config.quorum == 0 ? shard->config.nworkers : shard->config.quorum;
    const uint32_t quorum = wanted < living ? wanted : living;
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        waiting += shard->workers[i].waits ? 1 : 0;
    }
    return waiting > 0 && waiting >= quorum;
}

/* --- bounded ---------------------------------------------------------------------- */

static bool
within_bound(const rondo_shard *shard, uint32_t worker)
{
    return shard->workers[worker].clock - rondo_shard_least(shard) <=
           shard->config.bound;
}

/* Bound 0: all that wait are of one clock, one ahead of the slowest; when the slowest
 * has got there, or nobody is left, nothing is missing. */
static bool
clock_is_over(const rondo_shard *shard)
{
    const uint64_t least = rondo_shard_least(shard);
    const bool nobody = rondo_shard_living(shard) == 0;
    bool waiting = false;

    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        if (!shard->workers[i].waits) {
            continue;
        }
        if (!nobody && shard->workers[i].clock > least) {
            return false;
        }
        waiting = true;
    }
    return waiting;
}

const rondo_shard_rule_kind *
rondo_shard_rule_find(const rondo_shard_config *config)
{
    static const rondo_shard_rule_kind async = {.take = at_once, .may_pull = any_time};
    static const rondo_shard_rule_kind backup = {.take = keep_or_drop,
                                                 .may_pull = next_version,
                                                 .due = quorum_is_there,
                                                 .keeps = true};
    static const rondo_shard_rule_kind bounded = {.take = at_once,
                                                  .may_pull = within_bound};
    static const rondo_shard_rule_kind lockstep = {
        .take = keep, .may_pull = within_bound, .due = clock_is_over, .keeps = true};

    switch (config->rule) {
    case RONDO_SHARD_BACKUP:
        return &backup;
    case RONDO_SHARD_BOUNDED:
        return config->bound == 0 ? &lockstep : &bounded;
    case RONDO_SHARD_ASYNC:
    default:
        return &async;
    }
}
