/* shard_state.c - a shard as plain bytes: saved, and taken in again if whole. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "server/shard.h"

#define STATE_VERSION 1U
#define STATE_WORD    8  /* bytes hashed at a time */
#define HAS_PULLED    1U /* vectors of what workers pulled are in it */
#define HAS_SQUARES   2U
#define WORKER_LIVES  1U
#define WORKER_WAITS  2U
#define WORKER_PULLED 4U

static const char magic[8] = {'R', 'O', 'N', 'D', 'O', 's', 'h', 'd'};

/* In front; no padding, so that every byte counts. */
typedef struct state_head {
    char magic[8];
    uint64_t checksum; /* of all bytes, this being 0 */
    uint64_t bytes;    /* in all */
    uint32_t version;  /* of the layout */
    uint32_t rule;
    uint64_t count;
    uint32_t nworkers;
    uint32_t has; /* HAS_... */
    uint64_t updates;
    uint64_t pushes;
    uint64_t used;
    uint64_t dropped;
    uint64_t pulls;
    uint64_t staleness_sum;
    uint64_t staleness_largest;
    uint64_t staleness[RONDO_STALENESS_MAX + 1];
    uint64_t spread_largest;
} state_head;

typedef struct state_worker {
    uint64_t clock;
    uint64_t pulled;
    double weight;
    uint32_t is; /* WORKER_... */
    uint32_t zero;
} state_worker;

/* Behind head and workers: parameters, what waits, what was pulled (in worker order, of
 * those who have some), mean squares. */

/* --- saving ----------------------------------------------------------------------- */

static bool
keeps_gradient(const state_worker *who)
{
    return (who->is & WORKER_WAITS) != 0 && who->weight > 0;
}

static bool
keeps_pulled(const state_head *head, const state_worker *who)
{
    return (head->has & HAS_PULLED) != 0 && (who->is & WORKER_PULLED) != 0;
}

static state_worker
worker_state(const rondo_shard *shard, uint32_t worker)
{
    const rondo_shard_worker *const who = &shard->workers[worker];

    return (state_worker){.clock = who->clock,
                          .pulled = who->pulled,
                          .weight = who->waits ? who->weight : 0,
                          .is = (who->living ? WORKER_LIVES : 0) |
                                (who->waits ? WORKER_WAITS : 0) |
                                (who->has_pulled ? WORKER_PULLED : 0)};
}

static uint32_t
has_what(const rondo_shard *shard)
{
    return (shard->pulled != NULL ? HAS_PULLED : 0) |
           (shard->squares != NULL ? HAS_SQUARES : 0);
}

uint64_t
rondo_shard_state_bytes(const rondo_shard *shard)
{
    if (shard == NULL) {
        (void)rondo_error(RONDO_ERR_ARG, "rondo_shard_state_bytes: the shard is null");
        return 0;
    }
    const state_head head = {.has = has_what(shard)};
    uint64_t vectors = 1 + (shard->squares != NULL ? 1 : 0);
    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        const state_worker who = worker_state(shard, i);
        vectors += keeps_gradient(&who) ? 1 : 0;
        vectors += keeps_pulled(&head, &who) ? 1 : 0;
    }
    return sizeof head + shard->config.nworkers * sizeof(state_worker) +
           vectors * shard->count * sizeof(float);
}

static uint64_t
checksum_of(const unsigned char *state, uint64_t bytes)
{
    uint64_t hash = bytes;
    uint64_t at = 0;

    for (; at + STATE_WORD <= bytes; at += STATE_WORD) {
        uint64_t word = 0;
        memcpy(&word, state + at, sizeof word);
        hash = rondo_hash_add(hash, at == offsetof(state_head, checksum) ? 0 : word);
    }
    return rondo_hash_bytes(hash, state + at, bytes - at);
}

static void
head_fill(const rondo_shard *shard, uint64_t bytes, state_head *head)
{
    const rondo_shard_stats *const stats = &shard->stats;

    memset(head, 0, sizeof *head);
    memcpy(head->magic, magic, sizeof magic);
    head->bytes = bytes;
    head->version = STATE_VERSION;
    head->rule = (uint32_t)shard->config.rule;
    head->count = shard->count;
    head->nworkers = shard->config.nworkers;
    head->has = has_what(shard);
    head->updates = shard->version;
    head->pushes = stats->pushes;
    head->used = stats->used;
    head->dropped = stats->dropped;
    head->pulls = stats->pulls;
    head->staleness_sum = stats->staleness_sum;
    head->staleness_largest = stats->staleness_largest;
    memcpy(head->staleness, stats->staleness, sizeof head->staleness);
    head->spread_largest = stats->spread_largest;
}

