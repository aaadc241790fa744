/* copy.c - a copy whose stores never cross a line. */
#include <string.h>

#include "exec/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define LINE_BYTES 64

/* Short copies are memcpy's; and very long ones, which it streams. */
#define LOOP_BYTES_MIN 1024
#define LOOP_BYTES_MAX (1 << 20)

/* Whole lines; `to` is aligned to one. */
static void
copy_lines(void *to, const void *from, uint64_t lines)
{
    const __m128i *in = from;
    __m128i *out = to;

    for (uint64_t line = 0; line < lines; line++) {
        const __m128i a = _mm_loadu_si128(in);
        const __m128i b = _mm_loadu_si128(in + 1);
        const __m128i c = _mm_loadu_si128(in + 2);
        const __m128i d = _mm_loadu_si128(in + 3);

        _mm_store_si128(out, a);
        _mm_store_si128(out + 1, b);
        _mm_store_si128(out + 2, c);
        _mm_store_si128(out + 3, d);
        in += 4;
        out += 4;
    }
}

/* The C library copies large blocks with a string instruction, at a third of the rate
 * where `to` is not aligned to a line: every large block of malloc. */
static uint64_t
copy_middle(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    const uint64_t head = (0 - (uintptr_t)to) & (LINE_BYTES - 1);
    const uint64_t lines = (bytes - head) / LINE_BYTES;

    memcpy(to, from, head);
    copy_lines(to + head, from + head, lines);
    return head + lines * LINE_BYTES;
}
#endif

void
rondo_copy(void *to, const void *from, uint64_t bytes)
{
    uint64_t done = 0;

    if (bytes == 0) {
        return;
    }
#if defined(__x86_64__)
    if (bytes >= LOOP_BYTES_MIN && bytes <= LOOP_BYTES_MAX) {
        done = copy_middle(to, from, bytes);
    }
#endif
    memcpy((unsigned char *)to + done, (const unsigned char *)from + done,
           bytes - done);
}
