/* status_text.c - the workers' lines of the display (see status_write). */
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 160u

typedef struct standing {
    uint32_t worker;
    uint64_t behind; /* Steps behind the foremost. */
    double staleness;
    double wait;
} standing;

static bool
is_stuck(const status_worker *w)
{
    return w->gone || !w->known;
}

/* Those who hold up the others first: furthest behind, most stale; in lockstep it is
 * the slowest who waits least. */
static int
by_trouble(const void *left, const void *right)
{
    const standing *a = left;
    const standing *b = right;
    if (a->behind != b->behind) {
        return a->behind > b->behind ? -1 : 1;
    }
    if (a->staleness != b->staleness) {
        return a->staleness > b->staleness ? -1 : 1;
    }
    if (a->wait != b->wait) {
        return a->wait < b->wait ? -1 : 1;
    }
    return a->worker < b->worker ? -1 : a->worker > b->worker;
}

static int
by_number(const void *left, const void *right)
{
    const uint32_t a = ((const standing *)left)->worker;
    const uint32_t b = ((const standing *)right)->worker;
    return a < b ? -1 : a > b;
}

/* The `wanted` workers to show, in the order of their numbers. */
static void
choose(const status_board *s, uint32_t wanted, standing *list)
{
    uint64_t foremost = 0;
    for (uint32_t i = 0; i < s->workers; i++) {
        const uint64_t step = s->worker[i].last.step;
        foremost = step > foremost ? step : foremost;
    }
    for (uint32_t i = 0; i < s->workers; i++) {
        const status_worker *w = &s->worker[i];
        list[i] =
            (standing){.worker = i,
                       .behind = is_stuck(w) ? UINT64_MAX : foremost - w->last.step,
                       .staleness = w->last.staleness,
                       .wait = status_rates_of(w).wait};
    }
    if (wanted < s->workers) {
        qsort(list, s->workers, sizeof *list, by_trouble);
        qsort(list, wanted, sizeof *list, by_number);
    }
}

static void
write_worker(const status_board *s, uint32_t number, char line[LINE_MAX_BYTES])
{
    const status_worker *w = &s->worker[number];
    if (is_stuck(w)) {
        (void)snprintf(line, LINE_MAX_BYTES, "%6u  %s", number,
                       w->gone ? "gone" : "not heard of yet");
        return;
    }
    char stale[16] = "-";
    if (w->last.staleness >= 0.0) {
        (void)snprintf(stale, sizeof stale, "%.0f", w->last.staleness);
    }
    const status_rates r = status_rates_of(w);
    (void)snprintf(line, LINE_MAX_BYTES,
                   "%6u %9" PRIu64 " %9" PRIu64
                   " %5s %9.0f %5.0f %% %5.0f %% %5.0f %%  %.4f%s",
                   number, w->last.step, w->last.version, stale, r.images_second,
                   100.0 * r.compute, 100.0 * r.communicate, 100.0 * r.wait,
                   w->last.loss, w->last.finished != 0 ? "  done" : "");
}

typedef struct page {
    char *text;
    size_t bytes;
    size_t used;
    uint32_t columns;
    uint32_t lines;
} page;

static void
add_line(page *p, const char *line)
{
    size_t length = strlen(line);
    length = length < p->columns ? length : p->columns;
    if (p->used + length + 2 > p->bytes) {
        return;
    }
    memcpy(p->text + p->used, line, length);
    p->used += length;
    p->text[p->used++] = '\n';
    p->text[p->used] = '\0';
    p->lines++;
}

uint32_t
status_write(const status_board *s, status_size size, char *text, size_t bytes)
{
    page p = {.text = text, .bytes = bytes, .columns = size.columns};
    if (bytes > 0) {
        text[0] = '\0';
    }
    /* The heading, and a line for those that are left out. */
    if (size.rows < 3 || s->workers == 0) {
        return 0;
    }
    standing *list = calloc(s->workers, sizeof *list);
    if (list == NULL) {
        return 0; /* A display less, nothing worse. */
    }
    const bool all = s->workers + 1 <= size.rows;
    const uint32_t shown = all ? s->workers : size.rows - 2;
    choose(s, shown, list);
    add_line(&p, "worker      step   version stale  images/s compute    comm    wait  "
                 "loss");
    char line[LINE_MAX_BYTES];
    for (uint32_t i = 0; i < shown; i++) {
        write_worker(s, list[i].worker, line);
        add_line(&p, line);
    }
    if (!all) {
        (void)snprintf(line, sizeof line, "       and %u more, further ahead",
                       s->workers - shown);
        add_line(&p, line);
    }
    free(list);
    return p.lines;
}
