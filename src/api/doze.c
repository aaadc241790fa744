/* doze.c - the service thread rings whoever sleeps while something comes from a
 * host. */
#include "api/doze.h"

#include <pthread.h>
#include <sys/epoll.h>

#include "base/alloc.h"

struct rondo_doze {
    rondo_service *service;
    rondo_ucx *ucx;
    int fd; /* -1: the wire has none; sleepers wake by time alone */
    uint64_t users;
    rondo_comm *sleepers; /* chained by comm->next_sleeper */
};

/* The process's, and what guards it and the list of sleepers. The service thread takes
 * it for moments, to ring. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static rondo_doze *ours;

/* Runs on the service thread; the descriptor reports once and is then re-armed by the
 * next who sleeps. */
static void
came(int fd, uint32_t events, void *user)
{
    rondo_doze *const doze = user;

    (void)fd;
    (void)events;
    (void)pthread_mutex_lock(&guard);
    for (rondo_comm *comm = doze->sleepers; comm != NULL; comm = comm->next_sleeper) {
        comm->shm->ops->ring(comm->shm, comm->rank);
    }
    (void)pthread_mutex_unlock(&guard);
}

static rondo_status
make(rondo_service *service, rondo_ucx *ucx)
{
    rondo_doze *made = NULL;
    rondo_status status = rondo_alloc_zero(sizeof *made, (void **)&made);

    if (status != RONDO_OK) {
        return status;
    }
    made->service = service;
    made->ucx = ucx;
    made->fd = rondo_ucx_event_fd(ucx);
    if (made->fd >= 0) {
        status = rondo_service_poll_add(service, made->fd, EPOLLONESHOT, came, made);
    }
    if (status != RONDO_OK) {
        rondo_free(made);
        return status;
    }
    ours = made;
    return RONDO_OK;
}

rondo_status
rondo_doze_open(rondo_service *service, rondo_ucx *ucx, rondo_doze **doze)
{
    rondo_status status = RONDO_OK;

    (void)pthread_mutex_lock(&guard);
    /* After a fork both are the child's own, and the parent's is forgotten. */
    if (ours == NULL || ours->service != service || ours->ucx != ucx) {
        status = make(service, ucx);
    }
    if (status == RONDO_OK) {
        ours->users++;
        *doze = ours;
    }
    (void)pthread_mutex_unlock(&guard);
    return status;
}

void
rondo_doze_close(rondo_doze *doze)
{
    bool last = false;

    if (doze == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&guard);
    last = --doze->users == 0;
    if (last && ours == doze) {
        ours = NULL;
    }
    (void)pthread_mutex_unlock(&guard);
    if (!last) {
        return;
    }
    /* Without the guard: the service may be in `came`, and is waited for. */
    if (doze->fd >= 0) {
        rondo_service_poll_remove(doze->service, doze->fd);
    }
    rondo_free(doze);
}

bool
rondo_doze_begin(rondo_comm *comm)
{
    rondo_doze *const doze = comm->doze;

    /* Before the caller's last look: pairs with the fence in the transport's wake. */
    atomic_store_explicit(&comm->dozing, true, memory_order_seq_cst);
    (void)pthread_mutex_lock(&guard);
    comm->next_sleeper = doze->sleepers;
    doze->sleepers = comm;
    (void)pthread_mutex_unlock(&guard);
    if (!rondo_ucx_arm(doze->ucx)) {
        return false;
    }
    /* If the descriptor cannot be polled, the rank stays awake. */
    return doze->fd < 0 ||
           rondo_service_poll_change(doze->service, doze->fd, EPOLLIN | EPOLLONESHOT) ==
               RONDO_OK;
}

void
rondo_doze_end(rondo_comm *comm)
{
    atomic_store_explicit(&comm->dozing, false, memory_order_relaxed);
    (void)pthread_mutex_lock(&guard);
    for (rondo_comm **at = &comm->doze->sleepers; *at != NULL;
         at = &(*at)->next_sleeper) {
        if (*at == comm) {
            *at = comm->next_sleeper;
            break;
        }
    }
    (void)pthread_mutex_unlock(&guard);
}
