/* client_ask.c - what a worker sends to shards: in turns, a piece each. */
#include "server/client_inside.h"

/* RONDO_BUSY: no room at the moment. */
static rondo_status
send_note(rondo_client *client, const rondo_note *note, const float *values,
          uint64_t count)
{
    const rondo_status status = rondo_message_send(
        client->comm, client->place.owner[note->shard], client->place.channel, note,
        sizeof *note, values, count * sizeof *values);

    client->moves += status == RONDO_OK ? 1 : 0;
    return status;
}

static rondo_note
note_for(const rondo_client *client, rondo_note_kind kind, uint32_t index)
{
    const rondo_client_shard *const shard = &client->shards[index];
    rondo_note note = rondo_note_make(kind, client->worker, index);

    note.session = shard->session;
    note.number = shard->clock;
    note.version = shard->version;
    return note;
}

static rondo_status
say_hello(rondo_client *client, uint32_t index)
{
    rondo_client_shard *const shard = &client->shards[index];
    rondo_note note = note_for(client, RONDO_NOTE_HELLO, index);

    note.session = shard->former;
    const rondo_status status = send_note(client, &note, NULL, 0);
    shard->greeted = status == RONDO_OK;
    return status;
}

/* The last piece of a push asks for parameters too: the shard then answers with those
 * that the push has led to. */
static rondo_status
send_piece(rondo_client *client, uint32_t index)
{
    rondo_client_shard *const shard = &client->shards[index];
    const uint64_t all = client->weight > 0 ? shard->count : 0;
    const uint64_t left = all - shard->pushed;
    const uint64_t count = left < RONDO_NOTE_PIECE ? left : RONDO_NOTE_PIECE;
    rondo_note note = note_for(client, RONDO_NOTE_PUSH, index);

    note.offset = shard->pushed;
    note.weight = client->weight;
    note.flags = RONDO_NOTE_PULL_TOO;
    const float *const values =
        count > 0 ? client->gradient + shard->first + shard->pushed : NULL;
    const rondo_status status = send_note(client, &note, values, count);
    if (status != RONDO_OK) {
        return status;
    }
    shard->pushed += count;
    client->stats.sent_bytes += count * sizeof *values;
    if (shard->pushed == all) {
        shard->push = RONDO_PUSH_SENT;
        shard->pull = RONDO_PULL_ASKED;
        shard->filled = 0;
    }
    return RONDO_OK;
}

static rondo_status
ask_for_parameters(rondo_client *client, uint32_t index)
{
    rondo_client_shard *const shard = &client->shards[index];
    const rondo_note note = note_for(client, RONDO_NOTE_PULL, index);
    const rondo_status status = send_note(client, &note, NULL, 0);

    if (status == RONDO_OK) {
        shard->pull = RONDO_PULL_ASKED;
        shard->filled = 0;
    }
    return status;
}

static rondo_status
say_goodbye(rondo_client *client, uint32_t index)
{
    const rondo_note note = note_for(client, RONDO_NOTE_BYE, index);
    const rondo_status status = send_note(client, &note, NULL, 0);

    if (status == RONDO_OK) {
        client->shards[index].bye = RONDO_BYE_SAID;
    }
    return status;
}

/* At most one message. RONDO_BUSY: nothing to say, or no room. */
static rondo_status
ask_shard(rondo_client *client, uint32_t index)
{
    const rondo_client_shard *const shard = &client->shards[index];

    if (!shard->greeted) {
        return say_hello(client, index);
    }
    if (shard->session == 0) {
        return RONDO_BUSY;
    }
    if (shard->push == RONDO_PUSH_SENDING) {
        return send_piece(client, index);
    }
    if (shard->bye == RONDO_BYE_WANTED) {
        return say_goodbye(client, index);
    }
    if (shard->pull == RONDO_PULL_WANTED && shard->bye == RONDO_BYE_NONE) {
        return ask_for_parameters(client, index);
    }
    return RONDO_BUSY;
}

rondo_status
rondo_client_ask(rondo_client *client)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < client->place.nshards; i++) {
            const rondo_status status = ask_shard(client, i);
            if (status != RONDO_OK && status != RONDO_BUSY) {
                return status;
            }
            moved |= status == RONDO_OK;
        }
    }
    return RONDO_OK;
}
