/*
 * shared.h - memory that several processes map: sealed memfds, no name in any file
 * system, nothing left behind by a crash.
 */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include <rondo/status.h>

/* Whether the pages are reserved at once, or by rondo_shared_reserve where touched. */
typedef enum rondo_shared_kind {
    RONDO_SHARED_RESERVED,
    RONDO_SHARED_SPARSE
} rondo_shared_kind;

/* A mapping and the descriptor that stands for it. */
typedef struct rondo_shared {
    void *memory; /* zeroed, page aligned */
    size_t bytes; /* a multiple of the page size */
    int fd;       /* -1 once closed */
} rondo_shared;

/* rondo_shared_create - a new sealed memfd, mapped. RONDO_ERR_MEMORY names the size. */
RONDO_MUST_USE rondo_status
rondo_shared_create(size_t bytes, rondo_shared_kind kind, rondo_shared *shared);

/* rondo_shared_map - map a descriptor from elsewhere: it must be a memfd sealed against
 * shrinking of at least `bytes_min`, else RONDO_ERR_WIRE. Owns `fd` on RONDO_OK. */
RONDO_MUST_USE rondo_status
rondo_shared_map(int fd, size_t bytes_min, rondo_shared *shared);

/* rondo_shared_close - the descriptor only; the mapping stays. */
void
rondo_shared_close(rondo_shared *shared);

/* rondo_shared_unmap - both. */
void
rondo_shared_unmap(rondo_shared *shared);

/* rondo_shared_reserve - make sure that touching [memory, memory + bytes) of a sparse
 * mapping cannot fail. RONDO_ERR_MEMORY names the bytes. */
RONDO_MUST_USE rondo_status
rondo_shared_reserve(void *memory, size_t bytes);

#endif /* BASE_SHARED_H */
