/* server_ranks.c - servers and workers on real ranks: every rule, every number of
 * shards and servers, all sizes; sums are exact, so that nothing is lost or twice.
 * ctest: timeout=180 hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/shards.h"

/* Numbers that workers and servers compare at the end. */
typedef struct counts {
    uint64_t pushed;
    uint64_t used;
    uint64_t dropped;
    uint64_t stale; /* shard 0: updates between pulls and pushes, as either sees them */
} counts;

static counts
count_shards(rank_self *self, const shards_rank *place)
{
    counts all = {0};

    for (uint32_t i = 0; i < place->job->nshards; i++) {
        rondo_shard_stats stats = {.size = sizeof stats};
        if (place->shard[i] == NULL) {
            continue;
        }
        rank_expect_status(self, rondo_shard_stats_get(place->shard[i], &stats),
                           RONDO_OK, NULL, "stats");
        const uint64_t used =
            shards_used(self, place, i, rondo_shard_parameters(place->shard[i], NULL));
        rank_expect(self, used == stats.used,
                    "shard %u: %llu gradients in it, %llu used", i,
                    (unsigned long long)used, (unsigned long long)stats.used);
        if (place->job->rule == RONDO_SHARD_BOUNDED) {
            rank_expect(self, stats.spread_largest <= place->job->bound + 1,
                        "shard %u: spread %llu", i,
                        (unsigned long long)stats.spread_largest);
        }
        rank_expect(self, stats.living == 0, "%u still live", stats.living);
        all.pushed += stats.pushes;
        all.used += stats.used;
        all.dropped += stats.dropped;
        all.stale += i == 0 ? stats.staleness_sum : 0;
    }
    return all;
}

/* What was pushed, over all ranks, is what was used or dropped. */
static void
compare(rank_self *self, rondo_comm *comm, const shards_rank *place, counts mine,
        bool is_server)
{
    const shards_job *const job = place->job;
    const uint64_t terms[6] = {is_server ? 0 : mine.pushed * job->nshards,
                               is_server ? mine.pushed : 0,
                               mine.used,
                               mine.dropped,
                               is_server ? 0 : mine.stale,
                               is_server ? mine.stale : 0};
    uint64_t sums[6] = {0};

    rank_expect_status(self,
                       rondo_all_reduce(comm, terms, sums, 6, RONDO_UINT64, RONDO_SUM),
                       RONDO_OK, comm, "the comparison");
    rank_expect(self, sums[0] == sums[1], "%llu pushed, %llu arrived",
                (unsigned long long)sums[0], (unsigned long long)sums[1]);
    rank_expect(self, sums[1] == sums[2] + sums[3], "%llu pushed, %llu + %llu",
                (unsigned long long)sums[1], (unsigned long long)sums[2],
                (unsigned long long)sums[3]);
    if (job->rule != RONDO_SHARD_BACKUP) {
        rank_expect(self, sums[3] == 0, "%llu dropped", (unsigned long long)sums[3]);
        rank_expect(self,
                    sums[0] == (uint64_t)job->steps * job->nshards * place->nworkers,
                    "%llu pushed in all", (unsigned long long)sums[0]);
    }
    if (job->rule == RONDO_SHARD_ASYNC) {
        rank_expect(self, sums[4] == sums[5], "staleness %llu, and %llu by hand",
                    (unsigned long long)sums[5], (unsigned long long)sums[4]);
    }
}

static void
serve(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_server *server = NULL;

    if (shards_server(self, comm, place, &server) && shards_serve(self, server)) {
        compare(self, comm, place, count_shards(self, place), true);
    }
    rondo_server_destroy(server);
    shards_free(place);
}

static uint64_t
version_of(rank_self *self, const rondo_client *client)
{
    return shards_stats(self, client).version;
}

/* All steps, and the updates of others that came between its pulls and its pushes: from
 * its first pull to the update of its last push, but its own. That is exact because
 * each pull is answered with its push. */
