/* fill.c - the two ways of writing a chunk, and the choice between them. */
#include "transport/shm/fill.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/clock.h"

/* Shorter pieces go through the cache: the fence would cost more than streaming saves. */
#define STREAM_BYTES UINT64_C(1024)

/* Every so many fills one is timed; every so many of those try the other way. */
#define TIME_EVERY 4
#define TRY_EVERY  64

/* How slowly a figure moves. */
#define SMOOTHING 8

#define MIB (UINT64_C(1) << 20)

#if defined(__x86_64__)
/* Four stores of 16 bytes fill one line: it leaves the core whole. */
static void
stream(void *to, const void *from, uint64_t bytes)
{
    const uint64_t lines = bytes / 64;
    const __m128i *in = from;
    __m128i *out = to;

    for (uint64_t line = 0; line < lines; line++) {
        const __m128i a = _mm_loadu_si128(in);
        const __m128i b = _mm_loadu_si128(in + 1);
        const __m128i c = _mm_loadu_si128(in + 2);
        const __m128i d = _mm_loadu_si128(in + 3);

        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
        in += 4;
        out += 4;
    }
    memcpy(out, in, bytes % 64);
    /* Streamed stores are not ordered by a release store: this orders them. */
    _mm_sfence();
}
#else
static void
stream(void *to, const void *from, uint64_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

static void
fill_by(rondo_shm_way way, void *to, const void *from, uint64_t bytes)
{
    if (way == RONDO_SHM_STREAMED) {
        stream(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

/* One sample more. What a preemption has stretched counts fourfold at most. */
static void
learn(rondo_shm_filler *filler, rondo_shm_way way, uint64_t ns, uint64_t bytes)
{
    const uint64_t before = filler->ns_per_mib[way];
    uint64_t sample = ns * MIB / bytes + 1;

    if (before == 0) {
        filler->ns_per_mib[way] = sample;
        return;
    }
    sample = sample > before * 4 ? before * 4 : sample;
    filler->ns_per_mib[way] = before + sample / SMOOTHING - before / SMOOTHING;
}

static rondo_shm_way
better(const rondo_shm_filler *filler)
{
    const uint64_t cached = filler->ns_per_mib[RONDO_SHM_CACHED];
    const uint64_t streamed = filler->ns_per_mib[RONDO_SHM_STREAMED];

    return streamed != 0 && streamed < cached ? RONDO_SHM_STREAMED : RONDO_SHM_CACHED;
}

void
rondo_shm_fill(rondo_shm_filler *filler, void *to, const void *from, uint64_t bytes)
{
    rondo_shm_way way = filler->way;

    if (bytes < STREAM_BYTES) {
        memcpy(to, from, bytes);
        return;
    }
    filler->fills++;
    if (filler->fills % TIME_EVERY != 0) {
        fill_by(way, to, from, bytes);
        return;
    }
    if (filler->fills % TRY_EVERY == 0) {
        way = way == RONDO_SHM_CACHED ? RONDO_SHM_STREAMED : RONDO_SHM_CACHED;
    }
    const uint64_t start_ns = rondo_now_ns();
    fill_by(way, to, from, bytes);
    learn(filler, way, rondo_now_ns() - start_ns, bytes);
    filler->way = better(filler);
}
