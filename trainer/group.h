/* group.h - the ranks of a run that live: what they are called when some die and others
 * come back. A rank's name is the rank it had at the start; workers and shards of
 * parameters are numbered by names, so they keep their numbers.
 *
 * Death: any call on the communicator fails; group_recover then makes a new one of the
 * living (rondo_comm_shrink). Return: the lowest living rank keeps a door open, a
 * ticket in a file (--door FILE, readable by its owner only) by which a restarted rank
 * meets it; all are then told, and group_renew makes a new communicator of all.
 */
#ifndef TRAINER_GROUP_H
#define TRAINER_GROUP_H

#include "ranks.h"

typedef struct group_door group_door;

typedef struct group {
    ranks all;           /* The living: communicator, rank in it, how many. */
    uint32_t name;       /* This rank's. */
    uint32_t names;      /* How many ranks the run started with. */
    uint32_t *name_of;   /* By rank of all: its name. */
    uint32_t *rank_of;   /* By name: its rank in all, UINT32_MAX if it is gone. */
    uint64_t generation; /* Communicators so far, from 0. */
    group_door *door;    /* NULL: nobody can come back. */
    bool returned;       /* This process came in by the door. */
    rondo_comm **former; /* Communicators before this one that still exist. */
    uint32_t formers;
    /* Set by whoever uses the group: */
    bool lockstep;            /* Ranks take step k together, and ask
                               * group_renewal_due once before each: then all are told
                               * to renew before the same one. */
    void (*wake)(void *user); /* When the news comes that a rank is back, inside some
                               * call on the communicator; NULL: nothing. */
    void *wake_user;
} group;

/* Joins by the environment. With `returning`, by the ticket at the door instead, under
 * the name that RANK says. `door` NULL: none. */
TRAINER_MUST_USE bool
group_join(const char *door, bool returning, group *result, problem *why);

/* Whether the communicator is broken, which group_recover may mend: a rank has died, or
 * another has begun to recover. */
bool
group_broken(const group *g);

/* All living ranks: a communicator without the dead. The old one is of no use any more,
 * but still there until group_settled, for what was made on it to be destroyed. Says on
 * the standard error who is missing. */
TRAINER_MUST_USE bool
group_recover(group *g, problem *why);

/* Nothing is left of the former communicators: they go. */
void
group_settled(group *g);

/* Between steps, cheap: true when a rank is to be taken in, and group_renew is due; all
 * ranks get to know within moments. group_renew is called by all. A rank that dies
 * meanwhile ends in a recovery: the group is then without it, and perhaps without the
 * one that was coming. */
bool
group_renewal_due(group *g);
TRAINER_MUST_USE bool
group_renew(group *g, problem *why);

/* As ranks_leave and ranks_abandon. */
void
group_leave(group *g);
void
group_abandon(group *g);

#endif
