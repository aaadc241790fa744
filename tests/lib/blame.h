/* blame.h - what a rank must see when another one fails: an error in time that names
 * that one and nobody else, and a communicator that can be destroyed at once. */
#ifndef LIB_BLAME_H
#define LIB_BLAME_H

#include "lib/calls.h"
#include "lib/leftover.h"
#include "lib/ranks.h"

/* blame_only - the text names `culprit` and, but for this rank's own place at its
 * front, no other rank. */
bool
blame_only(rank_self *self, const char *text, uint32_t culprit);

/* blame_loop - make `made` again and again until it fails; the status. `made` may be
 * made at most `rounds` times: RONDO_OK then. */
rondo_status
blame_loop(rank_self *self, rondo_comm *comm, const call *made, uint64_t rounds);

/* blame_leave - destroy `comm` quickly, free the memory of `made` (null: none), and
 * hold nothing more than `before`. */
void
blame_leave(rank_self *self, rondo_comm *comm, call *made, const leftover *before);

/* blame_mapped - register the memory of `made`, so that large calls need no
 * messages. */
bool
blame_mapped(rank_self *self, rondo_comm *comm, call *made);

/* blame_buffers - a call of `kind` with memory for `count` fp32 elements a rank; false
 * (and noted) if there is none. */
bool
blame_buffers(rank_self *self, call_kind kind, uint64_t count, call *made);

#endif /* LIB_BLAME_H */
