/* starting.h - brings all ranks of a job to life. */
#ifndef RONDO_RUN_STARTING_H
#define RONDO_RUN_STARTING_H

#include "job.h"

/* run_start_ranks - start them in order; on failure says so once, sets `start_error`
 * and leaves the rest unstarted. */
void
run_start_ranks(run_job *job);

#endif /* RONDO_RUN_STARTING_H */
