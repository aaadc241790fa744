/*
 * wire.h - messages between workers and servers: one header for all kinds, floats
 * behind it. Whatever comes in is believed only after rondo_note_read.
 *
 *   worker to server               server to worker
 *   HELLO   here I am, or again    WELCOME     the session, and which push came last
 *   PUSH    a piece of a gradient  ACK         what became of a push
 *   PULL    parameters, please     PARAMETERS  a piece of them
 *   BYE     I am done              GONE        then you may go
 *                                  OVER        that version is over
 *
 * A session is one worker's relation to one shard: from its first HELLO until it leaves
 * or the shard is another's. Messages of another session than the present one are out
 * of date, and are passed over.
 */
#ifndef SERVER_WIRE_H
#define SERVER_WIRE_H

#include <stdbool.h>

#include "server/place.h"

#define RONDO_NOTE_MAGIC UINT32_C(0x31737652)

/* Most floats in one message: short enough that several workers take turns. */
#define RONDO_NOTE_PIECE (UINT64_C(128) * 1024 / sizeof(float))

typedef enum rondo_note_kind {
    RONDO_NOTE_HELLO = 1,
    RONDO_NOTE_PUSH = 2,
    RONDO_NOTE_PULL = 3,
    RONDO_NOTE_BYE = 4,
    RONDO_NOTE_WELCOME = 5,
    RONDO_NOTE_ACK = 6,
    RONDO_NOTE_PARAMETERS = 7,
    RONDO_NOTE_OVER = 8,
    RONDO_NOTE_GONE = 9
} rondo_note_kind;

/* Flag of PUSH: answer with parameters as soon as the rule allows. */
#define RONDO_NOTE_PULL_TOO 1U

typedef struct rondo_note {
    uint32_t magic;
    uint16_t kind;
    uint16_t flags; /* PUSH: RONDO_NOTE_PULL_TOO; WELCOME, ACK: a rondo_push_outcome */
    uint32_t worker;
    uint32_t shard;
    uint64_t session; /* HELLO: the one before, 0: none */
    uint64_t number;  /* PUSH, ACK: of the push; else the worker's clock */
    uint64_t version;
    uint64_t offset; /* PUSH, PARAMETERS: of the piece, in the shard */
    double weight;   /* PUSH */
} rondo_note;

/* What a message handler is given. */
typedef struct rondo_note_mail {
    uint32_t from;
    const void *header;
    size_t header_bytes;
    const void *payload;
    size_t payload_bytes;
} rondo_note_mail;

/* rondo_note_make - a message of `kind`; the rest is 0. */
rondo_note
rondo_note_make(rondo_note_kind kind, uint32_t worker, uint32_t shard);

/*
 * rondo_note_read - the message in `mail`, if it can come from a worker (to_server)
 * or from a server: kind, worker and shard belong to the ranks it went between, and a
 * piece lies in its shard.
 *
 * Returns null and sets `message`, or the name of the field that makes no sense.
 */
const char *
rondo_note_read(const rondo_place *place, bool to_server, const rondo_note_mail *mail,
                rondo_note *message);

/* rondo_note_floats - how many floats `mail` carries. */
static inline uint64_t
rondo_note_floats(const rondo_note_mail *mail)
{
    return mail->payload_bytes / sizeof(float);
}

#endif /* SERVER_WIRE_H */
