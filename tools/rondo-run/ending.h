/* ending.h - signals passed on, ranks that end, and ranks that must be made to end. */
#ifndef RONDO_RUN_ENDING_H
#define RONDO_RUN_ENDING_H

#include "job.h"

/* run_handle_signals - everything that has arrived, the end of ranks included. */
void
run_handle_signals(run_job *job);

/* run_handle_deadlines - the job's time-out and the steps of ending it. */
void
run_handle_deadlines(run_job *job);

/* run_end_now - SIGTERM to everybody, SIGKILL a little later. */
void
run_end_now(run_job *job);

#endif /* RONDO_RUN_ENDING_H */
