/* part.c - a communicator out of ranks that already know each other from another. */
#include "api/part.h"

#include <string.h>

#include "api/create.h"
#include "base/alloc.h"

/* Where the members are: what `comm` knows of them. */
static rondo_status
place_members(const rondo_comm *comm, const uint32_t *members, rondo_comm *made)
{
    rondo_hosts *const hosts = &made->hosts;
    const uint32_t n = made->nranks;

    rondo_status status =
        rondo_alloc_zero(n * sizeof *made->addresses, (void **)&made->addresses);
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(n * sizeof *made->former, (void **)&made->former);
    }
    if (status == RONDO_OK) {
        status = rondo_hosts_alloc(n, hosts);
    }
    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < n; i++) {
        made->former[i] = members[i];
        made->addresses[i] = comm->addresses[members[i]];
        hosts->of[i] = comm->hosts.of[members[i]];
        hosts->part_of[i] = comm->hosts.part_of[members[i]];
        hosts->reach[i] = comm->hosts.reach[members[i]];
        memcpy(hosts->names[i], comm->hosts.names[members[i]], sizeof hosts->names[i]);
    }
    rondo_hosts_settle(hosts, made->rank);
    return RONDO_OK;
}

rondo_status
rondo_part_make(const rondo_comm *comm, const rondo_part *part, rondo_comm **made)
{
    rondo_comm *fresh = NULL;
    uint32_t place = 0;

    while (part->members[place] != comm->rank) {
        place++;
    }
    rondo_status status = rondo_comm_alloc(place, part->nmembers, part->name, &fresh);
    if (status != RONDO_OK) {
        return status;
    }
    status = place_members(comm, part->members, fresh);
    if (status != RONDO_OK) {
        rondo_comm_destroy(fresh);
        return status;
    }
    fresh->start_deadline_ns = part->deadline_ns;
    fresh->uid = rondo_name_derive(&comm->key, part->label, part->number);
    fresh->key = rondo_key_derive(&comm->key, part->label, part->number);
    fresh->settings = comm->settings;
    fresh->cores = comm->cores;
    fresh->reach = comm->reach;
    fresh->op_timeout_ms = comm->op_timeout_ms;
    fresh->op_timeout_default_ms = comm->op_timeout_default_ms;
    fresh->warn_after_ms = comm->warn_after_ms;
    *made = fresh;
    return RONDO_OK;
}