static counts
train(rank_self *self, const shards_rank *place, rondo_client *client, uint32_t worker)
{
    float *const last = calloc(place->job->count, sizeof *last);
    counts mine = {.pushed = shards_train(self, place, client, worker, 1)};
    const uint64_t first = version_of(self, client);

    mine.pushed += shards_train(self, place, client, worker, place->job->steps - 1);
    if (place->job->rule == RONDO_SHARD_ASYNC && last != NULL) {
        shards_expect(self, client, rondo_client_pull(client, last), RONDO_OK, "pull");
        mine.stale = version_of(self, client) - first - mine.pushed;
    }
    free(last);
    return mine;
}

static void
work(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    const uint32_t steps = place->job->steps;
    rondo_client *const client = shards_open_client(self, comm, place);

    if (client == NULL) {
        return;
    }
    const counts mine = train(self, place, client, self->rank - place->job->nservers);
    shards_expect(self, client, rondo_client_leave(client), RONDO_OK, "leave");
    const rondo_client_stats stats = shards_stats(self, client);
    rank_expect(self, stats.clock == steps && stats.pushed == mine.pushed,
                "clock %llu, pushed %llu of %llu", (unsigned long long)stats.clock,
                (unsigned long long)stats.pushed, (unsigned long long)mine.pushed);
    rank_expect(self, stats.skipped + mine.pushed == stats.clock, "%llu skipped",
                (unsigned long long)stats.skipped);
    rank_expect(self,
                stats.sent_bytes == mine.pushed * place->job->count * sizeof(float),
                "%llu bytes sent", (unsigned long long)stats.sent_bytes);
    compare(self, comm, place, mine, false);
    rondo_client_destroy(client);
}

static void
play(rank_self *self)
{
    const shards_job *const job = self->user;
    shards_rank place;
    rondo_comm *comm = NULL;

    if (!rank_join(self, 60000, &comm)) {
        return;
    }
    shards_place(job, self->nranks, &place);
    if (self->rank < job->nservers) {
        serve(self, comm, &place);
    } else {
        work(self, comm, &place);
    }
    rondo_comm_destroy(comm);
}

static void
play_all_rules(uint32_t nranks, shards_job job)
{
    for (uint32_t rule = 0; rule < 6; rule++) {
        const uint32_t nworkers = nranks - job.nservers;
        job.rule = rule == 0   ? RONDO_SHARD_ASYNC
                   : rule <= 2 ? RONDO_SHARD_BACKUP
                               : RONDO_SHARD_BOUNDED;
        job.cancels = rule == 2;
        job.quorum = rule <= 2 && nworkers > 1 ? nworkers - 1 : 0;
        job.bound = rule == 3 ? 0 : rule == 4 ? 1 : 1000000;
        /* Backup takes or drops a gradient as a whole: one shard. */
        shards_job alone = job;
        alone.nshards = job.rule == RONDO_SHARD_BACKUP ? 1 : job.nshards;
        run_ranks(nranks, rule % 2 == 0 ? AS_PROCESSES : AS_THREADS, play, &alone,
                  60000);
        if (!test_over_hosts()) {
            run_ranks(nranks, rule % 2 == 1 ? AS_PROCESSES : AS_THREADS, play, &alone,
                      60000);
        }
    }
}

static void
small_vectors(void **state)
{
    (void)state;
    for (uint32_t nworkers = 1; nworkers <= 4; nworkers += nworkers == 2 ? 2 : 1) {
        for (uint32_t nservers = 1; nservers <= 2; nservers++) {
            const uint32_t nshards = nservers + nworkers % 2;
            const shards_job job = {.nservers = nservers,
                                    .nshards = nshards,
                                    .count = nworkers == 1 ? nshards : 1001,
                                    .steps = 40,
                                    .pause_us = nworkers == 2 ? 0 : 600};
            play_all_rules(nservers + nworkers, job);
        }
    }
}

/* Several messages for each push and pull, with an odd rest. */
static void
long_vectors(void **state)
{
    (void)state;
    const shards_job job = {.nservers = 2, .nshards = 3, .count = 300007, .steps = 12};
    play_all_rules(5, job);
}

/* A short one: one parameter, one worker, one server. */
static void
one_parameter(void **state)
{
    (void)state;
    const shards_job job = {.nservers = 1, .nshards = 1, .count = 1, .steps = 200};
    play_all_rules(2, job);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_parameter),
        cmocka_unit_test(small_vectors),
        cmocka_unit_test(long_vectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
