/*
 * shards.h - ranks that are servers and workers of a parameter server, with gradients
 * that show every push which is lost, made twice, or torn.
 *
 * Ranks 0 to nservers - 1 are servers, shard s is on rank s % nservers; the others are
 * workers in rank order. Parameters begin at 0, and a gradient adds 60 (1 + i % 5) at
 * element i of a shard, as often as it says in how many it is the mean of. So after u
 * gradients in updates, element i is 60 (1 + i % 5) u, exactly.
 */
#ifndef LIB_SHARDS_H
#define LIB_SHARDS_H

#include "lib/ranks.h"

#define SHARDS_MAX   8
#define SHARDS_COUNT 40000 /* of parameters, in shards_play: two messages */

typedef struct shards_job {
    uint32_t nservers;
    uint32_t nshards;
    uint64_t count;
    uint32_t steps;
    rondo_shard_rule rule;
    uint32_t quorum;
    uint64_t bound;
    float compensation;
    uint32_t pause_us; /* a worker computes for up to this long */
    bool cancels;      /* backup: gives a step up when its version is over */
} shards_job;

/* What a rank needs for both roles. */
typedef struct shards_rank {
    const shards_job *job;
    uint32_t nworkers;
    uint32_t owner[SHARDS_MAX];
    uint32_t rank_of[RANKS_MAX];
    rondo_placement placement; /* points to the above */
    rondo_shard *shard[SHARDS_MAX];
} shards_rank;

/* shards_place - fill `place` for `nranks` ranks. */
void
shards_place(const shards_job *job, uint32_t nranks, shards_rank *place);

/* shards_update - the update function of all shards here. */
void
shards_update(void *user, const rondo_shard_update *update, const float *gradient,
              float *parameters, uint64_t count);

/* shards_make - the shards of rank `rank`, into place->shard; false (and noted) if that
 * fails. shards_free - all of them. */
bool
shards_make(rank_self *self, uint32_t rank, shards_rank *place);
void
shards_free(shards_rank *place);

/* shards_server - a server with the shards of this rank. */
bool
shards_server(rank_self *self, rondo_comm *comm, shards_rank *place,
              rondo_server **server);

/* shards_serve - until all have said goodbye. */
bool
shards_serve(rank_self *self, rondo_server *server);

/* shards_gradient - what every worker pushes. */
void
shards_gradient(const shards_rank *place, float *gradient);

/* shards_used - how many gradients are in `parameters` of shard `index`; noted if its
 * elements do not agree. */
uint64_t
shards_used(rank_self *self, const shards_rank *place, uint32_t index,
            const float *parameters);

/* shards_train - a worker's steps: pull, check, pause, push or skip. Returns pushes. */
uint64_t
shards_train(rank_self *self, const shards_rank *place, rondo_client *client,
             uint32_t worker, uint32_t steps);

/* What server (rank 0) and workers do between joining and the last barrier. */
typedef struct shards_roles {
    shards_job job; /* zeroes: one shard, SHARDS_COUNT parameters, async */
    void (*serve)(rank_self *self, rondo_comm *comm, shards_rank *place);
    void (*work)(rank_self *self, rondo_comm *comm, shards_rank *place);
} shards_roles;

/* shards_play - both roles on `nranks` ranks; the cmocka test fails if a rank does. */
void
shards_play(uint32_t nranks, shards_roles both);

/* shards_open_client - this rank's; shards_goodbye - leave and destroy. */
rondo_client *
shards_open_client(rank_self *self, rondo_comm *comm, const shards_rank *place);
void
shards_goodbye(rank_self *self, rondo_client *client);

/* shards_expect - `got` is `want`; an error's text has `part` in it. */
bool
shards_expect(rank_self *self, const rondo_client *client, rondo_status got,
              rondo_status want, const char *part);

/* shards_stats - what `client` has seen. */
rondo_client_stats
shards_stats(rank_self *self, const rondo_client *client);

#endif /* LIB_SHARDS_H */
