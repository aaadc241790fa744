/* shards.c - servers and workers whose sums show every push. */
#include "lib/shards.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNIT 60.0F /* divisible by 1 to 6: means of so many are exact */

static float
factor_of(uint64_t element)
{
    return UNIT * (float)(1 + element % 5);
}

void
shards_place(const shards_job *job, uint32_t nranks, shards_rank *place)
{
    memset(place, 0, sizeof *place);
    place->job = job;
    place->nworkers = nranks - job->nservers;
    for (uint32_t i = 0; i < job->nshards; i++) {
        place->owner[i] = i % job->nservers;
    }
    for (uint32_t i = 0; i < place->nworkers; i++) {
        place->rank_of[i] = job->nservers + i;
    }
    rondo_placement_init(&place->placement);
    place->placement.count = job->count;
    place->placement.nshards = job->nshards;
    place->placement.owner = place->owner;
    place->placement.nworkers = place->nworkers;
    place->placement.rank_of = place->rank_of;
}

static uint64_t
first_of(const shards_job *job, uint32_t index)
{
    return job->count * index / job->nshards;
}

void
shards_update(void *user, const rondo_shard_update *update, const float *gradient,
              float *parameters, uint64_t count)
{
    (void)user;
    for (uint64_t i = 0; i < count; i++) {
        parameters[i] += gradient[i] * (float)update->gradients;
    }
}

bool
shards_make(rank_self *self, uint32_t rank, shards_rank *place)
{
    const shards_job *const job = place->job;
    float *const zero = calloc(job->count, sizeof *zero);
    bool good = rank_expect(self, zero != NULL, "no memory");

    for (uint32_t i = 0; good && i < job->nshards; i++) {
        rondo_shard_config config;
        if (place->owner[i] != rank) {
            continue;
        }
        rondo_shard_config_init(&config);
        config.rule = job->rule;
        config.nworkers = place->nworkers;
        config.quorum = job->quorum;
        config.bound = job->bound;
        config.compensation = job->compensation;
        config.update = shards_update;
        good = rank_expect_status(
            self,
            rondo_shard_create(&config, zero, first_of(job, i + 1) - first_of(job, i),
                               &place->shard[i]),
            RONDO_OK, NULL, "rondo_shard_create");
    }
    free(zero);
    return good;
}

void
shards_free(shards_rank *place)
{
    for (uint32_t i = 0; i < SHARDS_MAX; i++) {
        rondo_shard_destroy(place->shard[i]);
        place->shard[i] = NULL;
    }
}

bool
shards_server(rank_self *self, rondo_comm *comm, shards_rank *place,
              rondo_server **server)
{
    if (!shards_make(self, rondo_comm_rank(comm), place) ||
        !rank_expect_status(self, rondo_server_create(comm, &place->placement, server),
                            RONDO_OK, NULL, "rondo_server_create")) {
        return false;
    }
    for (uint32_t i = 0; i < place->job->nshards; i++) {
        if (place->shard[i] != NULL &&
            !rank_expect_status(self, rondo_server_add(*server, i, place->shard[i]),
                                RONDO_OK, NULL, "rondo_server_add")) {
            return false;
        }
    }
    return true;
}

bool
shards_serve(rank_self *self, rondo_server *server)
{
    const rondo_status status = rondo_server_serve(server, 60000);

    return rank_expect(self, status == RONDO_OK, "rondo_server_serve: %s, \"%s\"",
                       rondo_status_name(status), rondo_server_error_text(server));
}

void
shards_gradient(const shards_rank *place, float *gradient)
{
    const shards_job *const job = place->job;

    for (uint32_t s = 0; s < job->nshards; s++) {
        const uint64_t first = first_of(job, s);
        for (uint64_t i = first; i < first_of(job, s + 1); i++) {
            gradient[i] = factor_of(i - first);
        }
    }
}

uint64_t
shards_used(rank_self *self, const shards_rank *place, uint32_t index,
            const float *parameters)
{
    const uint64_t first = first_of(place->job, index);
    const uint64_t count = first_of(place->job, index + 1) - first;
    const float used = parameters[0] / UNIT;

    for (uint64_t i = 0; i < count; i++) {
        if (!rank_expect(self, parameters[i] == used * factor_of(i),
                         "shard %u: element %llu is %g, and the first says %g updates",
                         index, (unsigned long long)i, (double)parameters[i],
                         (double)used)) {
            break;
        }
    }
    return (uint64_t)used;
}

/* What no shard may show: less than before, or less than this worker has pushed (where
 * pushes are not dropped). */
