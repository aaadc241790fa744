/* request.c - operations in flight: their order and their stages. */
#include "api/request.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/width.h"

rondo_status
rondo_request_take(rondo_comm *comm, rondo_request **request)
{
    rondo_request *got = comm->spare;

    if (got != NULL) {
        rondo_request *const made_before = got->made_before;

        comm->spare = got->next;
        memset(got, 0, sizeof *got);
        got->made_before = made_before;
    } else {
        const rondo_status status = rondo_alloc_zero(sizeof *got, (void **)&got);
        if (status != RONDO_OK) {
            return status;
        }
        got->made_before = comm->all;
        comm->all = got;
    }
    got->comm = comm;
    *request = got;
    return RONDO_OK;
}

void
rondo_request_give(rondo_request *request)
{
    request->next = request->comm->spare;
    request->comm->spare = request;
}

void
rondo_request_finish(rondo_request *request, rondo_status status)
{
    rondo_comm *const comm = request->comm;

    request->status = status;
    if (request->stage != RONDO_STAGE_PAIR && status == RONDO_OK) {
        rondo_board_finish(&comm->board, request->sequence);
    }
    request->stage = RONDO_STAGE_DONE;
    comm->operations += status == RONDO_OK ? 1 : 0;
}

static void
fail_list(rondo_comm *comm, rondo_request **list)
{
    while (*list != NULL) {
        rondo_request *const request = *list;

        *list = request->next;
        rondo_request_finish(request, comm->status);
    }
}

/* How long what is on its way to other hosts may still read buffers, before its
 * connection is cut. */
#define QUIET_NS (UINT64_C(100) * RONDO_NS_PER_MS)

void
rondo_requests_fail(rondo_comm *comm)
{
    if (comm->net != NULL && (comm->head != NULL || comm->pairs != NULL)) {
        rondo_ucx_quiet(comm->net, QUIET_NS);
    }
    fail_list(comm, &comm->head);
    fail_list(comm, &comm->pairs);
    comm->tail = NULL;
    comm->pairs_tail = NULL;
}

/* What was called joins what was called before: an operation that differed without any
 * rank noticing (a count of 0, a rank that only sends) shows in the next message. */
static void
chain_add(rondo_comm *comm, const rondo_signature *sig)
{
    uint64_t hash = rondo_hash_add(comm->chain, (uint64_t)sig->what << 32 | sig->root);

    hash = rondo_hash_add(hash, sig->count);
    comm->chain = rondo_hash_add(hash, (uint64_t)sig->dtype << 32 | sig->op);
}

/* All messages of an operation carry it: its number, and all calls up to this one. Only
 * the operation begun last runs. */
static uint64_t
token_of(const rondo_request *request)
{
    return (request->comm->chain & ~UINT64_C(0xffffff)) |
           (request->sequence & UINT64_C(0xffffff));
}

/* The plan of a choice: from the cache, or built now. */
static rondo_status
find_plan(rondo_comm *comm, const rondo_coll *coll, rondo_choice choice,
          rondo_plan **plan)
{
    const rondo_plan_key key = {.coll = rondo_tune_coll(coll, choice),
                                .algo = choice.algo};
    rondo_schedule *schedule = NULL;
    rondo_plan *made = NULL;

    *plan = rondo_plan_cache_find(comm->cache, &key);
    if (*plan != NULL) {
        return RONDO_OK;
    }
    rondo_status status =
        rondo_algo_build(rondo_algo_at(choice.algo), &key.coll, &schedule);
    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_plan_create(schedule, &made);
    if (status != RONDO_OK) {
        rondo_schedule_destroy(schedule);
        return status;
    }
    status = rondo_plan_cache_insert(comm->cache, &key, made);
    if (status != RONDO_OK) {
        rondo_plan_destroy(made);
        return status;
    }
    comm->plans_built++;
    *plan = made;
    return RONDO_OK;
}

static rondo_tune_query
query_of(const rondo_request *request, bool mapped)
{
    const rondo_comm *const comm = request->comm;
    const rondo_tune_query query = {
        .coll = &request->coll,
        .element_bytes = rondo_width(request->dtype),
        .segment_bytes = comm->settings.segment_bytes,
        .mapped = mapped,
        .forced = &comm->forced,
    };

    return query;
}

/* Start the schedule; a failure breaks the communicator, since peers have begun. */
static rondo_status
start_run(rondo_request *request, bool mapped)
{
    rondo_comm *const comm = request->comm;
    const rondo_tune_query query = query_of(request, mapped);
    const rondo_binding binding = {
        .routes = comm->routes,
        .lane = RONDO_LANE_COLL,
        .token = token_of(request),
        .dtype = request->dtype,
        .op = request->op,
        .in = request->in,
        .out = request->out,
        .peer_in = mapped ? comm->peer_in : NULL,
        .peer_out = mapped ? comm->peer_out : NULL,
        .signal_base = comm->mapped_runs * 8,
    };

    comm->mapped_runs += mapped ? 1 : 0;
    rondo_status status =
        find_plan(comm, &request->coll, rondo_tune_choose(&query), &request->plan);
    if (status == RONDO_OK) {
        status = rondo_plan_start(request->plan, &binding);
    }
    if (status != RONDO_OK) {
        return status;
    }
    comm->mapped_bytes += mapped ? request->coll.count * query.element_bytes : 0;
    request->stage = RONDO_STAGE_RUN;
    return RONDO_OK;
}

