/* job.h - the ranks of one job from start to end. */
#ifndef RONDO_RUN_JOB_H
#define RONDO_RUN_JOB_H

#include "environment.h"
#include "options.h"
#include "relay.h"

#include <signal.h>
#include <sys/types.h>

#define RUN_NO_RANK UINT32_MAX

typedef enum run_rank_state { RUN_NOT_STARTED, RUN_RUNNING, RUN_ENDED } run_rank_state;

typedef struct run_rank {
    pid_t pid;
    run_rank_state state;
    bool fresh;  /* ended in this turn of the loop */
    bool pushed; /* ended after rondo-run told it to */
    int code;    /* exit code, -1 if a signal ended it */
    int signal;  /* 0 if it exited */
    bool core;   /* left a core dump */
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

typedef struct run_job {
    const run_options *options;
    const char *path;
    run_environment environment;
    run_rank *ranks;
    uint32_t started;
    uint32_t running;
    bool leftovers; /* descendants that are no ranks may still run */
    int epoll;
    int signals;
    sigset_t caught;
    sigset_t mask; /* before rondo-run changed it */
    run_phase phase;
    uint64_t deadline_ns; /* of the phase; 0: none */
    uint64_t timeout_ns;  /* of the job; 0: none */
    uint64_t start_ns;
    uint32_t first;  /* the first rank that failed */
    int user_signal; /* the last ending signal rondo-run got */
    int start_error; /* exit code when not all ranks could be started */
    bool timed_out;
    bool relayed; /* --prefix */
    run_relay relay;
} run_job;

/* run_job_run - start the ranks, see them to their end, report; the exit code. */
int
run_job_run(const run_options *options, const char *path, uint32_t port);

/* run_now_ns - a clock that only moves forward. */
uint64_t
run_now_ns(void);

#endif /* RONDO_RUN_JOB_H */