/* Puts one piece behind the other. */
static unsigned char *
put(unsigned char *to, const void *from, uint64_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

rondo_status
rondo_shard_state_save(const rondo_shard *shard, void *state, uint64_t bytes)
{
    _Static_assert(sizeof(state_head) ==
                       14 * sizeof(uint64_t) + sizeof shard->stats.staleness,
                   "no padding is saved");
    _Static_assert(sizeof(state_worker) == 32, "no padding is saved");
    state_head head;

    if (shard == NULL || state == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_shard_state_save: a pointer is null");
    }
    const uint64_t wanted = rondo_shard_state_bytes(shard);
    if (bytes != wanted) {
        return rondo_error(RONDO_ERR_ARG,
                           "rondo_shard_state_save: room for %llu bytes; the state has "
                           "%llu",
                           (unsigned long long)bytes, (unsigned long long)wanted);
    }
    head_fill(shard, bytes, &head);
    const uint64_t vector = shard->count * sizeof(float);
    unsigned char *to = put(state, &head, sizeof head);
    for (uint32_t i = 0; i < head.nworkers; i++) {
        const state_worker who = worker_state(shard, i);
        to = put(to, &who, sizeof who);
    }
    to = put(to, shard->parameters, vector);
    for (uint32_t i = 0; i < head.nworkers; i++) {
        const state_worker who = worker_state(shard, i);
        if (keeps_gradient(&who)) {
            to = put(to, shard->kept + i * shard->count, vector);
        }
    }
    for (uint32_t i = 0; i < head.nworkers; i++) {
        const state_worker who = worker_state(shard, i);
        if (keeps_pulled(&head, &who)) {
            to = put(to, shard->pulled + i * shard->count, vector);
        }
    }
    if (shard->squares != NULL) {
        (void)put(to, shard->squares, vector);
    }
    head.checksum = checksum_of(state, bytes);
    memcpy(state, &head, sizeof head);
    return RONDO_OK;
}

/* --- loading ---------------------------------------------------------------------- */

static state_worker
worker_read(const unsigned char *state, uint32_t worker)
{
    state_worker who;

    memcpy(&who, state + sizeof(state_head) + worker * sizeof who, sizeof who);
    return who;
}

static rondo_status
check_head(const rondo_shard *shard, const state_head *head, uint64_t bytes)
{
    if (memcmp(head->magic, magic, sizeof magic) != 0) {
        return rondo_error(RONDO_ERR_ARG, "these bytes are no shard's state");
    }
    if (head->version != STATE_VERSION) {
        return rondo_error(RONDO_ERR_ARG,
                           "the shard's state has version %u; this library reads %u",
                           head->version, STATE_VERSION);
    }
    if (head->bytes != bytes) {
        return rondo_error(RONDO_ERR_ARG,
                           "the shard's state has %llu bytes, and %llu are there",
                           (unsigned long long)head->bytes, (unsigned long long)bytes);
    }
    if (head->rule != (uint32_t)shard->config.rule || head->count != shard->count) {
        return rondo_error(RONDO_ERR_ARG,
                           "the state is of a shard with rule %u and %llu parameters; "
                           "this one has rule %u and %llu",
                           head->rule, (unsigned long long)head->count,
                           (uint32_t)shard->config.rule,
                           (unsigned long long)shard->count);
    }
    return RONDO_OK;
}

/* The lengths that follow from head and workers, against the bytes there are. */
static rondo_status
check_lengths(const state_head *head, const unsigned char *state, uint64_t bytes)
{
    const uint64_t workers_bytes = head->nworkers * sizeof(state_worker);
    uint64_t vectors = 1 + ((head->has & HAS_SQUARES) != 0 ? 1 : 0);
    uint64_t values = 0;

    if (head->nworkers == 0 || workers_bytes > bytes - sizeof *head) {
        return rondo_error(RONDO_ERR_ARG, "the shard's state names %u workers",
                           head->nworkers);
    }
    for (uint32_t i = 0; i < head->nworkers; i++) {
        const state_worker who = worker_read(state, i);
        if (!isfinite(who.weight) || who.weight < 0 || who.clock == UINT64_MAX) {
            return rondo_error(RONDO_ERR_ARG,
                               "the shard's state has no sense at worker %u", i);
        }
        vectors += keeps_gradient(&who) ? 1 : 0;
        vectors += keeps_pulled(head, &who) ? 1 : 0;
    }
    if (__builtin_mul_overflow(vectors, head->count * sizeof(float), &values) ||
        values != bytes - sizeof *head - workers_bytes) {
        return rondo_error(RONDO_ERR_ARG, "the shard's state has another length");
    }
    return RONDO_OK;
}

static rondo_status
check_state(const rondo_shard *shard, const unsigned char *state, uint64_t bytes,
            state_head *head)
{
    if (shard == NULL || state == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_shard_state_load: a pointer is null");
    }
    if (bytes < sizeof *head) {
        return rondo_error(RONDO_ERR_ARG,
                           "a shard's state has at least %zu bytes, and %llu are there",
                           sizeof *head, (unsigned long long)bytes);
    }
    memcpy(head, state, sizeof *head);
    rondo_status status = check_head(shard, head, bytes);
    if (status == RONDO_OK && head->checksum != checksum_of(state, bytes)) {
        status = rondo_error(RONDO_ERR_ARG,
                             "the shard's state is damaged: its checksum differs");
    }
    return status == RONDO_OK ? check_lengths(head, state, bytes) : status;
}

static void
stats_take(rondo_shard *shard, const state_head *head)
{
    rondo_shard_stats now = {.pushes = head->pushes,
                             .used = head->used,
                             .dropped = head->dropped,
                             .pulls = head->pulls,
                             .staleness_sum = head->staleness_sum,
                             .staleness_largest = head->staleness_largest,
                             .spread_largest = head->spread_largest};

    memcpy(now.staleness, head->staleness, sizeof now.staleness);
    shard->stats = now;
}

/* Workers that both know; others come in as new ones, see workers_welcome. */
static void
workers_take(rondo_shard *shard, const unsigned char *state, uint32_t saved)
{
    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        rondo_shard_worker *const who = &shard->workers[i];
        memset(who, 0, sizeof *who);
        if (i < saved) {
            const state_worker before = worker_read(state, i);
            who->clock = before.clock;
            who->pulled = before.pulled;
            who->living = (before.is & WORKER_LIVES) != 0;
        }
    }
}

