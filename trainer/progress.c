/* progress.c - what a person sees while training runs (see progress.h). */
#include "progress.h"

#include "clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LIVE_INTERVAL 0.2
#define LINE_INTERVAL 10.0

#define TOTAL_BYTES   200u
#define WORKERS_BYTES 32768u

static progress_style
choose_style(const options *o, bool draws)
{
    if (!draws) {
        return PROGRESS_NONE;
    }
    if (o->quiet || o->status == STATUS_NONE) {
        return PROGRESS_QUIET;
    }
    if (o->status == STATUS_AUTO) {
        return isatty(STDERR_FILENO) ? PROGRESS_LIVE : PROGRESS_LINES;
    }
    return o->status == STATUS_LIVE ? PROGRESS_LIVE : PROGRESS_LINES;
}

progress
progress_create(const run_record *run, const status_board *status, bool draws)
{
    const uint64_t asked = run->o->steps;
    const bool early = asked > 0 && asked < run->steps;
    return (progress){.style = choose_style(run->o, draws),
                      .steps_end = early ? asked : run->steps,
                      .accuracy = -1.0,
                      .start = clock_seconds(),
                      .run = run,
                      .status = status};
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

/* Of all workers together: as they told, else as if all were as fast as this one. */
static double
images_second(const progress *p, double mine)
{
    double sum = 0.0;
    uint32_t known = 0;
    const status_board *s = p->status;
    for (uint32_t i = 0; s != NULL && i < s->workers; i++) {
        const status_worker *w = &s->worker[i];
        const bool works = w->known && !w->gone && w->last.finished == 0;
        sum += works ? status_rates_of(w).images_second : 0.0;
        known += works;
    }
    return known > 1 ? sum : mine;
}

/* The line of all workers. */
static void
write_total(const progress *p, const step_record *r, double elapsed,
            char text[TOTAL_BYTES])
{
    const run_record *run = p->run;
    const uint64_t done = r->step - (r->epoch - 1) * run->steps_per_epoch;
    const double images = (double)done * run->global_batch;
    const uint64_t left =
        (uint64_t)((clock_seconds() - p->start) / (double)(r->step - p->before) *
                   (double)(p->steps_end - r->step));
    char accuracy[32] = "";
    if (p->accuracy >= 0.0) {
        (void)snprintf(accuracy, sizeof accuracy, "test %.2f %%  ",
                       100.0 * p->accuracy);
    }
    (void)snprintf(
        text, TOTAL_BYTES,
        "epoch %" PRIu64 "/%" PRIu64 "  %3.0f %%  %.0f images/s  loss %.4f  %s%" PRIu64
        ":%02" PRIu64 " left",
        r->epoch, run->o->epochs, 100.0 * (double)done / run->steps_per_epoch,
        images_second(p, images / elapsed), r->loss, accuracy, left / 60, left % 60);
}

static status_size
terminal(void)
{
    struct winsize w = {.ws_row = 0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row == 0 || w.ws_col == 0) {
        return (status_size){.rows = 24, .columns = 80};
    }
    return (status_size){.rows = w.ws_row, .columns = w.ws_col};
}

/* To the first of the live lines. */
static void
go_up(const progress *p)
{
    (void)fputc('\r', stderr);
    if (p->lines > 1) {
        (void)fprintf(stderr, "\033[%uA", p->lines - 1);
    }
}

static void
draw(progress *p, const char *total)
{
    const status_size size = terminal();
    static char text[WORKERS_BYTES];
    uint32_t lines = 0;
    /* One worker needs no list. A terminal scrolls when its last line is full. */
    if (p->status != NULL && p->status->workers > 1) {
        const status_size room = {.rows = size.rows - 1, .columns = size.columns - 1};
        lines = status_write(p->status, room, text, sizeof text);
    }
    go_up(p);
    const char *line = text;
    for (uint32_t i = 0; i < lines; i++) {
        const char *end = strchr(line, '\n');
        (void)fprintf(stderr, "\033[K%.*s\n", (int)(end - line), line);
        line = end + 1;
    }
    (void)fprintf(stderr, "\033[K%.*s", (int)size.columns - 1, total);
    if (p->lines > lines + 1) {
        (void)fputs("\033[J", stderr); /* There were more lines before. */
    }
    (void)fflush(stderr);
    p->lines = lines + 1;
}

void
progress_step(progress *p, const step_record *r, double elapsed)
{
    if (p->style < PROGRESS_LINES) {
        return;
    }
    /* A run that is resumed starts in the middle; a step that is made again, after a
     * death, too. */
    if (!p->counting || r->step <= p->before) {
        p->before = r->step - 1;
        p->counting = true;
    }
    const double now = clock_seconds();
    if (now < p->next) {
        return;
    }
    p->next = now + interval(p);
    char total[TOTAL_BYTES];
    write_total(p, r, elapsed, total);
    if (p->style == PROGRESS_LIVE) {
        draw(p, total);
    } else {
        (void)printf("%s\n", total);
        (void)fflush(stdout);
    }
}

void
progress_stop(progress *p)
{
    progress_end_line(p);
    p->style = PROGRESS_NONE;
}

void
progress_end_line(progress *p)
{
    if (p->lines > 0) {
        go_up(p);
        (void)fputs(p->lines > 1 ? "\033[J" : "\033[K", stderr);
        (void)fflush(stderr);
        p->lines = 0;
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
    p->accuracy = r->test_accuracy;
}

/* What servers did with gradients. */
static void
tell_of_servers(const final_record *r)
{
    const server_record *s = r->server;
    const uint64_t used = r->gradients.used;
    (void)printf("gradients: %" PRIu64 " begun, %" PRIu64 " used, %" PRIu64
                 " dropped, %" PRIu64 " given up; staleness %.2f, at most %" PRIu64
                 "; workers at most %" PRIu64 " steps apart\n",
                 s->pushes + s->given_up, used, r->gradients.dropped, s->given_up,
                 used > 0 ? (double)s->staleness_sum / (double)used : 0.0,
                 s->staleness_largest, s->spread);
}

void
progress_final(progress *p, const final_record *r)
{
    if (p->style == PROGRESS_NONE) {
        return;
    }
    progress_end_line(p);
    if (r->server != NULL && p->style != PROGRESS_QUIET) {
        tell_of_servers(r);
    }
    (void)printf("test accuracy %.2f %%  %.0f images/s  %.2f s of training, %.2f s in "
                 "all  parameters %016" PRIx64 "\n",
                 100.0 * r->test_accuracy, r->images_second, r->seconds,
                 r->total_seconds, r->hash);
    (void)fflush(stdout);
}
