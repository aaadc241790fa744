/* clock.h - monotonic time in nanoseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define RONDO_NS_PER_MS UINT64_C(1000000)
#define RONDO_NS_PER_S  UINT64_C(1000000000)

/* A deadline that never comes. */
#define RONDO_NEVER UINT64_MAX

static inline uint64_t
rondo_now_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * RONDO_NS_PER_S + (uint64_t)time.tv_nsec;
}

/* The moment `ms` milliseconds from now; a huge `ms` gives RONDO_NEVER. */
static inline uint64_t
rondo_deadline_ns(uint64_t ms)
{
    uint64_t span = 0;
    uint64_t moment = 0;

    if (__builtin_mul_overflow(ms, RONDO_NS_PER_MS, &span) ||
        __builtin_add_overflow(rondo_now_ns(), span, &moment)) {
        return RONDO_NEVER;
    }
    return moment;
}

#endif /* BASE_CLOCK_H */
