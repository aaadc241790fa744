/* wire.c - messages between workers and servers, read as if an enemy had written
 * them. */
#include "server/wire.h"

#include <math.h>
#include <string.h>

#include <rondo/server.h>

rondo_note
rondo_note_make(rondo_note_kind kind, uint32_t worker, uint32_t shard)
{
    return (rondo_note){.magic = RONDO_NOTE_MAGIC,
                        .kind = (uint16_t)kind,
                        .worker = worker,
                        .shard = shard};
}

static bool
kind_fits(const rondo_note *message, bool to_server)
{
    const bool asks =
        message->kind >= RONDO_NOTE_HELLO && message->kind <= RONDO_NOTE_BYE;
    const bool answers =
        message->kind >= RONDO_NOTE_WELCOME && message->kind <= RONDO_NOTE_GONE;

    return to_server ? asks : answers;
}

static bool
flags_fit(const rondo_note *message)
{
    switch ((rondo_note_kind)message->kind) {
    case RONDO_NOTE_PUSH:
        return message->flags <= RONDO_NOTE_PULL_TOO;
    case RONDO_NOTE_WELCOME:
    case RONDO_NOTE_ACK:
        return message->flags <= RONDO_PUSH_REPEATED;
    default:
        return message->flags == 0;
    }
}

/* A push of weight 0 has no floats, and so is one piece. */
static const char *
piece_fits(const rondo_place *place, const rondo_note *message,
           const rondo_note_mail *mail)
{
    const uint64_t count = rondo_place_count(place, message->shard);
    const uint64_t floats = rondo_note_floats(mail);
    const bool empty = message->kind == RONDO_NOTE_PUSH && message->weight == 0;

    if (mail->payload_bytes % sizeof(float) != 0 || floats > RONDO_NOTE_PIECE ||
        (floats == 0) != empty) {
        return "length";
    }
    if (message->offset > count || floats > count - message->offset ||
        (empty && message->offset != 0)) {
        return "offset";
    }
    return NULL;
}

static const char *
ends_fit(const rondo_place *place, bool to_server, uint32_t from,
         const rondo_note *message)
{
    if (message->worker >= place->nworkers) {
        return "worker";
    }
    if (message->shard >= place->nshards) {
        return "shard";
    }
    const uint32_t worker_rank = place->rank_of[message->worker];
    const uint32_t shard_rank = place->owner[message->shard];
    if (worker_rank != (to_server ? from : place->rank)) {
        return "worker";
    }
    return shard_rank == (to_server ? place->rank : from) ? NULL : "shard";
}

const char *
rondo_note_read(const rondo_place *place, bool to_server, const rondo_note_mail *mail,
                rondo_note *message)
{
    _Static_assert(sizeof *message == 56, "no padding is sent, and floats are aligned");
    rondo_note read;

    if (mail->header_bytes != sizeof read) {
        return "header length";
    }
    memcpy(&read, mail->header, sizeof read);
    if (read.magic != RONDO_NOTE_MAGIC) {
        return "magic";
    }
    if (!kind_fits(&read, to_server)) {
        return "kind";
    }
    const char *const end = ends_fit(place, to_server, mail->from, &read);
    if (end != NULL) {
        return end;
    }
    if (!flags_fit(&read)) {
        return "flags";
    }
    if (!isfinite(read.weight) || read.weight < 0 ||
        (read.kind != RONDO_NOTE_PUSH && read.weight != 0)) {
        return "weight";
    }
    const bool pieces =
        read.kind == RONDO_NOTE_PUSH || read.kind == RONDO_NOTE_PARAMETERS;
    const char *const wrong = pieces ? piece_fits(place, &read, mail)
                              : mail->payload_bytes != 0 ? "length"
                              : read.offset != 0         ? "offset"
                                                         : NULL;
    if (wrong == NULL) {
        *message = read;
    }
    return wrong;
}
