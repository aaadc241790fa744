/* width.h - bytes of an element, for the paths that ask at every call. */
#ifndef BASE_WIDTH_H
#define BASE_WIDTH_H

#include <rondo/types.h>

/* rondo_width - rondo_dtype_bytes without a call. */
static inline uint64_t
rondo_width(rondo_dtype dtype)
{
    static const uint8_t widths[RONDO_DTYPES] = {
#define WIDTH(name, value, bytes, text) [value] = (bytes),
        RONDO_DTYPE_ROWS(WIDTH)
#undef WIDTH
    };

    return (uint32_t)dtype < RONDO_DTYPES ? widths[dtype] : 0;
}

#endif /* BASE_WIDTH_H */
