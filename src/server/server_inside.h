/*
 * server_inside.h - what a server is made of, for the files of this room.
 *
 * Messages are taken in by the handler; what is to be said is noted on the lane, and
 * sent when there is room: at the end of the handler, or in rondo_server_serve. A lane
 * is one worker at one shard; it holds at most half a push and an answer under way, so
 * memory is bounded whatever workers do.
 */
#ifndef SERVER_SERVER_INSIDE_H
#define SERVER_SERVER_INSIDE_H

#include "base/error.h"
#include "server/place.h"
#include "server/shard.h"
#include "server/wire.h"

/* What is to be told to a worker, in this order. */
#define RONDO_DUE_WELCOME 1U
#define RONDO_DUE_ACK     2U
#define RONDO_DUE_GONE    4U

typedef struct rondo_server_lane {
    uint64_t session; /* 0: it has not said hello yet */
    bool deaf;        /* until the next hello: it does not know of this binding */
    bool gone;        /* said goodbye */
    bool absent;      /* left because it had no rank */
    uint32_t due;     /* of RONDO_DUE_... */
    uint64_t acked;   /* number of the push that the acknowledgement is of */
    rondo_push_outcome outcome;
    uint64_t told; /* newest version it knows of */

    rondo_note push; /* under way */
    float *half;     /* what has come of it; null: it has not begun */
    uint64_t filled;

    bool asks; /* a pull that may not be answered yet */
    uint64_t asks_at;
    bool answering;
    uint64_t sent;    /* of the answer, parameters */
    uint64_t version; /* of the answer */
    float *copy;      /* the rest of the answer, if the shard has moved on; or null */
} rondo_server_lane;

/* A shard that is placed here. */
typedef struct rondo_server_slot {
    rondo_shard *shard; /* the caller's; null: not here */
    uint64_t count;
    uint64_t loads;           /* of the shard, when sessions were last looked at */
    rondo_server_lane *lanes; /* by worker */
    uint32_t nworkers;
    float **spare; /* vectors of `count` that nobody uses at the moment */
    uint32_t nspare;
} rondo_server_slot;

/* What a handler is registered with: it outlives what it belongs to, since messages on
 * a former communicator may still find it. */
typedef struct rondo_server_binding {
    rondo_server *server; /* null: another one has followed */
    struct rondo_server_binding *before;
} rondo_server_binding;

struct rondo_server {
    rondo_comm *comm; /* not ours */
    rondo_place place;
    rondo_server_slot *slots; /* by shard */
    rondo_server_binding *binding;
    bool listening; /* the handler is set */
    bool woken;
    uint64_t moves;        /* messages taken and sent */
    uint64_t last_session; /* given out */
    rondo_status fault;    /* of a handler: told by the next serve */
    char fault_text[RONDO_ERROR_TEXT_MAX];
    char text[RONDO_ERROR_TEXT_MAX];
};

/* rondo_server_handle - the handler of active messages; `user` is a binding. */
void
rondo_server_handle(uint32_t from, const void *header, size_t header_bytes,
                    const void *payload, size_t payload_bytes, void *user);

/* rondo_server_take - one message; what is wrong with it is kept for the next serve. */
void
rondo_server_take(rondo_server *server, const rondo_note_mail *mail);

/* rondo_server_renew - if the shard has been set to another state since the last look,
 * what workers know of it is void: new sessions, and they are told. */
void
rondo_server_renew(rondo_server *server, uint32_t shard);

/* rondo_server_presence - the shard's workers are those that are here: who has no rank
 * leaves, and comes back with one; who said goodbye is gone until the next hello. A
 * shard that is new or set back may know others than those that were here before. */
RONDO_MUST_USE rondo_status
rondo_server_presence(rondo_server *server, rondo_server_slot *slot, bool is_new);

/* rondo_server_grant - answer a pull that waits, if the shard allows it by now. */
void
rondo_server_grant(rondo_server *server, uint32_t shard, uint32_t worker);

/* rondo_server_answer - send all that is due, as far as there is room. */
RONDO_MUST_USE rondo_status
rondo_server_answer(rondo_server *server);

/* rondo_server_settled - nothing is due any more, and all workers have said goodbye. */
bool
rondo_server_settled(const rondo_server *server);

/* rondo_slot_open - lanes for all workers. rondo_slot_close - all its memory back; the
 * shard is let go. */
RONDO_MUST_USE rondo_status
rondo_slot_open(rondo_server_slot *slot, rondo_shard *shard, uint32_t nworkers);
void
rondo_slot_close(rondo_server_slot *slot);

/* rondo_slot_forget - what is under way on a lane. */
void
rondo_slot_forget(rondo_server_slot *slot, rondo_server_lane *lane);

/* rondo_slot_vector - room for a vector; rondo_slot_spare - nobody needs it now (null
 * is allowed). */
RONDO_MUST_USE rondo_status
rondo_slot_vector(rondo_server_slot *slot, float **vector);
void
rondo_slot_spare(rondo_server_slot *slot, float *vector);

/* rondo_server_note_fault - keep what a handler cannot return; the first one counts. */
void
rondo_server_note_fault(rondo_server *server, rondo_status status);

#endif /* SERVER_SERVER_INSIDE_H */
