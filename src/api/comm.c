/* comm.c - a communicator's state: usable or broken, and what it says about itself. */
#include "api/comm.h"

#include <stdio.h>
#include <string.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/log.h"

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

rondo_status
rondo_comm_break(rondo_comm *comm, rondo_status status, uint32_t culprit)
{
    rondo_breakage breakage = {
        .status = status, .culprit = culprit, .reporter = comm->rank};
    char current[64];

    current_text(comm, current, sizeof current);
    (void)snprintf(breakage.text, sizeof breakage.text, "%s%.400s", current,
                   rondo_error_text());
    (void)rondo_board_break(&comm->board, &breakage);
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

rondo_status
rondo_comm_abort(rondo_comm *comm)
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
    (void)snprintf(breakage.text, sizeof breakage.text,
                   "rank %u aborted the communicator", comm->rank);
    (void)rondo_board_break(&comm->board, &breakage);
    return RONDO_OK;
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

rondo_status
rondo_comm_counters_get(const rondo_comm *comm, rondo_comm_counters *counters)
{
    rondo_transport_counters moved = {0};

    if (comm == NULL || counters == NULL) {
        return rondo_error(RONDO_ERR_ARG, "%s is null",
                           comm == NULL ? "comm" : "counters");
    }
    if (counters->size < sizeof *counters) {
        return rondo_error(RONDO_ERR_ARG,
                           "counters->size is %zu; allowed is %zu or more",
                           counters->size, sizeof *counters);
    }
    if (comm->shm != NULL) {
        comm->shm->ops->counters(comm->shm, &moved);
    }
    counters->operations = comm->operations;
    counters->sent_bytes = moved.sent_bytes;
    counters->received_bytes = moved.received_bytes;
    counters->shm_sent_bytes = moved.sent_bytes;
    counters->mapped_bytes = comm->mapped_bytes;
    counters->schedules_built = comm->plans_built;
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
