/*
 * doze.h - sleeping on two things at once. A rank sleeps on its bell in shared memory;
 * when something may have come from another host, the service thread, which polls the
 * wire's event descriptor meanwhile, rings that bell. So does another thread of this
 * process that makes progress on the wire and brings something for this rank.
 */
#ifndef API_DOZE_H
#define API_DOZE_H

#include "api/comm.h"

/* rondo_doze_open - the one of this process, counted; polls the wire's descriptor.
 * RONDO_ERR_MEMORY, RONDO_ERR_SYSTEM. */
RONDO_MUST_USE rondo_status
rondo_doze_open(rondo_service *service, rondo_ucx *ucx, rondo_doze **doze);
/* rondo_doze_close - null is allowed; before rondo_ucx_close. */
void
rondo_doze_close(rondo_doze *doze);

/* rondo_doze_begin - from now on whatever comes rings the bell of `shm` for `rank`;
 * false: there is something to do already, do not sleep. End it either way. */
bool
rondo_doze_begin(rondo_comm *comm);
void
rondo_doze_end(rondo_comm *comm);

#endif /* API_DOZE_H */
