/* failure.h - failures are printed where they are met and remembered for the exit code;
 * from there on a status other than RONDO_OK only means: stop. */
#ifndef PERF_FAILURE_H
#define PERF_FAILURE_H

#include "common/job.h"

/* PERF_FAILED - a call of the library failed: prints
 * `host: Test failure file:line 'NAME / text'` and returns `status`. A null `comm`: the
 * thread's last error is told. */
rondo_status
perf_failed_at(perf_job *job, const rondo_comm *comm, rondo_status status,
               const char *file, int line);
#define PERF_FAILED(job, comm, status) \
    perf_failed_at((job), (comm), (status), __FILE__, __LINE__)

/* perf_refuse - something that is no call of the library: prints the text after the
 * program's name, remembers `code`. Returns a status other than RONDO_OK. */
rondo_status
perf_refuse(perf_job *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* perf_refuse_together - the same where all ranks refuse alike, having the same facts:
 * one of them `speaks`, and they end without breaking each other's communicators, so
 * that all have the same exit code. */
rondo_status
perf_refuse_together(perf_job *job, bool speaks, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* perf_remember - `code` is the exit code unless there is one already. */
void
perf_remember(perf_job *job, int code);

/* perf_abort_all - break this process's communicators, so that nobody waits for us. Not
 * after perf_refuse_together. */
void
perf_abort_all(perf_job *job);

#endif /* PERF_FAILURE_H */
