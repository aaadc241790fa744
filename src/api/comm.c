/* comm.c - a communicator's state: usable or broken, and what it says about itself. */
#include "api/comm.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/log.h"

/* How long the control links may take to say why a connection was lost. */
#define REASON_NS (UINT64_C(300) * RONDO_NS_PER_MS)

rondo_status
rondo_comm_fail(rondo_comm *comm, const char *what, rondo_status status)
{
    char sentence[RONDO_ERROR_TEXT_MAX];

    if (comm == NULL || status == RONDO_ERR_FORKED) {
        return status;
    }
    (void)snprintf(sentence, sizeof sentence, "%s", rondo_error_text());
    if (comm->status == status) {
        /* The reason is kept; say it to this thread too. */
        return rondo_error(status, "%s", comm->error);
    }
    (void)snprintf(comm->error, sizeof comm->error, "%s, rank %u of %u: %s%s%.400s",
                   comm->name, comm->rank, comm->nranks, what == NULL ? "" : what,
                   what == NULL ? "" : ": ", sentence);
    return rondo_error(status, "%s", comm->error);
}

rondo_status
rondo_comm_usable(rondo_comm *comm)
{
    if (comm == NULL) {
        return rondo_error(RONDO_ERR_ARG, "comm is null");
    }
    if (rondo_service_forked(comm->service)) {
        return rondo_error(
            RONDO_ERR_FORKED,
            "%s belongs to the parent process; make a new communicator after "
            "fork",
            comm->name);
    }
    if (comm->phase != RONDO_PHASE_READY) {
        return comm->phase == RONDO_PHASE_FAILED
                   ? comm->status
                   : rondo_error(RONDO_ERR_STATE, "creation has not finished");
    }
    return rondo_comm_broken(comm);
}

/* What this rank is in: "all_reduce #57: ", or "" between operations. */
static void
current_text(const rondo_comm *comm, char *text, size_t text_bytes)
{
    const rondo_request *const request = comm->head != NULL ? comm->head : comm->pairs;

    text[0] = '\0';
    if (request != NULL) {
        rondo_request_text(request, text, text_bytes - 3);
        (void)strncat(text, ": ", text_bytes - strlen(text) - 1);
    }
}

/* A lost connection says less than the control links will in a moment: who died, who
 * left, which path is cut. */
static void
await_reason(rondo_comm *comm)
{
    const struct timespec pause = {.tv_nsec = (long)RONDO_NS_PER_MS};
    const uint64_t until_ns = rondo_now_ns() + REASON_NS;

    while (!rondo_board_broken(&comm->board) && rondo_now_ns() < until_ns) {
        (void)nanosleep(&pause, NULL);
        for (uint32_t rank = 0; rank < comm->nranks; rank++) {
            if (rondo_board_presence(&comm->board, rank) == RONDO_LEFT) {
                (void)rondo_error(RONDO_ERR_PEER,
                                  "rank %u has destroyed its communicator", rank);
                return;
            }
        }
    }
}

