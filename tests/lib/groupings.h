/* groupings.h - ranks on hosts and parts of hosts, in every manner worth a try. */
#ifndef TESTS_LIB_GROUPINGS_H
#define TESTS_LIB_GROUPINGS_H

#include "schedule/levels.h"

/* How many there are for each number of ranks. */
uint32_t
groupings_count(void);

/* groupings_make - number `number` for `nranks` ranks (64 at most); null where it has
 * more hosts than ranks. The caller destroys it. Fails the test for want of memory. */
const rondo_levels *
groupings_make(uint32_t number, uint32_t nranks);

/* groupings_text - "2 hosts, interleaved, in halves"; good until the next call. */
const char *
groupings_text(uint32_t number);

#endif /* TESTS_LIB_GROUPINGS_H */
