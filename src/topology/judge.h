/* judge.h - the pieces of rondo_network_judge. */
#ifndef TOPOLOGY_JUDGE_H
#define TOPOLOGY_JUDGE_H

#include "topology/facts.h"

/* Why something is refused. */
typedef struct rondo_objection {
    rondo_interface_verdict verdict; /* RONDO_INTERFACE_USABLE: there is none */
    const char *reason;              /* a predicate; "" without one */
} rondo_objection;

/* rondo_link_objection - what the link's kind, name and surroundings say against it. */
rondo_objection
rondo_link_objection(const rondo_network_facts *facts, const rondo_link *link);

/* rondo_ports_judge - fill the RDMA ports of `network`. */
void
rondo_ports_judge(const rondo_network_facts *facts, rondo_network *network);

#endif /* TOPOLOGY_JUDGE_H */
