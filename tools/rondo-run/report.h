/* report.h - what rondo-run says about its job, and the exit code that follows. */
#ifndef RONDO_RUN_REPORT_H
#define RONDO_RUN_REPORT_H

#include "job.h"

/* run_say - one line on stderr, after "rondo-run: ". */
void
run_say(run_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* run_say_failure - which rank failed and how. */
void
run_say_failure(run_job *job, uint32_t rank);

/* run_list_running - "rank 3", "ranks 0-2, 5": those that have not ended. */
void
run_list_running(const run_job *job, char *text, size_t text_size);

/* run_report_end - how the others ended after the first failure; with --json the line
 * for programs. */
void
run_report_end(run_job *job);

/* run_exit_code - of the whole job. */
int
run_exit_code(const run_job *job);

#endif /* RONDO_RUN_REPORT_H */
