/* crossing.h - what ranks of one host send to those of others. */
#ifndef TESTS_LIB_CROSSING_H
#define TESTS_LIB_CROSSING_H

#include "lib/schedules.h"

#define CROSSING_HOSTS_MAX 64

/* Elements that cross from host to host. */
struct crossed {
    uint64_t by_host[CROSSING_HOSTS_MAX]; /* by sender */
    uint64_t total;
    uint64_t most; /* of one host */
};

/* crossing_count - in the schedules of all ranks. */
struct crossed
crossing_count(const schedules *set, const rondo_levels *levels);

/* crossing_promise - the total of coll->outer with one rank per host of coll->levels
 * and the whole vector. */
uint64_t
crossing_promise(const rondo_coll *coll);

#endif /* TESTS_LIB_CROSSING_H */
