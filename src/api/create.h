/* create.h - the steps of creation that a split shares. */
#ifndef API_CREATE_H
#define API_CREATE_H

#include "api/comm.h"

/* rondo_comm_settings_read - settings and deadlines from environment and config. */
RONDO_MUST_USE rondo_status
rondo_comm_settings_read(rondo_comm *comm, const rondo_comm_config *config);

/* rondo_comm_card_fill - what this rank tells all others. */
void
rondo_comm_card_fill(const rondo_comm *comm, rondo_card *card);

/* rondo_comm_cards_check - one version; names the rank that differs. */
RONDO_MUST_USE rondo_status
rondo_comm_cards_check(const rondo_comm *comm, const rondo_card *cards);

/* rondo_comm_cards_hosts - fill `hosts` from the cards. */
RONDO_MUST_USE rondo_status
rondo_comm_cards_hosts(rondo_comm *comm, const rondo_card *cards);

/* rondo_comm_cores - cores the ranks of my host share: all they may run on, but no more
 * than their smallest quota. */
uint32_t
rondo_comm_cores(const rondo_comm *comm, const rondo_card *cards);

/* rondo_comm_reach_find - addresses of this process for the meeting at `host`: none
 * where all ranks must be on this machine. Rank 0 opens a port at them. */
RONDO_MUST_USE rondo_status
rondo_comm_reach_find(rondo_comm *comm, const char *host);

/* rondo_comm_reach_open - open a port at my addresses, for a part I may be rank 0
 * of. */
RONDO_MUST_USE rondo_status
rondo_comm_reach_open(rondo_comm *comm);

/* rondo_comm_link - begin to connect the hosts; rondo_comm_link_poll - RONDO_BUSY until
 * they are, then the network transport is there. */
RONDO_MUST_USE rondo_status
rondo_comm_link(rondo_comm *comm);
RONDO_MUST_USE rondo_status
rondo_comm_link_poll(rondo_comm *comm);

/* rondo_comm_unlink - the end of all of it; not in a forked child. */
void
rondo_comm_unlink(rondo_comm *comm);

/* rondo_comm_settings_adopt - rank 0's settings count; a difference goes to the log. */
void
rondo_comm_settings_adopt(rondo_comm *comm, const rondo_card *cards);

/* rondo_comm_alloc - an empty communicator with the service acquired. */
RONDO_MUST_USE rondo_status
rondo_comm_alloc(uint32_t rank, uint32_t nranks, const char *name, rondo_comm **comm);

/* rondo_comm_map - after addresses, cores, uid, key and settings are set: watch the
 * other processes and make the segment, or wait for it. */
RONDO_MUST_USE rondo_status
rondo_comm_map(rondo_comm *comm);

/* rondo_comm_segment - name, key and size of its segment. */
rondo_segment_spec
rondo_comm_segment(const rondo_comm *comm);

/* rondo_comm_wire - make transport, routes and cache once the segment is mapped. */
RONDO_MUST_USE rondo_status
rondo_comm_wire(rondo_comm *comm);

/* rondo_comm_create_step - as rondo_comm_create_test, but a failure is not kept, and
 * what happens to others is not looked at: rondo_comm_create_trouble does that, and is
 * RONDO_OK where nothing stops the start. */
RONDO_MUST_USE rondo_status
rondo_comm_create_step(rondo_comm *comm);
RONDO_MUST_USE rondo_status
rondo_comm_create_trouble(rondo_comm *comm);

/* rondo_comm_create_finish - test until it is not busy, sleeping in between. */
RONDO_MUST_USE rondo_status
rondo_comm_create_finish(rondo_comm *comm);

#endif /* API_CREATE_H */