static rondo_status
start_vote_or_run(rondo_request *request)
{
    rondo_comm *const comm = request->comm;

    if (comm->blocks_used == 0 || comm->hosts.count > 1) {
        return start_run(request, false);
    }
    const rondo_tune_query query = query_of(request, false);
    if (!rondo_tune_wants_mapped(&query)) {
        return start_run(request, false);
    }
    rondo_offer_find(comm, request, &request->offer);
    comm->votes++;
    rondo_board_offer_set(&comm->board, comm->votes, &request->offer);
    for (uint32_t peer = 0; peer < comm->nranks; peer++) {
        if (comm->routes[peer] != NULL) {
            comm->routes[peer]->ops->ring(comm->routes[peer], peer);
        }
    }
    request->stage = RONDO_STAGE_VOTE;
    return RONDO_OK;
}

/* RONDO_OK once every rank has published the same signature. */
static rondo_status
compare_signatures(rondo_request *request)
{
    rondo_comm *const comm = request->comm;
    rondo_signature theirs;

    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        const rondo_status status =
            rondo_board_signature(&comm->board, rank, request->sequence, &theirs);

        if (status != RONDO_OK) {
            return status;
        }
        if (memcmp(&theirs, &request->signature, sizeof theirs) != 0) {
            return rondo_request_mismatch(request);
        }
    }
    return RONDO_OK;
}

/* Its turn has come. */
static rondo_status
begin(rondo_request *request)
{
    rondo_comm *const comm = request->comm;

    request->sequence = ++comm->sequence;
    chain_add(comm, &request->signature);
    rondo_board_enter(&comm->board, request->sequence, &request->signature);
    if (request->coll.count == 0) {
        rondo_request_finish(request, RONDO_OK);
        return RONDO_OK;
    }
    if (comm->settings.check != 0) {
        request->stage = RONDO_STAGE_CHECK;
        return RONDO_OK;
    }
    return start_vote_or_run(request);
}

static rondo_status
advance_run(rondo_request *request)
{
    const rondo_status status = rondo_plan_poll(request->plan);

    if (status == RONDO_OK) {
        rondo_request_finish(request, RONDO_OK);
    }
    return status == RONDO_ERR_MISMATCH ? rondo_request_mismatch(request) : status;
}

static rondo_status
advance_vote(rondo_request *request)
{
    rondo_comm *const comm = request->comm;
    rondo_status status = rondo_offers_resolve(comm, request);

    if (status == RONDO_ERR_UNSUPPORTED) {
        return start_run(request, false);
    }
    /* A mapped run has no messages to show that ranks made different calls. */
    if (status == RONDO_OK) {
        status = compare_signatures(request);
    }
    return status == RONDO_OK ? start_run(request, true) : status;
}

/* Move the first collective; RONDO_BUSY when it has to wait for others. */
static rondo_status
advance(rondo_request *request)
{
    rondo_status status = RONDO_OK;

    switch (request->stage) {
    case RONDO_STAGE_QUEUED:
        return begin(request);
    case RONDO_STAGE_CHECK:
        status = compare_signatures(request);
        return status == RONDO_OK ? start_vote_or_run(request) : status;
    case RONDO_STAGE_VOTE:
        return advance_vote(request);
    case RONDO_STAGE_RUN:
        return advance_run(request);
    case RONDO_STAGE_PAIR:
    case RONDO_STAGE_DONE:
        break;
    }
    return RONDO_OK;
}

void
rondo_requests_progress(rondo_comm *comm)
{
    while (comm->head != NULL) {
        rondo_request *const request = comm->head;
        const rondo_status status = advance(request);

        if (status == RONDO_BUSY) {
            break;
        }
        if (status != RONDO_OK) {
            (void)rondo_comm_break(comm, status, comm->rank);
            rondo_requests_fail(comm);
            return;
        }
        if (request->stage == RONDO_STAGE_DONE) {
            comm->head = request->next;
            comm->tail = comm->head == NULL ? NULL : comm->tail;
        }
    }
    if (comm->pairs != NULL) {
        rondo_pairs_progress(comm);
    }
}

void
rondo_request_submit(rondo_request *request)
{
    rondo_comm *const comm = request->comm;

    request->next = NULL;
    request->stage = RONDO_STAGE_QUEUED;
    if (comm->tail == NULL) {
        comm->head = request;
    } else {
        comm->tail->next = request;
    }
    comm->tail = request;
    if (comm->head == request) {
        rondo_requests_progress(comm);
    }
}
