/* part.h - a communicator out of ranks that already know each other from another. */
#ifndef API_PART_H
#define API_PART_H

#include "api/comm.h"

/* What is asked for. */
typedef struct rondo_part {
    const char *name;
    const uint32_t *members; /* ranks of the old one in their new order; I am one */
    uint32_t nmembers;
    uint64_t deadline_ns; /* for its creation */
    const char *label;    /* with `number`: its name and key follow from them */
    uint64_t number;
} rondo_part;

/* rondo_part_make - a communicator that knows of its members what `comm` knows of them;
 * rondo_comm_map begins its creation. RONDO_ERR_MEMORY. */
RONDO_MUST_USE rondo_status
rondo_part_make(const rondo_comm *comm, const rondo_part *part, rondo_comm **made);

#endif /* API_PART_H */
