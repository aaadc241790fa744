/* comm.h - what a communicator is made of; seen by the api room only. */
#ifndef API_COMM_H
#define API_COMM_H

#include <stdatomic.h>

#include <rondo/coll.h>
#include <rondo/message.h>

#include "api/hosts.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "bootstrap/bootstrap.h"
#include "control/board.h"
#include "control/service.h"
#include "exec/exec.h"
#include "transport/shm/shm.h"
#include "transport/transport.h"
#include "transport/ucx/ucx.h"
#include "tune/tune.h"

#define RONDO_COMM_NAME_MAX 48

/* For comm->dead_rank: everybody lives. */
#define RONDO_NOBODY UINT32_MAX

/* What rank 0 decides for all: whatever changes what is sent. */
typedef struct rondo_settings {
    uint64_t chunk_bytes;   /* RONDO_CHUNK */
    uint64_t segment_bytes; /* RONDO_SEGMENT */
    uint32_t check;         /* RONDO_CHECK */
    uint32_t reserved;      /* 0 */
    char algo[256];         /* RONDO_ALGO */
} rondo_settings;

/* What each rank tells all others when they meet. Plain bytes. */
typedef struct rondo_card {
    uint32_t version; /* of the library */
    uint32_t rank;
    rondo_address address;              /* of its process's service */
    rondo_name host;                    /* equal where memory can be shared */
    uint64_t cpus[RONDO_CPUS_MAX / 64]; /* that it may run on */
    uint32_t quota;                     /* of cores */
    uint32_t part; /* of the host it may run on: a memory node, or RONDO_NO_NUMA_NODE */
    rondo_settings settings;
    rondo_reach reach; /* rank 0: where it listens; others: their addresses */
    char host_name[RONDO_HOST_NAME_MAX]; /* for sentences */
} rondo_card;

_Static_assert(sizeof(rondo_card) <= RONDO_CARD_BYTES_MAX, "a card fits a hello");

/* How far creation has come. */
typedef enum rondo_phase {
    RONDO_PHASE_MEET,   /* at the rendezvous */
    RONDO_PHASE_MAP,    /* waiting for the segment */
    RONDO_PHASE_LINK,   /* waiting for the links between hosts */
    RONDO_PHASE_ATTACH, /* waiting for all ranks to have it mapped */
    RONDO_PHASE_READY,
    RONDO_PHASE_FAILED
} rondo_phase;

/* Waking ranks of this process that sleep while something comes from another host. */
typedef struct rondo_doze rondo_doze;

/* A process of peers that is watched. */
typedef struct rondo_neighbour {
    struct rondo_comm *comm;
    uint32_t rank; /* the first of its ranks */
    rondo_watch *watch;
    atomic_bool died;
} rondo_neighbour;

/* A registered block, as every rank has it. */
typedef struct rondo_block {
    unsigned char *memory; /* mine; null: free place */
    uint64_t bytes;
    void **peers;         /* by rank: where I have its block mapped */
    uint64_t *peer_bytes; /* by rank */
    bool mapped;          /* every rank has mapped every other's */
    uint64_t number;      /* of the registration; names its segments */
} rondo_block;

/* A handler of active messages. */
typedef struct rondo_handler {
    rondo_message_function function; /* null: messages wait */
    void *user;
} rondo_handler;

struct rondo_comm {
    char name[RONDO_COMM_NAME_MAX];
    uint32_t rank;
    uint32_t nranks;
    rondo_phase phase;
    rondo_status status;              /* RONDO_OK, or what broke or failed it */
    char error[RONDO_ERROR_TEXT_MAX]; /* sentence of the last error */
    _Atomic uint32_t dead_rank;       /* a rank whose process has ended, or NOBODY */
    _Atomic uint32_t abort_asked; /* abort may have come before the board was there */
    _Atomic uint32_t board_ready; /* other threads may touch the board */

