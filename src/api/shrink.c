/* shrink.c - the ranks that still live go on in a communicator of their own. */
#include <stdio.h>
#include <string.h>

#include "api/create.h"
#include "api/part.h"
#include "api/parting.h"
#include "api/request.h"
#include "base/alloc.h"
#include "base/config.h"
#include "base/hash.h"
#include "base/log.h"
#include "control/agreement.h"

/* How long after the deadline a rank on another host waits for what was decided. */
#define GRACE_NS (UINT64_C(2) * RONDO_NS_PER_S)

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

static rondo_status
begin(rondo_parting *self)
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
find_lost(const rondo_parting *self)
{
    const rondo_comm *const comm = self->comm;

    for (uint32_t i = 0; i < self->nmembers; i++) {
        const uint32_t rank = self->members[i];

        /* What is proposed may come to another host before who has entered. */
        if (rondo_parting_absent(comm, rank) ||
            (self->decides &&
             !rondo_agreement_entered(&comm->board, rank, self->attempt))) {
            return rondo_error(RONDO_ERR_PEER, "rank %u (process %u) %s", rank,
                               comm->addresses[rank].pid,
                               rondo_parting_absent(comm, rank) ? "died meanwhile"
                                                                : "gave up meanwhile");
        }
    }
    return RONDO_OK;
}

static rondo_status
find_trouble(const rondo_parting *self, rondo_status status)
{
    const rondo_comm *const made = self->made;

    if (status != RONDO_BUSY && status != RONDO_OK) {
        return status;
    }
    rondo_status trouble = rondo_parting_way(self);
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
                           rondo_parting_waited_s(self), self->nmembers);
    }
    return trouble == RONDO_OK ? rondo_comm_create_trouble(self->made) : trouble;
}

/* The attempt is not for me any more; the first reason is kept. */
static void
give_up(rondo_parting *self, rondo_status why)
{
    if (self->why == RONDO_OK) {
        rondo_log(RONDO_LOG_DEBUG, "%s, rank %u of %u: attempt %u to shrink: %s",
                  self->comm->name, self->comm->rank, self->comm->nranks, self->attempt,
                  rondo_error_text());
        self->why = why;
        (void)snprintf(self->text, sizeof self->text, "%s", rondo_error_text());
        rondo_parting_quit(self);
    }
    if (self->decides && rondo_agreement_conclude(&self->comm->board, self->attempt,
                                                  RONDO_OUTCOME_FAILED)) {
        rondo_comm_links_news(self->comm);
    }
}

/* Its shared memory may be on its way to us still. */
static void
discard(rondo_parting *self)
{
    const rondo_comm *const made = self->made;

    if (made == NULL) {
        return;
    }
    if (made->segment == NULL && made->hosts.place != 0 &&
        self->nmissed < RONDO_PARTING_MISSED_MAX) {
        self->missed[self->nmissed++] = rondo_comm_segment(made);
    }
    rondo_comm_destroy(self->made);
    self->made = NULL;
}

/* Whether a reason concerns only this attempt: who died in it is known in the next. */
static bool
may_try_again(const rondo_parting *self)
{
    return (self->why == RONDO_OK || self->why == RONDO_ERR_PEER ||
            self->why == RONDO_ERR_START || self->why == RONDO_ERR_ABORTED) &&
           rondo_now_ns() < self->deadline_ns && rondo_parting_way(self) == RONDO_OK;
}

/* The attempt is over. RONDO_BUSY: on to the next. */
static rondo_status
end_attempt(rondo_parting *self)
{
    discard(self);
    if (may_try_again(self)) {
        if (self->why != RONDO_OK) {
            rondo_parting_pause(self);
        }
        self->why = RONDO_OK;
        return RONDO_BUSY;
    }
    return self->why == RONDO_OK
               ? rondo_error(RONDO_ERR_TIMEOUT,
                             "no end after %.1f s: %u ranks could not make their new "
                             "communicator",
                             rondo_parting_waited_s(self), self->nmembers)
               : rondo_error(self->why, "%s", self->text);
}

/* One look at the attempt. RONDO_OK: the communicator is made and is everybody's;
 * RONDO_BUSY: not yet; anything else ends it. */
static rondo_status
look(rondo_parting *self, rondo_status made, rondo_decision *decision)
{
    rondo_comm *const comm = self->comm;

    rondo_comm_note_deaths(comm);
    /* Both before the decision: what was decided before a way ended is seen. */
    const bool cut = rondo_parting_way(self) != RONDO_OK;
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
            !self->decides && (cut || rondo_now_ns() >= self->deadline_ns + GRACE_NS);
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
make(rondo_parting *self)
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
            rondo_parting_pause(self);
        }
    }
}

static rondo_status
go_on(rondo_parting *self)
{
    rondo_status status = RONDO_BUSY;

    while (status == RONDO_BUSY) {
        status = rondo_parting_agree(self);
        if (status == RONDO_OK) {
            status = make(self);
        }
    }
    return status;
}

static rondo_status
allocate(rondo_parting *self)
{
    const uint32_t nranks = self->comm->nranks;

    const rondo_status status = rondo_alloc_zero(
        rondo_agreement_words(nranks) * sizeof *self->bits, (void **)&self->bits);
    return status == RONDO_OK ? rondo_alloc_zero(nranks * sizeof *self->members,
                                                 (void **)&self->members)
                              : status;
}

static void
clean_up(rondo_parting *self)
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
    rondo_parting self = {.comm = comm, .began_ns = rondo_now_ns()};

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
        rondo_log(RONDO_LOG_INFO, "%s, rank %u of %u: shrunk to %u ranks in %.1f ms",
                  comm->name, comm->rank, comm->nranks, self.nmembers,
                  rondo_parting_waited_s(&self) * 1e3);
    } else {
        rondo_parting_quit(&self);
        (void)tell(comm, status);
    }
    clean_up(&self);
    return status;
}
