/*
 * copy.c - cached and streaming copies, and which of them is next.
 *
 * A line that was streamed and then read is quick to write again, either way: only
 * lines that were written through the cache are dear. So a single cached copy between
 * streaming ones tells nothing; a spell of them does, when it comes back to where it
 * began. If cached copies are dear, such a spell ends a few copies into its second lap
 * through the store; spells of streaming are so long that this does not matter.
 */
#include "transport/shm/copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Spells, in laps: the first of streaming and the longest; cached copies that stay
 * quick; and, in bytes, a look at what streaming costs now. */
#define STREAM_FIRST 2
#define STREAM_MOST  64
#define CACHED_MOST  128
#define LOOK_BYTES   ((uint64_t)64 << 10)

/* Cached copies are given up when they cost more than this many quarters of streaming.
 * In the first lap after streaming they cost more than they will. */
#define SLOW_QUARTERS       8
#define SLOW_QUARTERS_FIRST 32

/* Ticks by which a streamed piece arrives later than the sender's time tells, whatever
 * its length: it goes to memory and comes back. Nothing below is held against the
 * cached way. */
#define DRAIN 400

/* Shorter copies are not worth timing. */
#define TELLING_BYTES 4096

/* One sample counts this many times what is known, at most: the rest of it was an
 * interrupt, or another process in between. */
#define OUTLIER 4

static uint32_t
blend(uint32_t known, uint64_t cost)
{
    const uint64_t most = (uint64_t)known * OUTLIER;
    const uint64_t sample = cost < most ? cost : most;

    return (uint32_t)((3 * (uint64_t)known + sample) / 4 + 1);
}

static void
begin(rondo_shm_pace *pace, bool streaming, uint64_t spell_bytes)
{
    pace->streaming = streaming;
    pace->done_bytes = 0;
    pace->spell_bytes = spell_bytes;
}

static void
judge_streaming(rondo_shm_pace *pace, uint64_t cost)
{
    const uint32_t sane = (uint32_t)(cost < UINT16_MAX ? cost : UINT16_MAX);

    pace->streamed_cost =
        pace->streamed_cost == 0 ? sane + 1 : blend(pace->streamed_cost, cost);
    if (pace->done_bytes >= pace->spell_bytes) {
        pace->cached_cost = pace->streamed_cost;
        begin(pace, false, CACHED_MOST * pace->lap_bytes);
    }
}

static void
judge_cached(rondo_shm_pace *pace, uint64_t cost, uint64_t bytes)
{
    const bool first_lap = pace->done_bytes <= pace->lap_bytes;
    const uint64_t quarters = first_lap ? SLOW_QUARTERS_FIRST : SLOW_QUARTERS;

    if (!first_lap && pace->done_bytes - bytes <= pace->lap_bytes) {
        pace->cached_cost = pace->streamed_cost; /* the second lap begins: forget */
    }
    pace->cached_cost = blend(pace->cached_cost, cost);
    if ((uint64_t)pace->cached_cost * 4 > pace->streamed_cost * quarters) {
        begin(pace, true, pace->next_bytes);
        if (pace->next_bytes < STREAM_MOST * pace->lap_bytes) {
            pace->next_bytes *= 2;
        }
    } else if (pace->done_bytes >= pace->spell_bytes) {
        pace->next_bytes = STREAM_FIRST * pace->lap_bytes;
        begin(pace, true, LOOK_BYTES);
    }
}

void
rondo_shm_pace_judge(rondo_shm_pace *pace, uint64_t cost, uint64_t bytes)
{
    pace->done_bytes += bytes;
    if (pace->next_bytes == 0) { /* the first copy: learn what streaming costs */
        pace->next_bytes = STREAM_FIRST * pace->lap_bytes;
        begin(pace, true, LOOK_BYTES);
    } else if (pace->streaming) {
        judge_streaming(pace, cost);
    } else {
        judge_cached(pace, cost, bytes);
    }
}

#if defined(__x86_64__)

/* Streaming stores are ordered by nothing but the fence, which so comes before the
 * release store that publishes the piece. */
static void
stream(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    const uint64_t lines = bytes & ~UINT64_C(63);

    for (uint64_t at = 0; at < lines; at += 64) {
        const __m128i *const source = (const void *)(from + at);
        __m128i *const target = (void *)(to + at);
        const __m128i a = _mm_loadu_si128(source);
        const __m128i b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2);
        const __m128i d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    memcpy(to + lines, from + lines, bytes - lines);
    _mm_sfence();
}

/* What a copy tells about the present way. Short ones vanish in the core's buffer of
 * stores and tell nothing: they count as what is known. */
static uint64_t
cost_of(const rondo_shm_pace *pace, uint64_t took, uint64_t bytes)
{
    if (bytes < TELLING_BYTES) {
        return pace->streaming ? pace->streamed_cost : pace->cached_cost;
    }
    if (!pace->streaming) {
        took -= took < DRAIN ? took : DRAIN;
    }
    return took * 16 / (bytes / 64);
}

void
rondo_shm_copy_long(rondo_shm_pace *pace, void *to, const void *from, uint64_t bytes)
{
    const uint64_t start = __rdtsc();

    if (pace->streaming) {
        stream(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
    const uint64_t took = __rdtsc() - start;
    if (bytes >= TELLING_BYTES || pace->streamed_cost != 0) {
        rondo_shm_pace_judge(pace, cost_of(pace, took, bytes), bytes);
    }
}

#else

/* Where C has no name for a way past the caches. */
void
rondo_shm_copy_long(rondo_shm_pace *pace, void *to, const void *from, uint64_t bytes)
{
    (void)pace;
    memcpy(to, from, bytes);
}

#endif
