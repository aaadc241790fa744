/* served_inside.h - what served.c, all ranks together, and served_work.c, a worker by
 * itself, share. */
#ifndef TRAINER_MODES_SERVED_INSIDE_H
#define TRAINER_MODES_SERVED_INSIDE_H

#include "modes/served.h"

/* Where a worker's step is; a death may interrupt it anywhere. */
typedef enum served_phase { PHASE_COMPUTE, PHASE_PUSH, PHASE_PULL } served_phase;

typedef struct served {
    serving_rule rule;
    places where;
    serving *server; /* NULL on workers. */
    /* Of a worker: */
    rondo_client *client; /* NULL: it is done, or there has been no server yet. */
    bool done;            /* It has said goodbye. */
    float *gradient;      /* And the loss. */
    served_phase phase;
    bool pulled;       /* t->parameter is what the client last pulled. */
    bool late;         /* The gradient is given up. */
    bool cancels;      /* Gradients may be given up. */
    bool by_version;   /* Steps are versions. */
    double lost_since; /* No server lives; 0: one does. */
    double pull_least; /* Seconds of the shortest pull so far; 0: none yet. */
    rondo_client_stats stats;
} served;

/* Passes on what the client says about a failed call; always false. */
bool
served_fail(const served *w, rondo_status status, const char *what, problem *why);

/* Half a millisecond. */
void
served_pause(void);

/* True, with a problem, when the ranks are to meet in a new group: loop.c finds out. */
bool
served_called(const trainer *t, problem *why);

/* Until a server is at the door, or has been waited for too long; always false. */
bool
served_await(trainer *t, served *w, problem *why);

/* To t->parameter. */
TRAINER_MUST_USE bool
served_pull(trainer *t, served *w, problem *why);

/* What the client has counted; told to whoever keeps accounts. */
TRAINER_MUST_USE bool
served_note(trainer *t, served *w, problem *why);

/* This worker's steps, as the shards count them. */
uint64_t
served_steps(const served *w);

#endif
