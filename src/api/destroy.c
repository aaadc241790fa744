/* destroy.c - the end of a communicator: local, quick, waiting for no one. */
#include "api/create.h"
#include "api/request.h"
#include "base/alloc.h"

/* How long an orderly end waits for what was sent to get out. */
#define FLUSH_NS RONDO_NS_PER_S

static void
free_requests(rondo_request *request)
{
    while (request != NULL) {
        rondo_request *const before = request->made_before;

        rondo_free(request);
        request = before;
    }
}

/* Memory only: what is safe in a forked child, too. */
static void
free_memory(rondo_comm *comm)
{
    rondo_plan_cache_destroy(comm->cache);
    rondo_levels_destroy(comm->levels);
    free_requests(comm->all);
    rondo_free(comm->blocks);
    rondo_free((void *)comm->peer_in);
    rondo_free((void *)comm->peer_out);
    rondo_free(comm->sent_pairs);
    rondo_free(comm->received_pairs);
    rondo_free((void *)comm->routes);
    rondo_hosts_free(&comm->hosts);
    rondo_free(comm->neighbours);
    rondo_free(comm->addresses);
    rondo_free(comm->former);
    rondo_free(comm);
}

/* Tell the others, then let go of everything that is shared with them. */
static void
leave(rondo_comm *comm)
{
    const bool whole = comm->phase == RONDO_PHASE_READY && comm->status == RONDO_OK;

    rondo_rendezvous_destroy(comm->rendezvous);
    if (whole && comm->net != NULL) {
        rondo_ucx_flush(comm->net, FLUSH_NS);
    }
    if (comm->board.memory != NULL) {
        rondo_board_presence_set(&comm->board, RONDO_LEFT);
        rondo_comm_links_news(comm);
    }
    for (uint32_t i = 0; i < comm->nneighbours; i++) {
        rondo_service_unwatch(comm->service, comm->neighbours[i].watch);
    }
    rondo_blocks_release(comm);
    rondo_comm_unlink(comm);
    if (comm->segment != NULL) {
        rondo_segment_release(comm->service, &comm->uid);
    }
}

void
rondo_comm_destroy(rondo_comm *comm)
{
    if (comm == NULL) {
        return;
    }
    rondo_service *const service = comm->service;
    if (!rondo_service_forked(service)) {
        leave(comm);
    }
    if (comm->shm != NULL) {
        comm->shm->ops->destroy(comm->shm);
    }
    free_memory(comm);
    rondo_service_release(service);
}
