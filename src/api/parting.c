/* parting.c - who goes on when a communicator is shrunk: said and read on its board. */
#include "api/parting.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "control/agreement.h"

/* How long a look at the board is put off: at first, and where it takes longer. */
#define SOON_NS    (RONDO_NS_PER_MS / 10)
#define LATER_NS   RONDO_NS_PER_MS
#define PATIENT_NS (50 * RONDO_NS_PER_MS)

bool
rondo_parting_absent(const rondo_comm *comm, uint32_t rank)
{
    const rondo_presence presence = rondo_board_presence(&comm->board, rank);

    return presence == RONDO_LEFT || presence == RONDO_GONE;
}

void
rondo_parting_pause(const rondo_parting *self)
{
    rondo_transport *const net = self->comm->net;
    const bool soon = rondo_now_ns() < self->began_ns + PATIENT_NS;

    /* What others have sent may still hold their buffers: they wait for us to let it
     * come before they cut the connection. A failure is nothing new. */
    if (net != NULL) {
        (void)net->ops->progress(net);
    }
    rondo_segment_wait(self->comm->service, soon ? SOON_NS : LATER_NS);
}

double
rondo_parting_waited_s(const rondo_parting *self)
{
    return (double)(rondo_now_ns() - self->began_ns) / 1e9;
}

/* Whether some rank on a host other than rank 0's is still there. */
static bool
somebody_elsewhere(const rondo_comm *comm)
{
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (!rondo_hosts_together(&comm->hosts, rank, 0) &&
            !rondo_parting_absent(comm, rank)) {
            return true;
        }
    }
    return false;
}

/* The links between hosts are a star around rank 0's process, one to the leader of each
 * host. Without the way to it, nobody can know who lives elsewhere. */
rondo_status
rondo_parting_way(const rondo_parting *self)
{
    const rondo_comm *const comm = self->comm;
    const uint32_t leader = comm->hosts.local[0];
    const bool hubless = comm->hosts.count > 1 && rondo_parting_absent(comm, 0) &&
                         (!self->decides || somebody_elsewhere(comm));

    if (!hubless && (self->decides || !rondo_parting_absent(comm, leader))) {
        return RONDO_OK;
    }
    const uint32_t gone = hubless ? 0 : leader;
    return rondo_error(RONDO_ERR_PEER,
                       "rank %u (process %u on %s) is gone, and the links to other "
                       "hosts ended with it: their ranks cannot be reached any more",
                       gone, comm->addresses[gone].pid, comm->hosts.names[gone]);
}

static void
enter(rondo_parting *self, uint32_t attempt)
{
    self->attempt = attempt;
    if (rondo_agreement_entered(&self->comm->board, self->comm->rank, attempt)) {
        return;
    }
    rondo_agreement_enter(&self->comm->board, attempt);
    rondo_comm_links_news(self->comm);
}

void
rondo_parting_quit(rondo_parting *self)
{
    rondo_agreement_quit(&self->comm->board, self->attempt);
    rondo_comm_links_news(self->comm);
}

/* The deadline has come before all others have. */
static rondo_status
name_late(const rondo_parting *self)
{
    const rondo_comm *const comm = self->comm;
    char names[320] = "";
    size_t used = 0;
    uint32_t count = 0;

    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (rondo_parting_absent(comm, rank) ||
            rondo_agreement_entered(&comm->board, rank, self->attempt)) {
            continue;
        }
        if (used < sizeof names - 40) {
            used += (size_t)snprintf(names + used, sizeof names - used,
                                     "%srank %u (process %u)", used == 0 ? "" : ", ",
                                     rank, comm->addresses[rank].pid);
        }
        count++;
    }
    return rondo_error(RONDO_ERR_TIMEOUT, "no end after %.1f s: %s%s",
                       rondo_parting_waited_s(self),
                       count == 0 ? "rank 0's host is late" : names,
                       count == 0   ? ""
                       : count == 1 ? " is alive but has not called it"
                                    : " are alive but have not called it");
}

/* All others have come or will not any more: these go on. */
static bool
propose(rondo_parting *self)
{
    rondo_comm *const comm = self->comm;

    if (!self->decides) {
        return false;
    }
    memset(self->bits, 0, rondo_agreement_words(comm->nranks) * sizeof *self->bits);
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (rondo_parting_absent(comm, rank)) {
            continue;
        }
        if (!rondo_agreement_entered(&comm->board, rank, self->attempt)) {
            return false;
        }
        self->bits[rank / 64] |= UINT64_C(1) << rank % 64;
    }
    if (!rondo_agreement_propose(&comm->board, self->attempt, self->bits)) {
        return false;
    }
    rondo_comm_links_news(comm);
    return true;
}

/* A rank that gave up, or that was thought dead. */
static rondo_status
gone_on_without_me(void)
{
    return rondo_error(RONDO_ERR_STATE,
                       "the other ranks have gone on without this one");
}

static rondo_status
take_members(rondo_parting *self, const rondo_decision *decision)
{
    const rondo_comm *const comm = self->comm;
    bool with_me = false;

    self->attempt = decision->attempt;
    self->nmembers = 0;
    rondo_agreement_members(&comm->board, decision, self->bits);
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if ((self->bits[rank / 64] >> rank % 64 & 1) != 0) {
            self->members[self->nmembers++] = rank;
            with_me = with_me || rank == comm->rank;
        }
    }
    return with_me ? RONDO_OK : gone_on_without_me();
}

/* Take part in an attempt until it is known who goes on. */
rondo_status
rondo_parting_agree(rondo_parting *self)
{
    rondo_comm *const comm = self->comm;
    rondo_decision decision;

    for (;;) {
        rondo_comm_note_deaths(comm);
        /* First, so that what was decided before a way ended is seen. */
        const rondo_status way = rondo_parting_way(self);
        rondo_agreement_decision(&comm->board, &decision);
        const bool open = decision.outcome == RONDO_OUTCOME_NONE ||
                          decision.outcome == RONDO_OUTCOME_FAILED;
        if (decision.outcome == RONDO_OUTCOME_COMMITTED) {
            return gone_on_without_me();
        }
        enter(self, decision.attempt + (open ? 1 : 0));
        if (!open) {
            return take_members(self, &decision);
        }
        if (way != RONDO_OK) {
            return way;
        }
        if (propose(self)) {
            continue;
        }
        if (rondo_now_ns() >= self->deadline_ns) {
            return name_late(self);
        }
        rondo_parting_pause(self);
    }
}
