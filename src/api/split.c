/* split.c - new communicators out of an old one, whose ranks already know each
 * other. */
#include <stdio.h>
#include <string.h>

#include "api/create.h"
#include "api/part.h"
#include "base/alloc.h"
#include "base/config.h"

/* How long a split that failed waits for the reason its communicator may have. */
#define OWN_REASON_NS (UINT64_C(200) * RONDO_NS_PER_MS)

/* What each rank says about where it wants to go. */
typedef struct wish {
    int32_t color;
    int32_t key;
    rondo_reach reach; /* I may be rank 0 of my part */
} wish;

/* Ranks of `comm` with my colour, in their new order; returns how many. */
static uint32_t
choose_members(const rondo_comm *comm, const wish *wishes, uint32_t *members)
{
    uint32_t nmembers = 0;

    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (wishes[rank].color != wishes[comm->rank].color) {
            continue;
        }
        uint32_t place = nmembers++;
        /* Insertion keeps equal keys in the order of the old ranks. */
        while (place > 0 && wishes[members[place - 1]].key > wishes[rank].key) {
            members[place] = members[place - 1];
            place--;
        }
        members[place] = rank;
    }
    return nmembers;
}

/* Where `comm` breaks meanwhile, some members may have learnt of it before they knew
 * who they are, and do not come. */
static rondo_status
finish_part(rondo_comm *comm, rondo_comm *made)
{
    rondo_status status = rondo_comm_create_test(made);

    while (status == RONDO_BUSY && !rondo_board_broken(&comm->board)) {
        rondo_segment_wait(made->service, RONDO_NS_PER_MS / 10);
        status = rondo_comm_create_test(made);
    }
    return status == RONDO_BUSY ? rondo_comm_broken(comm) : status;
}

static rondo_status
make_part(rondo_comm *comm, const wish *wishes, const uint32_t *members,
          uint32_t nmembers, rondo_comm **part)
{
    const int32_t color = wishes[comm->rank].color;
    const uint64_t number = comm->splits << 32 | (uint32_t)color;
    char name[RONDO_COMM_NAME_MAX];
    uint64_t timeout_ms = 0;
    rondo_comm *made = NULL;

    (void)snprintf(name, sizeof name, "%.30s/%d", comm->name, color);
    rondo_status status = rondo_config_number(RONDO_CONFIG_START_TIMEOUT, 1,
                                              UINT64_C(1) << 40, &timeout_ms);
    const rondo_part wanted = {
        .name = name,
        .members = members,
        .nmembers = nmembers,
        .deadline_ns = rondo_deadline_ns(timeout_ms),
        .label = "split",
        .number = number,
    };
    if (status == RONDO_OK) {
        status = rondo_part_make(comm, &wanted, &made);
    }
    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < nmembers; i++) {
        made->hosts.reach[i] = wishes[members[i]].reach;
    }
    status = rondo_comm_map(made);
    if (status == RONDO_OK) {
        status = finish_part(comm, made);
    }
    if (status != RONDO_OK) {
        rondo_comm_destroy(made);
        return status;
    }
    *part = made;
    return RONDO_OK;
}

static rondo_status
split_by(rondo_comm *comm, const wish *wishes, uint32_t *members, rondo_comm **part)
{
    comm->splits++;
    if (wishes[comm->rank].color == RONDO_NO_COLOR) {
        *part = NULL;
        return RONDO_OK;
    }
    const uint32_t nmembers = choose_members(comm, wishes, members);
    return make_part(comm, wishes, members, nmembers, part);
}

/* A part that could not be made because a process died: `comm` itself learns of it
 * within moments, and names the rank as its callers know it. */
static rondo_status
prefer_own_reason(rondo_comm *comm, rondo_status status)
{
    const uint64_t until_ns = rondo_now_ns() + OWN_REASON_NS;
    const struct timespec pause = {.tv_nsec = (long)RONDO_NS_PER_MS};

    if (status != RONDO_ERR_PEER && status != RONDO_ERR_START) {
        return status;
    }
    while (rondo_comm_broken(comm) == RONDO_OK && rondo_now_ns() < until_ns) {
        (void)nanosleep(&pause, NULL);
    }
    return comm->status != RONDO_OK ? comm->status : status;
}

rondo_status
rondo_comm_split(rondo_comm *comm, int32_t color, int32_t key, rondo_comm **part)
{
    wish mine = {.color = color, .key = key};
    wish *wishes = NULL;
    uint32_t *members = NULL;

    rondo_status status = rondo_comm_usable(comm);
    if (status == RONDO_OK && part == NULL) {
        status = rondo_error(RONDO_ERR_ARG, "part is null");
    }
    if (status == RONDO_OK && color < RONDO_NO_COLOR) {
        status = rondo_error(RONDO_ERR_ARG,
                             "color is %d; allowed is 0 or more, or RONDO_NO_COLOR",
                             (int)color);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(comm->nranks * sizeof *wishes, (void **)&wishes);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(comm->nranks * sizeof *members, (void **)&members);
    }
    if (status == RONDO_OK) {
        status = comm->hosts.count > 1 ? rondo_comm_reach_open(comm) : RONDO_OK;
        mine.reach = comm->reach;
    }
    if (status == RONDO_OK) {
        status = rondo_all_gather(comm, &mine, wishes, sizeof mine, RONDO_UINT8);
    }
    if (status == RONDO_OK) {
        status = prefer_own_reason(comm, split_by(comm, wishes, members, part));
    }
    rondo_free(members);
    rondo_free(wishes);
    return status == RONDO_OK ? RONDO_OK : rondo_comm_fail(comm, "split", status);
}
