/* destroy.c - the end of a communicator: local, quick, waiting for no one. */
#include "api/create.h"
#include "api/request.h"
#include "base/alloc.h"

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
    free_requests(comm->all);
    rondo_free(comm->blocks);
    rondo_free((void *)comm->peer_in);
    rondo_free((void *)comm->peer_out);
    rondo_free(comm->sent_pairs);
    rondo_free(comm->received_pairs);
    rondo_free((void *)comm->routes);
    rondo_free(comm->neighbours);
    rondo_free(comm->addresses);
    rondo_free(comm);
}

void
rondo_comm_destroy(rondo_comm *comm)
{
    if (comm == NULL) {
        return;
    }
    rondo_service *const service = comm->service;
    if (!rondo_service_forked(service)) {
        rondo_rendezvous_destroy(comm->rendezvous);
        if (comm->board.memory != NULL) {
            rondo_board_presence_set(&comm->board, RONDO_LEFT);
        }
        for (uint32_t i = 0; i < comm->nneighbours; i++) {
            rondo_service_unwatch(service, comm->neighbours[i].watch);
        }
        rondo_blocks_release(comm);
        if (comm->segment != NULL) {
            rondo_segment_release(service, &comm->uid);
        }
    }
    if (comm->shm != NULL) {
        comm->shm->ops->destroy(comm->shm);
    }
    free_memory(comm);
    rondo_service_release(service);
}
