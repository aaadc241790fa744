/* mem.c - blocks that peers map: registration, and where a call's buffers lie in
 * them. */
#include <rondo/mem.h>

#include <string.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/width.h"
#include "control/memory.h"

/* Mapping a block of a peer takes no longer than this. */
#define MAP_TIMEOUT_MS 30000

rondo_status
rondo_mem_alloc(size_t bytes, void **memory)
{
    if (memory == NULL) {
        return rondo_error(RONDO_ERR_ARG, "memory is null");
    }
    return rondo_memory_make(bytes, memory);
}

void
rondo_mem_free(void *memory)
{
    if (memory != NULL && rondo_memory_drop(memory) != RONDO_OK) {
        rondo_log(RONDO_LOG_WARN, "rondo_mem_free: %s", rondo_error_text());
    }
}

/* The name under which `rank` shares its block of registration `number`. */
static rondo_segment_spec
spec_of(const rondo_comm *comm, uint64_t number, uint32_t rank, uint64_t bytes)
{
    const rondo_segment_spec spec = {
        .name = rondo_name_derive(&comm->key, "block", number << 32 | rank),
        .key = comm->key,
        .bytes = bytes,
    };

    return spec;
}

static uint32_t
place_of(const rondo_comm *comm, const void *memory)
{
    uint32_t place = 0;

    while (place < comm->nblocks && comm->blocks[place].memory != memory) {
        place++;
    }
    return place;
}

static void
release_block(rondo_comm *comm, rondo_block *block)
{
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (block->peers[rank] != NULL) {
            const rondo_segment_spec spec = spec_of(comm, block->number, rank, 0);
            rondo_segment_release(comm->service, &spec.name);
        }
    }
    if (comm->net != NULL) {
        rondo_ucx_unmap(comm->net, block->memory);
    }
    rondo_free((void *)block->peers);
    rondo_free(block->peer_bytes);
    memset(block, 0, sizeof *block);
}

void
rondo_blocks_release(rondo_comm *comm)
{
    for (uint32_t place = 0; place < comm->nblocks; place++) {
        if (comm->blocks[place].memory != NULL) {
            release_block(comm, &comm->blocks[place]);
        }
    }
}

/* Wait for the block of `rank`; RONDO_OK also when it could not be mapped. */
static rondo_status
take_peer(rondo_comm *comm, rondo_block *block, uint32_t rank, uint64_t deadline_ns)
{
    const rondo_segment_spec spec =
        spec_of(comm, block->number, rank, block->peer_bytes[rank]);

    for (;;) {
        const rondo_status status =
            rondo_segment_take(comm->service, &spec, &block->peers[rank]);

        if (rondo_comm_broken(comm) != RONDO_OK) {
            return comm->status;
        }
        if (status != RONDO_BUSY || rondo_now_ns() >= deadline_ns) {
            block->mapped = block->mapped && status == RONDO_OK;
            return RONDO_OK;
        }
        rondo_segment_wait(comm->service, RONDO_NS_PER_MS / 10);
    }
}

/* Send mine to all, take all of theirs, agree on whether everyone has everything. */
static rondo_status
exchange(rondo_comm *comm, rondo_block *block, int fd)
{
    const rondo_segment_spec mine =
        spec_of(comm, block->number, comm->rank, block->bytes);
    const uint64_t deadline_ns = rondo_deadline_ns(MAP_TIMEOUT_MS);
    uint8_t all = 0;

    rondo_status status = rondo_segment_share(comm->service, &mine, fd, block->memory,
                                              comm->addresses, comm->nranks);
    block->mapped = status == RONDO_OK;
    status = RONDO_OK;
    for (uint32_t rank = 0; status == RONDO_OK && rank < comm->nranks; rank++) {
        status = take_peer(comm, block, rank, deadline_ns);
    }
    const uint8_t have = block->mapped ? 1 : 0;
    if (status == RONDO_OK) {
        status = rondo_all_reduce(comm, &have, &all, 1, RONDO_UINT8, RONDO_MIN);
    }
    /* My own name was shared and taken: one count each. */
    rondo_segment_release(comm->service, &mine.name);
    block->mapped = status == RONDO_OK && all == 1;
    return status;
}

static rondo_status
make_room(rondo_comm *comm, uint32_t *place)
{
    uint64_t room = comm->blocks_room;

    if (comm->peer_in == NULL) {
        rondo_status status = rondo_alloc_zero(comm->nranks * sizeof *comm->peer_in,
                                               (void **)&comm->peer_in);
        if (status == RONDO_OK) {
            status = rondo_alloc_zero(comm->nranks * sizeof *comm->peer_out,
                                      (void **)&comm->peer_out);
        }
        if (status != RONDO_OK) {
            return status;
        }
    }
    *place = place_of(comm, NULL);
    if (*place < comm->nblocks) {
        return RONDO_OK;
    }
    const rondo_status status = rondo_alloc_grow((void **)&comm->blocks, comm->nblocks,
                                                 &room, sizeof *comm->blocks);
    if (status != RONDO_OK) {
        return status;
    }
    comm->blocks_room = room;
    memset(&comm->blocks[comm->nblocks], 0, sizeof *comm->blocks);
    comm->nblocks++;
    return RONDO_OK;
}

