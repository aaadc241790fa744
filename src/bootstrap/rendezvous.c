/* rendezvous.c - a rank on its way to a meeting, from start to cards or failure. */
#include "bootstrap/bootstrap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "bootstrap/rendezvous_inside.h"
#include "bootstrap/server.h"

/* How long the meeting point may take to say who is missing, after our deadline. */
#define LAST_WORD_MS 1000

rondo_status
rondo_rendezvous_failed(rondo_rendezvous *here, rondo_status status)
{
    here->state = STATE_FAILED;
    here->failure_status = status;
    (void)snprintf(here->failure, sizeof here->failure, "%s", rondo_error_text());
    return status;
}

static rondo_status
silent(rondo_rendezvous *here)
{
    return rondo_error(RONDO_ERR_START,
                       "%s was silent for %u s: whatever listens there does not speak "
                       "Rondo's protocol, or is stopped",
                       here->where, RONDO_GREETING_MS / 1000);
}

/* Our deadline has passed. Where the meeting point is known to be one, it is asked who
 * is missing; elsewhere we say what we saw. */
static rondo_status
time_up(rondo_rendezvous *here)
{
    rondo_notice notice;

    switch (here->state) {
    case STATE_WAITING:
        if (!here->asked) {
            here->asked = true;
            here->deadline_ns = rondo_deadline_ns(LAST_WORD_MS);
            rondo_wire_notice(RONDO_NOTICE_LATE, &notice);
            (void)send(here->fd, &notice, sizeof notice, MSG_NOSIGNAL | MSG_DONTWAIT);
            return RONDO_BUSY;
        }
        (void)rondo_error(RONDO_ERR_START,
                          "the meeting point %s no longer says who is missing",
                          here->where);
        break;
    case STATE_GREETING:
    case STATE_PROVING:
        (void)rondo_error(RONDO_ERR_START,
                          "%s did not answer in time: whatever listens there does not "
                          "speak Rondo's protocol, or is stopped",
                          here->where);
        break;
    default:
        (void)rondo_rendezvous_nobody(here);
        break;
    }
    return rondo_rendezvous_failed(here, RONDO_ERR_START);
}

static rondo_status
step(rondo_rendezvous *here)
{
    switch (here->state) {
    case STATE_REACHING:
        return rondo_rendezvous_reach(here);
    case STATE_GREETING:
        return rondo_rendezvous_read_greeting(here);
    case STATE_PROVING:
    case STATE_WAITING:
        return rondo_rendezvous_read_frame(here);
    default:
        return RONDO_BUSY;
    }
}

static rondo_status
give_cards(const rondo_rendezvous *here, rondo_cards *cards)
{
    *cards = (rondo_cards){.nranks = here->result.nranks,
                           .card_bytes = here->result.card_bytes,
                           .cards = here->body + sizeof(rondo_result),
                           .name = here->result.name,
                           .key = rondo_wire_key(&here->secret, &here->result)};
    return RONDO_OK;
}

rondo_status
rondo_rendezvous_poll(rondo_rendezvous *here, rondo_cards *cards)
{
    rondo_status status = RONDO_OK;

    while (status == RONDO_OK && here->state < STATE_DONE) {
        status = step(here);
    }
    if (here->state == STATE_DONE) {
        rondo_rendezvous_disconnect(here);
        return give_cards(here, cards);
    }
    if (here->state == STATE_FAILED) {
        rondo_rendezvous_disconnect(here);
        return rondo_error(here->failure_status, "%s", here->failure);
    }
    const uint64_t now = rondo_now_ns();
    if (now >= here->deadline_ns) {
        status = time_up(here);
    } else if (here->state == STATE_GREETING && now >= here->wake_ns) {
        status = rondo_rendezvous_failed(here, silent(here));
    }
    if (status != RONDO_BUSY) {
        rondo_rendezvous_disconnect(here);
    }
    return status;
}

void
rondo_rendezvous_wait(rondo_rendezvous *here, uint64_t wait_ns)
{
    const uint64_t now = rondo_now_ns();
    const uint64_t left = here->deadline_ns > now ? here->deadline_ns - now : 0;

    if (here->state < STATE_DONE) {
        rondo_rendezvous_sleep(here, now + (left < wait_ns ? left : wait_ns));
    }
}

/* A single rank meets nobody. With an id it does go to the meeting point, which would
 * stay open otherwise. */
