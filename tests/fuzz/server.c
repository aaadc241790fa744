/* server.c - fuzz target: messages that workers send to a server, and a server to
 * workers, one after the other. */
#include <string.h>

#include "lib/replay.h"
#include "server/client_inside.h"
#include "server/server_inside.h"

#define RANKS   4
#define WORKERS 2
#define SHARDS  2
#define COUNT   9

/* One message of the input: how it is to be changed, its header, its payload's length
 * in bytes. The payload is made up: only its length matters. */
#define AS_IT_IS    1U /* the session stays as it is; else it is the right one */
#define TO_CLIENT   2U
#define FROM_SHIFT  2U
#define RECORD      (1 + sizeof(rondo_note) + sizeof(uint32_t))
#define PAYLOAD_MAX 64

static uint32_t owner[SHARDS] = {0, 0};
static uint32_t rank_of[WORKERS] = {1, 2};

typedef struct stage {
    rondo_server server;
    rondo_server_slot slots[SHARDS];
    rondo_shard *shard[SHARDS];
    rondo_client client; /* worker 0 */
    rondo_client_shard shards[SHARDS];
    float gradient[COUNT];
    float parameters[COUNT + 1];
} stage;

static void
add_up(void *user, const rondo_shard_update *update, const float *gradient,
       float *parameters, uint64_t count)
{
    (void)user;
    replay_insist(update->staleness <= update->version, "no staleness from nowhere");
    for (uint64_t i = 0; i < count; i++) {
        parameters[i] += gradient[i];
    }
}

static void
open_stage(stage *all)
{
    static const float zero[COUNT] = {0};
    rondo_placement placement;
    rondo_shard_config config;

    memset(all, 0, sizeof *all);
    rondo_placement_init(&placement);
    placement.count = COUNT;
    placement.nshards = SHARDS;
    placement.owner = owner;
    placement.nworkers = WORKERS;
    placement.rank_of = rank_of;
    rondo_shard_config_init(&config);
    config.rule = RONDO_SHARD_BOUNDED;
    config.bound = 1;
    config.nworkers = WORKERS;
    config.update = add_up;
    replay_insist(rondo_place_make(&placement, 0, RANKS, &all->server.place) ==
                      RONDO_OK,
                  "a good place");
    replay_insist(rondo_place_make(&placement, 1, RANKS, &all->client.place) ==
                      RONDO_OK,
                  "a good place");
    all->server.slots = all->slots;
    all->client.shards = all->shards;
    all->client.gradient = all->gradient;
    all->client.parameters = all->parameters;
    all->parameters[COUNT] = 77;
    for (uint32_t i = 0; i < SHARDS; i++) {
        const uint64_t count = rondo_place_count(&all->server.place, i);
        replay_insist(
            rondo_shard_create(&config, zero, count, &all->shard[i]) == RONDO_OK &&
                rondo_slot_open(&all->slots[i], all->shard[i], WORKERS) == RONDO_OK,
            "a shard");
        all->shards[i].first = rondo_place_first(&all->server.place, i);
        all->shards[i].count = count;
        all->shards[i].greeted = true;
    }
}

static void
close_stage(stage *all)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        rondo_slot_close(&all->slots[i]);
        rondo_shard_destroy(all->shard[i]);
    }
    rondo_place_end(&all->server.place);
    rondo_place_end(&all->client.place);
}

/* What a lane may hold, and what is true of every shard. */
static void
check_server(stage *all)
{
    for (uint32_t s = 0; s < SHARDS; s++) {
        rondo_shard_stats stats = {.size = sizeof stats};
        replay_insist(rondo_shard_stats_get(all->shard[s], &stats) == RONDO_OK,
                      "stats");
        replay_insist(stats.clock_largest - stats.clock_least <= 2, "the bound");
        replay_insist(stats.used == stats.pushes && stats.version == stats.used,
                      "whole pushes");
        replay_insist(all->slots[s].nspare <= 2 * WORKERS, "bounded memory");
        for (uint32_t i = 0; i < WORKERS; i++) {
            rondo_server_lane *const lane = &all->slots[s].lanes[i];
            replay_insist(lane->filled < all->slots[s].count, "half a push");
            replay_insist((lane->half != NULL) == (lane->filled > 0), "its memory");
            /* Said and sent. */
            if (lane->answering && lane->sent == 0) {
                lane->sent = 1;
            }
            lane->due = 0;
        }
    }
}

static void
check_client(stage *all)
{
    replay_insist(all->parameters[COUNT] == 77, "within the parameters");
    for (uint32_t s = 0; s < SHARDS; s++) {
        rondo_client_shard *const shard = &all->shards[s];
        replay_insist(shard->filled <= shard->count, "within the shard");
        replay_insist(shard->pull != RONDO_PULL_THERE || shard->filled == shard->count,
                      "whole answers");
        /* Handed out, asked again. */
        if (shard->pull == RONDO_PULL_THERE || shard->pull == RONDO_PULL_WANTED) {
            shard->pull = RONDO_PULL_ASKED;
            shard->filled = 0;
        }
    }
}

