/* server_take.c - what workers send to a server: taken in here, answered later. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "server/server_inside.h"

/* One message, and whom it is from. */
typedef struct arrival {
    rondo_server *server;
    rondo_server_slot *slot;
    rondo_server_lane *lane;
    const rondo_note_mail *mail;
    rondo_note note;
} arrival;

void
rondo_server_note_fault(rondo_server *server, rondo_status status)
{
    if (server->fault == RONDO_OK && status != RONDO_OK) {
        server->fault = status;
        (void)snprintf(server->fault_text, sizeof server->fault_text, "%s",
                       rondo_error_text());
    }
}

static void
refuse(rondo_server *server, uint32_t from, const char *field)
{
    rondo_server_note_fault(server,
                            rondo_error(RONDO_ERR_WIRE,
                                        "rank %u sent the server on rank %u a message "
                                        "that makes no sense: its %s",
                                        from, server->place.rank, field));
}

/* --- pulls ------------------------------------------------------------------------ */

void
rondo_server_grant(rondo_server *server, uint32_t shard, uint32_t worker)
{
    rondo_server_slot *const slot = &server->slots[shard];
    rondo_server_lane *const lane = &slot->lanes[worker];
    const float *parameters = NULL;
    uint64_t version = 0;

    const rondo_status status =
        rondo_shard_pull(slot->shard, worker, lane->asks_at, &parameters, &version);
    if (status == RONDO_BUSY) {
        return;
    }
    lane->asks = false;
    if (status != RONDO_OK) {
        char text[RONDO_ERROR_TEXT_MAX];
        (void)snprintf(text, sizeof text, "clock (%s)", rondo_error_text());
        refuse(server, server->place.rank_of[worker], text);
        return;
    }
    lane->answering = true;
    lane->sent = 0;
    lane->version = version;
    lane->told = version;
}

/* Answered at once if the rule allows: what the worker gets has its own push in it, and
 * no one else's that came later. */
static void
ask(const arrival *what)
{
    what->lane->asks = true;
    what->lane->asks_at = what->note.number;
    rondo_server_grant(what->server, what->note.shard, what->note.worker);
}

static void
take_pull(const arrival *what)
{
    if (what->lane->asks || what->lane->answering) {
        refuse(what->server, what->mail->from, "kind (a second pull)");
        return;
    }
    ask(what);
}

/* --- pushes ----------------------------------------------------------------------- */

static void
finish_push(const arrival *what, const float *gradient)
{
    const rondo_note *const note = &what->note;
    rondo_push_outcome outcome = RONDO_PUSH_REPEATED;

    const rondo_status status =
        rondo_shard_push(what->slot->shard, note->worker, note->number, note->version,
                         note->weight, gradient, &outcome);
    if (status != RONDO_OK) {
        char text[RONDO_ERROR_TEXT_MAX];
        (void)snprintf(text, sizeof text, "push (%s)", rondo_error_text());
        refuse(what->server, what->mail->from, text);
        return;
    }
    what->lane->acked = note->number;
    what->lane->outcome = outcome;
    what->lane->due |= RONDO_DUE_ACK;
    if ((note->flags & RONDO_NOTE_PULL_TOO) != 0) {
        ask(what);
    }
}

/* Pieces come in order and belong together. */
static const char *
continues(const arrival *what)
{
    const rondo_note *const first = &what->lane->push;
    const rondo_note *const note = &what->note;

    if (note->offset != what->lane->filled) {
        return "offset (not the next piece)";
    }
    if (note->offset == 0) {
        return NULL;
    }
    if (note->number != first->number) {
        return "number (of another push)";
    }
    if (note->version != first->version || note->weight != first->weight ||
        note->flags != first->flags) {
        return "version, weight or flags (another than before)";
    }
    return NULL;
}

static bool
is_aligned(const void *memory)
{
    return (uintptr_t)memory % _Alignof(float) == 0;
}

/* One more piece. The push is made when all are there, so that half of one changes
 * nothing. */
static void
add_piece(const arrival *what)
{
    rondo_server_lane *const lane = what->lane;
    const uint64_t floats = rondo_note_floats(what->mail);

    if (lane->half == NULL) {
        const rondo_status status = rondo_slot_vector(what->slot, &lane->half);
        if (status != RONDO_OK) {
            rondo_server_note_fault(what->server, status);
            lane->deaf = true;
            return;
        }
        lane->push = what->note;
    }
    memcpy(lane->half + lane->filled, what->mail->payload, what->mail->payload_bytes);
    lane->filled += floats;
    if (lane->filled < what->slot->count) {
        return;
    }
    finish_push(what, lane->half);
    rondo_slot_spare(what->slot, lane->half);
    lane->half = NULL;
    lane->filled = 0;
}

