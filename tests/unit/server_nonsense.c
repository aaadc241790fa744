/* server_nonsense.c - messages that no server or worker of ours would send: refused by
 * the field, and nothing of them believed. */
#include <math.h>
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

/* --- nonsense --------------------------------------------------------------------- */

#define NONSENSE 19

/* One thing wrong; the field that is named. */
static const char *
spoil(int which, rondo_note *note, size_t *header_bytes, size_t *payload_bytes)
{
    static const char *const fields[NONSENSE] = {
        "magic",  "kind",   "kind",    "worker",        "worker", "shard",  "flags",
        "flags",  "weight", "weight",  "weight",        "length", "length", "offset",
        "offset", "length", "version", "header length", "clock"};

    *note = rondo_note_make(RONDO_NOTE_PUSH, 0, 0);
    note->weight = 1;
    note->number = 1;
    *header_bytes = sizeof *note;
    *payload_bytes = 400;
    note->magic += which == 0 ? 1 : 0;
    note->kind = which == 1 ? 0 : which == 2 ? RONDO_NOTE_ACK : note->kind;
    note->worker = which == 3 ? 1 : which == 4 ? UINT32_MAX : 0;
    note->shard = which == 5 ? 1 : 0;
    note->flags = which == 6 ? 2 : which == 7 ? UINT16_MAX : 0;
    note->weight = which == 8 ? -1 : which == 9 ? NAN : which == 10 ? INFINITY : 1;
    *payload_bytes = which == 11 ? 3 : which == 12 ? 0 : *payload_bytes;
    note->offset = which == 13 ? COUNT - 50 : which == 14 ? UINT64_MAX - 10 : 0;
    *payload_bytes = which == 15 ? 140000 : *payload_bytes;
    note->version = which == 16 ? 1 : 0;
    *header_bytes -= which == 17 ? 1 : 0;
    note->number = which == 18 ? UINT64_MAX : 1;
    return fields[which];
}

static void
serve_nonsense(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rondo_server *server = NULL;
    rondo_note note;
    size_t sizes[2];

    if (!shards_server(self, comm, place, &server)) {
        return;
    }
    for (int which = 0; which < NONSENSE; which++) {
        rondo_status status = RONDO_BUSY;
        while (status == RONDO_BUSY) {
            status = rondo_server_serve(server, 1000);
        }
        rank_expect(self, status == RONDO_ERR_WIRE, "nonsense %d: %s", which,
                    rondo_status_name(status));
        const char *const text = rondo_server_error_text(server);
        const char *const field = spoil(which, &note, &sizes[0], &sizes[1]);
        const char *const named = strstr(text, "its ");
        rank_expect_text(self, text, "rank 1 sent the server on rank 0", "whom");
        rank_expect_text(self, named != NULL ? named : "", field, "the field");
    }
    rank_expect(self, rondo_shard_parameters(place->shard[0], NULL)[0] == 0,
                "nonsense was believed");
    (void)shards_serve(self, server);
    rondo_server_destroy(server);
}

/* The session of the last hello. */
static uint64_t heard;

static void
hear(uint32_t from, const void *header, size_t header_bytes, const void *payload,
     size_t payload_bytes, void *user)
{
    rondo_note note;

    (void)from;
    (void)payload;
    (void)payload_bytes;
    (void)user;
    if (header_bytes == sizeof note) {
        memcpy(&note, header, sizeof note);
        heard = note.kind == RONDO_NOTE_WELCOME ? note.session : heard;
    }
}

static void
send_raw(rank_self *self, rondo_comm *comm, uint32_t to, const rondo_note *note,
         const size_t sizes[2])
{
    rondo_status status = RONDO_BUSY;

    while (status == RONDO_BUSY) {
        status = rondo_message_send(comm, to, 14, note, sizes[0], vector, sizes[1]);
        if (rondo_comm_progress(comm) != RONDO_OK) {
            break;
        }
    }
    rank_expect_status(self, status, RONDO_OK, comm, "a raw message");
}

