/* hosts.h - which ranks of a communicator are on which host. */
#ifndef API_HOSTS_H
#define API_HOSTS_H

#include "control/links.h"

#define RONDO_HOST_NAME_MAX 64

/* Addresses of one process, for the control links. */
typedef struct rondo_reach {
    rondo_endpoint at[RONDO_ENDPOINTS_MAX];
} rondo_reach;

typedef struct rondo_hosts {
    uint32_t nranks;
    uint32_t count;                     /* of hosts */
    uint32_t nlocal;                    /* ranks on mine */
    uint32_t place;                     /* mine among them */
    uint32_t *of;                       /* by rank: 0 for rank 0's host, as they come */
    uint32_t *part_of;                  /* by rank: equal in one part of a host */
    uint32_t *local;                    /* the ranks on mine, ascending */
    rondo_reach *reach;                 /* by rank; a port only where one is open */
    char (*names)[RONDO_HOST_NAME_MAX]; /* by rank */
} rondo_hosts;

/* rondo_hosts_alloc - room for `nranks`; of, reach and names are the caller's to fill.
 * RONDO_ERR_MEMORY. */
RONDO_MUST_USE rondo_status
rondo_hosts_alloc(uint32_t nranks, rondo_hosts *hosts);

/* rondo_hosts_settle - after `of` holds any number per rank that is equal for ranks of
 * one host: number the hosts, find the ranks of `rank`'s. */
void
rondo_hosts_settle(rondo_hosts *hosts, uint32_t rank);

/* rondo_hosts_parted - whether some host has ranks in more than one part. */
bool
rondo_hosts_parted(const rondo_hosts *hosts);

/* rondo_hosts_together - whether two ranks are on one host. */
bool
rondo_hosts_together(const rondo_hosts *hosts, uint32_t one, uint32_t other);

void
rondo_hosts_free(rondo_hosts *hosts);

#endif /* API_HOSTS_H */
