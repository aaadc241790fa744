/* server_edges.c - servers and workers at the edges: before the first push, too slow,
 * too fast, woken, outdated, set back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/shards.h"
#include "server/wire.h"

#define COUNT SHARDS_COUNT

static float vector[COUNT];

/* --- a server that is late -------------------------------------------------------- */

static void
serve_late(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_server *server = NULL;

    if (!shards_server(self, comm, place, &server)) {
        return;
    }
    for (uint32_t i = 1; i < self->nranks; i++) {
        rank_expect(self, rank_reached(self, i, 1, 20000), "worker %u is patient", i);
    }
    (void)shards_serve(self, server);
    rondo_server_destroy(server);
}

/* The deadline names who is late, and harms nothing. What is there before the first
 * push is what the shard began with. */
static void
work_in_time(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_client *const client = shards_open_client(self, comm, place);

    rank_expect_status(self, rondo_comm_timeout_set(comm, 50), RONDO_OK, comm,
                       "timeout_set");
    for (int i = 0; i < 3; i++) {
        shards_expect(self, client, rondo_client_pull(client, vector),
                      RONDO_ERR_TIMEOUT, "shard 0 on rank 0");
    }
    rank_expect_status(self, rondo_comm_timeout_set(comm, 20000), RONDO_OK, comm,
                       "timeout_set");
    rank_mark(self, 1);
    vector[7] = 5;
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK, "pull");
    rank_expect(self, shards_used(self, place, 0, vector) == 0, "not the first ones");
    rank_expect(self, shards_stats(self, client).wait_ns > 100000000, "it has waited");
    shards_goodbye(self, client);
}

static void
a_late_server(void **state)
{
    (void)state;
    shards_play(3, (shards_roles){.serve = serve_late, .work = work_in_time});
}

/* --- a worker that is too fast ---------------------------------------------------- */

/* However many messages somebody sends: there is room for so many, the others wait. */
static void
flood(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_note note = rondo_note_make(RONDO_NOTE_PUSH, 0, 0);
    uint64_t sent = 0;

    (void)place;
    note.weight = 1;
    note.session = 1;
    while (rondo_message_send(comm, 0, 14, &note, sizeof note, vector, 128 * 1024) ==
               RONDO_OK &&
           sent < 1000) {
        sent++;
    }
    rank_expect(self, sent < 200, "%llu pushes found room", (unsigned long long)sent);
    rank_mark(self, 1);
    /* They are of no session, so that nobody minds; then the worker comes. */
    rondo_client *const client = shards_open_client(self, comm, place);
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK, "pull");
    rank_expect(self, shards_used(self, place, 0, vector) == 0, "none of it counts");
    shards_goodbye(self, client);
}

static void
a_flood_waits(void **state)
{
    (void)state;
    shards_play(2, (shards_roles){.serve = serve_late, .work = flood});
}

/* --- waking ----------------------------------------------------------------------- */

static void
wake_server(uint32_t from, const void *header, size_t header_bytes, const void *payload,
            size_t payload_bytes, void *user)
{
    (void)from;
    (void)header;
    (void)header_bytes;
    (void)payload;
    (void)payload_bytes;
    rondo_server_wake(user);
}

static void
wake_client(uint32_t from, const void *header, size_t header_bytes, const void *payload,
            size_t payload_bytes, void *user)
{
    (void)from;
    (void)header;
    (void)header_bytes;
    (void)payload;
    (void)payload_bytes;
    rondo_client_wake(user);
}

static void
serve_awake(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_server *server = NULL;
    uint64_t begin_ms = 0;

    if (!shards_server(self, comm, place, &server)) {
        return;
    }
    rank_expect_status(self, rondo_message_handler_set(comm, 3, wake_server, server),
                       RONDO_OK, comm, "handler");
    rank_expect_status(self, rondo_server_serve(server, 0), RONDO_BUSY, NULL,
                       "serve 0");
    begin_ms = test_now_ms();
    rank_expect_status(self, rondo_server_serve(server, 30), RONDO_BUSY, NULL, "serve");
    rank_expect(self, test_now_ms() - begin_ms >= 30, "too soon");
    rank_mark(self, 1);
    begin_ms = test_now_ms();
    rank_expect_status(self, rondo_server_serve(server, 50000), RONDO_BUSY, NULL,
                       "serve, woken");
    rank_expect(self, test_now_ms() - begin_ms < 20000, "too late");
    /* Now the worker's turn to be woken, which nobody answers. */
    rank_expect(self, rank_reached(self, 1, 2, 20000), "the worker waits");
    rank_expect_status(self, rondo_message_send(comm, 1, 3, NULL, 0, NULL, 0), RONDO_OK,
                       comm, "send");
    rank_expect(self, rank_reached(self, 1, 3, 20000), "the worker is awake");
    (void)shards_serve(self, server);
    rondo_server_destroy(server);
}

static void
work_awake(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rank_expect(self, rank_reached(self, 0, 1, 20000), "the server serves");
    rank_pause(20);
    rank_expect_status(self, rondo_message_send(comm, 0, 3, NULL, 0, NULL, 0), RONDO_OK,
                       comm, "send");
    rondo_client *const client = shards_open_client(self, comm, place);
    rank_expect_status(self, rondo_message_handler_set(comm, 3, wake_client, client),
                       RONDO_OK, comm, "handler");
    rank_mark(self, 2);
    const rondo_status status = rondo_client_pull(client, vector);
    /* Handlers answer too: it may have been quicker than the wake. */
    rank_expect(self, status == RONDO_BUSY || status == RONDO_OK, "pull: %s",
                rondo_status_name(status));
    rank_mark(self, 3);
    if (status == RONDO_BUSY) {
        shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK,
                      "again");
    }
    shards_goodbye(self, client);
}

