/* patience.h - how a server or a worker waits: polls, then gives the core away, then
 * sleeps for moments, so that many of them share few cores. */
#ifndef SERVER_PATIENCE_H
#define SERVER_PATIENCE_H

#include <stdint.h>

typedef struct rondo_patience {
    uint64_t moves;         /* as last seen */
    uint64_t idle_since_ns; /* nothing has moved since; 0: just begun */
} rondo_patience;

/* rondo_patience_wait - between two polls; `moves` counts what has moved so far. */
void
rondo_patience_wait(rondo_patience *patience, uint64_t moves);

#endif /* SERVER_PATIENCE_H */
