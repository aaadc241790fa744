/* fleet.h - on the launching side: the hosts of a job and the agents that reach
 * them. */
#ifndef RONDO_RUN_FLEET_H
#define RONDO_RUN_FLEET_H

#include "agent.h"
#include "hosts.h"
#include "job.h"

/* How far a host has come. */
typedef enum run_post_state {
    RUN_POST_CALLED,  /* its agent runs */
    RUN_POST_TOLD,    /* it has answered and got its order */
    RUN_POST_READY,   /* it could start */
    RUN_POST_WORKING, /* its ranks were started */
    RUN_POST_GONE     /* its agent has ended */
} run_post_state;

/* One host as the launching side sees it. */
typedef struct run_post {
    const run_host *host;
    const char *name;
    run_post_state state;
    run_agent agent;
    run_sink sink;      /* to it */
    run_reader reader;  /* from it */
    uint64_t untaken;   /* bytes of its output it does not know to be passed on */
    uint64_t silent_ns; /* when its output ended; 0: it has not */
    size_t words_length;
    char words[1024]; /* what the agent itself said and is not told yet */
} run_post;

typedef struct run_fleet {
    run_hosts hosts;
    run_post *posts;
    const char *remote; /* path of rondo-run there */
    const char *folder; /* to work in */
    uint32_t called;    /* agents started */
    uint32_t ready;
    uint32_t gone;
    bool closed[2]; /* the hosts know that stdout, stderr have no reader */
} run_fleet;

/* run_fleet_run - read the hosts file and run the job there; the exit code. */
int
run_fleet_run(run_options *options);

/* run_fleet_open - start the agents; on failure says so and sets `start_error`. */
void
run_fleet_open(run_job *job);

/* run_fleet_event - an agent's stream can be read or written. */
void
run_fleet_event(run_job *job, uint64_t tag);

/* run_fleet_turn - after the events of one turn: let hosts go on, judge what ended. */
void
run_fleet_turn(run_job *job);

/* run_fleet_note_child - an agent has ended. */
void
run_fleet_note_child(run_job *job, const siginfo_t *info);

/* run_fleet_alarm - job->alarm_ns has come: who has not answered? */
void
run_fleet_alarm(run_job *job);

/* run_fleet_signal - to the ranks on all hosts, or to their groups. */
void
run_fleet_signal(run_fleet *fleet, int number, bool group);

/* run_fleet_push - hosts end their ranks; agents of hosts that have none are ended. */
void
run_fleet_push(run_fleet *fleet, run_phase phase);

/* run_fleet_is_open - whether any agent still runs. */
bool
run_fleet_is_open(const run_fleet *fleet);

/* run_fleet_say_silent - "node1, node2: WHAT" of the hosts that are still there. */
void
run_fleet_say_silent(run_job *job, const char *what);

/* run_fleet_abandon - kill the agents that are left. */
void
run_fleet_abandon(run_fleet *fleet);

#endif /* RONDO_RUN_FLEET_H */
