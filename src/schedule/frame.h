/* frame.h - names of memory and ranks: as a frame says them, as the builder writes
 * them. */
#ifndef SCHEDULE_FRAME_H
#define SCHEDULE_FRAME_H

#include "schedule/schedule.h"

/* rondo_frame_rank - the rank at a place of the frame. */
uint32_t
rondo_frame_rank(const rondo_frame *frame, uint32_t place);

/* rondo_frame_slice - what a slice of the frame's IN or OUT stands for. */
rondo_slice
rondo_frame_slice(const rondo_frame *frame, rondo_slice slice);

/* rondo_slice_canonical - one name for one memory: in place IN and OUT are one, and a
 * rank's own memory is RONDO_OWN. */
rondo_slice
rondo_slice_canonical(const rondo_coll *coll, rondo_slice slice);

#endif /* SCHEDULE_FRAME_H */