    rondo_service *service;
    rondo_rendezvous *rendezvous; /* during creation */
    uint64_t start_deadline_ns;
    rondo_name uid;
    rondo_key key;
    rondo_settings settings;
    rondo_tune_forced forced;
    rondo_address *addresses; /* by rank */
    uint32_t *former;         /* by rank: what it was in the old one; null: the same */
    rondo_hosts hosts;
    const rondo_levels *levels;  /* the hosts, for algorithms; null: one host */
    rondo_reach reach;           /* my own */
    rondo_neighbour *neighbours; /* one for each other process */
    uint32_t nneighbours;
    uint32_t cores; /* that the ranks share */
    uint32_t spins; /* polls before a waiting rank yields */

    void *segment; /* board, then the transport's part */
    rondo_shm_layout layout;
    rondo_board board;
    rondo_transport *shm;
    rondo_links *links;       /* null: one host */
    rondo_ucx *ucx;           /* null: one host */
    rondo_transport *net;     /* to ranks on other hosts; null: one host */
    rondo_doze *doze;         /* null: one host */
    rondo_comm *next_sleeper; /* doze's */
    atomic_bool dozing;       /* what another thread brings for us must ring our bell */
    rondo_transport **routes; /* by peer; null at my own place */
    rondo_plan_cache *cache;

    uint64_t sequence;    /* of the last collective begun, from 1 */
    uint64_t chain;       /* hash of the signatures of all collectives begun */
    uint64_t mapped_runs; /* gives each mapped run its signals */
    uint64_t votes;       /* offers published, equal on all ranks */
    const void **peer_in; /* by rank: IN of the mapped run */
    void **peer_out;      /* by rank: OUT of the mapped run */
    rondo_request *head;  /* collectives, in order; the first one runs */
    rondo_request *tail;
    rondo_request *pairs; /* sends and receives in flight, in order */
    rondo_request *pairs_tail;
    rondo_request *spare;     /* requests to use again */
    rondo_request *all;       /* every request ever made, for the end */
    uint64_t *sent_pairs;     /* by peer: sends begun */
    uint64_t *received_pairs; /* by peer: receives begun */
    uint64_t op_timeout_ms;
    uint64_t op_timeout_default_ms;
    uint64_t warn_after_ms;
    uint64_t ask_ns; /* when other hosts may next be asked what they do */

    rondo_block *blocks;
    uint32_t nblocks;     /* places, used or free */
    uint64_t blocks_room; /* entries that fit into blocks */
    uint32_t blocks_used; /* equal on all ranks */
    uint64_t registrations;
    uint64_t splits;
    bool shrunk;

    rondo_handler handlers[RONDO_MESSAGE_CHANNELS];
    uint32_t nhandlers;
    bool messaging;  /* messages have been sent or are listened for */
    bool delivering; /* inside a handler */

    uint64_t operations;
    uint64_t mapped_bytes;
    uint64_t plans_built;
};

/* rondo_comm_fail - keep the thread's sentence, who and what in front. */
rondo_status
rondo_comm_fail(rondo_comm *comm, const char *what, rondo_status status);

/* rondo_comm_usable - RONDO_OK, or why not: forked, not ready, broken. */
RONDO_MUST_USE rondo_status
rondo_comm_usable(rondo_comm *comm);

/* rondo_comm_break - break it for all ranks with this thread's sentence. */
rondo_status
rondo_comm_break(rondo_comm *comm, rondo_status status, uint32_t culprit);

/* rondo_comm_has_left - connection lost: has it left? Waits a moment for news. */
bool
rondo_comm_has_left(const rondo_comm *comm, uint32_t peer);

/* rondo_comm_broken - take over what the board says, if it is broken. */
rondo_status
rondo_comm_broken(rondo_comm *comm);

/* rondo_comm_note_deaths - put on the board whose processes have ended. */
void
rondo_comm_note_deaths(rondo_comm *comm);

/* rondo_comm_links_news - my lines of the board have changed: tell other hosts. */
void
rondo_comm_links_news(rondo_comm *comm);

/* rondo_blocks_release - unmap what peers have registered. */
void
rondo_blocks_release(rondo_comm *comm);

#endif /* API_COMM_H */