static uint64_t
right_session(const stage *all, const rondo_note *note, bool to_client)
{
    if (note->shard >= SHARDS || note->worker >= WORKERS) {
        return note->session;
    }
    return to_client ? all->shards[note->shard].session
                     : all->slots[note->shard].lanes[note->worker].session;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    stage all;

    open_stage(&all);
    for (size_t at = 0; at + RECORD <= bytes; at += RECORD) {
        static const float payload[PAYLOAD_MAX / sizeof(float)] = {1, 2, 3};
        const uint8_t how = data[at];
        const bool to_client = (how & TO_CLIENT) != 0;
        rondo_note note;
        uint32_t length = 0;

        memcpy(&note, data + at + 1, sizeof note);
        memcpy(&length, data + at + 1 + sizeof note, sizeof length);
        if ((how & AS_IT_IS) == 0) {
            note.session = right_session(&all, &note, to_client);
        }
        const rondo_note_mail mail = {.from = (how >> FROM_SHIFT) % RANKS,
                                      .header = &note,
                                      .header_bytes =
                                          sizeof note - (how >= 0xf0 ? how % 16 : 0),
                                      .payload = payload,
                                      .payload_bytes = length % (PAYLOAD_MAX + 1)};
        if (to_client) {
            rondo_client_take(&all.client, &mail);
            check_client(&all);
        } else {
            rondo_server_take(&all.server, &mail);
            check_server(&all);
        }
        all.server.fault = RONDO_OK;
        all.client.fault = RONDO_OK;
    }
    close_stage(&all);
    return 0;
}

/* --- honest talks, to begin with -------------------------------------------------- */

static size_t
record(uint8_t *data, uint8_t how, const rondo_note *note, uint32_t floats)
{
    const uint32_t length = floats * (uint32_t)sizeof(float);

    data[0] = how;
    memcpy(data + 1, note, sizeof *note);
    memcpy(data + 1 + sizeof *note, &length, sizeof length);
    return RECORD;
}

/* Worker 0 or 1 says hello, pulls, pushes in two pieces, says goodbye. */
static size_t
to_server(uint32_t worker, uint8_t *data)
{
    const uint8_t from = (uint8_t)((worker + 1) << FROM_SHIFT);
    rondo_note note = rondo_note_make(RONDO_NOTE_HELLO, worker, 0);
    size_t bytes = record(data, from | AS_IT_IS, &note, 0);

    note = rondo_note_make(RONDO_NOTE_PULL, worker, 0);
    bytes += record(data + bytes, from, &note, 0);
    note = rondo_note_make(RONDO_NOTE_HELLO, worker, 0);
    bytes += record(data + bytes, from, &note, 0);
    for (uint64_t number = 1; number <= 2; number++) {
        note = rondo_note_make(RONDO_NOTE_PUSH, worker, 0);
        note.number = number;
        note.weight = 3;
        note.version = number - 1;
        bytes += record(data + bytes, from, &note, 1);
        note.offset = 1;
        bytes += record(data + bytes, from, &note, 3);
    }
    note.flags = RONDO_NOTE_PULL_TOO;
    note.number = 3;
    note.weight = 0;
    note.offset = 0;
    bytes += record(data + bytes, from, &note, 0);
    note = rondo_note_make(RONDO_NOTE_BYE, worker, 0);
    return bytes + record(data + bytes, from, &note, 0);
}

static size_t
to_client(uint8_t *data)
{
    rondo_note note = rondo_note_make(RONDO_NOTE_WELCOME, 0, 1);
    size_t bytes = 0;

    note.session = 5;
    bytes += record(data, TO_CLIENT | AS_IT_IS, &note, 0);
    note = rondo_note_make(RONDO_NOTE_OVER, 0, 1);
    note.version = 2;
    bytes += record(data + bytes, TO_CLIENT, &note, 0);
    for (uint64_t offset = 0; offset < 5; offset += 4) {
        note = rondo_note_make(RONDO_NOTE_PARAMETERS, 0, 1);
        note.offset = offset;
        bytes += record(data + bytes, TO_CLIENT, &note, offset == 0 ? 4 : 1);
    }
    note = rondo_note_make(RONDO_NOTE_WELCOME, 0, 1);
    note.session = 6;
    note.number = 9;
    bytes += record(data + bytes, TO_CLIENT | AS_IT_IS, &note, 0);
    note = rondo_note_make(RONDO_NOTE_ACK, 0, 1);
    bytes += record(data + bytes, TO_CLIENT, &note, 0);
    note = rondo_note_make(RONDO_NOTE_GONE, 0, 1);
    return bytes + record(data + bytes, TO_CLIENT, &note, 0);
}

size_t
replay_seed(uint32_t number, uint8_t *data)
{
    if (number < WORKERS) {
        return to_server(number, data);
    }
    if (number == WORKERS) {
        const size_t first = to_server(0, data);
        return first + to_server(1, data + first);
    }
    return number == WORKERS + 1 ? to_client(data) : 0;
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(20000);
}
#endif
