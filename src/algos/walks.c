/* walks.c - what several algorithms share: segments, turns of a ring, trees. */
#include "algos/walks.h"

#include "schedule/blocks.h"

uint64_t
rondo_segments(const rondo_coll *coll)
{
    if (coll->segment == 0 || coll->count == 0) {
        return 1;
    }
    return (coll->count - 1) / coll->segment + 1;
}

rondo_slice
rondo_segment(const rondo_coll *coll, rondo_slice vector, uint64_t index)
{
    const uint64_t segments = rondo_segments(coll);

    return rondo_slice_part(vector, rondo_block_first(vector.count, segments, index),
                            rondo_block_count(vector.count, segments, index));
}

rondo_ring
rondo_ring_make(const rondo_coll *coll, rondo_schedule *schedule, uint64_t count)
{
    rondo_ring ring = {.coll = coll, .room = 0};

    if (coll->nranks > 1) {
        ring.room = rondo_block_count(count, coll->nranks, 0);
    }
    for (uint32_t parity = 0; parity < 2; parity++) {
        ring.slot[parity] = rondo_schedule_scratch(schedule, ring.room);
    }
    return ring;
}

rondo_slice
rondo_ring_block(const rondo_ring *ring, rondo_slice vector, uint32_t index)
{
    const uint32_t blocks = ring->coll->nranks;

    return rondo_slice_part(vector, rondo_block_first(vector.count, blocks, index),
                            rondo_block_count(vector.count, blocks, index));
}

void
rondo_ring_reduce(const rondo_ring *ring, rondo_schedule *schedule, rondo_slice vector,
                  rondo_slice own, uint32_t turn)
{
    const uint32_t nranks = ring->coll->nranks;
    const uint32_t rank = ring->coll->rank;
    const uint32_t left = rondo_ring_back(rank, 1, nranks);
    const uint32_t right = rondo_ring_back(rank, nranks - 1, nranks);
    const rondo_slice gone =
        rondo_ring_block(ring, vector, rondo_ring_back(left, turn, nranks));
    const rondo_slice mine =
        rondo_ring_block(ring, vector, rondo_ring_back(left, turn + 1, nranks));
    const rondo_slice heard = rondo_slice_part(ring->slot[turn % 2], 0, mine.count);

    if (turn == 0) {
        rondo_schedule_send(schedule, right, gone);
    } else {
        rondo_schedule_send(
            schedule, right,
            rondo_slice_part(ring->slot[(turn - 1) % 2], 0, gone.count));
    }
    rondo_schedule_recv(schedule, left, heard);
    if (turn == nranks - 2) {
        rondo_schedule_reduce_final(schedule, own, heard, mine);
    } else {
        rondo_schedule_reduce(schedule, heard, heard, mine);
    }
}

void
rondo_ring_gather(const rondo_ring *ring, rondo_schedule *schedule, rondo_slice vector,
                  uint32_t turn)
{
    const uint32_t nranks = ring->coll->nranks;
    const uint32_t rank = ring->coll->rank;
    const uint32_t given = rondo_ring_back(rank, turn, nranks);
    const uint32_t heard = rondo_ring_back(given, 1, nranks);

    rondo_schedule_send(schedule, rondo_ring_back(rank, nranks - 1, nranks),
                        rondo_ring_block(ring, vector, given));
    rondo_schedule_recv(schedule, rondo_ring_back(rank, 1, nranks),
                        rondo_ring_block(ring, vector, heard));
}
