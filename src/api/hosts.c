/* hosts.c - which ranks of a communicator are on which host. */
#include "api/hosts.h"

#include "base/alloc.h"

rondo_status
rondo_hosts_alloc(uint32_t nranks, rondo_hosts *hosts)
{
    rondo_hosts made = {.nranks = nranks};

    rondo_status status = rondo_alloc_zero(nranks * sizeof *made.of, (void **)&made.of);
    if (status == RONDO_OK) {
        status =
            rondo_alloc_zero(nranks * sizeof *made.part_of, (void **)&made.part_of);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(nranks * sizeof *made.local, (void **)&made.local);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(nranks * sizeof *made.reach, (void **)&made.reach);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(nranks * sizeof *made.names, (void **)&made.names);
    }
    if (status != RONDO_OK) {
        rondo_hosts_free(&made);
        return status;
    }
    *hosts = made;
    return RONDO_OK;
}

/* The first rank that has the same number in `of` as `rank`. */
static uint32_t
first_like(const rondo_hosts *hosts, uint32_t rank)
{
    uint32_t first = 0;

    while (hosts->of[first] != hosts->of[rank]) {
        first++;
    }
    return first;
}

void
rondo_hosts_settle(rondo_hosts *hosts, uint32_t rank)
{
    /* `local` serves as a note of each rank's leader first. */
    uint32_t *const leaders = hosts->local;

    for (uint32_t i = 0; i < hosts->nranks; i++) {
        leaders[i] = first_like(hosts, i);
    }
    hosts->count = 0;
    for (uint32_t i = 0; i < hosts->nranks; i++) {
        hosts->of[i] = leaders[i] == i ? hosts->count++ : hosts->of[leaders[i]];
    }
    hosts->nlocal = 0;
    for (uint32_t i = 0; i < hosts->nranks; i++) {
        if (rondo_hosts_together(hosts, i, rank)) {
            hosts->place = i == rank ? hosts->nlocal : hosts->place;
            hosts->local[hosts->nlocal++] = i;
        }
    }
}

bool
rondo_hosts_parted(const rondo_hosts *hosts)
{
    for (uint32_t rank = 0; rank < hosts->nranks; rank++) {
        const uint32_t leader = first_like(hosts, rank);

        if (hosts->part_of[rank] != hosts->part_of[leader]) {
            return true;
        }
    }
    return false;
}

bool
rondo_hosts_together(const rondo_hosts *hosts, uint32_t one, uint32_t other)
{
    return hosts->of[one] == hosts->of[other];
}

void
rondo_hosts_free(rondo_hosts *hosts)
{
    rondo_free(hosts->of);
    rondo_free(hosts->part_of);
    rondo_free(hosts->local);
    rondo_free(hosts->reach);
    rondo_free(hosts->names);
    *hosts = (rondo_hosts){0};
}
