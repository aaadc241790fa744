/* gang.c - makes the ranks of one collective, their buffers and plans, and runs
 * them. */
#include "lib/gang_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "transport/fault/fault.h"

#define GUARD 64
/* No run here needs a thousandth of it. */
#define POLLS_MAX UINT64_C(20000000)

static uint64_t
draw(uint64_t *random)
{
    *random += UINT64_C(0x9e3779b97f4a7c15);
    return rondo_hash_mix(*random);
}

static void *
zeroed(uint64_t bytes)
{
    void *const memory = calloc(1, bytes == 0 ? 1 : bytes);

    assert_true(memory != NULL);
    return memory;
}

static void
fence(struct fenced *fenced, uint64_t bytes, uint64_t shift)
{
    fenced->block_bytes = GUARD + shift + bytes + GUARD;
    fenced->block = zeroed(fenced->block_bytes);
    fenced->data = fenced->block + GUARD + shift;
    fenced->bytes = bytes;
    memset(fenced->block, GANG_PATTERN, fenced->block_bytes);
}

/* Where this rank's part begins in the longer buffer, in place. */
static uint64_t
part_at(const struct member *member, uint64_t width)
{
    return member->coll.rank * member->coll.count * width;
}

/* The buffers as the caller of the collective passes them. In place they are one, the
 * longer of the two; whoever has nothing to give or to get still has a buffer. */
static void
make_buffers(struct gang *gang, struct member *member)
{
    rondo_coll most = member->coll;
    const uint64_t shift = gang->job.seed % 3 == 0 ? 0 : member->coll.rank % 8 + 1;

    most.root = most.rank;
    const uint64_t in_bytes = rondo_coll_in_count(&most) * gang->width;
    const uint64_t out_bytes = rondo_coll_out_count(&most) * gang->width;
    if (!member->coll.in_place) {
        fence(&member->in, in_bytes, shift);
        fence(&member->out, out_bytes, shift);
        return;
    }
    fence(&member->out, in_bytes > out_bytes ? in_bytes : out_bytes, shift);
    member->in = (struct fenced){.data = member->out.data, .bytes = in_bytes};
    if (member->coll.kind == RONDO_COLL_ALL_GATHER) {
        member->in.data += part_at(member, gang->width);
    }
}

void *
gang_out(const struct gang *gang, uint32_t rank)
{
    const struct member *const member = &gang->members[rank];
    const bool inside =
        member->coll.in_place && member->coll.kind == RONDO_COLL_REDUCE_SCATTER;

    return member->out.data + (inside ? part_at(member, gang->width) : 0);
}

static bool
is_in_place(const gang_job *job, uint32_t rank)
{
    return job->place == GANG_IN_PLACE || (job->place == GANG_MIXED && rank % 2 == 1);
}

static rondo_status
make_plan(const struct gang *gang, struct member *member)
{
    rondo_schedule *schedule = NULL;
    rondo_status status = rondo_algo_build(gang->job.algo, &member->coll, &schedule);

    if (status == RONDO_OK) {
        status = rondo_plan_create(schedule, &member->plan);
    }
    if (status != RONDO_OK) {
        /* A plan that was not made leaves the schedule to us. */
        rondo_schedule_destroy(schedule);
    }
    return status;
}

static rondo_status
wrap(struct gang *gang, struct member *member)
{
    const gang_job *const job = &gang->job;
    const bool dies = job->kill_at != 0 && member->coll.rank != job->kill_rank;
    const rondo_fault_plan plan = {.seed = job->seed * 64 + member->coll.rank,
                                   .delay_percent = job->delay_percent,
                                   .delay_calls = 3,
                                   .kill_peer =
                                       dies ? job->kill_rank : RONDO_FAULT_NOBODY,
                                   .kill_at = job->kill_at};

    if (job->delay_percent == 0 && job->kill_at == 0) {
        return RONDO_OK;
    }
    const rondo_status status =
        rondo_fault_create(&plan, member->transport, job->nranks, &member->fault);
    if (status == RONDO_OK) {
        member->transport = member->fault;
    }
    return status;
}

static rondo_status
make_member(struct gang *gang, uint32_t rank)
{
    const gang_job *const job = &gang->job;
    struct member *const member = &gang->members[rank];

    member->coll = (rondo_coll){.kind = job->algo->kind,
                                .rank = rank,
                                .nranks = job->nranks,
                                .root = job->root,
                                .count = job->count,
                                .segment = job->segment,
                                .inner = job->inner,
                                .outer = job->outer,
                                .levels = job->levels,
                                .in_place = is_in_place(job, rank)};
    make_buffers(gang, member);
    member->input = zeroed(member->in.bytes);
    gang->peer_in[rank] = member->in.data;
    gang->peer_out[rank] = gang_out(gang, member->coll.rank);
    member->routes = zeroed(job->nranks * sizeof(rondo_transport *));
    member->transport = rondo_loopback_at(gang->world, rank);
    rondo_status status = wrap(gang, member);
    for (uint32_t peer = 0; peer < job->nranks; peer++) {
        member->routes[peer] = peer == rank ? NULL : member->transport;
    }
    return status == RONDO_OK ? make_plan(gang, member) : status;
}

