/*
 * troop.h - several ranks of real communicators in one thread: made without waiting,
 * moved along by turns. For tests that want to see all ranks at once.
 */
#ifndef LIB_TROOP_H
#define LIB_TROOP_H

#include <stdint.h>

#include <rondo/rondo.h>

#define TROOP_MAX 16

typedef struct troop {
    uint32_t nranks;
    rondo_comm *comm[TROOP_MAX];
} troop;

/* troop_make - a communicator per rank, by one unique id; the test fails otherwise. */
void
troop_make(uint32_t nranks, troop *made);

/* troop_try - the same, but failures are let through; on one nothing is left. */
RONDO_MUST_USE rondo_status
troop_try(uint32_t nranks, uint64_t start_timeout_ms, troop *made);

void
troop_destroy(troop *made);

/* troop_finish - poll `requests`, one per rank, until all are done, at most 20 s; each
 * rank's final status in `statuses`. */
void
troop_finish(uint32_t nranks, rondo_request **requests, rondo_status *statuses);

#endif /* LIB_TROOP_H */
