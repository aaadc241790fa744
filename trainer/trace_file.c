/* trace_file.c - the files of a timeline (see trace.h): JSON as chrome://tracing and
 * Perfetto read it, an event a line. */
#include "trace.h"

#include "files.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define US 1e6

static const char *const lane_texts[LANES] = {
    [LANE_MAIN] = "rank", [LANE_EXCHANGE] = "exchange"};

static bool
is_indexed(span_kind kind)
{
    return kind == SPAN_STEP || kind == SPAN_BACKWARD || kind == SPAN_EXCHANGE;
}

/* Times in the file start near 0 and are never below it. */
static double
since_origin(const trace *t, double seconds)
{
    return fmax(0.0, seconds - t->origin) * US;
}

static void
write_event(const trace *t, const trace_event *e, FILE *file)
{
    static const char *const share_texts[SPAN_SHARES] = {"compute", "communicate",
                                                         "wait"};
    char name[48];
    if (is_indexed(e->kind)) {
        (void)snprintf(name, sizeof name, "%s %" PRIu64, span_text(e->kind), e->index);
    } else {
        (void)snprintf(name, sizeof name, "%s", span_text(e->kind));
    }
    const double began = since_origin(t, e->began);
    const double ended = since_origin(t, e->ended);
    (void)fprintf(file,
                  "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%d,"
                  "\"ts\":%.3f,\"dur\":%.3f},\n",
                  name, share_texts[span_share_of(e->kind)], e->rank, (int)e->lane,
                  began, ended - began);
}

static void
write_names(uint32_t rank, FILE *file)
{
    (void)fprintf(file,
                  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,"
                  "\"args\":{\"name\":\"rank %u\"}}",
                  rank, rank);
    for (int lane = 0; lane < LANES; lane++) {
        (void)fprintf(file,
                      ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,"
                      "\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
                      rank, lane, lane_texts[lane]);
    }
}

static int
by_time(const void *left, const void *right)
{
    const trace_event *a = left;
    const trace_event *b = right;
    if (a->began != b->began) {
        return a->began < b->began ? -1 : 1;
    }
    /* What is outside first. */
    return a->ended > b->ended ? -1 : a->ended < b->ended;
}

static void
write_all(const trace *t, FILE *file)
{
    uint32_t ranks_end = t->rank + 1;
    for (size_t i = 0; i < t->count; i++) {
        const uint32_t rank = t->event[i].rank;
        ranks_end = rank < ranks_end ? ranks_end : rank + 1;
    }
    (void)fprintf(file,
                  "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"started\":%.6f},\n"
                  "\"traceEvents\":[\n",
                  t->started);
    for (size_t i = 0; i < t->count; i++) {
        write_event(t, &t->event[i], file);
    }
    for (uint32_t rank = t->started > 0.0 ? t->rank : 0; rank < ranks_end; rank++) {
        write_names(rank, file);
        (void)fputs(rank + 1 < ranks_end ? ",\n" : "\n", file);
    }
    (void)fputs("]}\n", file);
}

bool
trace_write(trace *t, problem *why)
{
    if (t == NULL || t->wanted == NULL || t->written) {
        return true;
    }
    char beside[PATH_MAX];
    const char *path = t->leads ? t->wanted : beside;
    if (!files_beside(t->wanted, t->rank, beside)) {
        return problem_fail(why, "--trace %s: too long a name", t->wanted);
    }
    t->written = true;
    if (!t->leads && !files_plain(t->wanted)) {
        return true; /* A device: there is nothing beside it. */
    }
    if (t->count > 0) {
        qsort(t->event, t->count, sizeof *t->event, by_time);
    }
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return problem_fail(why, "--trace %s: %s", path, strerror(errno));
    }
    errno = 0;
    write_all(t, file);
    const bool good = ferror(file) == 0;
    const int said = errno;
    if (fclose(file) != 0 || !good) {
        return problem_fail(why, "--trace %s: %s", path,
                            strerror(said != 0 ? said : errno));
    }
    return true;
}

/* --- merging --------------------------------------------------------------------- */

/* Of another run, or not there: another host has it, or its rank has died. */
static json_t *
load_part(const trace *t, const char *path)
{
    json_t *part = json_load_file(path, 0, NULL);
    const double started = json_number_value(
        json_object_get(json_object_get(part, "otherData"), "started"));
    if (fabs(started - t->started) > 1e-5) {
        json_decref(part);
        return NULL;
    }
    return part;
}

/* Adds the events of a rank's file; true if there was one. */
static bool
take_part(const trace *t, const char *path, json_t *events)
{
    json_t *part = load_part(t, path);
    const bool taken =
        part != NULL &&
        json_array_extend(events, json_object_get(part, "traceEvents")) == 0;
    json_decref(part);
    return taken;
}

static bool
save(const trace *t, json_t *events, problem *why)
{
    json_t *whole = json_pack("{ss s{sf} sO}", "displayTimeUnit", "ms", "otherData",
                              "started", t->started, "traceEvents", events);
    const bool good =
        whole != NULL &&
        json_dump_file(whole, t->wanted, JSON_COMPACT | JSON_REAL_PRECISION(16)) == 0;
    json_decref(whole);
    return good || problem_fail(why, "--trace %s: cannot write", t->wanted);
}

bool
trace_merge(trace *t, uint32_t ranks, problem *why)
{
    if (t == NULL || t->wanted == NULL || !files_plain(t->wanted)) {
        return true;
    }
    json_t *events = json_array();
    bool *taken = calloc(ranks, sizeof *taken);
    char path[PATH_MAX];
    bool good = events != NULL && taken != NULL;
    if (!good) {
        (void)problem_fail(why, "--trace %s: no memory", t->wanted);
    }
    (void)(good && take_part(t, t->wanted, events));
    for (uint32_t rank = 0; good && rank < ranks; rank++) {
        taken[rank] = files_beside(t->wanted, rank, path) && take_part(t, path, events);
    }
    good = good && save(t, events, why);
    for (uint32_t rank = 0; good && rank < ranks; rank++) {
        if (taken[rank] && files_beside(t->wanted, rank, path)) {
            (void)unlink(path); /* Its events are in the other one. */
        }
    }
    json_decref(events);
    free(taken);
    return good;
}
