/* segment.c - the layout of a segment: sizes and addresses of its parts. */
#include "transport/shm/segment.h"

#include "base/check.h"

/* Offsets must be the same for all who share a segment, so this is not asked for. */
#define PAGE_BYTES UINT64_C(4096)

/* Most address space that the stores may take, all pairs together. */
#define STORES_BYTES_MAX (UINT64_C(2) << 30)

static uint64_t
round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t
channels(const rondo_shm_layout *layout)
{
    return (uint64_t)layout->nlocal * (layout->nlocal - 1) * RONDO_LANES;
}

rondo_shm_layout
rondo_shm_layout_default(uint32_t nlocal, uint64_t chunk_bytes)
{
    /* A chunk is small, so that the receiver begins early. The store of a channel is
     * more than a second-level cache holds: by the time a line is used again it has
     * left the receiver's cache for the shared one, where writing it costs a third of
     * what it costs to take it away from the other core (all-reduce of 64 KiB: 4.3 us
     * instead of 9.9; of 1 MiB: 60 us instead of 176). With many ranks memory counts
     * more. */
    static const rondo_shm_layout by_ranks[] = {
        {.nlocal = 4, .slots = 64, .cells = 64, .chunk_bytes = 32 << 10},
        {.nlocal = 8, .slots = 64, .cells = 64, .chunk_bytes = 16 << 10},
        {.nlocal = 16, .slots = 32, .cells = 32, .chunk_bytes = 16 << 10},
        {.nlocal = 64, .slots = 16, .cells = 16, .chunk_bytes = 8 << 10},
        {.nlocal = UINT32_MAX, .slots = 8, .cells = 8, .chunk_bytes = 4 << 10},
    };
    const rondo_shm_layout *row = by_ranks;

    while (nlocal > row->nlocal) {
        row++;
    }
    rondo_shm_layout layout = *row;
    layout.nlocal = nlocal;
    if (chunk_bytes != 0) {
        layout.chunk_bytes = round_up(chunk_bytes, RONDO_SHM_LINE);
    }
    while (layout.slots > 2 &&
           channels(&layout) * layout.slots * layout.chunk_bytes > STORES_BYTES_MAX) {
        layout.slots /= 2;
    }
    return layout;
}

rondo_shm_segment
rondo_shm_segment_at(const rondo_shm_layout *layout, void *memory)
{
    rondo_shm_segment segment = {.layout = *layout, .memory = memory};

    segment.rings_at =
        round_up(layout->nlocal * sizeof(struct rondo_shm_desk), PAGE_BYTES);
    segment.ring_bytes =
        round_up(sizeof(struct rondo_shm_ring) +
                     layout->cells * (uint64_t)sizeof(struct rondo_shm_cell),
                 RONDO_SHM_APART);
    segment.block_bytes = round_up(
        (uint64_t)(layout->nlocal - 1) * RONDO_LANES * segment.ring_bytes, PAGE_BYTES);
    segment.stores_at = segment.rings_at + layout->nlocal * segment.block_bytes;
    segment.store_bytes = layout->slots * layout->chunk_bytes;
    segment.sparse_bytes = layout->chunk_bytes < RONDO_SHM_SPARSE_RUN
                               ? layout->chunk_bytes
                               : RONDO_SHM_SPARSE_RUN;
    /* Few ranks have few channels: they wait for memory once, at the first piece, and
     * not now and again during the first thousand. */
    segment.first_bytes =
        layout->nlocal <= 4 ? segment.store_bytes : layout->chunk_bytes;
    segment.bytes = round_up(segment.stores_at + channels(layout) * segment.store_bytes,
                             PAGE_BYTES);
    return segment;
}

uint64_t
rondo_shm_bytes(const rondo_shm_layout *layout)
{
    return rondo_shm_segment_at(layout, NULL).bytes;
}

struct rondo_shm_desk *
rondo_shm_desk_of(const rondo_shm_segment *segment, uint32_t place)
{
    RONDO_ASSERT(place < segment->layout.nlocal);
    return (struct rondo_shm_desk *)(void *)segment->memory + place;
}

/* The channel's number among those of its receiver; nobody sends to itself. */
static uint64_t
number_at_receiver(const rondo_shm_segment *segment, rondo_shm_pair pair,
                   rondo_lane lane)
{
    const uint64_t sender = pair.from < pair.to ? pair.from : pair.from - 1;

    RONDO_ASSERT(pair.from != pair.to);
    return (uint64_t)lane * (segment->layout.nlocal - 1) + sender;
}

struct rondo_shm_ring *
rondo_shm_ring_of(const rondo_shm_segment *segment, rondo_shm_pair pair,
                  rondo_lane lane)
{
    const uint64_t number = number_at_receiver(segment, pair, lane);
    const uint64_t block = segment->rings_at + pair.to * segment->block_bytes;

    return (void *)(segment->memory + block + number * segment->ring_bytes);
}

unsigned char *
rondo_shm_store_of(const rondo_shm_segment *segment, rondo_shm_pair pair,
                   rondo_lane lane)
{
    const rondo_shm_layout *const layout = &segment->layout;
    const uint64_t before = (uint64_t)pair.to * (layout->nlocal - 1) * RONDO_LANES;
    const uint64_t number = before + number_at_receiver(segment, pair, lane);

    return segment->memory + segment->stores_at + number * segment->store_bytes;
}
