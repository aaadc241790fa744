/* inspect.c - why an operation takes so long: calls that differ, ranks that left, and,
 * when the deadline has come, who is to be named. */
#include <stdio.h>
#include <string.h>

#include "api/request.h"
#include "base/log.h"

/* How long the other side's arguments may take to come from another host. */
#define ARGUMENTS_NS (UINT64_C(500) * RONDO_NS_PER_MS)

/* How often signatures of all ranks are compared while waiting. */
#define COMPARE_NS (UINT64_C(8) * RONDO_NS_PER_MS)

/* How many operations back a foreign message is looked for. */
#define LOOK_BACK 8

void
rondo_request_text(const rondo_request *request, char *text, size_t text_bytes)
{
    if (request->bytes != 0 || request->token != 0) {
        (void)snprintf(text, text_bytes, "%s rank %u",
                       request->sending ? "send to" : "recv from", request->peer);
        return;
    }
    (void)snprintf(text, text_bytes, "%s #%llu", rondo_coll_text(request->coll.kind),
                   (unsigned long long)request->sequence);
}

static void
signature_text(const rondo_signature *signature, char *text, size_t text_bytes)
{
    const rondo_coll_kind kind = (rondo_coll_kind)(signature->what - 1);
    const bool known = signature->what >= 1 && signature->what <= RONDO_COLLS;
    char op[24] = "";
    char root[24] = "";

    if (kind == RONDO_COLL_ALL_REDUCE || kind == RONDO_COLL_REDUCE ||
        kind == RONDO_COLL_REDUCE_SCATTER) {
        (void)snprintf(op, sizeof op, ", %s", rondo_op_text((rondo_op)signature->op));
    }
    if (kind == RONDO_COLL_BROADCAST || kind == RONDO_COLL_REDUCE) {
        (void)snprintf(root, sizeof root, ", root %u", signature->root);
    }
    if (known && kind == RONDO_COLL_BARRIER) {
        (void)snprintf(text, text_bytes, "barrier");
        return;
    }
    (void)snprintf(text, text_bytes, "%s of %llu x %s%s%s",
                   known ? rondo_coll_text(kind) : "?",
                   (unsigned long long)signature->count,
                   rondo_dtype_text((rondo_dtype)signature->dtype), op, root);
}

/* The first rank whose operation `sequence` is another call than ours; RONDO_OK: none
 * known. */
static rondo_status
find_mismatch_at(const rondo_comm *comm, uint64_t sequence)
{
    char mine[128];
    char other[128];
    rondo_signature ours;
    rondo_signature theirs;

    if (rondo_board_signature(&comm->board, comm->rank, sequence, &ours) != RONDO_OK) {
        return RONDO_OK;
    }
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (rondo_board_signature(&comm->board, rank, sequence, &theirs) != RONDO_OK ||
            memcmp(&theirs, &ours, sizeof theirs) == 0) {
            continue;
        }
        signature_text(&ours, mine, sizeof mine);
        signature_text(&theirs, other, sizeof other);
        return rondo_error(
            RONDO_ERR_MISMATCH,
            "operation #%llu differs: rank %u called %s, rank %u called %s",
            (unsigned long long)sequence, comm->rank, mine, rank, other);
    }
    return RONDO_OK;
}

static rondo_status
find_mismatch(const rondo_request *request)
{
    return find_mismatch_at(request->comm, request->sequence);
}

/* The message may belong to an earlier operation, which was over on this rank before
 * anybody noticed: a count of 0, or a rank that only sends. */
static rondo_status
find_mismatch_back(const rondo_request *request)
{
    rondo_status status = RONDO_OK;

    for (uint64_t back = 0;
         status == RONDO_OK && back < LOOK_BACK && back < request->sequence; back++) {
        status = find_mismatch_at(request->comm, request->sequence - back);
    }
    return status;
}

