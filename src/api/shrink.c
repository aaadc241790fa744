/* shrink.c - the ranks that still live go on in a communicator of their own. */
#include <stdio.h>
#include <string.h>

#include "api/create.h"
#include "api/part.h"
#include "api/request.h"
#include "base/alloc.h"
#include "base/config.h"
#include "base/hash.h"
#include "control/agreement.h"

/* How long a look at the board is put off: at first, and where it takes longer. */
#define SOON_NS    (RONDO_NS_PER_MS / 10)
#define LATER_NS   RONDO_NS_PER_MS
#define PATIENT_NS (50 * RONDO_NS_PER_MS)

/* How long after the deadline a rank on another host waits for what was decided. */
#define GRACE_NS (UINT64_C(2) * RONDO_NS_PER_S)

/* Attempts whose shared memory may come too late. */
#define MISSED_MAX 8

/* One call. */
typedef struct parting {
    rondo_comm *comm;
    uint64_t began_ns;
    uint64_t deadline_ns;
    bool decides; /* my board is that of rank 0's host */
    uint32_t attempt;
    uint64_t *bits; /* of the members */
    uint32_t *members;
    uint32_t nmembers;
    rondo_comm *made;
    rondo_status why; /* the attempt failed for me; RONDO_OK: it did not */
    char text[RONDO_ERROR_TEXT_MAX];
    rondo_segment_spec missed[MISSED_MAX];
    uint32_t nmissed;
} parting;

static bool
is_absent(const rondo_comm *comm, uint32_t rank)
{
    const rondo_presence presence = rondo_board_presence(&comm->board, rank);

    return presence == RONDO_LEFT || presence == RONDO_GONE;
}

static void
pause_shortly(const parting *self)
{
    const bool soon = rondo_now_ns() < self->began_ns + PATIENT_NS;

    rondo_segment_wait(self->comm->service, soon ? SOON_NS : LATER_NS);
}

static double
waited_s(const parting *self)
{
    return (double)(rondo_now_ns() - self->began_ns) / 1e9;
}

/* Everybody must come here, so nobody may wait in `comm` any more. */
static void
stop_using(rondo_comm *comm)
{
    rondo_breakage breakage = {
        .status = RONDO_ERR_ABORTED, .culprit = comm->rank, .reporter = comm->rank};

    (void)snprintf(breakage.text, sizeof breakage.text,
                   "rank %u shrinks the communicator", comm->rank);
    if (rondo_board_break(&comm->board, &breakage)) {
        rondo_comm_links_news(comm);
    }
    (void)rondo_comm_broken(comm);
    rondo_requests_fail(comm);
}

/* Whether some rank on a host other than rank 0's is still there. */
static bool
somebody_elsewhere(const rondo_comm *comm)
{
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (!rondo_hosts_together(&comm->hosts, rank, 0) && !is_absent(comm, rank)) {
            return true;
        }
    }
    return false;
}

/* The links between hosts are a star around rank 0's process, one to the leader of each
 * host. Without the way to it, nobody can know who lives elsewhere. */
static rondo_status
check_way(const parting *self)
{
    const rondo_comm *const comm = self->comm;
    const uint32_t leader = comm->hosts.local[0];
    const bool hubless = comm->hosts.count > 1 && is_absent(comm, 0) &&
                         (!self->decides || somebody_elsewhere(comm));

    if (!hubless && (self->decides || !is_absent(comm, leader))) {
        return RONDO_OK;
    }
    const uint32_t gone = hubless ? 0 : leader;
    return rondo_error(RONDO_ERR_PEER,
                       "rank %u (process %u on %s) is gone, and the links to other "
                       "hosts ended with it: their ranks cannot be reached any more",
                       gone, comm->addresses[gone].pid, comm->hosts.names[gone]);
}