static void
take_push(const arrival *what)
{
    const rondo_note *const note = &what->note;
    const char *const wrong = continues(what);

    if (wrong != NULL) {
        refuse(what->server, what->mail->from, wrong);
        return;
    }
    if ((what->lane->due & RONDO_DUE_ACK) != 0 || what->lane->asks ||
        what->lane->answering) {
        refuse(what->server, what->mail->from, "kind (a push before the last is done)");
        return;
    }
    if (note->weight == 0) {
        finish_push(what, NULL);
        return;
    }
    if (rondo_note_floats(what->mail) == what->slot->count &&
        is_aligned(what->mail->payload)) {
        finish_push(what, what->mail->payload);
        return;
    }
    add_piece(what);
}

/* --- hello and goodbye ------------------------------------------------------------ */

/* Unlike those of other servers, and of this one earlier. */
static uint64_t
new_session(rondo_server *server)
{
    const uint64_t before = server->last_session;
    const uint64_t seed = before != 0 ? before : rondo_hash_mix(rondo_now_ns());
    const uint64_t session = rondo_hash_add(seed, server->place.rank);

    server->last_session = session != 0 ? session : 1;
    return server->last_session;
}

void
rondo_server_renew(rondo_server *server, uint32_t shard)
{
    rondo_server_slot *const slot = &server->slots[shard];

    if (slot->shard->loads == slot->loads) {
        return;
    }
    slot->loads = slot->shard->loads;
    rondo_server_note_fault(server, rondo_server_presence(server, slot, true));
    for (uint32_t i = 0; i < slot->nworkers; i++) {
        rondo_server_lane *const lane = &slot->lanes[i];
        if (lane->deaf || lane->gone) {
            continue;
        }
        rondo_slot_forget(slot, lane);
        lane->session = new_session(server);
        lane->due = RONDO_DUE_WELCOME;
        lane->outcome = RONDO_PUSH_DROPPED;
        lane->told = slot->shard->version;
    }
}

/* The same worker goes on, after a change of communicators; or one begins, perhaps in
 * place of one that has been there. */
static void
take_hello(const arrival *what)
{
    rondo_server_lane *const lane = what->lane;
    uint64_t clock = 0;

    rondo_slot_forget(what->slot, lane);
    lane->deaf = false;
    lane->due = RONDO_DUE_WELCOME;
    if (lane->session != 0 && what->note.session == lane->session) {
        lane->told = 0; /* What it was told last may be lost. */
        return;
    }
    lane->session = new_session(what->server);
    lane->gone = false;
    lane->absent = false;
    lane->outcome = RONDO_PUSH_REPEATED;
    lane->told = what->slot->shard->version;
    if (!rondo_shard_lives(what->slot->shard, what->note.worker)) {
        rondo_server_note_fault(
            what->server,
            rondo_shard_join(what->slot->shard, what->note.worker, &clock));
    }
}

static void
take_bye(const arrival *what)
{
    rondo_slot_forget(what->slot, what->lane);
    what->lane->gone = true;
    what->lane->due = RONDO_DUE_GONE;
    rondo_server_note_fault(what->server,
                            rondo_shard_leave(what->slot->shard, what->note.worker));
}

static void
take_note(const arrival *what)
{
    switch ((rondo_note_kind)what->note.kind) {
    case RONDO_NOTE_PUSH:
        take_push(what);
        break;
    case RONDO_NOTE_PULL:
        take_pull(what);
        break;
    default:
        take_bye(what);
        break;
    }
}

void
rondo_server_take(rondo_server *server, const rondo_note_mail *mail)
{
    arrival what = {.server = server, .mail = mail};
    const char *const wrong = rondo_note_read(&server->place, true, mail, &what.note);

    server->moves++;
    if (wrong != NULL) {
        refuse(server, mail->from, wrong);
        return;
    }
    what.slot = &server->slots[what.note.shard];
    if (what.slot->shard == NULL) {
        refuse(server, mail->from, "shard (not here yet)");
        return;
    }
    rondo_server_renew(server, what.note.shard);
    what.lane = &what.slot->lanes[what.note.worker];
    if (what.note.kind == RONDO_NOTE_HELLO) {
        take_hello(&what);
        return;
    }
    /* Of a time before a change that this worker has not heard of yet. */
    if (what.lane->deaf || what.note.session != what.lane->session) {
        return;
    }
    if (what.lane->gone && what.note.kind != RONDO_NOTE_BYE) {
        refuse(server, mail->from, "kind (after its goodbye)");
        return;
    }
    take_note(&what);
}

void
rondo_server_handle(uint32_t from, const void *header, size_t header_bytes,
                    const void *payload, size_t payload_bytes, void *user)
{
    const rondo_server_binding *const binding = user;
    const rondo_note_mail mail = {from, header, header_bytes, payload, payload_bytes};

    if (binding->server == NULL) {
        return;
    }
    rondo_server_take(binding->server, &mail);
    /* Also while the server's rank is in another call: whoever comes late to say
     * goodbye is answered. */
    rondo_server_note_fault(binding->server, rondo_server_answer(binding->server));
}
