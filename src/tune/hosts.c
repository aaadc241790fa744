/* hosts.c - the choices that matter once there is more than one host. */
#include "tune/hosts.h"

#include <stddef.h>

/* Between hosts a message costs 10 to 15 us, and a byte 1 ns (8 ns at 1 Gbit/s); inside
 * it is 0.2 us and 1/8 ns. All thresholds for hosts are here. */

/* One turn in which a host sends the vector to every other: up to here its bytes cost
 * less than the turns that others would take. */
#define ONE_SHOT_BYTES_2_HOSTS (UINT64_C(256) << 10)
#define ONE_SHOT_BYTES_SENT    (UINT64_C(16) << 10)
#define ONE_SHOT_HOSTS         16

/* Halving has few turns, and the ring's bytes where hosts are a power of two; elsewhere
 * it sends up to two vectors more. */
#define HALVING_BYTES         (UINT64_C(512) << 10)
#define HALVING_BYTES_2_HOSTS (UINT64_C(2) << 20)
#define HALVING_BYTES_UNFIT   (UINT64_C(8) << 10)

/* Up to here one message per host is quicker than one per rank. */
#define LEADER_BYTES (UINT64_C(16) << 10)

/* Up to here the turns of a ring inside cost more than its order of messages saves. */
#define AT_ONCE_BYTES (UINT64_C(256) << 10)

/* Pieces that are between hosts while others are inside. */
#define SEGMENTS_WANTED     4
#define SEGMENT_BYTES_LEAST (UINT64_C(1) << 20)
#define SEGMENT_BYTES_MOST  (UINT64_C(2) << 20)

rondo_shape
rondo_hosts_outer(uint64_t bytes, uint32_t hosts)
{
    const uint64_t others = hosts - 1;
    const bool fits = (hosts & (hosts - 1)) == 0;

    if (hosts <= 2) {
        if (bytes <= ONE_SHOT_BYTES_2_HOSTS) {
            return RONDO_SHAPE_ONE_SHOT;
        }
        return bytes <= HALVING_BYTES_2_HOSTS ? RONDO_SHAPE_HALVING_DOUBLING
                                              : RONDO_SHAPE_RING;
    }
    if (hosts <= ONE_SHOT_HOSTS && bytes <= ONE_SHOT_BYTES_SENT / others) {
        return RONDO_SHAPE_ONE_SHOT;
    }
    return bytes <= (fits ? HALVING_BYTES : HALVING_BYTES_UNFIT)
               ? RONDO_SHAPE_HALVING_DOUBLING
               : RONDO_SHAPE_RING;
}

rondo_shape
rondo_hosts_inner(uint64_t bytes, const rondo_levels *levels)
{
    /* Of unequal hosts one rank each has all to add: a tree leaves it the least. */
    if (bytes <= LEADER_BYTES || levels == NULL || !rondo_levels_even(levels, 1)) {
        return RONDO_SHAPE_TREE;
    }
    return bytes <= AT_ONCE_BYTES ? RONDO_SHAPE_ONE_SHOT : RONDO_SHAPE_RING;
}

uint64_t
rondo_hosts_segment_bytes(uint64_t bytes)
{
    const uint64_t wanted = bytes / SEGMENTS_WANTED;

    if (wanted < SEGMENT_BYTES_LEAST) {
        return SEGMENT_BYTES_LEAST;
    }
    return wanted < SEGMENT_BYTES_MOST ? wanted : SEGMENT_BYTES_MOST;
}
