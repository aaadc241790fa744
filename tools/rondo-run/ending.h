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

/* run_signal_ranks - to each rank's whole group, or to the ranks alone. */
void
run_signal_ranks(const run_job *job, int number, bool group);

/* run_push - enter TERM or KILL: everything of the job gets that signal. */
void
run_push(run_job *job, run_phase phase);

/* run_note_end - a rank has ended, and how: by RUN_END of frame.h. Follow with
 * run_judge_ends when all that are known have been noted. */
void
run_note_end(run_job *job, uint32_t rank, uint32_t how);

/* run_note_lost - a rank's host is gone. */
void
run_note_lost(run_job *job, uint32_t rank);

/* run_judge_ends - what follows from ranks that have ended since the last time. */
void
run_judge_ends(run_job *job);

/* run_end_now - SIGTERM to everybody, SIGKILL a little later. */
void
run_end_now(run_job *job);

#endif /* RONDO_RUN_ENDING_H */
