/* attach.c - ranks that know each other become one: watched, mapped, wired. */
#include <stdio.h>
#include <string.h>

#include "api/create.h"
#include "base/alloc.h"
#include "topology/cores.h"

/* Plans kept per communicator. */
#define PLANS_MAX       256
#define PLANS_BYTES_MAX (UINT64_C(64) << 20)

/* All ranks of a process have ended with it. */
static void
note_death(rondo_comm *comm, const rondo_address *address)
{
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (rondo_hosts_together(&comm->hosts, rank, comm->rank) &&
            memcmp(&comm->addresses[rank], address, sizeof *address) == 0) {
            rondo_board_gone_set(&comm->board, rank);
        }
    }
}

void
rondo_comm_note_deaths(rondo_comm *comm)
{
    for (uint32_t i = 0; i < comm->nneighbours; i++) {
        if (atomic_load_explicit(&comm->neighbours[i].died, memory_order_relaxed)) {
            note_death(comm, &comm->addresses[comm->neighbours[i].rank]);
        }
    }
}

/* A process of peers has ended; runs on the service thread. */
static void
peer_died(const rondo_address *address, void *user)
{
    rondo_neighbour *const neighbour = user;
    rondo_comm *const comm = neighbour->comm;

    atomic_store(&neighbour->died, true);
    const bool ready = atomic_load(&comm->board_ready) != 0;
    uint32_t nobody = RONDO_NOBODY;

    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (!rondo_hosts_together(&comm->hosts, rank, comm->rank) ||
            memcmp(&comm->addresses[rank], address, sizeof *address) != 0 ||
            (ready && rondo_board_presence(&comm->board, rank) == RONDO_LEFT)) {
            continue;
        }
        (void)atomic_compare_exchange_strong(&comm->dead_rank, &nobody, rank);
        rondo_breakage breakage = {
            .status = RONDO_ERR_PEER, .culprit = rank, .reporter = comm->rank};
        (void)snprintf(breakage.text, sizeof breakage.text,
                       "rank %u (process %u%s%s) died", rank, address->pid,
                       comm->hosts.count > 1 ? " on " : "",
                       comm->hosts.count > 1 ? comm->hosts.names[rank] : "");
        if (atomic_load(&comm->board_ready) != 0) {
            note_death(comm, address);
            (void)rondo_board_break(&comm->board, &breakage);
        }
        return;
    }
}

/* Watch every other process of this host once, however many ranks it has; links watch
 * those on other hosts. */
static rondo_status
watch_neighbours(rondo_comm *comm)
{
    rondo_address mine;
    const rondo_status status = rondo_alloc_zero(
        comm->nranks * sizeof *comm->neighbours, (void **)&comm->neighbours);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_service_address(comm->service, &mine);
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        const rondo_address *const address = &comm->addresses[rank];
        bool known = memcmp(address, &mine, sizeof mine) == 0 ||
                     !rondo_hosts_together(&comm->hosts, rank, comm->rank);

        for (uint32_t i = 0; i < comm->nneighbours && !known; i++) {
            known = memcmp(address, &comm->addresses[comm->neighbours[i].rank],
                           sizeof *address) == 0;
        }
        if (known) {
            continue;
        }
        rondo_neighbour *const neighbour = &comm->neighbours[comm->nneighbours];
        neighbour->comm = comm;
        neighbour->rank = rank;
        const rondo_status watched = rondo_service_watch(
            comm->service, address, peer_died, neighbour, &neighbour->watch);
        if (watched != RONDO_OK) {
            return watched;
        }
        comm->nneighbours++;
    }
    return RONDO_OK;
}

/* The lowest rank of a host makes its segment. */
static rondo_status
publish(rondo_comm *comm)
{
    const rondo_hosts *const hosts = &comm->hosts;
    const rondo_segment_spec spec = rondo_comm_segment(comm);
    rondo_address *sharers = NULL;

    rondo_status status =
        rondo_alloc_zero(hosts->nlocal * sizeof *sharers, (void **)&sharers);
    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < hosts->nlocal; i++) {
        sharers[i] = comm->addresses[hosts->local[i]];
    }
    status = rondo_segment_publish(comm->service, &spec, sharers, hosts->nlocal,
                                   &comm->segment);
    rondo_free(sharers);
    return status;
}

/* Everything after the ranks know each other: watch, and make or await the segment. */
rondo_status
rondo_comm_map(rondo_comm *comm)
{
    rondo_status status = rondo_tune_forced_parse(comm->settings.algo, &comm->forced);

    if (status == RONDO_OK) {
        status = rondo_cores_spins(comm->hosts.nlocal, comm->cores,
                                   comm->hosts.count > 1, &comm->spins);
    }
    if (status == RONDO_OK && comm->hosts.count > 1) {
        const rondo_hosts *const hosts = &comm->hosts;

        status = rondo_levels_create(comm->nranks, hosts->of,
                                     rondo_hosts_parted(hosts) ? hosts->part_of : NULL,
                                     &comm->levels);
    }
    if (status == RONDO_OK) {
        status = watch_neighbours(comm);
    }
    if (status != RONDO_OK) {
        return status;
    }
    comm->layout =
        rondo_shm_layout_default(comm->hosts.nlocal, comm->settings.chunk_bytes);
    comm->phase = RONDO_PHASE_MAP;
    return comm->hosts.place == 0 ? publish(comm) : RONDO_OK;
}

rondo_segment_spec
rondo_comm_segment(const rondo_comm *comm)
{
    const rondo_segment_spec spec = {
        .name = comm->uid,
        .key = comm->key,
        .bytes = rondo_board_bytes(comm->nranks) + rondo_shm_bytes(&comm->layout),
    };

    return spec;
}

/* The transport, the routes and what calls need later; nothing here waits for peers. */
rondo_status
rondo_comm_wire(rondo_comm *comm)
{
    const uint32_t nranks = comm->nranks;
    const rondo_shm_setup setup = {
        .layout = comm->layout,
        .memory = (unsigned char *)comm->segment + rondo_board_bytes(nranks),
        .me = comm->hosts.place,
        .nranks = nranks,
        .ranks = comm->hosts.local,
    };
    rondo_status status = rondo_shm_create(&setup, &comm->shm);
    if (status == RONDO_OK) {
        status =
            rondo_alloc_zero(nranks * sizeof *comm->routes, (void **)&comm->routes);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(nranks * sizeof *comm->sent_pairs,
                                  (void **)&comm->sent_pairs);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(nranks * sizeof *comm->received_pairs,
                                  (void **)&comm->received_pairs);
    }
    if (status == RONDO_OK) {
        status = rondo_plan_cache_create(PLANS_MAX, PLANS_BYTES_MAX, &comm->cache);
    }
    for (uint32_t peer = 0; status == RONDO_OK && peer < nranks; peer++) {
        comm->routes[peer] =
            peer != comm->rank && rondo_hosts_together(&comm->hosts, peer, comm->rank)
                ? comm->shm
                : NULL;
    }
    return status;
}
