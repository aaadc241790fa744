/* group.c - the ranks of a run that live, through deaths and returns (see group.h). */
#include "group.h"

#include "clock.h"
#include "group_door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds that the ranks of a group to be made wait for each other, */
#define RENEW_SECONDS 10.0
/* how long until those that are stuck in a call are called out of it, */
#define REVOKE_SECONDS 1.0
/* how long these then need to find the others, who are all there, */
#define LATE_SECONDS 2.0
/* and how long the group may still come about once a rank of the old one has died: if
 * any rank has it, all had arrived. */
#define GRACE_SECONDS 1.0
/* How long a rank tries to come back. */
#define RETURN_SECONDS 60.0

static void
forget_tables(group *g)
{
    free(g->name_of);
    free(g->rank_of);
    g->name_of = NULL;
    g->rank_of = NULL;
}

static bool
make_tables(group *g, problem *why)
{
    g->name_of = calloc(g->names, sizeof *g->name_of);
    g->rank_of = calloc(g->names, sizeof *g->rank_of);
    if (g->name_of == NULL || g->rank_of == NULL) {
        forget_tables(g);
        return problem_fail(why, "no memory for the names of %u ranks", g->names);
    }
    for (uint32_t rank = 0; rank < g->names; rank++) {
        g->name_of[rank] = rank;
    }
    return true;
}

/* Without memory it goes at once. */
static void
keep_former(group *g, rondo_comm *comm)
{
    rondo_comm **former =
        comm != NULL ? realloc(g->former, (g->formers + 1) * sizeof *former) : NULL;
    if (former == NULL) {
        rondo_comm_destroy(comm);
        return;
    }
    g->former = former;
    g->former[g->formers++] = comm;
}

void
group_settled(group *g)
{
    while (g->formers > 0) {
        rondo_comm_destroy(g->former[--g->formers]);
    }
    free(g->former);
    g->former = NULL;
}

/* From now on the group is `comm`, whose ranks name_of names already. */
static bool
move_to(group *g, rondo_comm *comm, uint64_t generation, problem *why)
{
    keep_former(g, g->all.comm);
    g->all = (ranks){
        .comm = comm, .rank = rondo_comm_rank(comm), .count = rondo_comm_nranks(comm)};
    g->generation = generation;
    memset(g->rank_of, 0xff, g->names * sizeof *g->rank_of);
    for (uint32_t rank = 0; rank < g->all.count; rank++) {
        g->rank_of[g->name_of[rank]] = rank;
    }
    g->name = g->name_of[g->all.rank];
    return g->door == NULL || door_listen(g, why);
}

/* --- an invitation ---------------------------------------------------------------- */

/* How long a rank waits for the others of a new group. */
typedef struct patience {
    rondo_comm *old; /* What deaths are seen on: the group before, or, from outside,
                      * what the invitation came by. */
    double start;
    double end;
    double died; /* When one was seen; 0: none was. */
    bool revoked;
} patience;

static bool
has_patience(patience *p)
{
    const double now = clock_seconds();
    const rondo_status status = rondo_comm_progress(p->old);
    if (p->died <= 0.0 && status == RONDO_ERR_PEER) {
        p->died = now;
    }
    if (!p->revoked && now - p->start > REVOKE_SECONDS) {
        /* A rank that had the news too late may wait for us, inside a call. */
        p->revoked = rondo_comm_revoke(p->old) == RONDO_OK;
    }
    return now < p->end && (p->died <= 0.0 || now - p->died < GRACE_SECONDS);
}

static rondo_status
follow(const invitation *to, uint32_t name, rondo_comm *old, rondo_comm **comm)
{
    rondo_comm *made = NULL;
    const double now = clock_seconds();
    const bool late = rondo_comm_state(old) != RONDO_OK;
    patience p = {
        .old = old, .start = now, .end = now + (late ? LATE_SECONDS : RENEW_SECONDS)};
    rondo_status status = door_enter(to, name, &made);
    if (status != RONDO_OK) {
        return status;
    }
    while ((status = rondo_comm_create_test(made)) == RONDO_BUSY && has_patience(&p)) {
        const struct timespec pause = {.tv_nsec = 200000};
        (void)nanosleep(&pause, NULL);
    }
    if (status != RONDO_OK) {
        rondo_comm_destroy(made);
        return status == RONDO_BUSY ? RONDO_ERR_TIMEOUT : status;
    }
    *comm = made;
    return RONDO_OK;
}

/* The rank that speaks of a change: the lowest of those that have seen it. */
static bool
speaks(const group *g, const uint32_t *before)
{
    uint32_t rank = 0;
    while (before[g->name_of[rank]] == UINT32_MAX) {
        rank++;
    }
    return rank == g->all.rank;
}

/* On who was not in the group before (by name: a rank, or UINT32_MAX) and is now, and
 * the other way round. */
static void
say_what_changed(const group *g, const uint32_t *before)
{
    for (uint32_t name = 0; name < g->names && speaks(g, before); name++) {
        const bool was = before[name] != UINT32_MAX;
        const bool is = g->rank_of[name] != UINT32_MAX;
        if (was && !is) {
            (void)fprintf(stderr, "rondo-train: rank %u is gone: %u of %u go on\n",
                          name, g->all.count, g->names);
        } else if (!was && is) {
            (void)fprintf(stderr, "rondo-train: rank %u is back: %u of %u\n", name,
                          g->all.count, g->names);
        }
    }
}