static void
greet_raw(rank_self *self, rondo_comm *comm)
{
    const rondo_note hello = rondo_note_make(RONDO_NOTE_HELLO, 0, 0);
    const size_t sizes[2] = {sizeof hello, 0};

    heard = 0;
    send_raw(self, comm, 0, &hello, sizes);
    for (int i = 0; i < 20000 && heard == 0; i++) {
        rank_expect_status(self, rondo_comm_progress(comm), RONDO_OK, comm, "progress");
        (void)usleep(500);
    }
    rank_expect(self, heard != 0, "no welcome");
}

static void
work_nonsense(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    rank_expect_status(self, rondo_message_handler_set(comm, 14, hear, NULL), RONDO_OK,
                       comm, "handler");
    for (int which = 0; which < NONSENSE; which++) {
        rondo_note note;
        size_t sizes[2];
        greet_raw(self, comm);
        (void)spoil(which, &note, &sizes[0], &sizes[1]);
        note.session = heard;
        send_raw(self, comm, 0, &note, sizes);
        if (which == 16 || which == 18) {
            /* Seen when the push is whole. */
            for (note.offset = 100; note.offset < COUNT; note.offset += 100) {
                send_raw(self, comm, 0, &note, sizes);
            }
        }
    }
    rondo_client *const client = shards_open_client(self, comm, place);
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_OK,
                  "afterwards");
    shards_goodbye(self, client);
}

static void
a_server_sees_through_nonsense(void **state)
{
    (void)state;
    shards_play(2, (shards_roles){.serve = serve_nonsense, .work = work_nonsense});
}

/* A rank that claims to be a server, and answers nonsense. */
static void
serve_lies(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    const rondo_note_kind kinds[] = {RONDO_NOTE_ACK, RONDO_NOTE_PARAMETERS,
                                     RONDO_NOTE_PARAMETERS, RONDO_NOTE_GONE,
                                     RONDO_NOTE_PUSH};
    const size_t floats[] = {0, 100, 0, 0, 1};

    (void)place;
    for (int i = 0; i < 5; i++) {
        const rondo_note welcome = {.magic = RONDO_NOTE_MAGIC,
                                    .kind = RONDO_NOTE_WELCOME,
                                    .session = (uint64_t)i + 1};
        rondo_note note = rondo_note_make(kinds[i], 0, 0);
        const size_t none[2] = {sizeof note, 0};
        const size_t some[2] = {sizeof note, floats[i] * sizeof(float)};
        /* Once the worker has said hello, and asked. */
        rank_expect(self, rank_reached(self, 1, 1, 20000), "the worker asks");
        note.session = welcome.session;
        note.number = 77;
        note.offset = i == 1 ? 200 : 0;
        send_raw(self, comm, 1, &welcome, none);
        rank_pause(20);
        send_raw(self, comm, 1, &note, some);
        rank_expect(self, rank_reached(self, 1, (uint32_t)i + 2, 20000),
                    "lie %d was seen through", i);
    }
}

static void
work_for_a_liar(rank_self *self, rondo_comm *comm, shards_rank *place)
{
    static const char *const fields[] = {"number", "offset", "length", "kind", "kind"};
    rondo_client *const client = shards_open_client(self, comm, place);

    rank_expect_status(self, rondo_comm_timeout_set(comm, 30), RONDO_OK, comm,
                       "timeout_set");
    shards_expect(self, client, rondo_client_pull(client, vector), RONDO_ERR_TIMEOUT,
                  "rank 0");
    rank_expect_status(self, rondo_comm_timeout_set(comm, 20000), RONDO_OK, comm,
                       "timeout_set");
    rank_mark(self, 1);
    for (uint32_t i = 0; i < 5; i++) {
        shards_expect(self, client, rondo_client_pull(client, vector), RONDO_ERR_WIRE,
                      fields[i]);
        rank_expect_text(self, rondo_client_error_text(client), "rank 0 sent worker 0",
                         "whom");
        rank_mark(self, i + 2);
    }
    rondo_client_destroy(client);
}

static void
a_worker_sees_through_nonsense(void **state)
{
    (void)state;
    shards_play(2, (shards_roles){.serve = serve_lies, .work = work_for_a_liar});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_sees_through_nonsense),
        cmocka_unit_test(a_worker_sees_through_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