static bool
look(rank_self *self, const shards_rank *place, const float *parameters,
     uint64_t *before, uint64_t own)
{
    for (uint32_t s = 0; s < place->job->nshards; s++) {
        const uint64_t used =
            shards_used(self, place, s, parameters + first_of(place->job, s));
        const uint64_t least = place->job->rule == RONDO_SHARD_BACKUP ? 0 : own;
        if (!rank_expect(self, used >= before[s] && used >= least,
                         "shard %u has %llu gradients; it had %llu, own are %llu", s,
                         (unsigned long long)used, (unsigned long long)before[s],
                         (unsigned long long)own)) {
            return false;
        }
        before[s] = used;
    }
    return true;
}

/* Computing. True: the step is to be given up. */
static bool
compute(const shards_job *job, rondo_client *client, unsigned int *seed)
{
    uint32_t us = job->pause_us == 0 ? 0 : (uint32_t)rand_r(seed) % job->pause_us;

    while (us > 0) {
        const uint32_t nap_us = us < 200 ? us : 200;
        if (rondo_client_superseded(client) && job->cancels) {
            return true;
        }
        (void)usleep(nap_us);
        us -= nap_us;
    }
    return false;
}

uint64_t
shards_train(rank_self *self, const shards_rank *place, rondo_client *client,
             uint32_t worker, uint32_t steps)
{
    float *const gradient = calloc(place->job->count, sizeof *gradient);
    float *const parameters = calloc(place->job->count, sizeof *parameters);
    uint64_t before[SHARDS_MAX] = {0};
    unsigned int seed = worker + 1;
    uint64_t pushed = 0;
    bool good = rank_expect(self, gradient != NULL && parameters != NULL, "no memory");

    if (good) {
        shards_gradient(place, gradient);
    }
    for (uint32_t step = 0; good && step < steps; step++) {
        rank_note(self, "step %u", step);
        good = shards_expect(self, client, rondo_client_pull(client, parameters),
                             RONDO_OK, "pull") &&
               look(self, place, parameters, before, pushed);
        if (good && compute(place->job, client, &seed)) {
            good = shards_expect(self, client, rondo_client_skip(client), RONDO_OK,
                                 "skip");
        } else if (good) {
            good = shards_expect(self, client, rondo_client_push(client, 1, gradient),
                                 RONDO_OK, "push");
            pushed++;
        }
    }
    free(gradient);
    free(parameters);
    return pushed;
}

/* --- roles ------------------------------------------------------------------------ */

static void
play(rank_self *self)
{
    const shards_roles *const both = self->user;
    shards_rank place;
    rondo_comm *comm = NULL;

    if (!rank_join(self, 30000, &comm)) {
        return;
    }
    shards_place(&both->job, self->nranks, &place);
    if (self->rank == 0) {
        both->serve(self, comm, &place);
    } else {
        both->work(self, comm, &place);
    }
    rank_expect_status(self, rondo_barrier(comm), RONDO_OK, comm, "the barrier");
    shards_free(&place);
    rondo_comm_destroy(comm);
}

void
shards_play(uint32_t nranks, shards_roles both)
{
    if (both.job.nservers == 0) {
        both.job = (shards_job){.nservers = 1, .nshards = 1, .count = SHARDS_COUNT};
    }
    run_ranks(nranks, AS_PROCESSES, play, &both, 60000);
}

rondo_client *
shards_open_client(rank_self *self, rondo_comm *comm, const shards_rank *place)
{
    const uint32_t worker = self->rank - place->job->nservers;
    rondo_client *client = NULL;

    rank_expect_status(self,
                       rondo_client_create(comm, &place->placement, worker, &client),
                       RONDO_OK, NULL, "rondo_client_create");
    return client;
}

void
shards_goodbye(rank_self *self, rondo_client *client)
{
    shards_expect(self, client, rondo_client_leave(client), RONDO_OK, "leave");
    rondo_client_destroy(client);
}

bool
shards_expect(rank_self *self, const rondo_client *client, rondo_status got,
              rondo_status want, const char *part)
{
    const char *const text = rondo_client_error_text(client);

    return rank_expect(self, got == want, "\"%s\": got %s, want %s; text: %s", part,
                       rondo_status_name(got), rondo_status_name(want), text) &&
           (want == RONDO_OK || want == RONDO_BUSY ||
            rank_expect_text(self, text, part, "the text"));
}

rondo_client_stats
shards_stats(rank_self *self, const rondo_client *client)
{
    rondo_client_stats stats = {.size = sizeof stats};

    rank_expect_status(self, rondo_client_stats_get(client, &stats), RONDO_OK, NULL,
                       "stats");
    return stats;
}