/* Into the group that the door's last news are about. */
static rondo_status
enter(group *g, problem *why)
{
    rondo_comm *comm = NULL;
    const invitation *to = door_news(g->door);
    rondo_comm *old = g->all.comm != NULL ? g->all.comm : g->door->pair;
    const rondo_status status = follow(to, g->name, old, &comm);
    if (status == RONDO_OK) {
        memcpy(g->name_of, to->name_of, to->count * sizeof *g->name_of);
        const uint64_t generation = to->generation;
        door_forget(g->door);
        if (!move_to(g, comm, generation, why)) {
            return RONDO_ERR_INTERNAL;
        }
    }
    return status;
}

/* --- join and leave --------------------------------------------------------------- */

static bool
join_by_environment(const char *door, group *g, problem *why)
{
    if (!ranks_join(&g->all, why)) {
        return false;
    }
    rondo_comm *comm = g->all.comm;
    g->names = g->all.count;
    g->all.comm = NULL;
    if (!make_tables(g, why) ||
        (door != NULL && !door_create(door, g->names, &g->door, why))) {
        g->all.comm = comm;
        return false;
    }
    return move_to(g, comm, 0, why);
}

static bool
read_name(uint32_t *name, problem *why)
{
    const char *text = getenv("RANK");
    char *end = NULL;
    const unsigned long value = text != NULL ? strtoul(text, &end, 10) : 0;
    if (text == NULL || end == text || *end != '\0' || value >= UINT32_MAX) {
        return problem_fail(why,
                            "--return with RANK=%s: RANK says which rank of the run "
                            "comes back",
                            text != NULL ? text : " (not set)");
    }
    *name = (uint32_t)value;
    return true;
}

/* The others may be in the middle of another change: then it is tried again. */
static bool
come_in(const char *door, group *g, problem *why)
{
    const double end = clock_seconds() + RETURN_SECONDS;
    rondo_status status = RONDO_ERR_START;
    while (status != RONDO_OK && clock_seconds() < end) {
        door_destroy(g->door);
        g->door = NULL;
        forget_tables(g);
        if (!door_knock(door, g->name, &g->door, why)) {
            return false;
        }
        g->names = door_news(g->door)->names;
        if (!make_tables(g, why)) {
            return false;
        }
        status = enter(g, why);
    }
    return status == RONDO_OK ||
           ranks_fail(&g->all, status, "coming back to the other ranks", why);
}

static bool
join_by_door(const char *door, group *g, problem *why)
{
    if (door == NULL) {
        return problem_usage(why, "--return without --door: a rank comes back by the "
                                  "ticket in the door's file");
    }
    g->returned = true;
    return read_name(&g->name, why) && come_in(door, g, why);
}

bool
group_join(const char *door, bool returning, group *result, problem *why)
{
    group g = {.door = NULL};
    const bool good =
        returning ? join_by_door(door, &g, why) : join_by_environment(door, &g, why);
    if (!good) {
        group_abandon(&g);
        return false;
    }
    *result = g;
    return true;
}

void
group_leave(group *g)
{
    door_destroy(g->door);
    g->door = NULL;
    group_settled(g);
    ranks_leave(&g->all);
    forget_tables(g);
}

void
group_abandon(group *g)
{
    if (g->all.comm != NULL) {
        ranks_abandon(&g->all);
    }
    group_leave(g);
}

/* --- recover and renew ------------------------------------------------------------ */

bool
group_broken(const group *g)
{
    return rondo_comm_state(g->all.comm) != RONDO_OK;
}

static bool
shrink(group *g, problem *why)
{
    rondo_comm *smaller = NULL;
    const rondo_status status = rondo_comm_shrink(g->all.comm, 0, &smaller);
    if (status != RONDO_OK) {
        return ranks_fail(&g->all, status, "going on with the ranks that live", why);
    }
    /* In place: a rank only ever moves down. */
    for (uint32_t rank = 0; rank < rondo_comm_nranks(smaller); rank++) {
        g->name_of[rank] = g->name_of[rondo_comm_former_rank(smaller, rank)];
    }
    return move_to(g, smaller, g->generation + 1, why);
}

/* With the ranks of before, for a sentence on who is missing and who is new. */
static bool
change(group *g, bool by_door, problem *why)
{
    uint32_t *before = calloc(g->names, sizeof *before);
    if (before == NULL) {
        return problem_fail(why, "no memory for the names of %u ranks", g->names);
    }
    memcpy(before, g->rank_of, g->names * sizeof *before);
    rondo_status status = RONDO_ERR_STATE;
    if (by_door) {
        status = enter(g, why);
    }
    bool good = status == RONDO_OK;
    if (!good) {
        if (g->door != NULL) {
            door_forget(g->door);
        }
        good = status != RONDO_ERR_INTERNAL && shrink(g, why);
    }
    if (good) {
        say_what_changed(g, before);
    }
    free(before);
    return good;
}

bool
group_recover(group *g, problem *why)
{
    /* Called out of a call, and not by a death, while news are there: the others wait
     * in the new group. */
    const bool by_door = g->door != NULL && door_news(g->door) != NULL &&
                         rondo_comm_state(g->all.comm) == RONDO_ERR_ABORTED;
    return change(g, by_door, why);
}

bool
group_renewal_due(group *g)
{
    return g->door != NULL && door_poll(g) != NULL;
}

bool
group_renew(group *g, problem *why)
{
    return change(g, true, why);
}
