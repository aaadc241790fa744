/* server_calls.c - servers and workers that are called wrongly, or find no memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lib/shards.h"

#define COUNT SHARDS_COUNT

static float vector[COUNT];

/* --- memory ----------------------------------------------------------------------- */

/* Any allocation may fail: making things fails, serving says so. */
static void
serve_without_memory(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_server *server = NULL;
    uint64_t nth = 1;

    if (!shards_make(self, 0, place)) {
        return;
    }
    for (; nth < 50; nth++) {
        (void)rondo_alloc_fail_after(nth);
        rondo_status status = rondo_server_create(comm, &place->placement, &server);
        if (status == RONDO_OK) {
            status = rondo_server_add(server, 0, place->shard[0]);
        }
        if (!rondo_alloc_fail_after(0)) {
            rank_expect_status(self, status, RONDO_OK, NULL, "with memory");
            break;
        }
        rank_expect_status(self, status, RONDO_ERR_MEMORY, NULL, "without memory");
        rondo_server_destroy(server);
        server = NULL;
    }
    rank_expect(self, nth >= 7 && nth < 20, "%llu allocations",
                (unsigned long long)nth);
    /* The first piece of the first push finds none (but for the communicator's own
     * buffer, which comes first): the push is lost, and told. */
    rondo_status status = RONDO_BUSY;
    while (status == RONDO_BUSY && !rank_reached(self, 1, 2, 0)) {
        status = rondo_server_serve(server, 5);
    }
    rank_expect_status(self, status, RONDO_BUSY, NULL, "the worker has pulled");
    (void)rondo_alloc_fail_after(2);
    rank_mark(self, 3);
    while (status == RONDO_BUSY) {
        status = rondo_server_serve(server, 1000);
    }
    rank_expect(self, rondo_alloc_fail_after(0), "nothing was allocated");
    rank_expect_status(self, status, RONDO_ERR_MEMORY, NULL, "serve");
    /* Bound anew, on both sides, it is sent again. */
    rank_expect_status(self, rondo_server_bind(server, comm, &place->placement),
                       RONDO_OK, NULL, "bind");
    rank_mark(self, 4);
    (void)shards_serve(self, server);
    rank_expect(
        self,
        shards_used(self, place, 0, rondo_shard_parameters(place->shard[0], NULL)) == 1,
        "the push counts once");
    rondo_server_destroy(server);
}

static void
work_without_memory(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_client *client = NULL;
    float *const gradient = calloc(COUNT, sizeof *gradient);
    uint64_t nth = 1;

    shards_gradient(place, gradient);
    for (; nth < 50; nth++) {
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status =
            rondo_client_create(comm, &place->placement, 0, &client);
        if (!rondo_alloc_fail_after(0)) {
            rank_expect_status(self, status, RONDO_OK, NULL, "with memory");
            break;
        }
        rank_expect_status(self, status, RONDO_ERR_MEMORY, NULL, "without memory");
        rank_expect(self, client == NULL, "a client was set");
    }
    rank_expect(self, nth >= 7 && nth < 20, "%llu allocations",
                (unsigned long long)nth);
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK, "pull");
    rank_mark(self, 2);
    rank_expect(self, rank_reached(self, 0, 3, 20000), "no memory there");
    shards_expect(self, client, rondo_client_push(client, 1, gradient), RONDO_OK,
                  "push");
    rank_expect(self, rank_reached(self, 0, 4, 20000), "bound there");
    shards_expect(self, client, rondo_client_bind(client, comm, &place->placement),
                  RONDO_OK, "bind");
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK, "pull");
    rank_expect(self, shards_used(self, place, 0, vector) == 1, "the push is in it");
    free(gradient);
    shards_goodbye(self, client);
}

static void
memory_may_be_refused(void **state)
{
    (void)state;
    shards_play(
        2, (shards_roles){.serve = serve_without_memory, .work = work_without_memory});
}

/* --- wrong calls ------------------------------------------------------------------ */

static void
placements_are_checked(rank_self *self, rondo_comm *comm, const shards_rank *place)
{
    rondo_server *server = NULL;
    rondo_client *client = NULL;

    for (int which = 0; which < 11; which++) {
        const uint32_t owner[2] = {which == 0 ? 2 : 0, 0};
        const uint32_t rank_of[2] = {which == 1   ? 2
                                     : which == 2 ? 0
                                                  : 1,
                                     which == 3 ? 1 : UINT32_MAX};
        rondo_placement bad = place->placement;
        bad.owner = which == 4 ? NULL : owner;
        bad.rank_of = which == 5 ? NULL : rank_of;
        bad.nworkers = which == 6 ? 0 : 2;
        bad.nshards = which == 7 ? 0 : which == 8 ? COUNT + 1 : 1;
        bad.channel = which == 9 ? 16 : 14;
        bad.size = which == 10 ? 4 : bad.size;
        rank_expect_status(self, rondo_server_create(comm, &bad, &server),
                           RONDO_ERR_ARG, NULL, "a bad placement");
        rank_expect_status(self, rondo_client_create(comm, &bad, 0, &client),
                           RONDO_ERR_ARG, NULL, "a bad placement");
        rank_expect(self, server == NULL && client == NULL, "%d: set", which);
    }
    rank_expect_status(self, rondo_client_create(comm, &place->placement, 1, &client),
                       RONDO_ERR_ARG, NULL, "no such worker");
    rank_expect_status(self, rondo_client_create(NULL, &place->placement, 0, &client),
                       RONDO_ERR_ARG, NULL, "null");
    rank_expect_status(self, rondo_server_create(comm, NULL, &server), RONDO_ERR_ARG,
                       NULL, "null");
}

