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

/* The rank in t->all that draws: see trainer.reports. */
static uint32_t
drawer(const trainer *t)
{
    const group *g = t->group;
    uint32_t first = t->run.servers;
    while (g->rank_of[first] == UINT32_MAX && first + 1 < g->names) {
        first++;
    }
    return g->rank_of[first];
}

bool
trainer_reports_bind(trainer *t, problem *why)
{
    return status_bind(&t->status, t->all, drawer(t), why);
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
    const rank_record rank = {
        .rank = name, .started = started, .returned = o->returning};
    const bool good = t->reports
                          ? metrics_open(o->metrics, &t->metrics, why)
                          : metrics_open_beside(o->metrics, &rank, &t->metrics, why);
    if (!good || !status_create(t->workers, &t->status, why) ||
        !trainer_reports_bind(t, why)) {
        return false;
    }
    t->trace = trace_open(
        o->trace, o->trace_steps,
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
