/* frame.c - names of memory and ranks: as a frame says them, as the builder writes
 * them. */
#include "schedule/frame.h"

#include "base/check.h"

void
rondo_schedule_enter(rondo_schedule *schedule, const rondo_frame *frame)
{
    RONDO_ASSERT(!schedule->framed);
    RONDO_ASSERT(frame->in.owner == RONDO_OWN);
    RONDO_ASSERT(frame->out.owner == RONDO_OWN);
    schedule->framed = true;
    schedule->frame = *frame;
    schedule->taken = frame->scratch.count == 0 ? schedule->scratch_count : 0;
}

rondo_slice
rondo_schedule_leave(rondo_schedule *schedule)
{
    const rondo_slice window = schedule->frame.scratch;
    const uint64_t before = schedule->taken;

    RONDO_ASSERT(schedule->framed);
    schedule->framed = false;
    if (window.count > 0) {
        return window;
    }
    return rondo_slice_make(RONDO_BUF_SCRATCH, before,
                            schedule->scratch_count - before);
}

uint32_t
rondo_frame_rank(const rondo_frame *frame, uint32_t place)
{
    RONDO_ASSERT(place < frame->nranks);
    return frame->ranks[(uint64_t)place * frame->stride];
}

rondo_slice
rondo_frame_slice(const rondo_frame *frame, rondo_slice slice)
{
    /* Mapped memory of peers has no place in a frame: which of it is meant is not
     * said. */
    RONDO_ASSERT(slice.owner == RONDO_OWN);
    switch (slice.buffer) {
    case RONDO_BUF_IN:
        return rondo_slice_part(frame->in, slice.first, slice.count);
    case RONDO_BUF_OUT:
        return rondo_slice_part(frame->out, slice.first, slice.count);
    default:
        return slice;
    }
}

/* Whether this rank's IN and OUT are one memory with equal numbering. */
static bool
in_is_out(const rondo_coll *coll)
{
    return coll->kind == RONDO_COLL_ALL_REDUCE || coll->kind == RONDO_COLL_BROADCAST ||
           (coll->kind == RONDO_COLL_REDUCE && coll->rank == coll->root);
}

rondo_slice
rondo_slice_canonical(const rondo_coll *coll, rondo_slice slice)
{
    if (slice.owner == coll->rank) {
        slice.owner = RONDO_OWN;
    }
    if (!coll->in_place || slice.owner != RONDO_OWN) {
        return slice;
    }
    if (slice.buffer == RONDO_BUF_IN && in_is_out(coll)) {
        slice.buffer = RONDO_BUF_OUT;
    } else if (slice.buffer == RONDO_BUF_IN && coll->kind == RONDO_COLL_ALL_GATHER) {
        slice.buffer = RONDO_BUF_OUT;
        slice.first += coll->rank * coll->count;
    } else if (slice.buffer == RONDO_BUF_OUT &&
               coll->kind == RONDO_COLL_REDUCE_SCATTER) {
        slice.buffer = RONDO_BUF_IN;
        slice.first += coll->rank * coll->count;
    }
    return slice;
}