bool
rondo_comm_has_left(const rondo_comm *comm, uint32_t peer)
{
    const struct timespec pause = {.tv_nsec = (long)RONDO_NS_PER_MS};
    const uint64_t until_ns = rondo_now_ns() + REASON_NS;

    while (rondo_board_presence(&comm->board, peer) != RONDO_LEFT) {
        if (rondo_board_broken(&comm->board) || rondo_now_ns() >= until_ns) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

rondo_status
rondo_comm_break(rondo_comm *comm, rondo_status status, uint32_t culprit)
{
    rondo_breakage breakage = {
        .status = status, .culprit = culprit, .reporter = comm->rank};
    char current[64];

    if (status == RONDO_ERR_PEER && comm->links != NULL) {
        await_reason(comm);
    }
    current_text(comm, current, sizeof current);
    (void)snprintf(breakage.text, sizeof breakage.text, "%s%.400s", current,
                   rondo_error_text());
    if (rondo_board_break(&comm->board, &breakage)) {
        rondo_comm_links_news(comm);
    }
    return rondo_comm_broken(comm);
}

rondo_status
rondo_comm_broken(rondo_comm *comm)
{
    rondo_breakage breakage;
    char current[64];

    if (comm->status != RONDO_OK || !rondo_board_broken(&comm->board) ||
        !rondo_board_breakage(&comm->board, &breakage)) {
        return comm->status;
    }
    current_text(comm, current, sizeof current);
    /* The reporter was most often in the same operation: said once is enough. */
    if (strncmp(breakage.text, current, strlen(current)) == 0) {
        current[0] = '\0';
    }
    comm->status = breakage.status;
    (void)snprintf(comm->error, sizeof comm->error, "%s, rank %u of %u: %s%.400s",
                   comm->name, comm->rank, comm->nranks, current, breakage.text);
    (void)rondo_error(comm->status, "%s", comm->error);
    rondo_log(RONDO_LOG_INFO, "%s", comm->error);
    return comm->status;
}

/* From any thread: `done` is what this rank has done to it. */
static rondo_status
end_use(rondo_comm *comm, const char *done)
{
    rondo_breakage breakage = {.status = RONDO_ERR_ABORTED};

    if (comm == NULL) {
        return rondo_error(RONDO_ERR_ARG, "comm is null");
    }
    if (rondo_service_forked(comm->service)) {
        return rondo_error(RONDO_ERR_FORKED, "%s belongs to the parent process",
                           comm->name);
    }
    /* The board is touched only once it is there; create_test looks at the flag. */
    atomic_store_explicit(&comm->abort_asked, 1, memory_order_release);
    if (atomic_load_explicit(&comm->board_ready, memory_order_acquire) == 0) {
        return RONDO_OK;
    }
    breakage.culprit = comm->rank;
    breakage.reporter = comm->rank;
    (void)snprintf(breakage.text, sizeof breakage.text, "rank %u %s the communicator",
                   comm->rank, done);
    if (rondo_board_break(&comm->board, &breakage)) {
        rondo_comm_links_news(comm);
    }
    return RONDO_OK;
}

rondo_status
rondo_comm_abort(rondo_comm *comm)
{
    return end_use(comm, "aborted");
}

rondo_status
rondo_comm_revoke(rondo_comm *comm)
{
    return end_use(comm, "revoked");
}

rondo_status
rondo_comm_state(const rondo_comm *comm)
{
    rondo_breakage breakage;

    if (comm == NULL) {
        return RONDO_ERR_ARG;
    }
    if (comm->status != RONDO_OK || comm->phase != RONDO_PHASE_READY ||
        !rondo_board_breakage(&comm->board, &breakage)) {
        return comm->status;
    }
    return breakage.status;
}

uint32_t
rondo_comm_rank(const rondo_comm *comm)
{
    return comm == NULL ? 0 : comm->rank;
}

uint32_t
rondo_comm_nranks(const rondo_comm *comm)
{
    return comm == NULL ? 0 : comm->nranks;
}

uint32_t
rondo_comm_former_rank(const rondo_comm *comm, uint32_t rank)
{
    if (comm == NULL || rank >= comm->nranks) {
        return UINT32_MAX;
    }
    return comm->former == NULL ? rank : comm->former[rank];
}

const char *
rondo_comm_error_text(const rondo_comm *comm)
{
    return comm == NULL ? rondo_error_text() : comm->error;
}

rondo_status
rondo_comm_timeout_set(rondo_comm *comm, uint64_t timeout_ms)
{
    if (comm == NULL) {
        return rondo_error(RONDO_ERR_ARG, "comm is null");
    }
    comm->op_timeout_ms = timeout_ms == 0 ? comm->op_timeout_default_ms : timeout_ms;
    return RONDO_OK;
}

uint64_t
rondo_comm_timeout(const rondo_comm *comm)
{
    return comm == NULL ? 0 : comm->op_timeout_ms;
}

/* What callers of the first version know of. */
#define COUNTERS_BYTES_MIN offsetof(rondo_comm_counters, net_sent_bytes)

rondo_status
rondo_comm_counters_get(const rondo_comm *comm, rondo_comm_counters *counters)
{
    rondo_transport_counters shm = {0};
    rondo_transport_counters net = {0};

    if (comm == NULL || counters == NULL) {
        return rondo_error(RONDO_ERR_ARG, "%s is null",
                           comm == NULL ? "comm" : "counters");
    }
    if (counters->size < COUNTERS_BYTES_MIN) {
        return rondo_error(RONDO_ERR_ARG,
                           "counters->size is %zu; allowed is %zu or more",
                           counters->size, COUNTERS_BYTES_MIN);
    }
    if (comm->shm != NULL) {
        comm->shm->ops->counters(comm->shm, &shm);
    }
    if (comm->net != NULL) {
        comm->net->ops->counters(comm->net, &net);
    }
    const rondo_comm_counters now = {
        .size = counters->size,
        .operations = comm->operations,
        .sent_bytes = shm.sent_bytes + net.sent_bytes,
        .received_bytes = shm.received_bytes + net.received_bytes,
        .shm_sent_bytes = shm.sent_bytes,
        .mapped_bytes = comm->mapped_bytes,
        .schedules_built = comm->plans_built,
        .net_sent_bytes = net.sent_bytes,
        .zero_copy_bytes = comm->ucx == NULL ? 0 : rondo_ucx_zero_copy_bytes(comm->ucx),
        .hosts = comm->hosts.count,
    };
    memcpy(counters, &now, counters->size < sizeof now ? counters->size : sizeof now);
    return RONDO_OK;
}

rondo_status
rondo_comm_progress(rondo_comm *comm)
{
    rondo_status status = rondo_comm_usable(comm);

    if (status == RONDO_OK) {
        rondo_requests_progress(comm);
        status = rondo_messages_poll(comm);
    }
    if (status == RONDO_OK && comm->head != NULL) {
        status = rondo_request_glance(comm->head);
    } else if (status == RONDO_OK && comm->pairs != NULL) {
        status = rondo_request_glance(comm->pairs);
    }
    if (status != RONDO_OK && comm != NULL && comm->status != RONDO_OK) {
        rondo_requests_fail(comm);
    }
    return status == RONDO_OK ? RONDO_OK : rondo_comm_fail(comm, NULL, status);
}
