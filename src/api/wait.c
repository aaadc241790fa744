/* wait.c - waiting for an operation: poll, then yield, then sleep. */
#include <sched.h>

#include "api/request.h"

/* Polls without a pause in between: a short operation ends within them. */
#define BUSY_POLLS 24

/* How long a rank that waits gives the core away before it goes to sleep. */
#define YIELD_NS (UINT64_C(500) * 1000)

/* How often a rank that waits looks into why. */
#define INSPECT_NS RONDO_NS_PER_MS

/* How long a sleeping rank sleeps at most: peers that die are noticed in between. */
#define SLEEP_NS (UINT64_C(5) * RONDO_NS_PER_MS)

/* What a waiting rank remembers between polls. */
typedef struct waiting {
    uint64_t idle_since_ns; /* nothing has moved since; 0: just begun */
    uint64_t inspected_ns;  /* last look into why */
    uint64_t moves;         /* as last seen */
} waiting;

static uint64_t
moves_of(const rondo_request *request)
{
    const rondo_request *const head = request->comm->head;
    const uint64_t run = head != NULL && head->stage == RONDO_STAGE_RUN
                             ? rondo_plan_moves(head->plan)
                             : 0;

    return run + request->comm->operations + request->outgoing.done_bytes +
           request->received_bytes;
}

static void
nap(rondo_comm *comm)
{
    rondo_transport *const shm = comm->shm;
    const uint32_t ticket = shm->ops->arm(shm);

    rondo_requests_progress(comm);
    shm->ops->sleep(shm, ticket, SLEEP_NS);
    shm->ops->disarm(shm);
}

/* Polls have found nothing to do: be patient, in the way that suits how long it lasts.
 * True: things have moved meanwhile, so that polling is worth it again. */
static bool
be_patient(rondo_request *request, waiting *patience)
{
    rondo_comm *const comm = request->comm;
    const uint64_t now_ns = rondo_now_ns();
    const uint64_t moves = moves_of(request);

    if (patience->idle_since_ns == 0 || moves != patience->moves) {
        const bool moved = patience->idle_since_ns != 0;

        patience->idle_since_ns = now_ns;
        patience->moves = moves;
        patience->inspected_ns = moved ? patience->inspected_ns : now_ns;
        if (moved) {
            return true;
        }
    }
    if (rondo_messages_poll(comm) != RONDO_OK) {
        rondo_requests_fail(comm);
        return false;
    }
    if (now_ns - patience->inspected_ns >= INSPECT_NS) {
        patience->inspected_ns = now_ns;
        rondo_request_inspect(request, now_ns);
        return false;
    }
    if (now_ns - patience->idle_since_ns < YIELD_NS || comm->shm == NULL) {
        (void)sched_yield();
        return false;
    }
    nap(comm);
    return false;
}

void
rondo_request_until(rondo_request *request, uint64_t moment_ns)
{
    rondo_comm *const comm = request->comm;
    waiting patience = {0};
    uint32_t polls = 0;

    while (request->stage != RONDO_STAGE_DONE) {
        rondo_requests_progress(comm);
        if (request->stage == RONDO_STAGE_DONE) {
            return;
        }
        if (++polls < comm->spins) {
            if (polls > BUSY_POLLS) {
                rondo_cpu_relax();
            }
            continue;
        }
        if (rondo_comm_broken(comm) != RONDO_OK) {
            rondo_requests_fail(comm);
            return;
        }
        if (moment_ns != RONDO_NEVER && rondo_now_ns() >= moment_ns) {
            return;
        }
        polls = be_patient(request, &patience) ? 0 : polls;
    }
}