/* A kept gradient that has no place here is given up. */
static const unsigned char *
kept_take(rondo_shard *shard, const unsigned char *state, uint32_t saved,
          const unsigned char *from)
{
    const uint64_t vector = shard->count * sizeof(float);

    for (uint32_t i = 0; i < saved; i++) {
        const state_worker before = worker_read(state, i);
        const bool place = i < shard->config.nworkers && shard->rule->keeps;
        if (place && (before.is & WORKER_WAITS) != 0) {
            shard->workers[i].waits = true;
            shard->workers[i].weight = before.weight;
        }
        if (!keeps_gradient(&before)) {
            continue;
        }
        if (place) {
            memcpy(shard->kept + i * shard->count, from, vector);
        } else {
            shard->stats.dropped++;
        }
        from += vector;
    }
    return from;
}

static const unsigned char *
pulled_take(rondo_shard *shard, const unsigned char *state, const state_head *head,
            const unsigned char *from)
{
    const uint64_t vector = shard->count * sizeof(float);

    for (uint32_t i = 0; i < head->nworkers; i++) {
        const state_worker before = worker_read(state, i);
        if (!keeps_pulled(head, &before)) {
            continue;
        }
        if (i < shard->config.nworkers && shard->pulled != NULL) {
            memcpy(shard->pulled + i * shard->count, from, vector);
            shard->workers[i].has_pulled = true;
        }
        from += vector;
    }
    return from;
}

static void
workers_welcome(rondo_shard *shard, uint32_t saved)
{
    for (uint32_t i = saved; i < shard->config.nworkers; i++) {
        shard->workers[i].clock = rondo_shard_newcomer_clock(shard);
        shard->workers[i].living = true;
    }
}

rondo_status
rondo_shard_state_load(rondo_shard *shard, const void *state, uint64_t bytes)
{
    state_head head;
    const rondo_status status = check_state(shard, state, bytes, &head);

    if (status != RONDO_OK) {
        return status;
    }
    const uint64_t vector = shard->count * sizeof(float);
    const unsigned char *from = state;
    from += sizeof head + head.nworkers * sizeof(state_worker);
    rondo_shard_changing(shard);
    shard->loads++;
    shard->version = head.updates;
    stats_take(shard, &head);
    workers_take(shard, state, head.nworkers);
    memcpy(shard->parameters, from, vector);
    from = kept_take(shard, state, head.nworkers, from + vector);
    from = pulled_take(shard, state, &head, from);
    if (shard->squares != NULL) {
        memset(shard->squares, 0, vector);
        if ((head.has & HAS_SQUARES) != 0) {
            memcpy(shard->squares, from, vector);
        }
    }
    workers_welcome(shard, head.nworkers);
    /* Among fewer workers, or with another quorum, what waits may be enough. */
    (void)rondo_shard_settle(shard);
    return RONDO_OK;
}