static void
waits_are_ended_by_wake(void **state)
{
    (void)state;
    shards_play(2, (shards_roles){.serve = serve_awake, .work = work_awake});
}

/* --- outdated gradients ----------------------------------------------------------- */

/* Quorum 1 of 2: worker 0 makes version 1 while worker 1 computes for version 0. */
static void
work_in_turns(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_client *const client = shards_open_client(self, comm, place);
    float *const gradient = calloc(COUNT, sizeof *gradient);

    shards_gradient(place, gradient);
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK, "pull");
    rank_expect(self, !rondo_client_superseded(client), "too early");
    (void)rank_meet(self, 1, 20000);
    if (self->rank == 1) {
        shards_expect(self, client, rondo_client_push(client, 1, gradient), RONDO_OK,
                      "push");
        rank_expect(self, !rondo_client_superseded(client), "nothing is pulled");
        shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK,
                      "pull");
        rank_expect(self, shards_stats(self, client).version == 1, "version 1");
    } else {
        while (!rondo_client_superseded(client)) {
            rank_pause(1);
        }
        rank_expect(self, shards_stats(self, client).seen == 1, "seen 1");
        /* Late all the same: dropped as a whole; then one that is given up. */
        shards_expect(self, client, rondo_client_push(client, 1, gradient), RONDO_OK,
                      "push");
        shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK,
                      "pull");
        rank_expect(self, shards_stats(self, client).dropped == 1, "dropped");
        rank_expect(self, !rondo_client_superseded(client), "it is up to date");
        shards_expect(self, client, rondo_client_skip(client), RONDO_OK, "skip");
        shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK,
                      "pull");
        rank_expect(self, shards_stats(self, client).clock == 2, "two steps");
    }
    rank_expect(self, shards_used(self, place, 0, vector) == 1, "one gradient");
    free(gradient);
    shards_goodbye(self, client);
}

/* The server meets the workers without serving. */
static void
serve_in_turns(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_server *server = NULL;

    rank_mark(self, 1);
    if (shards_server(self, comm, place, &server)) {
        (void)shards_serve(self, server);
    }
    rondo_server_destroy(server);
}

static void
backup_tells_who_is_late(void **state)
{
    (void)state;
    shards_roles both = {.serve = serve_in_turns, .work = work_in_turns};
    both.job = (shards_job){.nservers = 1,
                            .nshards = 1,
                            .count = COUNT,
                            .rule = RONDO_SHARD_BACKUP,
                            .quorum = 1};
    shards_play(3, both);
}

/* --- a shard that is set back ----------------------------------------------------- */

static void
serve_again(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_server *server = NULL;

    if (!shards_server(self, comm, place, &server)) {
        return;
    }
    const uint64_t bytes = rondo_shard_state_bytes(place->shard[0]);
    void *const state = malloc(bytes);
    rank_expect_status(self, rondo_shard_state_save(place->shard[0], state, bytes),
                       RONDO_OK, NULL, "save");
    rondo_status status = RONDO_BUSY;
    for (int i = 0; i < 2000 && status == RONDO_BUSY; i++) {
        status = rondo_server_serve(server, 2);
        if (i % 5 == 4 && i < 60) {
            rank_expect_status(self,
                               rondo_shard_state_load(place->shard[0], state, bytes),
                               RONDO_OK, NULL, "load");
        }
    }
    rank_expect(self, status == RONDO_OK, "serve: %s, \"%s\"",
                rondo_status_name(status), rondo_server_error_text(server));
    free(state);
    rondo_server_destroy(server);
}

static void
work_on(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    float *const gradient = calloc(COUNT, sizeof *gradient);

    shards_gradient(place, gradient);
    /* Twice: who has left may come again. */
    for (int round = 0; round < 2; round++) {
        rondo_client *const client = shards_open_client(self, comm, place);
        for (int i = 0; i < 80; i++) {
            shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK,
                          "pull");
            (void)shards_used(self, place, 0, vector);
            (void)usleep(300);
            shards_expect(self, client, rondo_client_push(client, 1, gradient),
                          RONDO_OK, "push");
        }
        rank_expect(self, shards_stats(self, client).pushed == 80, "80 pushes");
        /* All are back before anybody has gone. */
        if (round == 0) {
            rank_mark(self, 2);
            for (uint32_t i = 1; i < self->nranks; i++) {
                rank_expect(self, rank_reached(self, i, 2, 20000), "worker %u", i);
            }
            if (self->rank == 1) {
                rondo_client_destroy(client);
                continue;
            }
        }
        shards_goodbye(self, client);
    }
    free(gradient);
}

static void
a_shard_is_set_back(void **state)
{
    (void)state;
    /* Workers lose different numbers of steps, so that nobody may wait for all. */
    for (uint32_t rule = RONDO_SHARD_ASYNC; rule <= RONDO_SHARD_BACKUP; rule++) {
        shards_roles both = {.serve = serve_again, .work = work_on};
        both.job = (shards_job){.nservers = 1,
                                .nshards = 1,
                                .count = COUNT,
                                .rule = (rondo_shard_rule)rule,
                                .quorum = 1};
        shards_play(4, both);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_server),
        cmocka_unit_test(a_flood_waits),
        cmocka_unit_test(waits_are_ended_by_wake),
        cmocka_unit_test(backup_tells_who_is_late),
        cmocka_unit_test(a_shard_is_set_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
