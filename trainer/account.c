/* account.c - what this worker's steps cost (see account.h). */
#include "account.h"

#include "clock.h"

#include <stdlib.h>
#include <string.h>

bool
account_create(const account_parts *parts, account *result, problem *why)
{
    const uint64_t every =
        parts->log_every < ACCOUNT_STEPS_MAX ? parts->log_every : ACCOUNT_STEPS_MAX;
    account a = {.spans = {.trace = parts->trace},
                 .metrics = parts->metrics,
                 .status = parts->status,
                 .log_every = every,
                 .now = {.worker = parts->worker, .staleness = -1.0}};
    if (every > 0) {
        a.step_seconds = calloc(every, sizeof *a.step_seconds);
        if (a.step_seconds == NULL) {
            return problem_fail(why, "no memory for the times of steps");
        }
    }
    *result = a;
    return true;
}

void
account_free(account *a)
{
    free(a->step_seconds);
    a->step_seconds = NULL;
}

void
account_version(account *a, uint64_t version)
{
    a->now.version = version;
}

void
account_staleness(account *a, uint64_t staleness)
{
    a->now.staleness = (double)staleness;
    a->staleness_sum += (double)staleness;
    a->staleness_count++;
}

void
account_bytes(account *a, double payload)
{
    a->bytes += payload;
}

void
account_step_begin(account *a, uint64_t step)
{
    spans_unwind(&a->spans, 0);
    span_begin(&a->spans, SPAN_STEP, step);
    a->step_began = a->spans.mark;
    memcpy(a->share_began, a->spans.total, sizeof a->share_began);
}

static bool
write_record(account *a, problem *why)
{
    const worker_record r = {.worker = a->now.worker,
                             .step = a->now.step,
                             .version = a->now.version,
                             .staleness =
                                 a->staleness_count > 0
                                     ? a->staleness_sum / (double)a->staleness_count
                                     : -1.0,
                             .images = a->now.images,
                             .loss = a->now.loss,
                             .elapsed = a->now.seconds,
                             .seconds = a->seconds,
                             .compute = a->share[SHARE_COMPUTE],
                             .communicate = a->share[SHARE_COMMUNICATE],
                             .wait = a->share[SHARE_WAIT],
                             .bytes = a->bytes - a->bytes_before,
                             .steps = a->steps,
                             .step_seconds = a->step_seconds};
    memset(a->share, 0, sizeof a->share);
    a->bytes_before = a->bytes;
    a->staleness_sum = 0.0;
    a->staleness_count = 0;
    a->seconds = 0.0;
    a->steps = 0;
    return metrics_worker(a->metrics, &r, why);
}

bool
account_step_end(account *a, const account_step *s, problem *why)
{
    spans_unwind(&a->spans, 0);
    const double seconds = a->spans.mark - a->step_began;
    double took[SPAN_SHARES];
    for (int i = 0; i < SPAN_SHARES; i++) {
        took[i] = a->spans.total[i] - a->share_began[i];
        a->share[i] += took[i];
    }
    a->now.step++;
    a->now.images += s->images;
    a->now.loss = s->loss;
    a->now.seconds += seconds;
    a->now.compute += took[SHARE_COMPUTE];
    a->now.communicate += took[SHARE_COMMUNICATE];
    a->now.wait += took[SHARE_WAIT];
    status_tell(a->status, &a->now);
    if (trace_step_done(a->spans.trace) && !trace_write(a->spans.trace, why)) {
        return false;
    }
    a->seconds += seconds;
    if (a->log_every == 0) {
        return true;
    }
    a->step_seconds[a->steps++] = seconds;
    return a->steps < a->log_every || write_record(a, why);
}

bool
account_finish(account *a, problem *why)
{
    spans_unwind(&a->spans, 0);
    a->now.finished = 1;
    if (a->status != NULL && a->now.worker < a->status->workers) {
        a->status->next = 0.0;
        status_tell(a->status, &a->now);
    }
    return (a->steps == 0 || write_record(a, why)) && trace_write(a->spans.trace, why);
}
