/*
 * meet.h - ranks as threads on their way to a meeting, and what became of each.
 */
#ifndef LIB_MEET_H
#define LIB_MEET_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "bootstrap/bootstrap.h"

#define MEET_RANKS_MAX 64

typedef struct meet_rank {
    rondo_meeting meeting;
    uint32_t card_bytes; /* the card is filled with bytes that name the rank */
    int space;           /* network namespace it goes to; 0: none */
    const char *hosts;   /* its /etc/hosts there; null: the machine's */
    uint32_t delay_ms;   /* before it starts */
    uint32_t timeout_ms; /* its own deadline, from its start; 0: the meeting's */
    struct meet_rank *after_joined[2]; /* starts when their cards are there */
    struct meet_rank *leaves_after[2]; /* gives up when it and they have joined */
    struct meet_rank *after_ended;     /* starts when that one has its result */
    _Atomic bool joined;
    _Atomic bool ended;

    /* What became of it. */
    bool opened; /* start was RONDO_OK */
    rondo_status status;
    char text[512];
    bool right; /* all cards are what they should be */
    rondo_name name;
    rondo_key key;
    uint64_t took_ns;
    pthread_t thread;
} meet_rank;

/* meet_init - all ranks of a meeting at loopback, with a secret when `secret` is not
 * 0. */
void
meet_init(uint32_t nranks, uint16_t port, unsigned char secret, uint64_t timeout_ms,
          meet_rank *ranks);

/* meet_start, meet_join - one thread; meet_all - all of them at once, then joined. */
void
meet_start(meet_rank *rank);
void
meet_join(meet_rank *rank);
void
meet_all(uint32_t nranks, meet_rank *ranks);

/* meet_succeeded - all are right, and agree on name and key. */
bool
meet_succeeded(uint32_t nranks, const meet_rank *ranks);

/* Far below the deadlines of 20 s and more that would pass otherwise, on a machine that
 * is busy with other things. */
#define MEET_PROMPT_NS (8 * RONDO_NS_PER_S)

/* meet_expect - join the ranks from `from` to before `to`: each has failed at once with
 * RONDO_ERR_START, and both parts in its text; the cmocka test fails otherwise. */
void
meet_expect(meet_rank *ranks, uint32_t from, uint32_t to, const char *part,
            const char *other);

/* The port of a test, at 127.0.0.1; meet_begin and meet_finish are its set-up and
 * teardown, meet_anew changes it for another one. */
extern uint16_t meet_at;
extern int meet_at_fd; /* bound to it, not listening */
int
meet_begin(void **state);
int
meet_finish(void **state);
void
meet_anew(void);

/* meet_port - a port nobody else is given while `hold_fd` is open. */
uint16_t
meet_port(int *hold_fd);

/* meet_connect - a plain connection to the port; -1 if it is refused. */
int
meet_connect(uint16_t port);

/* meet_read - until `bytes` are there or the other side ends; how many. */
size_t
meet_read(int fd, void *memory, size_t bytes);

#endif /* LIB_MEET_H */
