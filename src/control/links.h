/*
 * links.h - what the hosts of one communicator tell each other apart from the data.
 *
 * A star of TCP connections: the lowest rank of each host, its leader, holds one to the
 * process of rank 0, the hub, which passes on what concerns others. They keep the
 * boards of all hosts alike: each host's board has lines for all ranks, and the service
 * thread of the leader writes those of ranks elsewhere. Who joined or left, wire
 * addresses and breakages are pushed; what a rank is doing, and whether its process
 * answers, is brought when somebody asks. So whoever reads the board need not know who
 * is where.
 *
 * A path that stays silent is noticed by TCP itself (keep-alive and user time-out), so
 * a stopped process, whose kernel still answers, is not taken for a cut cable.
 */
#ifndef CONTROL_LINKS_H
#define CONTROL_LINKS_H

#include "control/board.h"
#include "control/service.h"

/* Addresses one process may be reached at. */
#define RONDO_ENDPOINTS_MAX 8

/* One of them. Plain bytes, sent around. */
typedef struct rondo_endpoint {
    uint16_t family; /* 4, 6; 0: unused */
    uint16_t port;
    unsigned char address[16]; /* network order; IPv4 uses the first four */
    char interface[16];        /* name, zero padded, on the host it belongs to */
} rondo_endpoint;

/* rondo_links_port - the port this process's service accepts control connections at, on
 * all addresses of `at` (and no others); opened when first asked for and kept while the
 * service lives. Sets the port of each. Answers nobody who does not know a key.
 * RONDO_ERR_SYSTEM. */
RONDO_MUST_USE rondo_status
rondo_links_port(rondo_service *service, rondo_endpoint *at, uint32_t nat);

typedef struct rondo_links rondo_links;

/* Everything is copied but the board, which must outlive the links. */
typedef struct rondo_links_setup {
    rondo_name name; /* of the communicator */
    rondo_key key;
    rondo_board *board;
    uint32_t rank;
    uint32_t nranks;
    const uint32_t *host_of; /* by rank: 0 for rank 0's host, then as they come */
    const rondo_address *addresses; /* by rank */
    const rondo_endpoint *hub;      /* RONDO_ENDPOINTS_MAX of rank 0's process */
    const rondo_endpoint *mine;     /* RONDO_ENDPOINTS_MAX of this process */
    const char (*host_names)[64];   /* by rank: for sentences */
    uint64_t deadline_ns;           /* for becoming connected */
    uint64_t silence_ms;            /* after which a path counts as cut */
} rondo_links_setup;

/* rondo_links_open - by every rank of a communicator with more than one host, once its
 * board is mapped. A leader begins to connect: every pair of its endpoints and the
 * hub's of one family is tried, the next after 100 ms, and the first that answers and
 * proves the key is kept. The hub waits for the others. Retried until the deadline. */
RONDO_MUST_USE rondo_status
rondo_links_open(rondo_service *service, const rondo_links_setup *setup,
                 rondo_links **links);

/* rondo_links_poll - RONDO_BUSY until this host's leader is connected (the hub: until
 * every other leader is); then `interfaces` names the interfaces of this host that the
 * connections use: "eth0" or "eth0,eth1". RONDO_ERR_START with what was tried and why
 * each failed. Works on every rank of the host, through its board. */
RONDO_MUST_USE rondo_status
rondo_links_poll(rondo_links *links, char *interfaces, size_t interfaces_bytes);

/* rondo_links_news - my lines of the board have changed (joined, left, address,
 * broken): tell the other hosts. Any thread; quick; nothing is lost when queues are
 * full. */
void
rondo_links_news(rondo_links *links);

/* rondo_links_ask - have all other hosts' lines brought up to date, and every process
 * of the communicator change its pulse (board.h). Not waited for: a round trip later
 * the board has what there is. Calls within 10 ms of the last are dropped. */
void
rondo_links_ask(rondo_links *links);

/* rondo_links_close - after the last news (left): sends what is under way, 200 ms at
 * most, and closes. Null is allowed. */
void
rondo_links_close(rondo_links *links);

/* rondo_links_host - "node3 (10.77.0.4)" for sentences: its name, and the address it
 * was reached at where that is known. */
void
rondo_links_host(const rondo_links *links, uint32_t rank, char *text,
                 size_t text_bytes);

#endif /* CONTROL_LINKS_H */
