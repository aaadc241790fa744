/* group_door.h - the door of a group (see group.h): what group.c needs of
 * group_door.c. */
#ifndef TRAINER_GROUP_DOOR_H
#define TRAINER_GROUP_DOOR_H

#include "group.h"

/* Channel of active messages that the door's news come on; all ranks keep it free. */
#define DOOR_CHANNEL 15u

/* A group to be made: who is in it, and by what they meet. */
typedef struct invitation {
    uint64_t generation;
    uint64_t at; /* Before which call of door_poll; 0: at once. */
    uint32_t names;
    uint32_t count;
    rondo_unique_id id;
    uint32_t *name_of; /* By rank; `count` of room for `names`. */
} invitation;

#define NEWS_MAGIC UINT64_C(0x31726f6f646f6472)

/* What goes before the names, on channel DOOR_CHANNEL; a greeting has no names, and
 * says in `generation` which name comes. */
typedef struct news {
    uint64_t magic;
    uint64_t generation;
    uint64_t at;
    uint32_t names;
    uint32_t count;
    rondo_unique_id id;
} news;

typedef enum door_state {
    DOOR_SHUT,  /* No ticket of ours. */
    DOOR_OPEN,  /* A ticket is out. */
    DOOR_GREET, /* One has come, and has not said its name. */
    DOOR_TELL   /* The group to be is known; not all have been told. */
} door_state;

struct group_door {
    const char *path;
    group *g; /* Whom news wake; NULL until it is known. */
    door_state state;
    rondo_unique_id ticket; /* The last one of ours. */
    rondo_comm *pair;       /* Rank 0: the keeper. */
    double since;           /* Of the state; clock_seconds. */
    bool greeted;
    uint32_t guest; /* Its name. */
    uint32_t told;  /* The guest, as rank 0; then ranks of the group from 1. */
    uint64_t polls; /* Since the group was made. */
    bool invited;   /* The invitation holds. */
    invitation to;
};

/* For so many names, with the ticket in the file `path`. */
TRAINER_MUST_USE bool
door_create(const char *path, uint32_t names, group_door **result, problem *why);
/* The ticket goes, if it is this rank's. NULL is allowed. */
void
door_destroy(group_door *d);

/* After each new communicator of g: listens for news on it. */
TRAINER_MUST_USE bool
door_listen(group *g, problem *why);

/* Keeps the door, where that is this rank's task; returns what is to be followed now,
 * or NULL. */
const invitation *
door_poll(group *g);

/* The news that came last, whether its time has come or not; NULL: none. */
const invitation *
door_news(const group_door *d);

/* What there was to follow was followed, or is in vain. */
void
door_forget(group_door *d);

/* From outside: by the ticket in `path` to an invitation for `name`, which is then
 * followed with door_enter. *d takes over where it succeeds. */
TRAINER_MUST_USE bool
door_knock(const char *path, uint32_t name, group_door **d, problem *why);

/* Starts the communicator that an invitation is for. */
rondo_status
door_enter(const invitation *to, uint32_t name, rondo_comm **comm);

/* --- between group_door.c and group_knock.c --------------------------------------- */

/* A communicator of the keeper, rank 0, and of whoever comes. */
rondo_status
door_pair(const rondo_unique_id *id, uint32_t rank, rondo_comm **pair);

/* Ends what there is with the one who comes. */
void
door_shut(group_door *d);

/* What was heard, if it makes sense. */
void
door_hear(group_door *d, const news *n, const void *names, size_t names_bytes);

#endif
