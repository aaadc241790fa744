/* link.h - on a host: the job's connection to the rondo-run that launched it. */
#ifndef RONDO_RUN_LINK_H
#define RONDO_RUN_LINK_H

#include "job.h"

/* run_link_open - listen to the launching side; false with errno. */
bool
run_link_open(run_job *job);

/* run_link_begin - tell which ranks were born or why they were not, and take what has
 * arrived already. */
void
run_link_begin(run_job *job);

/* run_link_put - say something to the launching side. */
void
run_link_put(run_job *job, const run_frame *frame);

/* run_link_event - it has said something, or it has gone: then the ranks must, too. */
void
run_link_event(run_job *job);

/* run_link_report - how ranks have ended since the last time. */
void
run_link_report(run_job *job);

#endif /* RONDO_RUN_LINK_H */