rondo_status
rondo_request_mismatch(rondo_request *request)
{
    const rondo_comm *const comm = request->comm;
    const struct timespec pause = {.tv_nsec = (long)RONDO_NS_PER_MS};
    const uint64_t until_ns = rondo_now_ns() + ARGUMENTS_NS;
    rondo_standing standing = {.peer = UINT32_MAX};
    char mine[128];

    rondo_status status = find_mismatch_back(request);
    while (status == RONDO_OK && comm->links != NULL && rondo_now_ns() < until_ns) {
        rondo_links_ask(comm->links);
        (void)nanosleep(&pause, NULL);
        status = find_mismatch_back(request);
    }
    if (status != RONDO_OK) {
        return status;
    }
    if (request->plan != NULL) {
        rondo_plan_standing(request->plan, &standing);
    }
    signature_text(&request->signature, mine, sizeof mine);
    return rondo_error(RONDO_ERR_MISMATCH,
                       "operation #%llu, %s: rank %u sent a message of another call "
                       "(token %llx)",
                       (unsigned long long)request->sequence, mine, standing.peer,
                       (unsigned long long)standing.token_found);
}

/* A rank that destroyed its communicator without entering our operation. */
static rondo_status
find_left(const rondo_request *request)
{
    const rondo_comm *const comm = request->comm;
    rondo_activity activity;

    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (rondo_board_presence(&comm->board, rank) != RONDO_LEFT) {
            continue;
        }
        rondo_board_activity(&comm->board, rank, &activity);
        if (request->token != 0) {
            if (rank != request->peer || request->sending) {
                continue;
            }
        } else if (activity.sequence > request->sequence ||
                   (activity.sequence == request->sequence && activity.finished)) {
            continue;
        }
        return rondo_error(
            RONDO_ERR_PEER,
            "rank %u has destroyed its communicator after operation #%llu", rank,
            (unsigned long long)activity.sequence);
    }
    return RONDO_OK;
}

/* The rank that is furthest behind, ourselves left out; its activity in `behind`. */
static uint32_t
find_slowest(const rondo_request *request, rondo_activity *behind)
{
    const rondo_comm *const comm = request->comm;
    uint32_t slowest = UINT32_MAX;

    if (request->token != 0) {
        rondo_board_activity(&comm->board, request->peer, behind);
        return request->peer;
    }
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        rondo_activity activity;

        rondo_board_activity(&comm->board, rank, &activity);
        if (rank == comm->rank) {
            continue;
        }
        if (slowest == UINT32_MAX || activity.sequence < behind->sequence ||
            (activity.sequence == behind->sequence && activity.step < behind->step)) {
            slowest = rank;
            *behind = activity;
        }
    }
    return slowest;
}

/* "rank 3 (process 4711)", on more than one host with the host. */
static void
rank_text(const rondo_comm *comm, uint32_t rank, char *text, size_t text_bytes)
{
    char host[RONDO_HOST_NAME_MAX + 64] = "";

    if (comm->links != NULL) {
        rondo_links_host(comm->links, rank, host, sizeof host);
    }
    (void)snprintf(text, text_bytes, "rank %u (process %u%s%s)", rank,
                   comm->addresses[rank].pid, host[0] == '\0' ? "" : " on ", host);
}

/* The deadline has come: ask all, then name the silent one or the one furthest
 * behind. */
