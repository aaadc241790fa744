/* list.h - sets of processors as text: "0-3,8". */
#ifndef RONDO_INFO_LIST_H
#define RONDO_INFO_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* info_list_write - "" for an empty set; ends in "..." when it does not fit. */
void
info_list_write(const uint64_t mask[RONDO_CPUS_MAX / 64], char *text,
                size_t text_bytes);

/* info_list_read - false: not such a list. */
bool
info_list_read(const char *text, uint64_t mask[RONDO_CPUS_MAX / 64]);

static inline bool
info_list_has(const uint64_t mask[RONDO_CPUS_MAX / 64], uint32_t cpu)
{
    return cpu < RONDO_CPUS_MAX && (mask[cpu / 64] >> (cpu % 64) & 1) != 0;
}

static inline void
info_list_add(uint64_t mask[RONDO_CPUS_MAX / 64], uint32_t cpu)
{
    mask[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

#endif /* RONDO_INFO_LIST_H */
