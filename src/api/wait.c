/* wait.c - waiting for an operation: poll, then yield, then sleep. */
#include <sched.h>

#include "api/doze.h"
#include "api/request.h"

/* Polls without a pause in between: a short operation ends within them. */
#define BUSY_POLLS 24

/* How long a rank that waits gives the core away before it goes to sleep. */
#define YIELD_NS (UINT64_C(500) * 1000)

/* How often a rank that waits looks into why. */
#define INSPECT_NS RONDO_NS_PER_MS

/* How long a sleeping rank sleeps at most: broken communicators and deadlines are
 * noticed in between. */
#define SLEEP_NS (UINT64_C(20) * RONDO_NS_PER_MS)

/* What a waiting rank remembers between polls. */
typedef struct waiting {
    uint64_t idle_since_ns; /* nothing has moved since; 0: just begun */
    uint64_t inspected_ns;  /* last look into why */
    uint64_t moves;         /* as last seen */
    uint64_t moment_ns;     /* until when the caller wants to wait */
    bool armed;             /* peers have been told to wake us */
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

/* Stays armed from nap to nap: whoever is known to sleep may sleep for longer. */
static void
nap(rondo_comm *comm, waiting *patience, uint64_t now_ns)
{
    rondo_transport *const shm = comm->shm;
    const uint64_t left_ns =
        patience->moment_ns > now_ns ? patience->moment_ns - now_ns : 0;
    const uint32_t ticket = shm->ops->arm(shm);

    patience->armed = true;
    const bool quiet = comm->doze == NULL || rondo_doze_begin(comm);
    rondo_requests_progress(comm);
    if (quiet) {
        shm->ops->sleep(shm, ticket, left_ns < SLEEP_NS ? left_ns : SLEEP_NS);
    }
    if (comm->doze != NULL) {
        rondo_doze_end(comm);
    }
}

static void
stay_up(rondo_comm *comm, waiting *patience)
{
    if (patience->armed) {
        patience->armed = false;
        comm->shm->ops->disarm(comm->shm);
    }
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
            stay_up(comm, patience);
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
    nap(comm, patience, now_ns);
    return false;
}

/* Nothing has moved for a number of polls. False: waiting is over, done or not. */
static bool
look_around(rondo_request *request, waiting *patience, uint32_t *polls)
{
    rondo_comm *const comm = request->comm;

    if (rondo_comm_broken(comm) != RONDO_OK) {
        rondo_requests_fail(comm);
        return false;
    }
    if (patience->moment_ns != RONDO_NEVER && rondo_now_ns() >= patience->moment_ns) {
        return false;
    }
    *polls = be_patient(request, patience) ? 0 : *polls;
    return true;
}

void
rondo_request_until(rondo_request *request, uint64_t moment_ns)
{
    rondo_comm *const comm = request->comm;
    waiting patience = {.moment_ns = moment_ns};
    uint32_t polls = 0;
    bool more = true;

    while (more) {
        rondo_requests_progress(comm);
        if (request->stage == RONDO_STAGE_DONE) {
            break;
        }
        if (++polls < comm->spins) {
            if (polls > BUSY_POLLS) {
                rondo_cpu_relax();
            }
            continue;
        }
        more = look_around(request, &patience, &polls);
    }
    stay_up(comm, &patience);
}
