/* failure.c - one line on stderr, one exit code, and the other ranks set free. */
#include "common/failure.h"

#include "common/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int
exit_code_of(const perf_job *job, rondo_status status)
{
    /* With -T the ranks that were set free by another's time-out count like it. */
    if (status == RONDO_ERR_TIMEOUT || atomic_load(&job->timed_out) ||
        (status == RONDO_ERR_ABORTED && job->options->timeout_s > 0)) {
        return PERF_EXIT_TIMEOUT;
    }
    switch (status) {
    case RONDO_ERR_INTERNAL:
        return PERF_EXIT_INTERNAL;
    case RONDO_ERR_SYSTEM:
    case RONDO_ERR_MEMORY:
        return PERF_EXIT_SYSTEM;
    case RONDO_ERR_UNSUPPORTED:
        return PERF_EXIT_UNSUPPORTED;
    default:
        return PERF_EXIT_LIBRARY;
    }
}

void
perf_remember(perf_job *job, int code)
{
    pthread_mutex_lock(&job->lock);
    if (job->exit_code == PERF_EXIT_OK) {
        job->exit_code = code;
    }
    pthread_mutex_unlock(&job->lock);
}

rondo_status
perf_failed_at(perf_job *job, const rondo_comm *comm, rondo_status status,
               const char *file, int line)
{
    const char *text = comm != NULL ? rondo_comm_error_text(comm) : rondo_error_text();
    const char *name = strrchr(file, '/');
    char host[64];
    perf_host_name(host, sizeof(host));
    fprintf(stderr, "%s: Test failure %s:%d '%s / %s'\n", host,
            name != NULL ? name + 1 : file, line, rondo_status_name(status),
            text[0] != '\0' ? text : rondo_status_text(status));
    perf_remember(job, exit_code_of(job, status));
    return status;
}

__attribute__((format(printf, 2, 0))) static void
say(const perf_job *job, const char *format, va_list values)
{
    char text[512];
    vsnprintf(text, sizeof(text), format, values);
    fprintf(stderr, "%s: %s\n", job->collective->program, text);
}

rondo_status
perf_refuse(perf_job *job, int code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(job, format, values);
    va_end(values);
    perf_remember(job, code);
    return RONDO_ERR_STATE;
}

rondo_status
perf_refuse_together(perf_job *job, bool speaks, int code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (speaks) {
        say(job, format, values);
    }
    va_end(values);
    atomic_store(&job->agreed, true);
    perf_remember(job, code);
    return RONDO_ERR_STATE;
}

void
perf_abort_all(perf_job *job)
{
    if (atomic_load(&job->agreed)) {
        return;
    }
    pthread_mutex_lock(&job->lock);
    for (uint32_t i = 0; i < job->local_count; i++) {
        if (job->ranks[i].comm != NULL) {
            /* Nothing more can be done about a communicator that cannot be aborted. */
            (void)!rondo_comm_abort(job->ranks[i].comm);
        }
    }
    if (job->base != NULL) {
        (void)!rondo_comm_abort(job->base);
    }
    pthread_mutex_unlock(&job->lock);
}