static void
meet_nobody(rondo_rendezvous *here, const void *card)
{
    here->result.nranks = 1;
    here->result.card_bytes = here->card_bytes;
    rondo_random(&here->result.name, sizeof here->result.name);
    rondo_random(here->result.salt, sizeof here->result.salt);
    rondo_random(&here->secret, sizeof here->secret);
    memcpy(here->body + sizeof(rondo_result), card, here->card_bytes);
    here->state = STATE_DONE;
}

static rondo_status
find_meeting(const rondo_meeting *meeting, rondo_rendezvous *here)
{
    rondo_server_spec spec = {.port = meeting->port,
                              .nranks = meeting->nranks,
                              .secret = meeting->secret,
                              .job = meeting->job,
                              .deadline_ns = meeting->deadline_ns};
    rondo_place place;
    rondo_status status =
        rondo_places_find(meeting->host, meeting->port, &here->places);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_rendezvous_set_out(here);
    if (!rondo_key_given(&meeting->secret) &&
        !rondo_places_are_loopback(&here->places)) {
        return rondo_error(RONDO_ERR_ARG,
                           "%s can be reached from other machines: set RONDO_SECRET "
                           "or RONDO_SECRET_FILE",
                           meeting->host);
    }
    if (meeting->serve) {
        (void)snprintf(spec.host, sizeof spec.host, "%s", meeting->host);
        status = rondo_server_open(&spec, &place);
    }
    return status;
}

static rondo_status
make(const rondo_meeting *meeting, const void *card, uint32_t card_bytes,
     rondo_rendezvous **rendezvous)
{
    void *memory = NULL;
    const size_t body_bytes =
        sizeof(rondo_result) + (size_t)meeting->nranks * card_bytes;
    const size_t room =
        body_bytes > RONDO_FAILURE_BYTES ? body_bytes : RONDO_FAILURE_BYTES;
    rondo_status status = rondo_alloc_zero(sizeof **rendezvous, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_rendezvous *const here = memory;
    status = rondo_alloc_zero(room, &memory);
    if (status != RONDO_OK) {
        rondo_free(here);
        return status;
    }
    here->body = memory;
    here->body_bytes = body_bytes;
    here->fd = -1;
    here->rank = meeting->rank;
    here->nranks = meeting->nranks;
    here->secret = meeting->secret;
    here->job = meeting->job;
    here->by_id = meeting->by_id;
    here->deadline_ns = meeting->deadline_ns;
    here->card_bytes = card_bytes;
    if (card_bytes > 0) {
        memcpy(here->card, card, card_bytes);
    }
    (void)snprintf(here->host, sizeof here->host, "%s", meeting->host);
    rondo_host_text(meeting->host, meeting->port, here->where, sizeof here->where);
    *rendezvous = here;
    return RONDO_OK;
}

rondo_status
rondo_rendezvous_start(rondo_service *service, const rondo_meeting *meeting,
                       const void *card, uint32_t card_bytes,
                       rondo_rendezvous **rendezvous)
{
    rondo_rendezvous *here = NULL;

    (void)service;
    if (card_bytes > RONDO_CARD_BYTES_MAX || meeting->nranks == 0 ||
        meeting->nranks > RONDO_MEETING_RANKS_MAX || meeting->rank >= meeting->nranks) {
        return rondo_error(RONDO_ERR_ARG,
                           "rank %u of %u cannot meet with a card of %u bytes",
                           meeting->rank, meeting->nranks, card_bytes);
    }
    rondo_status status = make(meeting, card, card_bytes, &here);
    if (status != RONDO_OK) {
        return status;
    }
    if (meeting->nranks == 1 && !meeting->by_id) {
        meet_nobody(here, card);
    } else {
        status = find_meeting(meeting, here);
    }
    if (status != RONDO_OK) {
        rondo_rendezvous_destroy(here);
        return status;
    }
    *rendezvous = here;
    return RONDO_OK;
}

void
rondo_rendezvous_destroy(rondo_rendezvous *here)
{
    rondo_notice notice;

    if (here == NULL) {
        return;
    }
    if (here->fd >= 0 && here->state == STATE_WAITING) {
        rondo_wire_notice(RONDO_NOTICE_GIVE_UP, &notice);
        (void)send(here->fd, &notice, sizeof notice, MSG_NOSIGNAL | MSG_DONTWAIT);
        /* An orderly end: a reset could overtake the notice. */
        (void)close(here->fd);
        here->fd = -1;
    }
    rondo_rendezvous_disconnect(here);
    rondo_wire_forget(&here->secret, sizeof here->secret);
    rondo_free(here->body);
    rondo_free(here);
}
