/* progress.c - what a person sees while training runs (see progress.h). */
#include "progress.h"

#include "clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define LIVE_INTERVAL 0.2
#define LINE_INTERVAL 10.0

#define ERASE_LINE "\r\033[K"

static progress_style
choose_style(const options *o, uint32_t rank)
{
    if (rank != 0) {
        return PROGRESS_NONE;
    }
    if (o->quiet) {
        return PROGRESS_QUIET;
    }
    return isatty(STDERR_FILENO) ? PROGRESS_LIVE : PROGRESS_LINES;
}

progress
progress_create(const run_record *run, uint32_t rank)
{
    const uint64_t asked = run->o->steps;
    const bool early = asked > 0 && asked < run->steps;
    return (progress){.style = choose_style(run->o, rank),
                      .steps_end = early ? asked : run->steps,
                      .run = run};
}

static double
interval(const progress *p)
{
    return p->style == PROGRESS_LIVE ? LIVE_INTERVAL : LINE_INTERVAL;
}

void
progress_start(progress *p)
{
    p->start = clock_seconds();
    p->next = p->start + interval(p);
    if (p->style < PROGRESS_LINES) {
        return;
    }
    const run_record *run = p->run;
    (void)printf(
        "%u rank%s, mode %s%s: %" PRIu64 " parameters, %u images, "
        "global batch %u, %u steps an epoch, seed %" PRIu64 "\n",
        run->ranks, run->ranks == 1 ? "" : "s", options_mode_text(run->o->mode),
        run->o->canonical ? ", canonical" : "", run->net->parameters, run->train_images,
        run->global_batch, run->steps_per_epoch, run->o->seed);
    (void)fflush(stdout);
}

void
progress_step(progress *p, const step_record *r, double elapsed)
{
    if (p->style < PROGRESS_LINES) {
        return;
    }
    const double now = clock_seconds();
    if (now < p->next) {
        return;
    }
    p->next = now + interval(p);
    const run_record *run = p->run;
    const uint64_t done = r->step - (r->epoch - 1) * run->steps_per_epoch;
    const double images = (double)done * run->global_batch;
    const double left =
        (now - p->start) / (double)r->step * (double)(p->steps_end - r->step);
    const bool live = p->style == PROGRESS_LIVE;
    (void)fprintf(
        live ? stderr : stdout,
        "%sepoch %" PRIu64 "/%" PRIu64 "  %3.0f %%  %.0f images/s  loss %.4f  "
        "%.0f:%02.0f left%s",
        live ? ERASE_LINE : "", r->epoch, run->o->epochs,
        100.0 * (double)done / run->steps_per_epoch, images / elapsed, r->loss,
        (double)((uint64_t)left / 60), (double)((uint64_t)left % 60), live ? "" : "\n");
    (void)fflush(live ? stderr : stdout);
    p->line_open = live;
}

void
progress_end_line(progress *p)
{
    if (p->line_open) {
        (void)fputs(ERASE_LINE, stderr);
        (void)fflush(stderr);
        p->line_open = false;
    }
}

void
progress_epoch(progress *p, const epoch_record *r)
{
    if (p->style < PROGRESS_LINES) {
        return;
    }
    progress_end_line(p);
    (void)printf("epoch %" PRIu64 "/%" PRIu64 "  %.2f s  %.0f images/s  loss %.4f  "
                 "test accuracy %.2f %%\n",
                 r->epoch, p->run->o->epochs, r->seconds, r->images_second, r->loss,
                 100.0 * r->test_accuracy);
    (void)fflush(stdout);
}

void
progress_final(progress *p, const final_record *r)
{
    if (p->style == PROGRESS_NONE) {
        return;
    }
    progress_end_line(p);
    (void)printf("test accuracy %.2f %%  %.0f images/s  %.2f s of training, %.2f s in "
                 "all  parameters %016" PRIx64 "\n",
                 100.0 * r->test_accuracy, r->images_second, r->seconds,
                 r->total_seconds, r->hash);
    (void)fflush(stdout);
}