rondo_status
gang_create(const gang_job *job, struct gang **made)
{
    struct gang *const gang =
        zeroed(sizeof(struct gang) + job->nranks * sizeof(struct member));
    const rondo_loopback_config config = {.nranks = job->nranks,
                                          .seed = job->seed,
                                          .busy_percent = job->busy_percent,
                                          .piece_bytes = job->piece_bytes,
                                          .unbuffered = job->unbuffered};

    gang->job = *job;
    gang->width = rondo_dtype_bytes(job->dtype);
    gang->random = job->seed;
    gang->peer_in = zeroed(job->nranks * sizeof(void *));
    gang->peer_out = zeroed(job->nranks * sizeof(void *));
    rondo_status status = rondo_loopback_create(&config, &gang->world);
    for (uint32_t rank = 0; status == RONDO_OK && rank < job->nranks; rank++) {
        status = make_member(gang, rank);
    }
    if (status != RONDO_OK) {
        gang_destroy(gang);
        return status;
    }
    *made = gang;
    return RONDO_OK;
}

void
gang_destroy(struct gang *gang)
{
    if (gang == NULL) {
        return;
    }
    for (uint32_t rank = 0; rank < gang->job.nranks; rank++) {
        struct member *const member = &gang->members[rank];

        rondo_plan_destroy(member->plan);
        if (member->fault != NULL) {
            member->fault->ops->destroy(member->fault);
        }
        free(member->in.block);
        free(member->out.block);
        free(member->input);
        free(member->routes);
    }
    rondo_loopback_destroy(gang->world);
    free(gang->peer_in);
    free(gang->peer_out);
    free(gang);
}

void
gang_fill(struct gang *gang, gang_value value)
{
    for (uint32_t rank = 0; rank < gang->job.nranks; rank++) {
        struct member *const member = &gang->members[rank];

        memset(member->out.data, GANG_PATTERN, member->out.bytes);
        for (uint64_t at = 0; at * gang->width < member->in.bytes; at++) {
            const uint64_t bits = value(gang->job.dtype, rank, at);
            memcpy((char *)member->input + at * gang->width, &bits, gang->width);
        }
        if (member->in.bytes > 0) {
            memcpy(member->in.data, member->input, member->in.bytes);
        }
    }
}

/* --- running ---------------------------------------------------------------------- */

/* What is passed for a buffer of `count` elements that the collective knows of. */
static void *
as_passed(const struct gang *gang, void *buffer, uint64_t count)
{
    return gang->job.null_spare && count == 0 ? NULL : buffer;
}

static rondo_status
start(struct gang *gang, struct member *member)
{
    void *const out = gang_out(gang, member->coll.rank);
    const rondo_binding binding = {
        .routes = member->routes,
        .lane = RONDO_LANE_COLL,
        .token = gang->runs * 1000 + 7,
        .dtype = gang->job.dtype,
        .op = gang->job.op,
        .in = as_passed(gang, member->in.data, rondo_coll_in_count(&member->coll)),
        .out = as_passed(gang, out, rondo_coll_out_count(&member->coll)),
        .peer_in = gang->peer_in,
        .peer_out = gang->peer_out,
        .signal_base = gang->runs * 100};

    return rondo_plan_start(member->plan, &binding);
}

/* Whether this rank is the one that dies. */
static bool
is_doomed(const struct gang *gang, uint32_t rank)
{
    return gang->job.kill_at != 0 && rank == gang->job.kill_rank;
}

static rondo_status
start_all(struct gang *gang)
{
    gang->runs++;
    for (uint32_t rank = 0; rank < gang->job.nranks; rank++) {
        struct member *const member = &gang->members[rank];
        const rondo_status status = start(gang, member);

        if (status != RONDO_OK) {
            return status;
        }
        member->status = RONDO_BUSY;
    }
    return RONDO_OK;
}

rondo_status
gang_run(struct gang *gang)
{
    const uint32_t nranks = gang->job.nranks;
    uint32_t left = gang->job.kill_at != 0 ? nranks - 1 : nranks;
    uint64_t polls_left = POLLS_MAX;
    rondo_status result = start_all(gang);

    for (uint64_t polls = 0; result == RONDO_OK && left > 0; polls++) {
        const uint32_t rank = (uint32_t)(draw(&gang->random) % nranks);
        struct member *const member = &gang->members[rank];
        const bool dead = is_doomed(gang, rank) && polls >= gang->job.kill_at * 2;

        if (polls_left-- == 0) {
            return gang->error != RONDO_OK ? gang->error : RONDO_ERR_TIMEOUT;
        }
        if (member->status != RONDO_BUSY || dead) {
            continue;
        }
        member->status = rondo_plan_poll(member->plan);
        left -= member->status == RONDO_BUSY || is_doomed(gang, rank) ? 0 : 1;
        if (member->status < RONDO_OK && gang->error == RONDO_OK) {
            /* The others get a while to notice; who waits for those that failed would
             * wait for ever. */
            gang->error = member->status;
            polls_left = UINT64_C(500) * nranks;
        }
    }
    return result != RONDO_OK ? result : gang->error;
}
