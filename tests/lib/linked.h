/*
 * linked.h - a communicator's ranks on make-believe hosts: each rank a process, each
 * host a board of its own, links between them. The test reads the boards and gives
 * orders.
 */
#ifndef LIB_LINKED_H
#define LIB_LINKED_H

#include "control/links.h"
#include "lib/peers.h"

#define LINKED_RANKS 16
#define LINKED_HOSTS 8

/* What is shared by the test and all its ranks, besides the boards. */
typedef struct linked_stage {
    rondo_endpoint mine[LINKED_RANKS][RONDO_ENDPOINTS_MAX];
    rondo_address addresses[LINKED_RANKS];
    rondo_name name;
    rondo_key keys[LINKED_RANKS]; /* as each rank believes it */
    uint64_t start_ms[LINKED_RANKS];
    uint64_t silence_ms;
    uint32_t nranks;
    uint32_t host_of[LINKED_RANKS];
    char host_names[LINKED_RANKS][64];
    uint32_t about[LINKED_RANKS]; /* whose host to name with 'h' */
    bool blind;                   /* ranks do not know their own endpoints */

    /* Of the last order of each rank. */
    rondo_status status[LINKED_RANKS];
    char text[LINKED_RANKS][512]; /* interfaces, or the sentence */
    uint64_t took_ns[LINKED_RANKS];
    rondo_breakage why[LINKED_RANKS]; /* what to say with 'b' */
} linked_stage;

typedef struct linked {
    linked_stage *stage;
    void *memory[LINKED_HOSTS];       /* of the boards */
    rondo_board boards[LINKED_HOSTS]; /* the test's view of each */
    uint32_t nhosts;
    uint32_t nranks;
    peer ranks[LINKED_RANKS];
    bool gone[LINKED_RANKS]; /* ended by the test */
} linked;

/* linked_init - `per_host` ranks on each of the hosts, as numbers that end with 0; at
 * 127.0.0.1 until the test says otherwise. Nothing is started yet. */
void
linked_init(const uint32_t *per_host, linked *cast);

/* linked_start - fork rank's process (before this process has a service of its own).
 * linked_start_all - all, and have all listen. */
void
linked_start(linked *cast, uint32_t rank);
void
linked_start_all(linked *cast);

/*
 * linked_order - give a rank an order and do not wait; linked_done - wait for the end
 * of it. linked_do - both. Orders:
 *   p  listen at stage->mine         o  open, poll until it is not BUSY
 *   j  wire address, join, news      e  enter the next operation; f  finish it
 *   b  break with stage->why, news   B  break without news
 *   a  ask                           l  leave: news, close
 *   x  close without leaving         F  fork a child that outlives an 'x' or a kill
 *   h  name the host of stage->about  q  end the process
 */
void
linked_order(linked *cast, uint32_t rank, char order);
void
linked_done(linked *cast, uint32_t rank);
void
linked_do(linked *cast, uint32_t rank, char order);
void
linked_do_all(linked *cast, char order);

/* linked_open - start all, open all; all must succeed. */
void
linked_open(const uint32_t *per_host, linked *cast);

/* linked_kill - SIGKILL; the board of its host is not told. */
void
linked_kill(linked *cast, uint32_t rank);

/* linked_end - ends all processes that are left; true if each ended well. */
bool
linked_end(linked *cast);

/* linked_board - the board of a rank's host. */
rondo_board *
linked_board(linked *cast, uint32_t rank);

/* linked_until - wait until `fact` holds, at most `ms`; whether it does. */
typedef bool (*linked_fact)(linked *cast, uint32_t value);
bool
linked_until(linked *cast, linked_fact fact, uint32_t value, uint64_t ms);

#endif /* LIB_LINKED_H */
