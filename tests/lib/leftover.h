/* leftover.h - what a process holds, to see that destroy gives all of it back. */
#ifndef LIB_LEFTOVER_H
#define LIB_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct leftover {
    uint32_t descriptors;
    uint32_t threads;
    uint32_t children;
    uint32_t shared_maps; /* mappings of memfds */
    uint32_t shm_files;   /* of ours in /dev/shm, whoever made them */
} leftover;

/* leftover_take - count now. */
leftover
leftover_take(void);

/* leftover_same - whether all is as it was; waits a moment for threads to be gone. On
 * false `text` says what has changed. */
bool
leftover_same(const leftover *before, char *text, uint64_t text_bytes);

/* leftover_resident_kib - memory of this process. */
uint64_t
leftover_resident_kib(void);

#endif /* LIB_LEFTOVER_H */