static void
enter(parting *self, uint32_t attempt)
{
    self->attempt = attempt;
    if (rondo_agreement_entered(&self->comm->board, self->comm->rank, attempt)) {
        return;
    }
    rondo_agreement_enter(&self->comm->board, attempt);
    rondo_comm_links_news(self->comm);
}

static void
quit(parting *self)
{
    rondo_agreement_quit(&self->comm->board, self->attempt);
    rondo_comm_links_news(self->comm);
}

/* The deadline has come before all others have. */
static rondo_status
name_late(const parting *self)
{
    const rondo_comm *const comm = self->comm;
    char names[320] = "";
    size_t used = 0;
    uint32_t count = 0;

    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (is_absent(comm, rank) ||
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
    return rondo_error(RONDO_ERR_TIMEOUT, "no end after %.1f s: %s%s", waited_s(self),
                       count == 0 ? "rank 0's host is late" : names,
                       count == 0   ? ""
                       : count == 1 ? " is alive but has not called it"
                                    : " are alive but have not called it");
}

/* All others have come or will not any more: these go on. */
static bool
propose(parting *self)
{
    rondo_comm *const comm = self->comm;

    if (!self->decides) {
        return false;
    }
    memset(self->bits, 0, rondo_agreement_words(comm->nranks) * sizeof *self->bits);
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (is_absent(comm, rank)) {
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
take_members(parting *self, const rondo_decision *decision)
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
static rondo_status
agree(parting *self)
{
    rondo_comm *const comm = self->comm;
    rondo_decision decision;

    for (;;) {
        rondo_comm_note_deaths(comm);
        /* First, so that what was decided before a way ended is seen. */
        const rondo_status way = check_way(self);
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
        pause_shortly(self);
    }
}

static rondo_status
begin(parting *self)
{
    const rondo_comm *const comm = self->comm;
    const size_t bytes = rondo_agreement_words(comm->nranks) * sizeof *self->bits;
    const bool again = strstr(comm->name, "/shrunk") != NULL;
    char name[RONDO_COMM_NAME_MAX];

    (void)snprintf(name, sizeof name, "%.36s%s", comm->name, again ? "" : "/shrunk");
    const rondo_part part = {
        .name = name,
        .members = self->members,
        .nmembers = self->nmembers,
        .deadline_ns = self->deadline_ns,
        .label = "shrink",
        .number = (uint64_t)self->attempt << 32 |
                  (uint32_t)rondo_hash_bytes(0, self->bits, bytes),
    };
    const rondo_status status = rondo_part_make(comm, &part, &self->made);
    return status == RONDO_OK ? rondo_comm_map(self->made) : status;
}

/* A member that will not be part of it, as far as I can see. */
static rondo_status
find_lost(const parting *self)
{
    const rondo_comm *const comm = self->comm;

    for (uint32_t i = 0; i < self->nmembers; i++) {
        const uint32_t rank = self->members[i];

        if (is_absent(comm, rank) ||
            !rondo_agreement_entered(&comm->board, rank, self->attempt)) {
            return rondo_error(RONDO_ERR_PEER, "rank %u (process %u) %s", rank,
                               comm->addresses[rank].pid,
                               is_absent(comm, rank) ? "died meanwhile"
                                                     : "gave up meanwhile");
        }
    }
    return RONDO_OK;
}

static rondo_status
find_trouble(const parting *self, rondo_status status)
{
    const rondo_comm *const made = self->made;

    if (status != RONDO_BUSY && status != RONDO_OK) {
        return status;
    }
    rondo_status trouble = check_way(self);
    if (trouble == RONDO_OK) {
        trouble = find_lost(self);
    }
    if (trouble == RONDO_OK && status == RONDO_OK &&
        !rondo_board_broken(&made->board)) {
        return RONDO_OK;
    }
    if (trouble == RONDO_OK && rondo_now_ns() >= self->deadline_ns) {
        return rondo_error(RONDO_ERR_TIMEOUT,
                           "no end after %.1f s: %u ranks have come, but their new "
                           "communicator is not made",
                           waited_s(self), self->nmembers);
    }
    return trouble == RONDO_OK ? rondo_comm_create_trouble(self->made) : trouble;
}

/* The attempt is not for me any more; the first reason is kept. */
static void
give_up(parting *self, rondo_status why)
{
    if (self->why == RONDO_OK) {
        self->why = why;
        (void)snprintf(self->text, sizeof self->text, "%s", rondo_error_text());
        quit(self);
    }
    if (self->decides && rondo_agreement_conclude(&self->comm->board, self->attempt,
                                                  RONDO_OUTCOME_FAILED)) {
        rondo_comm_links_news(self->comm);
    }
}

/* Its shared memory may be on its way to us still. */
static void
discard(parting *self)
{
    const rondo_comm *const made = self->made;

    if (made == NULL) {
        return;
    }
    if (made->segment == NULL && made->hosts.place != 0 && self->nmissed < MISSED_MAX) {
        self->missed[self->nmissed++] = rondo_comm_segment(made);
    }
    rondo_comm_destroy(self->made);
    self->made = NULL;
}

/* Whether a reason concerns only this attempt: who died in it is known in the next. */
static bool
may_try_again(const parting *self)
{
    return (self->why == RONDO_OK || self->why == RONDO_ERR_PEER ||
            self->why == RONDO_ERR_START || self->why == RONDO_ERR_ABORTED) &&
           rondo_now_ns() < self->deadline_ns && check_way(self) == RONDO_OK;
}

/* The attempt is over. RONDO_BUSY: on to the next. */
static rondo_status
end_attempt(parting *self)
{
    discard(self);
    if (may_try_again(self)) {
        if (self->why != RONDO_OK) {
            pause_shortly(self);
        }
        self->why = RONDO_OK;
        return RONDO_BUSY;
    }
    return self->why == RONDO_OK
               ? rondo_error(RONDO_ERR_TIMEOUT,
                             "no end after %.1f s: %u ranks could not make their new "
                             "communicator",
                             waited_s(self), self->nmembers)
               : rondo_error(self->why, "%s", self->text);
}

/* One look at the attempt. RONDO_OK: the communicator is made and is everybody's;
 * RONDO_BUSY: not yet; anything else ends it. */
static rondo_status
look(parting *self, rondo_status made, rondo_decision *decision)
{
    rondo_comm *const comm = self->comm;

    rondo_comm_note_deaths(comm);
    const rondo_status trouble = find_trouble(self, made);
    rondo_agreement_decision(&comm->board, decision);
    const bool mine = decision->attempt == self->attempt;
    if (mine && decision->outcome == RONDO_OUTCOME_COMMITTED) {
        /* All have joined, I too: what has happened since is the new one's affair. */
        return made == RONDO_BUSY && trouble == RONDO_OK ? RONDO_BUSY : RONDO_OK;
    }
    if (!mine || decision->outcome != RONDO_OUTCOME_PROPOSED) {
        return RONDO_ERR_STATE;
    }
    if (trouble != RONDO_OK) {
        give_up(self, trouble);
        const bool forever =
            !self->decides && (check_way(self) != RONDO_OK ||
                               rondo_now_ns() >= self->deadline_ns + GRACE_NS);
        return forever ? RONDO_ERR_STATE : RONDO_BUSY;
    }
    if (made == RONDO_OK && self->decides &&
        rondo_agreement_conclude(&comm->board, self->attempt,
                                 RONDO_OUTCOME_COMMITTED)) {
        rondo_comm_links_news(comm);
    }
    return RONDO_BUSY;
}

/* The members make their communicator. RONDO_BUSY: that failed, but another attempt may
 * not. */
static rondo_status
make(parting *self)
{
    rondo_decision decision;
    rondo_status made = begin(self);

    for (;;) {
        if (made == RONDO_OK || made == RONDO_BUSY) {
            made = rondo_comm_create_step(self->made);
        }
        const rondo_status seen = look(self, made, &decision);
        if (seen == RONDO_OK && self->made != NULL &&
            self->made->phase >= RONDO_PHASE_ATTACH) {
            self->made->phase = RONDO_PHASE_READY;
            return RONDO_OK;
        }
        if (seen != RONDO_BUSY) {
            return end_attempt(self);
        }
        if (made != RONDO_OK || !self->decides) {
            pause_shortly(self);
        }
    }
}

static rondo_status
go_on(parting *self)
{
    rondo_status status = RONDO_BUSY;

    while (status == RONDO_BUSY) {
        status = agree(self);
        if (status == RONDO_OK) {
            status = make(self);
        }
    }
    return status;
}

static rondo_status
allocate(parting *self)
{
    const uint32_t nranks = self->comm->nranks;

    const rondo_status status = rondo_alloc_zero(
        rondo_agreement_words(nranks) * sizeof *self->bits, (void **)&self->bits);
    return status == RONDO_OK ? rondo_alloc_zero(nranks * sizeof *self->members,
                                                 (void **)&self->members)
                              : status;
}

static void
clean_up(parting *self)
{
    for (uint32_t i = 0; i < self->nmissed; i++) {
        void *memory = NULL;

        if (rondo_segment_take(self->comm->service, &self->missed[i], &memory) ==
            RONDO_OK) {
            rondo_segment_release(self->comm->service, &self->missed[i].name);
        }
    }
    rondo_free(self->bits);
    rondo_free(self->members);
}

static rondo_status
check_call(const rondo_comm *comm, rondo_comm *const *smaller)
{
    if (comm == NULL || smaller == NULL) {
        return rondo_error(RONDO_ERR_ARG, "%s is null",
                           comm == NULL ? "comm" : "smaller");
    }
    if (rondo_service_forked(comm->service)) {
        return rondo_error(RONDO_ERR_FORKED, "%s belongs to the parent process",
                           comm->name);
    }
    if (comm->phase != RONDO_PHASE_READY) {
        return rondo_error(RONDO_ERR_STATE, "creation has not finished, or has failed");
    }
    return comm->shrunk
               ? rondo_error(RONDO_ERR_STATE, "%s has been shrunk already", comm->name)
               : RONDO_OK;
}

/* Also where `comm` broke with the same status: this is about another failure. */
static rondo_status
tell(rondo_comm *comm, rondo_status status)
{
    char sentence[RONDO_ERROR_TEXT_MAX];

    if (comm == NULL || status == RONDO_ERR_FORKED) {
        return status;
    }
    (void)snprintf(sentence, sizeof sentence, "%s", rondo_error_text());
    (void)snprintf(comm->error, sizeof comm->error, "%s, rank %u of %u: shrink: %.400s",
                   comm->name, comm->rank, comm->nranks, sentence);
    return rondo_error(status, "%s", comm->error);
}

rondo_status
rondo_comm_shrink(rondo_comm *comm, uint64_t timeout_ms, rondo_comm **smaller)
{
    uint64_t wait_ms = timeout_ms;
    parting self = {.comm = comm, .began_ns = rondo_now_ns()};

    rondo_status status = check_call(comm, smaller);
    if (status == RONDO_OK && wait_ms == 0) {
        status = rondo_config_number(RONDO_CONFIG_START_TIMEOUT, 1, UINT64_C(1) << 40,
                                     &wait_ms);
    }
    if (status != RONDO_OK) {
        return tell(comm, status);
    }
    self.deadline_ns = rondo_deadline_ns(wait_ms);
    self.decides = rondo_hosts_together(&comm->hosts, comm->rank, 0);
    stop_using(comm);
    status = allocate(&self);
    if (status == RONDO_OK) {
        status = go_on(&self);
    }
    if (status == RONDO_OK) {
        comm->shrunk = true;
        *smaller = self.made;
    } else {
        quit(&self);
        (void)tell(comm, status);
    }
    clean_up(&self);
    return status;
}
