/* server_answer.c - what a server sends to workers: all that is due, piece by piece in
 * turns, so that a long answer does not hold up the others. */
#include "server/server_inside.h"

/* A lane, and who is at its ends. */
typedef struct end {
    rondo_server *server;
    rondo_server_slot *slot;
    rondo_server_lane *lane;
    uint32_t shard;
    uint32_t worker;
} end;

/* RONDO_BUSY: no room at the moment. */
static rondo_status
send_note(const end *to, const rondo_note *note, const float *values, uint64_t count)
{
    const rondo_server *const server = to->server;

    return rondo_message_send(server->comm, server->place.rank_of[to->worker],
                              server->place.channel, note, sizeof *note, values,
                              count * sizeof *values);
}

static rondo_note
note_for(const end *to, rondo_note_kind kind)
{
    rondo_note note = rondo_note_make(kind, to->worker, to->shard);

    note.session = to->lane->session;
    note.version = to->slot->shard->version;
    note.number = to->slot->shard->workers[to->worker].clock;
    return note;
}

static rondo_status
send_due(const end *to)
{
    rondo_server_lane *const lane = to->lane;
    const uint32_t due = lane->due & -lane->due;
    rondo_note note = note_for(to, due == RONDO_DUE_WELCOME ? RONDO_NOTE_WELCOME
                                   : due == RONDO_DUE_ACK   ? RONDO_NOTE_ACK
                                                            : RONDO_NOTE_GONE);

    if (due != RONDO_DUE_GONE) {
        note.flags = (uint16_t)lane->outcome;
    }
    if (due == RONDO_DUE_ACK) {
        note.number = lane->acked;
    }
    const rondo_status status = send_note(to, &note, NULL, 0);
    if (status == RONDO_OK) {
        lane->due &= ~due;
    }
    return status;
}

static rondo_status
send_piece(const end *to)
{
    rondo_server_slot *const slot = to->slot;
    rondo_server_lane *const lane = to->lane;
    const uint64_t left = slot->count - lane->sent;
    const uint64_t count = left < RONDO_NOTE_PIECE ? left : RONDO_NOTE_PIECE;
    const float *const values =
        lane->copy != NULL ? lane->copy : rondo_shard_parameters(slot->shard, NULL);
    rondo_note note = note_for(to, RONDO_NOTE_PARAMETERS);

    note.version = lane->version;
    note.offset = lane->sent;
    const rondo_status status = send_note(to, &note, values + lane->sent, count);
    if (status != RONDO_OK) {
        return status;
    }
    lane->sent += count;
    if (lane->sent == slot->count) {
        lane->answering = false;
        rondo_slot_spare(slot, lane->copy);
        lane->copy = NULL;
    }
    return RONDO_OK;
}

/* A worker that still computes for a version which is over may want to know. */
static bool
is_superseded(const end *to)
{
    const rondo_server_lane *const lane = to->lane;

    return to->slot->shard->config.rule == RONDO_SHARD_BACKUP && !lane->gone &&
           !lane->asks && lane->told < to->slot->shard->version;
}

static rondo_status
send_over(const end *to)
{
    const rondo_note note = note_for(to, RONDO_NOTE_OVER);
    const rondo_status status = send_note(to, &note, NULL, 0);

    if (status == RONDO_OK) {
        to->lane->told = note.version;
    }
    return status;
}

/* At most one message. RONDO_BUSY: nothing to say, or no room. */
static rondo_status
answer_lane(const end *to)
{
    rondo_server_lane *const lane = to->lane;

    if (lane->deaf || to->server->place.rank_of[to->worker] == UINT32_MAX) {
        return RONDO_BUSY;
    }
    if (lane->due != 0) {
        return send_due(to);
    }
    if (lane->asks) {
        rondo_server_grant(to->server, to->shard, to->worker);
    }
    if (lane->answering) {
        return send_piece(to);
    }
    return is_superseded(to) ? send_over(to) : RONDO_BUSY;
}

static rondo_status
answer_slot(rondo_server *server, uint32_t shard, bool *moved)
{
    rondo_server_slot *const slot = &server->slots[shard];

    if (slot->shard != NULL) {
        rondo_server_renew(server, shard);
    }
    for (uint32_t i = 0; slot->shard != NULL && i < slot->nworkers; i++) {
        const end to = {server, slot, &slot->lanes[i], shard, i};
        const rondo_status status = answer_lane(&to);
        if (status != RONDO_OK && status != RONDO_BUSY) {
            return status;
        }
        if (status == RONDO_OK) {
            server->moves++;
            *moved = true;
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_server_answer(rondo_server *server)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < server->place.nshards; i++) {
            const rondo_status status = answer_slot(server, i, &moved);
            if (status != RONDO_OK) {
                return status;
            }
        }
    }
    return RONDO_OK;
}

bool
rondo_server_settled(const rondo_server *server)
{
    for (uint32_t s = 0; s < server->place.nshards; s++) {
        const rondo_server_slot *const slot = &server->slots[s];
        for (uint32_t i = 0; slot->shard != NULL && i < slot->nworkers; i++) {
            const bool there = server->place.rank_of[i] != UINT32_MAX;
            if (there && (!slot->lanes[i].gone || slot->lanes[i].due != 0)) {
                return false;
            }
        }
    }
    return true;
}
