/*
 * client_inside.h - what a worker's side is made of, for the files of this room.
 *
 * Gradient and parameters are kept in the client's own memory: what is under way can be
 * sent again after a change of communicators, and what comes in while the caller is
 * elsewhere has a place.
 */
#ifndef SERVER_CLIENT_INSIDE_H
#define SERVER_CLIENT_INSIDE_H

#include "base/error.h"
#include "server/place.h"
#include "server/wire.h"

typedef enum rondo_push_phase {
    RONDO_PUSH_IDLE,    /* nothing under way */
    RONDO_PUSH_SENDING, /* some pieces are still here */
    RONDO_PUSH_SENT     /* the shard has not said yet what became of it */
} rondo_push_phase;

typedef enum rondo_pull_phase {
    RONDO_PULL_NONE,
    RONDO_PULL_WANTED, /* not asked for yet */
    RONDO_PULL_ASKED,  /* may be coming in */
    RONDO_PULL_THERE   /* whole, not handed out yet */
} rondo_pull_phase;

typedef enum rondo_bye_phase {
    RONDO_BYE_NONE,
    RONDO_BYE_WANTED,
    RONDO_BYE_SAID,
    RONDO_BYE_HEARD
} rondo_bye_phase;

/* A shard, from here. */
typedef struct rondo_client_shard {
    uint64_t first; /* of its parameters, in the vector */
    uint64_t count;
    uint64_t session; /* 0: it has not answered our hello */
    uint64_t former;  /* before this communicator; 0: none */
    bool greeted;     /* hello has been sent */
    uint64_t clock;   /* this worker's, at this shard: pushes and skips */

    rondo_push_phase push;
    uint64_t pushed; /* of the push under way, parameters sent */
    rondo_pull_phase pull;
    uint64_t filled; /* of what comes in */
    uint64_t coming; /* its version, */
    uint64_t source; /* and its session */
    rondo_bye_phase bye;

    uint64_t version; /* handed out last */
    uint64_t given;   /* the session it was of */
    uint64_t seen;    /* newest version heard of */
    uint64_t over;    /* versions below are over, it says */
} rondo_client_shard;

typedef struct rondo_client_binding {
    rondo_client *client; /* null: another one has followed */
    struct rondo_client_binding *before;
} rondo_client_binding;

struct rondo_client {
    rondo_comm *comm; /* not ours */
    rondo_place place;
    uint32_t worker;
    rondo_client_shard *shards;
    float *gradient;   /* under way */
    float *parameters; /* coming in */
    double weight;     /* of the gradient */
    bool pulled;       /* parameters are out, and neither pushed for nor skipped */
    bool left;
    bool woken;
    bool listening;
    rondo_client_binding *binding;
    uint64_t moves; /* messages taken and sent */
    rondo_client_stats stats;
    rondo_status fault; /* of the handler: told by the next call */
    char fault_text[RONDO_ERROR_TEXT_MAX];
    char text[RONDO_ERROR_TEXT_MAX];
};

/* rondo_client_fail - write the sentence for the client and for this thread, and hand
 * `status` back. */
rondo_status
rondo_client_fail(rondo_client *client, rondo_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* rondo_client_handle - the handler of active messages; `user` is a binding. */
void
rondo_client_handle(uint32_t from, const void *header, size_t header_bytes,
                    const void *payload, size_t payload_bytes, void *user);

/* rondo_client_take - one message. */
void
rondo_client_take(rondo_client *client, const rondo_note_mail *mail);

/* rondo_client_ask - send all there is to say, as far as there is room. */
RONDO_MUST_USE rondo_status
rondo_client_ask(rondo_client *client);

#endif /* SERVER_CLIENT_INSIDE_H */