static void
give_up(rondo_request *request, double waited_s)
{
    rondo_comm *const comm = request->comm;
    rondo_activity behind = {0};
    const uint32_t silent = rondo_comm_silent(comm);
    const uint32_t culprit =
        silent != UINT32_MAX ? silent : find_slowest(request, &behind);
    char who[192];

    rank_text(comm, culprit, who, sizeof who);

    /* Asking took a while: what we waited for may be there by now. */
    rondo_requests_progress(comm);
    if (request->stage == RONDO_STAGE_DONE) {
        return;
    }
    if (silent != UINT32_MAX) {
        (void)rondo_error(
            RONDO_ERR_TIMEOUT,
            "no end after %.1f s: %s does not answer; it is stopped or stuck", waited_s,
            who);
    } else if (request->token != 0 || behind.sequence < request->sequence) {
        (void)rondo_error(
            RONDO_ERR_TIMEOUT,
            "no end after %.1f s: %s is alive but has not called it; its last "
            "operation is #%llu (%s)",
            waited_s, who, (unsigned long long)behind.sequence,
            behind.finished || behind.sequence == 0 ? "finished" : "unfinished");
    } else {
        (void)rondo_error(
            RONDO_ERR_TIMEOUT,
            "no end after %.1f s: %s is furthest behind, at step %llu of operation "
            "#%llu",
            waited_s, who, (unsigned long long)behind.step,
            (unsigned long long)behind.sequence);
    }
    (void)rondo_comm_break(comm, RONDO_ERR_TIMEOUT, culprit);
}

static void
warn_once(rondo_request *request, uint64_t waited_ns)
{
    const rondo_comm *const comm = request->comm;
    rondo_activity behind = {0};
    char what[64];

    if (request->warned || waited_ns < comm->warn_after_ms * RONDO_NS_PER_MS) {
        return;
    }
    request->warned = true;
    rondo_request_text(request, what, sizeof what);
    const uint32_t slowest = find_slowest(request, &behind);
    rondo_log(RONDO_LOG_WARN,
              "%s, rank %u of %u: %s has waited %.0f s; furthest behind is rank %u, at "
              "operation #%llu",
              comm->name, comm->rank, comm->nranks, what, (double)waited_ns / 1e9,
              slowest, (unsigned long long)behind.sequence);
}

static void
publish_standing(const rondo_request *request)
{
    rondo_comm *const comm = request->comm;
    rondo_standing standing = {.peer = UINT32_MAX};

    if (request->token != 0) {
        return;
    }
    if (request->plan != NULL) {
        rondo_plan_standing(request->plan, &standing);
    }
    rondo_board_standing_set(&comm->board, standing.step, standing.peer);
}

void
rondo_request_inspect(rondo_request *request, uint64_t now_ns)
{
    rondo_comm *const comm = request->comm;
    /* A collective behind others waits for the first of them. */
    rondo_request *const first =
        request->stage == RONDO_STAGE_QUEUED && comm->head != NULL ? comm->head
                                                                   : request;

    if (first->started_ns == 0) {
        first->started_ns = now_ns;
        first->deadline_ns = rondo_deadline_ns(comm->op_timeout_ms);
    }
    if (now_ns - first->compared_ns >= COMPARE_NS) {
        first->compared_ns = now_ns;
        publish_standing(first);
        if (comm->links != NULL && now_ns >= comm->ask_ns) {
            /* Soon at first, then rarely: who waits for long is seldom in a hurry. */
            const uint64_t waited_ns = now_ns - first->started_ns;

            comm->ask_ns = now_ns + (waited_ns < RONDO_NS_PER_S ? 40 * RONDO_NS_PER_MS
                                                                : RONDO_NS_PER_S);
            rondo_links_ask(comm->links);
        }
        rondo_status status = first->token == 0 ? find_mismatch(first) : RONDO_OK;
        status = status == RONDO_OK ? find_left(first) : status;
        if (status != RONDO_OK) {
            (void)rondo_comm_break(comm, status, comm->rank);
        }
    }
    warn_once(first, now_ns - first->started_ns);
    if (comm->status == RONDO_OK && now_ns >= first->deadline_ns) {
        give_up(first, (double)(now_ns - first->started_ns) / 1e9);
    }
    if (comm->status != RONDO_OK) {
        rondo_requests_fail(comm);
    }
}

rondo_status
rondo_request_glance(rondo_request *request)
{
    rondo_comm *const comm = request->comm;
    const uint64_t now_ns = rondo_now_ns();

    if (now_ns - request->glanced_ns >= RONDO_NS_PER_MS) {
        request->glanced_ns = now_ns;
        rondo_request_inspect(request, now_ns);
    }
    return comm->status;
}
