/*
 * guest.h - tests that run on two RDMA devices: in the guest of tests/rdma/vm, which is
 * booted for them where they are started outside of it.
 *
 * The ranks of a test there are on two hosts, a and b, one device each; TCP is left out
 * for data, and traffic is counted so that this can be seen.
 */
#ifndef LIB_GUEST_H
#define LIB_GUEST_H

#include "lib/ranks.h"

/* guest_inside - whether this process runs in the guest. */
bool
guest_inside(void);

/* guest_boot - run `program` (no arguments) in the guest; its exit status, 77 if a
 * guest cannot be had here (the reason is printed), 1 if `seconds` did not do. */
int
guest_boot(const char *program, uint32_t seconds);

/* guest_host - this process becomes one of host a (b: false) or b; before the library
 * looks at the environment. */
void
guest_host(bool b);

/* What has crossed the wire since the guest is up, in both directions. */
typedef struct guest_traffic {
    uint64_t rdma_packets; /* sent by both devices; the wire takes 4096 bytes each */
    uint64_t rdma_sends;   /* work requests that send */
    uint64_t tcp_segments; /* sent by all sockets of the guest, loopback included */
} guest_traffic;

guest_traffic
guest_traffic_now(void);

#endif /* LIB_GUEST_H */
