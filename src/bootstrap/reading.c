/* reading.c - what a rank reads from the meeting point, and what it makes of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/rendezvous_inside.h"

static rondo_status
refuse(rondo_rendezvous *here, const char *what)
{
    (void)rondo_error(RONDO_ERR_START, "%s %s", here->where, what);
    return rondo_rendezvous_failed(here, RONDO_ERR_START);
}

/* Reads up to `wanted` bytes in all; RONDO_OK once they are there. */
static rondo_status
fill(rondo_rendezvous *here, unsigned char *to, size_t done, size_t wanted)
{
    while (done < wanted) {
        const ssize_t got = recv(here->fd, to + done, wanted - done, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return RONDO_BUSY;
        }
        if (got <= 0) {
            return rondo_rendezvous_cut(here, got < 0 ? errno : ECONNRESET);
        }
        here->in_bytes += (size_t)got;
        done += (size_t)got;
    }
    return RONDO_OK;
}

static rondo_status
send_hello(rondo_rendezvous *here)
{
    unsigned char bytes[sizeof(rondo_hello) + RONDO_CARD_BYTES_MAX];
    const size_t wanted = sizeof(rondo_hello) + here->card_bytes;
    rondo_hello hello = {.rank = here->rank,
                         .nranks = here->nranks,
                         .card_bytes = here->card_bytes,
                         .pid = (uint32_t)getpid(),
                         .job = here->job};

    rondo_wire_preface(&hello.preface);
    rondo_random(here->nonces.client, sizeof here->nonces.client);
    memcpy(hello.nonce, here->nonces.client, sizeof hello.nonce);
    rondo_wire_hello_sign(&here->secret, here->nonces.server, here->card, &hello);
    memcpy(bytes, &hello, sizeof hello);
    memcpy(bytes + sizeof hello, here->card, here->card_bytes);
    /* A fresh socket has room for it; where it has not, we come again. */
    if (send(here->fd, bytes, wanted, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)wanted) {
        return rondo_rendezvous_cut(here, errno);
    }
    here->state = STATE_PROVING;
    here->in_bytes = 0;
    return RONDO_OK;
}

/* The meeting point hears of our version as well, so that both sides can say it. */
static rondo_status
other_version(rondo_rendezvous *here)
{
    rondo_preface ours;
    char text[128];

    rondo_wire_preface(&ours);
    (void)send(here->fd, &ours, sizeof ours, MSG_NOSIGNAL | MSG_DONTWAIT);
    rondo_wire_versions(&here->in.greeting.preface, text, sizeof text);
    (void)rondo_error(RONDO_ERR_START, "the meeting point %s is of another version: %s",
                      here->where, text);
    (void)shutdown(here->fd, SHUT_WR);
    (void)close(here->fd);
    here->fd = -1;
    return rondo_rendezvous_failed(here, RONDO_ERR_START);
}

rondo_status
rondo_rendezvous_read_greeting(rondo_rendezvous *here)
{
    const rondo_status status =
        fill(here, here->in.bytes, here->in_bytes, sizeof here->in.bytes);

    if (here->state != STATE_GREETING) {
        return status;
    }
    switch (rondo_wire_preface_check(here->in.bytes, here->in_bytes)) {
    case RONDO_PREFACE_FOREIGN:
        return refuse(here, "does not speak Rondo's protocol");
    case RONDO_PREFACE_VERSION:
        return other_version(here);
    default:
        break;
    }
    if (status != RONDO_OK) {
        return status;
    }
    memcpy(here->nonces.server, here->in.greeting.nonce, sizeof here->nonces.server);
    return send_hello(here);
}

/* A text the meeting point has signed. */
static rondo_status
told_failure(rondo_rendezvous *here)
{
    char text[RONDO_FAILURE_BYTES];
    rondo_status status = (rondo_status)here->frame.status;

    memcpy(text, here->body, sizeof text);
    rondo_wire_clean(text, sizeof text);
    if (status != RONDO_ERR_SYSTEM && status != RONDO_ERR_MEMORY) {
        status = RONDO_ERR_START;
    }
    (void)rondo_error(status, "%s", text);
    return rondo_rendezvous_failed(here, status);
}

static rondo_status
take_result(rondo_rendezvous *here)
{
    memcpy(&here->result, here->body, sizeof here->result);
    if (here->result.nranks != here->nranks ||
        here->result.card_bytes != here->card_bytes) {
        return refuse(here, "sent cards that are not for this meeting");
    }
    here->state = STATE_DONE;
    return RONDO_OK;
}

static rondo_status
read_body(rondo_rendezvous *here)
{
    unsigned char hash[RONDO_HASH_BYTES];
    const size_t bytes = here->frame.body_bytes;
    const rondo_status status =
        fill(here, here->body, here->in_bytes - sizeof here->frame, bytes);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_wire_body_hash(here->body, bytes, hash);
    if (bytes > 0 && memcmp(hash, here->frame.body_hash, sizeof hash) != 0) {
        return refuse(here, "sent a message that is not what it signed");
    }
    here->in_bytes = 0;
    switch (here->frame.kind) {
    case RONDO_FRAME_FAILURE:
        return told_failure(here);
    case RONDO_FRAME_RESULT:
        return here->state == STATE_WAITING ? take_result(here)
                                            : refuse(here, "spoke out of turn");
    default:
        here->state = STATE_WAITING;
        return RONDO_OK;
    }
}

rondo_status
rondo_rendezvous_read_frame(rondo_rendezvous *here)
{
    const size_t head = sizeof here->frame;

    if (here->in_bytes < head) {
        const rondo_status status =
            fill(here, (unsigned char *)&here->frame, here->in_bytes, head);
        if (status != RONDO_OK) {
            return status;
        }
        if (!rondo_wire_frame_check(&here->frame, here->body_bytes)) {
            return refuse(here, "does not speak Rondo's protocol");
        }
        if (here->frame.kind == RONDO_FRAME_REFUSED) {
            return refuse(here, "has another secret (RONDO_SECRET, RONDO_SECRET_FILE)");
        }
        if (!rondo_wire_frame_signed(&here->secret, &here->nonces, &here->frame)) {
            return refuse(here, "does not know the secret (RONDO_SECRET, "
                                "RONDO_SECRET_FILE)");
        }
    }
    return read_body(here);
}
