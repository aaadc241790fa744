/* client_take.c - what shards send to a worker: taken in, never answered here. */
#include <stdio.h>
#include <string.h>

#include "server/client_inside.h"

static void
refuse(rondo_client *client, uint32_t from, const char *field)
{
    if (client->fault != RONDO_OK) {
        return;
    }
    client->fault = RONDO_ERR_WIRE;
    (void)snprintf(client->fault_text, sizeof client->fault_text,
                   "rank %u sent worker %u a message that makes no sense: its %s", from,
                   client->worker, field);
}

static void
push_ended(rondo_client *client, rondo_client_shard *shard, bool dropped)
{
    shard->push = RONDO_PUSH_IDLE;
    if (dropped && shard == client->shards) {
        client->stats.dropped++;
    }
}

/* The shard knows us from before: what it has taken is not sent again. */
static void
session_goes_on(rondo_client *client, rondo_client_shard *shard, const rondo_note *note)
{
    if (shard->push == RONDO_PUSH_IDLE) {
        return;
    }
    if (note->number >= shard->clock) {
        push_ended(client, shard, note->flags == RONDO_PUSH_DROPPED);
        return;
    }
    shard->push = RONDO_PUSH_SENDING;
    shard->pushed = 0;
}

/* To the shard we are new: because we are, because we had left, or since it begins
 * again from an earlier state. What belongs to the time before is given up. */
static void
session_begins(rondo_client *client, rondo_client_shard *shard, const rondo_note *note)
{
    if (shard->push != RONDO_PUSH_IDLE) {
        push_ended(client, shard, true);
    }
    if (shard->pull != RONDO_PULL_NONE) {
        shard->pull = RONDO_PULL_WANTED;
    }
    if (shard->bye == RONDO_BYE_SAID) {
        shard->bye = RONDO_BYE_WANTED;
    }
    shard->clock = note->number;
    shard->seen = 0;
    shard->over = 0;
}

/* Asked for by a hello; or the shard was set to an earlier state, and says so. */
static void
take_welcome(rondo_client *client, rondo_client_shard *shard, const rondo_note *note)
{
    if (!shard->greeted || note->session == shard->session) {
        return;
    }
    const bool asked = shard->session == 0;
    shard->session = note->session;
    if (asked && shard->former == note->session) {
        session_goes_on(client, shard, note);
    } else {
        session_begins(client, shard, note);
    }
}

static const char *
take_ack(rondo_client *client, rondo_client_shard *shard, const rondo_note *note)
{
    if (shard->push != RONDO_PUSH_SENT || note->number != shard->clock) {
        return "number (of no push under way)";
    }
    push_ended(client, shard, note->flags == RONDO_PUSH_DROPPED);
    return NULL;
}

/* Whatever was there of another answer is void when one begins. */
static const char *
take_parameters(rondo_client *client, rondo_client_shard *shard, const rondo_note *note,
                const rondo_note_mail *mail)
{
    if (shard->bye != RONDO_BYE_NONE) {
        return NULL;
    }
    if (shard->pull != RONDO_PULL_ASKED) {
        return "kind (parameters that nobody asked for)";
    }
    if (note->offset == 0) {
        shard->filled = 0;
        shard->coming = note->version;
        shard->source = note->session;
    }
    if (note->offset != shard->filled) {
        return "offset (not the next piece)";
    }
    if (note->version != shard->coming) {
        return "version (another than before)";
    }
    memcpy(client->parameters + shard->first + shard->filled, mail->payload,
           mail->payload_bytes);
    shard->filled += rondo_note_floats(mail);
    client->stats.received_bytes += mail->payload_bytes;
    if (shard->filled == shard->count) {
        shard->pull = RONDO_PULL_THERE;
    }
    return NULL;
}

static const char *
take_note(rondo_client *client, rondo_client_shard *shard, const rondo_note *note,
          const rondo_note_mail *mail)
{
    if (note->version > shard->seen) {
        shard->seen = note->version;
    }
    switch ((rondo_note_kind)note->kind) {
    case RONDO_NOTE_ACK:
        return take_ack(client, shard, note);
    case RONDO_NOTE_PARAMETERS:
        return take_parameters(client, shard, note, mail);
    case RONDO_NOTE_OVER:
        shard->over = note->version > shard->over ? note->version : shard->over;
        return NULL;
    default:
        if (shard->bye != RONDO_BYE_SAID) {
            return "kind (a goodbye to nobody)";
        }
        shard->bye = RONDO_BYE_HEARD;
        return NULL;
    }
}

void
rondo_client_take(rondo_client *client, const rondo_note_mail *mail)
{
    rondo_note note;
    const char *wrong = rondo_note_read(&client->place, false, mail, &note);

    client->moves++;
    if (wrong == NULL && (note.worker != client->worker || note.session == 0)) {
        wrong = note.session == 0 ? "session" : "worker";
    }
    if (wrong != NULL) {
        refuse(client, mail->from, wrong);
        return;
    }
    rondo_client_shard *const shard = &client->shards[note.shard];
    if (note.kind == RONDO_NOTE_WELCOME) {
        take_welcome(client, shard, &note);
        return;
    }
    /* Of a time before the last change. */
    if (note.session != shard->session) {
        return;
    }
    wrong = take_note(client, shard, &note, mail);
    if (wrong != NULL) {
        refuse(client, mail->from, wrong);
    }
}

void
rondo_client_handle(uint32_t from, const void *header, size_t header_bytes,
                    const void *payload, size_t payload_bytes, void *user)
{
    const rondo_client_binding *const binding = user;
    const rondo_note_mail mail = {from, header, header_bytes, payload, payload_bytes};

    if (binding->client != NULL) {
        rondo_client_take(binding->client, &mail);
    }
}
