/* halfway.c - a connection that one side does not finish. */
#include "lib/halfway.h"

#include <signal.h>
#include <unistd.h>

#include "lib/blame.h"

#define MET    0
#define TURNED 1
#define LEFT   2

static void
begin_and_stop(rank_self *self, rondo_comm *comm, const halfway *moment)
{
    static float value = 1.0F; /* the send may last until the destroy */
    rondo_request *request = NULL;
    rondo_status status = rondo_send_start(comm, &value, 1, RONDO_FP32, 0, &request);

    for (int turn = 0; turn < moment->turns && status == RONDO_OK; turn++) {
        status = rondo_comm_progress(comm);
        rank_pause(2); /* the other side takes its turn */
    }
    rank_expect_status(self, status, RONDO_OK, comm, "sending");
    rank_mark(self, TURNED);
    if (moment->end != HALFWAY_IS_LEFT) {
        (void)kill(getpid(), moment->end == HALFWAY_DIES ? SIGKILL : SIGSTOP);
    }
    (void)rank_reached(self, 0, LEFT, moment->patience_ms);
}

static void
stay(rank_self *self, rondo_comm *comm, const halfway *moment)
{
    static float value = 0.0F; /* likewise */
    rondo_request *request = NULL;
    /* Towards a stopped peer this side begins, too: it gets no answer. */
    rondo_status status =
        moment->end == HALFWAY_STOPS
            ? rondo_send_start(comm, &value, 1, RONDO_FP32, 1, &request)
            : rondo_recv_start(comm, &value, 1, RONDO_FP32, 1, &request);

    while (status == RONDO_OK && !rank_reached(self, 1, TURNED, 0)) {
        status = rondo_comm_progress(comm);
    }
    if (moment->end != HALFWAY_IS_LEFT) {
        status = rondo_barrier(comm);
        rank_expect_status(self, status,
                           moment->end == HALFWAY_DIES ? RONDO_ERR_PEER
                                                       : RONDO_ERR_TIMEOUT,
                           comm, "the barrier");
        blame_only(self, rondo_comm_error_text(comm), 1);
    }
}

void
halfway_run(rank_self *self, const halfway *moment)
{
    rondo_comm *comm = NULL;

    if (!rank_join(self, moment->op_timeout_ms, &comm) ||
        !rank_meet(self, MET, moment->patience_ms)) {
        return;
    }
    if (self->rank == 1) {
        begin_and_stop(self, comm, moment);
        rondo_comm_destroy(comm);
        return;
    }
    stay(self, comm, moment);
    rondo_comm_destroy(comm);
    rank_mark(self, LEFT);
}

void
halfway_clear(const rank_stage *stage, void *user)
{
    const halfway *const moment = user;

    if (moment->end == HALFWAY_STOPS) {
        (void)stage_reached(stage, 0, LEFT, 2 * moment->patience_ms);
        (void)kill(stage->pid[1], SIGKILL);
    }
}
