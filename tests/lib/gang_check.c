/* gang_check.c - the naive result of a collective, and whether a gang has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "exec/kernels_tables.h"
#include "lib/gang_parts.h"

uint64_t
gang_out_bytes(const struct gang *gang, uint32_t rank)
{
    return rondo_coll_out_count(&gang->members[rank].coll) * gang->width;
}

rondo_status
gang_status(const struct gang *gang, uint32_t rank)
{
    return gang->members[rank].status;
}

const rondo_plan *
gang_plan(const struct gang *gang, uint32_t rank)
{
    return gang->members[rank].plan;
}

/* --- the naive result ------------------------------------------------------------- */

/* One rank after the other, all elements. */
static void
reduce_all(const struct gang *gang, unsigned char *sum)
{
    const gang_job *const job = &gang->job;
    const uint64_t bytes = gang->members[0].in.bytes;
    const rondo_op partial = job->op == RONDO_AVG ? RONDO_SUM : job->op;

    memcpy(sum, gang->members[0].input, bytes);
    for (uint32_t rank = 1; rank < job->nranks; rank++) {
        const rondo_op op = rank + 1 == job->nranks ? job->op : partial;

        rondo_kernels_plain[job->dtype][op](sum, sum, gang->members[rank].input,
                                            bytes / gang->width, job->nranks);
    }
}

static void
gather_all(const struct gang *gang, unsigned char *all)
{
    for (uint32_t rank = 0; rank < gang->job.nranks; rank++) {
        const uint64_t bytes = gang->members[rank].in.bytes;

        memcpy(all + rank * bytes, gang->members[rank].input, bytes);
    }
}

/* What all ranks together should have; `*each` is what lies between one rank's part and
 * the next one's. */
static unsigned char *
naive(const struct gang *gang, uint64_t *each)
{
    const rondo_coll_kind kind = gang->job.algo->kind;
    const uint64_t bytes = gang->members[0].in.bytes;
    unsigned char *const wanted = calloc(gang->job.nranks, bytes == 0 ? 1 : bytes);

    assert_true(wanted != NULL);

    *each = kind == RONDO_COLL_REDUCE_SCATTER ? gang->job.count * gang->width : 0;
    if (bytes == 0) {
        return wanted;
    }
    if (kind == RONDO_COLL_ALL_GATHER) {
        gather_all(gang, wanted);
    } else if (kind == RONDO_COLL_BROADCAST) {
        memcpy(wanted, gang->members[gang->job.root].input, bytes);
    } else {
        reduce_all(gang, wanted);
    }
    return wanted;
}

static bool
fence_whole(const struct fenced *fenced)
{
    for (const unsigned char *at = fenced->block;
         at < fenced->block + fenced->block_bytes; at++) {
        const bool outside = at < fenced->data || at >= fenced->data + fenced->bytes;

        if (outside && *at != GANG_PATTERN) {
            return false;
        }
    }
    return true;
}

static bool
wrong(const struct member *member, const char *what)
{
    print_error("%s: rank %u of %u, count %llu, segment %llu, root %u%s: %s\n",
                rondo_coll_text(member->coll.kind), member->coll.rank,
                member->coll.nranks, (unsigned long long)member->coll.count,
                (unsigned long long)member->coll.segment, member->coll.root,
                member->coll.in_place ? ", in place" : "", what);
    return false;
}

/* The input of a rank that is in place may have become the result, unless it gets
 * none. */
static bool
input_kept(const struct member *member)
{
    const bool gets_none = rondo_coll_out_count(&member->coll) == 0;

    if (member->in.bytes == 0 || (member->coll.in_place && !gets_none)) {
        return true;
    }
    return memcmp(member->in.data, member->input, member->in.bytes) == 0;
}

/* Where nothing is to be put nothing was put. */
static bool
output_kept(const struct member *member)
{
    if (rondo_coll_out_count(&member->coll) > 0 || member->coll.in_place) {
        return true;
    }
    for (uint64_t at = 0; at < member->out.bytes; at++) {
        if (member->out.data[at] != GANG_PATTERN) {
            return false;
        }
    }
    return true;
}

static bool
member_right(const struct gang *gang, const struct member *member,
             const unsigned char *wanted)
{
    const uint64_t bytes = gang_out_bytes(gang, member->coll.rank);

    if (bytes > 0 && memcmp(gang_out(gang, member->coll.rank), wanted, bytes) != 0) {
        return wrong(member, "the result is wrong");
    }
    if (!input_kept(member)) {
        return wrong(member, "the input has changed");
    }
    if (!output_kept(member)) {
        return wrong(member, "a buffer was touched that gets nothing");
    }
    if (!fence_whole(&member->out) ||
        (member->in.block != NULL && !fence_whole(&member->in))) {
        return wrong(member, "something was written beside a buffer");
    }
    return true;
}

bool
gang_right(const struct gang *gang)
{
    uint64_t each = 0;
    bool right = true;
    unsigned char *const wanted = naive(gang, &each);

    for (uint32_t rank = 0; right && rank < gang->job.nranks; rank++) {
        right = member_right(gang, &gang->members[rank], wanted + rank * each);
    }
    free(wanted);
    if (right && !rondo_loopback_idle(gang->world)) {
        return wrong(&gang->members[0], "a message was never taken");
    }
    return right;
}

/* --- values ----------------------------------------------------------------------- */

uint64_t
gang_whole(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    const uint64_t mixed = rondo_hash_mix(at * 1024 + rank + 1);
    /* Products of a few twos and many ones stay whole in 8 bits of significand. */
    const uint32_t small = mixed % 5 == 0 && rank < 6 ? 2 : 1;
    const float single = (float)small;
    const double twice = (double)small;
    uint64_t bits = small;

    switch (dtype) {
    case RONDO_FP16:
        return small == 2 ? 0x4000 : 0x3c00;
    case RONDO_BF16:
        return small == 2 ? 0x4000 : 0x3f80;
    case RONDO_FP32:
        bits = 0;
        memcpy(&bits, &single, sizeof single);
        return bits;
    case RONDO_FP64:
        memcpy(&bits, &twice, sizeof twice);
        return bits;
    default:
        return mixed; /* integers wrap alike in any order */
    }
}

uint64_t
gang_any(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    const uint64_t mixed = rondo_hash_mix(at * 1024 + rank + 1);

    switch (dtype) {
    case RONDO_FP16:
        return (mixed & 0x83ff) | (13 + mixed / 65536 % 4) << 10;
    case RONDO_BF16:
        return (mixed & 0x807f) | (120 + mixed / 65536 % 12) << 7;
    case RONDO_FP32:
        return (mixed & 0x807fffff) | (120 + (mixed >> 40) % 12) << 23;
    case RONDO_FP64:
        return (mixed & UINT64_C(0x800fffffffffffff)) | (1018 + mixed / 64 % 8) << 52;
    default:
        return mixed;
    }
}
