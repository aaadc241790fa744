/* buffers.h - each rank's two buffers. */
#ifndef PERF_BUFFERS_H
#define PERF_BUFFERS_H

#include "common/job.h"

/* Behind the data of the receive buffer, to see whether a call writes too far. */
#define PERF_FENCE_BYTES 64

/* perf_buffers_make - once all ranks have agreed that there is room; touched, so that
 * the first operation does not pay for the pages. With -R they are registered. */
rondo_status
perf_buffers_make(perf_thread *thread);

/* perf_buffers_free - the communicators are gone or not in use any more. */
void
perf_buffers_free(perf_thread *thread);

/* perf_buffers_bytes - of one rank. */
uint64_t
perf_buffers_bytes(const perf_options *options);

#endif /* PERF_BUFFERS_H */
