/* groupings.c - ranks on hosts and parts of hosts, in every manner worth a try. */
#include "lib/groupings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"

#define RANKS_MAX 64
#define HOSTS_MAX 8

/* Who is on which host: runs of ranks, in turn, all but a few on the first one, as it
 * happens. Equal as far as the numbers allow. */
enum manner { RUNS, INTERLEAVED, LOPSIDED, DRAWN, MANNERS };
static const char *const manners[] = {"in runs", "interleaved", "lopsided", "drawn"};

/* Parts of hosts: none, two by turns, up to three as it happens. */
enum parts { NO_PARTS, IN_HALVES, IN_DRAWN, PARTS };
static const char *const parted[] = {"without parts", "in halves", "in drawn parts"};

uint32_t
groupings_count(void)
{
    return HOSTS_MAX * MANNERS * PARTS;
}

static uint32_t
host_of(enum manner manner, uint32_t hosts, uint32_t nranks, uint32_t rank)
{
    switch (manner) {
    case RUNS:
        return (uint32_t)((uint64_t)rank * hosts / nranks);
    case INTERLEAVED:
        return rank % hosts;
    case LOPSIDED:
        return nranks - rank < hosts ? nranks - rank : 0;
    default:
        return rank < hosts ? rank : (uint32_t)(rondo_hash_mix(rank + hosts) % hosts);
    }
}

const rondo_levels *
groupings_make(uint32_t number, uint32_t nranks)
{
    const uint32_t hosts = number / (MANNERS * PARTS) + 1;
    const enum manner manner = (enum manner)(number / PARTS % MANNERS);
    const enum parts parts = (enum parts)(number % PARTS);
    const rondo_levels *levels = NULL;
    uint32_t host[RANKS_MAX];
    uint32_t part[RANKS_MAX];
    uint32_t so_far[HOSTS_MAX] = {0};

    assert_true(nranks <= RANKS_MAX);
    if (hosts > nranks) {
        return NULL;
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        host[rank] = host_of(manner, hosts, nranks, rank);
        part[rank] = parts == IN_HALVES ? so_far[host[rank]]++ % 2
                                        : (uint32_t)(rondo_hash_mix(rank + 7) % 3);
        /* Any numbers will do. */
        host[rank] = host[rank] * 10 + 3;
    }
    assert_int_equal(
        rondo_levels_create(nranks, host, parts == NO_PARTS ? NULL : part, &levels),
        RONDO_OK);
    return levels;
}

const char *
groupings_text(uint32_t number)
{
    static char text[96];

    (void)snprintf(text, sizeof text, "%u hosts, %s, %s",
                   number / (MANNERS * PARTS) + 1, manners[number / PARTS % MANNERS],
                   parted[number % PARTS]);
    return text;
}
