/* hosts.h - the choices that matter once there is more than one host. */
#ifndef TUNE_HOSTS_H
#define TUNE_HOSTS_H

#include "schedule/coll.h"

/* rondo_hosts_outer - how `hosts` hosts all-reduce a vector of `bytes` bytes with one
 * rank on each. */
rondo_shape
rondo_hosts_outer(uint64_t bytes, uint32_t hosts);

/* rondo_hosts_inner - how the ranks of each host work together before and after. */
rondo_shape
rondo_hosts_inner(uint64_t bytes, const rondo_levels *levels);

/* rondo_hosts_segment_bytes - of a vector of `bytes` bytes. */
uint64_t
rondo_hosts_segment_bytes(uint64_t bytes);

#endif /* TUNE_HOSTS_H */
