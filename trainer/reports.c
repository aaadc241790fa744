/* reports.c - all that a run tells while it trains, set up and ended: metrics, display,
 * trace. */
#include "trainer.h"

#include <time.h>

/* The same on all ranks: when the last of them came here. A process that has been
 * started again comes alone. */
static bool
agree_start(const trainer *t, double *started, problem *why)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    double last = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (!t->o->returning && !ranks_largest(t->all, &last, why)) {
        return false;
    }
    *started = last;
    return true;
}

/* Who lives, by the names of ranks. */
static void
mark_living(trainer *t)
{
    for (uint32_t worker = 0; worker < t->workers; worker++) {
        const bool gone = t->group->rank_of[t->run.servers + worker] == UINT32_MAX;
        if (gone) {
            status_gone(&t->status, worker);
        } else if (t->status.worker[worker].gone) {
            status_back(&t->status, worker);
        }
    }
}

bool
trainer_reports_bind(trainer *t, problem *why)
{
    mark_living(t);
    if (!t->reports) {
        metrics_follow(&t->metrics);
        progress_stop(&t->progress);
    }
    return status_bind(&t->status, t->all, t->reporter, why);
}

static bool
open_metrics(trainer *t, const rank_record *rank, problem *why)
{
    const char *path = t->o->metrics;
    if (!t->reports) {
        return metrics_open_beside(path, rank, &t->metrics, why);
    }
    return rank->returned ? metrics_reopen(path, &t->metrics, why)
                          : metrics_open(path, &t->metrics, why);
}

bool
trainer_reports_open(trainer *t, problem *why)
{
    const options *o = t->o;
    const uint32_t name = t->group->name;
    double started = 0.0;
    if (!agree_start(t, &started, why)) {
        return false;
    }
    t->run.started = started;
    t->run.servers = (uint32_t)o->servers;
    /* After a checkpoint the files go on, as after a return. */
    const rank_record rank = {
        .rank = name, .started = started, .returned = o->returning || t->saved > 0};
    if (!open_metrics(t, &rank, why) || !status_create(t->workers, &t->status, why) ||
        !trainer_reports_bind(t, why)) {
        return false;
    }
    /* A server makes an update for each worker's step. */
    const uint64_t traced = o->trace_steps * (t->worker == NO_WORKER ? t->workers : 1);
    t->trace = trace_open(
        o->trace, traced,
        &(trace_owner){.rank = name, .leads = t->reports, .started = started});
    const account_parts parts = {.worker = t->worker,
                                 .log_every = o->log_every,
                                 .metrics = &t->metrics,
                                 .status = &t->status,
                                 .trace = &t->trace};
    if (!account_create(&parts, &t->account, why)) {
        return false;
    }
    t->t.spans = &t->account.spans;
    t->progress = progress_create(&t->run, &t->status, t->reports);
    return metrics_run(&t->metrics, &t->run, why);
}

void
trainer_reports_free(trainer *t)
{
    progress_end_line(&t->progress);
    account_free(&t->account);
    trace_free(&t->trace);
    status_free(&t->status);
    metrics_close(&t->metrics);
}
