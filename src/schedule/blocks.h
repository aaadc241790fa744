/* blocks.h - cutting a vector into blocks and walking round a ring. */
#ifndef SCHEDULE_BLOCKS_H
#define SCHEDULE_BLOCKS_H

#include <stdint.h>

/* First element of block `index` when `count` elements are cut into `blocks` blocks
 * whose sizes differ by at most one, longer ones first. `index` may equal `blocks`. */
static inline uint64_t
rondo_block_first(uint64_t count, uint64_t blocks, uint64_t index)
{
    const uint64_t base = count / blocks;
    const uint64_t longer = count % blocks;

    return index * base + (index < longer ? index : longer);
}

/* Elements of block `index`. */
static inline uint64_t
rondo_block_count(uint64_t count, uint64_t blocks, uint64_t index)
{
    return rondo_block_first(count, blocks, index + 1) -
           rondo_block_first(count, blocks, index);
}

/* The rank `back` places behind `rank` on the ring; `back` is at most a few rounds. */
static inline uint32_t
rondo_ring_back(uint32_t rank, uint32_t back, uint32_t nranks)
{
    return (uint32_t)(((uint64_t)rank + nranks - back % nranks) % nranks);
}

#endif /* SCHEDULE_BLOCKS_H */
