/* job.h - the ranks of one job from start to end. */
#ifndef RONDO_RUN_JOB_H
#define RONDO_RUN_JOB_H

#include "environment.h"
#include "frame.h"
#include "hosts.h"
#include "options.h"
#include "relay.h"

#include <signal.h>
#include <sys/types.h>

#define RUN_NO_RANK UINT32_MAX

typedef enum run_rank_state { RUN_NOT_STARTED, RUN_RUNNING, RUN_ENDED } run_rank_state;

typedef struct run_rank {
    pid_t pid;
    run_rank_state state;
    bool fresh;       /* ended in this turn of the loop */
    bool pushed;      /* ended after rondo-run told it to */
    int code;         /* exit code, -1 if a signal ended it */
    int signal;       /* 0 if it exited */
    bool core;        /* left a core dump */
    bool lost;        /* its host can no longer be asked how it ended */
    const char *host; /* its name; null: this one */
    uint64_t start_ns;
    uint64_t end_ns;
} run_rank;

/* What is done about ranks that should have ended; each step has its deadline. */
typedef enum run_phase {
    RUN_PHASE_WORK, /* nothing */
    RUN_PHASE_WAIT, /* they may end by themselves */
    RUN_PHASE_TERM, /* they got SIGTERM */
    RUN_PHASE_KILL, /* they got SIGKILL */
    RUN_PHASE_LOST, /* not even that helped */
} run_phase;

struct run_fleet;

/* One job, as one rondo-run sees it: all of it with its ranks as children; all of it
 * with the ranks on the hosts of a fleet; or one host's part of it, at the end of a
 * link to the rondo-run that has the fleet. */
typedef struct run_job {
    const run_options *options;
    const char *path; /* of the program */
    run_place place;
    struct run_fleet *fleet; /* the hosts; null: the ranks are ours */
    run_reader *link;        /* the launching side; null: there is none but us */
    run_environment environment;
    run_rank *ranks;
    uint32_t started;
    uint32_t running;
    bool leftovers; /* descendants that are no ranks, or agents, may still run */
    int epoll;
    int signals;
    sigset_t caught;
    sigset_t mask; /* before rondo-run changed it */
    run_phase phase;
    uint64_t deadline_ns; /* of the phase; 0: none */
    uint64_t timeout_ns;  /* of the job; 0: none */
    uint64_t alarm_ns;    /* of the fleet; 0: none */
    uint64_t start_ns;
    uint32_t first;  /* the first rank that failed */
    int user_signal; /* the last ending signal rondo-run got */
    int start_error; /* exit code when not all ranks could be started */
    bool timed_out;
    bool relayed; /* the ranks' output comes through us */
    run_relay relay;
} run_job;

/* What makes a job; `fleet` and `link` as in run_job. */
typedef struct run_task {
    const run_options *options;
    const char *path;
    run_place place;
    struct run_fleet *fleet;
    run_reader *link;
} run_task;

/* run_job_run - start the ranks, see them to their end, report; the exit code. */
int
run_job_run(const run_task *task);

/* run_now_ns - a clock that only moves forward. */
uint64_t
run_now_ns(void);

#endif /* RONDO_RUN_JOB_H */