static void
serve_rightly(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_server *server = NULL;
    rondo_placement other = place->placement;
    rondo_client *client = NULL;

    placements_are_checked(self, comm, place);
    rank_expect_status(self, rondo_client_create(comm, &place->placement, 0, &client),
                       RONDO_ERR_ARG, NULL, "placed elsewhere");
    if (!shards_server(self, comm, place, &server)) {
        return;
    }
    rank_expect_status(self, rondo_server_add(server, 0, place->shard[0]),
                       RONDO_ERR_ARG, NULL, "added twice");
    rank_expect_text(self, rondo_server_error_text(server), "already", "text");
    rank_expect_status(self, rondo_server_add(server, 1, place->shard[0]),
                       RONDO_ERR_ARG, NULL, "no such shard");
    rank_expect_status(self, rondo_server_add(server, 0, NULL), RONDO_ERR_ARG, NULL,
                       "null");
    other.count++;
    rank_expect_status(self, rondo_server_bind(server, comm, &other), RONDO_ERR_ARG,
                       NULL, "another count");
    rank_expect_status(self, rondo_server_serve(NULL, 1), RONDO_ERR_ARG, NULL, "null");
    rondo_server_wake(NULL);
    (void)shards_serve(self, server);
    rondo_server_destroy(server);
    rondo_server_destroy(NULL);
    /* A shard of another size, or none, where one is placed. */
    server = NULL;
    rank_expect_status(self, rondo_server_create(comm, &other, &server), RONDO_OK, NULL,
                       "create");
    rank_expect_status(self, rondo_server_add(server, 0, place->shard[0]),
                       RONDO_ERR_ARG, NULL, "another size");
    rank_expect_status(self, rondo_server_serve(server, 1), RONDO_ERR_STATE, NULL,
                       "nothing added");
    rondo_server_destroy(server);
}

static void
work_rightly(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_client_stats small = {.size = 8};
    rondo_client *const client = shards_open_client(self, comm, place);
    rondo_placement other = place->placement;

    placements_are_checked(self, comm, place);
    shards_expect(self, client, rondo_client_push(client, 1, vector), RONDO_ERR_STATE,
                  "pull first");
    shards_expect(self, client, rondo_client_skip(client), RONDO_ERR_STATE,
                  "pull first");
    shards_expect(self, client, rondo_client_pull(client, NULL), RONDO_ERR_ARG, "null");
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK, "pull");
    shards_expect(self, client, rondo_client_push(client, -1, vector), RONDO_ERR_ARG,
                  "-1");
    shards_expect(self, client, rondo_client_push(client, NAN, vector), RONDO_ERR_ARG,
                  "nan");
    shards_expect(self, client, rondo_client_push(client, 1, NULL), RONDO_ERR_ARG,
                  "null");
    shards_expect(self, client, rondo_client_push(client, 0, NULL), RONDO_OK,
                  "no samples");
    shards_expect(self, client, rondo_client_push(client, 1, vector), RONDO_ERR_STATE,
                  "pull first");
    other.nworkers = 1;
    other.nshards = 2;
    other.owner = (const uint32_t[2]){0, 0};
    rank_expect_status(self, rondo_client_bind(client, comm, &other), RONDO_ERR_ARG,
                       NULL, "other shards");
    rank_expect_status(self, rondo_client_stats_get(client, &small), RONDO_ERR_ARG,
                       NULL, "a small structure");
    shards_expect(self, client, rondo_client_leave(client), RONDO_OK, "leave");
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_ERR_STATE,
                  "left");
    shards_expect(self, client, rondo_client_leave(client), RONDO_ERR_STATE, "left");
    rank_expect(self, !rondo_client_superseded(client), "it has left");
    rank_expect_status(self, rondo_client_pull(NULL, vector), RONDO_ERR_ARG, NULL,
                       "null");
    rank_expect(self, !rondo_client_superseded(NULL), "null");
    rondo_client_wake(NULL);
    rondo_client_destroy(client);
    rondo_client_destroy(NULL);
}

static void
calls_are_checked(void **state)
{
    (void)state;
    shards_play(2, (shards_roles){.serve = serve_rightly, .work = work_rightly});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_may_be_refused),
        cmocka_unit_test(calls_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
