/* cores.c - how many cores ranks share, and who polls. */
#include "topology/cores.h"

#include <string.h>

#include "base/config.h"

/* Polls before a waiting rank yields, where every rank has a core of its own: some
 * microseconds. A yield costs little when nobody else wants the core, and when somebody
 * does, it may be the very rank that is waited for. */
#define SPINS_ALONE 100

/* Likewise with ranks on other hosts: their messages need the kernel to come in, often
 * on this very core, and take longer than a yield. */
#define SPINS_NETWORK 1

void
rondo_cores_add(rondo_cores *cores, const uint64_t mask[RONDO_CPUS_MAX / 64],
                uint32_t quota)
{
    for (uint32_t word = 0; word < RONDO_CPUS_MAX / 64; word++) {
        cores->cpus[word] |= mask[word];
    }
    if (cores->quota == 0 || quota < cores->quota) {
        cores->quota = quota == 0 ? 1 : quota;
    }
}

uint32_t
rondo_cores_count(const rondo_cores *cores)
{
    uint32_t count = 0;

    for (uint32_t word = 0; word < RONDO_CPUS_MAX / 64; word++) {
        count += (uint32_t)__builtin_popcountll(cores->cpus[word]);
    }
    if (cores->quota != 0 && count > cores->quota) {
        count = cores->quota;
    }
    return count == 0 ? 1 : count;
}

rondo_status
rondo_cores_spins(uint32_t nranks, uint32_t cores, bool network, uint32_t *spins)
{
    const uint64_t few = network ? SPINS_NETWORK : SPINS_ALONE;
    uint64_t number = nranks <= cores ? few : 0;

    if (strcmp(rondo_config_text(RONDO_CONFIG_SPIN), "auto") != 0) {
        const rondo_status status =
            rondo_config_number(RONDO_CONFIG_SPIN, 0, UINT32_MAX, &number);
        if (status != RONDO_OK) {
            return status;
        }
    }
    *spins = (uint32_t)number;
    return RONDO_OK;
}
