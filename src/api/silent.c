/* silent.c - whose process does not answer, here or on another host. */
#include "api/request.h"
#include "base/alloc.h"

/* How long an answer of another process's service thread may take. */
#define ANSWER_NS (UINT64_C(400) * RONDO_NS_PER_MS)

/* The same for a process on another host, which its own host's leader asks. */
#define ELSEWHERE_NS (UINT64_C(1000) * RONDO_NS_PER_MS)

/* Ask the processes on other hosts, and note who does not answer. */
static void
ask_elsewhere(const rondo_comm *comm, bool *answered)
{
    const struct timespec pause = {.tv_nsec = (long)(10 * RONDO_NS_PER_MS)};
    const uint64_t until_ns = rondo_now_ns() + ELSEWHERE_NS;
    uint64_t *pulses = NULL;
    bool all = false;

    if (comm->links == NULL ||
        rondo_alloc_zero(comm->nranks * sizeof *pulses, (void **)&pulses) != RONDO_OK) {
        return;
    }
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        pulses[rank] = rondo_board_pulse(&comm->board, rank);
    }
    while (!all && rondo_now_ns() < until_ns) {
        rondo_links_ask(comm->links);
        (void)nanosleep(&pause, NULL);
        all = true;
        for (uint32_t rank = 0; rank < comm->nranks; rank++) {
            answered[rank] = answered[rank] ||
                             rondo_hosts_together(&comm->hosts, rank, comm->rank) ||
                             rondo_board_pulse(&comm->board, rank) != pulses[rank];
            all = all && answered[rank];
        }
    }
    rondo_free(pulses);
}

/* Ask the processes of this host. */
static void
ask_here(const rondo_comm *comm, bool *answered)
{
    const rondo_hosts *const hosts = &comm->hosts;

    if (hosts->count == 1) {
        rondo_service_ask(comm->service, comm->addresses, comm->nranks, ANSWER_NS,
                          answered);
        return;
    }
    for (uint32_t i = 0; i < hosts->nlocal; i++) {
        bool here[1] = {false};
        rondo_service_ask(comm->service, &comm->addresses[hosts->local[i]], 1,
                          ANSWER_NS, here);
        answered[hosts->local[i]] = here[0];
    }
}

/* Where the one that connects this host to the others is silent, it alone is to blame:
 * nobody elsewhere could be asked. */
static uint32_t
first_silent(const rondo_comm *comm, const bool *answered)
{
    const uint32_t leader = comm->hosts.local[0];
    uint32_t rank = 0;

    if (!answered[leader]) {
        return leader;
    }
    while (rank < comm->nranks && answered[rank]) {
        rank++;
    }
    return rank < comm->nranks ? rank : UINT32_MAX;
}

uint32_t
rondo_comm_silent(const rondo_comm *comm)
{
    bool *answered = NULL;

    if (rondo_alloc_zero(comm->nranks * sizeof *answered, (void **)&answered) !=
        RONDO_OK) {
        return UINT32_MAX;
    }
    ask_elsewhere(comm, answered);
    ask_here(comm, answered);
    const uint32_t silent = first_silent(comm, answered);
    rondo_free(answered);
    return silent;
}
