/* differ.h - what must happen when ranks make different calls. */
#ifndef LIB_DIFFER_H
#define LIB_DIFFER_H

#include "lib/calls.h"
#include "lib/ranks.h"

/*
 * calls_differ - this rank makes `mine`, and knows that another rank makes another
 * call. RONDO_ERR_MISMATCH must come from it, or, where it had already finished, from
 * the next one, within a few seconds, with all of `parts` (null ends them) in the text;
 * after that every call must fail with the same status.
 */
bool
calls_differ(rank_self *self, rondo_comm *comm, const call *mine,
             const char *const *parts);

#endif /* LIB_DIFFER_H */
