/* waiting.c - the ranks that are missing, as people like to read them. */
#include <stdio.h>

#include "bootstrap/server_inside.h"

/* Ranges shown before the rest is only counted. */
#define RANGES_SHOWN 8

static size_t
used_after(size_t used, int wrote, size_t room)
{
    const size_t sum = used + (wrote > 0 ? (size_t)wrote : 0);

    return sum < room ? sum : room - 1;
}

/* The end of the run of missing ranks that begins at `from`. */
static uint32_t
run_end(void *const *present, uint32_t nranks, uint32_t from)
{
    uint32_t end = from;

    while (end < nranks && present[end] == NULL) {
        end++;
    }
    return end;
}

void
rondo_waiting_text(void *const *present, uint32_t nranks, char *text, size_t text_bytes)
{
    uint32_t missing = 0;
    uint32_t ranges = 0;
    size_t used = 0;

    for (uint32_t rank = 0; rank < nranks; rank++) {
        missing += present[rank] == NULL ? 1 : 0;
    }
    used = used_after(0, snprintf(text, text_bytes, missing == 1 ? "rank " : "ranks "),
                      text_bytes);
    for (uint32_t rank = 0; rank < nranks && ranges <= RANGES_SHOWN;) {
        const uint32_t end = run_end(present, nranks, rank);
        if (end == rank) {
            rank++;
            continue;
        }
        /* Two neighbours read better one by one. */
        const uint32_t next = end - rank == 2 ? rank + 1 : end;
        const char *const comma = ranges > 0 ? ", " : "";
        int wrote = 0;
        if (ranges == RANGES_SHOWN) {
            wrote =
                snprintf(text + used, text_bytes - used, ", ... (%u in all)", missing);
        } else if (next - rank == 1) {
            wrote = snprintf(text + used, text_bytes - used, "%s%u", comma, rank);
        } else {
            wrote = snprintf(text + used, text_bytes - used, "%s%u-%u", comma, rank,
                             next - 1);
        }
        used = used_after(used, wrote, text_bytes);
        ranges++;
        rank = next;
    }
    (void)snprintf(text + used, text_bytes - used, " of %u", nranks);
}