/* Everything that needs memory, before peers are told anything. */
static rondo_status
prepare(rondo_comm *comm, const rondo_shared *shared, uint32_t *place)
{
    rondo_status status = make_room(comm, place);
    rondo_block *const block = status == RONDO_OK ? &comm->blocks[*place] : NULL;

    if (status == RONDO_OK) {
        status = rondo_alloc_zero(comm->nranks * sizeof *block->peers,
                                  (void **)&block->peers);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(comm->nranks * sizeof *block->peer_bytes,
                                  (void **)&block->peer_bytes);
        if (status != RONDO_OK) {
            rondo_free((void *)block->peers);
            block->peers = NULL;
        }
    }
    if (status == RONDO_OK) {
        block->memory = shared->memory;
        block->bytes = shared->bytes;
        block->number = comm->registrations;
    }
    return status;
}

rondo_status
rondo_mem_register(rondo_comm *comm, void *memory)
{
    rondo_shared shared;
    uint32_t place = 0;

    rondo_status status = rondo_comm_usable(comm);
    if (status == RONDO_OK) {
        status = rondo_memory_find(memory, &shared);
    }
    if (status == RONDO_OK && place_of(comm, memory) < comm->nblocks) {
        status = rondo_error(RONDO_ERR_ARG, "memory is %p, which is registered already",
                             memory);
    }
    if (status == RONDO_OK) {
        status = prepare(comm, &shared, &place);
    }
    if (status != RONDO_OK) {
        return rondo_comm_fail(comm, "mem_register", status);
    }
    rondo_block *const block = &comm->blocks[place];
    comm->registrations++;
    status = rondo_all_gather(comm, &shared.bytes, block->peer_bytes, 1, RONDO_UINT64);
    if (status == RONDO_OK && comm->hosts.count == 1) {
        status = exchange(comm, block, shared.fd);
    } else if (status == RONDO_OK) {
        rondo_ucx_map(comm->net, block->memory, block->bytes);
    }
    if (status != RONDO_OK) {
        release_block(comm, block);
        return rondo_comm_fail(comm, "mem_register", status);
    }
    comm->blocks_used++;
    return RONDO_OK;
}

rondo_status
rondo_mem_deregister(rondo_comm *comm, void *memory)
{
    rondo_status status = rondo_comm_usable(comm);

    if (status == RONDO_OK &&
        (memory == NULL || place_of(comm, memory) == comm->nblocks)) {
        status =
            rondo_error(RONDO_ERR_ARG, "memory is %p, which is not registered", memory);
    }
    if (status == RONDO_OK) {
        status = rondo_barrier(comm);
    }
    if (status != RONDO_OK) {
        return rondo_comm_fail(comm, "mem_deregister", status);
    }
    release_block(comm, &comm->blocks[place_of(comm, memory)]);
    comm->blocks_used--;
    return RONDO_OK;
}

/* The mapped block that holds [memory, memory + bytes), and where in it. */
static bool
locate(const rondo_comm *comm, const void *memory, uint64_t bytes, uint32_t *place,
       uint64_t *at)
{
    const unsigned char *const first = memory;

    for (uint32_t i = 0; i < comm->nblocks; i++) {
        const rondo_block *const block = &comm->blocks[i];

        if (block->memory == NULL || !block->mapped || first < block->memory ||
            (uint64_t)(first - block->memory) > block->bytes ||
            bytes > block->bytes - (uint64_t)(first - block->memory)) {
            continue;
        }
        *place = i;
        *at = (uint64_t)(first - block->memory);
        return true;
    }
    return false;
}

void
rondo_offer_find(rondo_comm *comm, const rondo_request *request, rondo_offer *offer)
{
    const uint64_t width = rondo_width(request->dtype);
    rondo_offer found = {0};

    found.mapped =
        locate(comm, request->in, rondo_coll_in_count(&request->coll) * width,
               &found.in_block, &found.in_at) &&
        locate(comm, request->out, rondo_coll_out_count(&request->coll) * width,
               &found.out_block, &found.out_at);
    *offer = found;
}

/* Whether a peer's offer lies inside what it has registered. */
static bool
fits(const rondo_comm *comm, uint32_t rank, uint32_t place, uint64_t at, uint64_t bytes)
{
    return place < comm->nblocks && comm->blocks[place].memory != NULL &&
           comm->blocks[place].mapped && at <= comm->blocks[place].peer_bytes[rank] &&
           bytes <= comm->blocks[place].peer_bytes[rank] - at;
}

rondo_status
rondo_offers_resolve(rondo_comm *comm, const rondo_request *request)
{
    const uint64_t width = rondo_width(request->dtype);
    const uint64_t in_bytes = rondo_coll_in_count(&request->coll) * width;
    const uint64_t out_bytes = rondo_coll_out_count(&request->coll) * width;
    rondo_offer offer;

    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        const rondo_status status =
            rondo_board_offer(&comm->board, rank, comm->votes, &offer);

        if (status != RONDO_OK) {
            return status;
        }
        if (offer.mapped == 0) {
            return RONDO_ERR_UNSUPPORTED;
        }
        if (!fits(comm, rank, offer.in_block, offer.in_at, in_bytes) ||
            !fits(comm, rank, offer.out_block, offer.out_at, out_bytes)) {
            return rondo_error(RONDO_ERR_WIRE,
                               "rank %u offers buffers outside what it registered",
                               rank);
        }
        comm->peer_in[rank] =
            (unsigned char *)comm->blocks[offer.in_block].peers[rank] + offer.in_at;
        comm->peer_out[rank] =
            (unsigned char *)comm->blocks[offer.out_block].peers[rank] + offer.out_at;
    }
    return RONDO_OK;
}
