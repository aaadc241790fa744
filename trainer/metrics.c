/* metrics.c - the metrics file (see metrics.h). */
#include "metrics.h"

#include "files.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* Floats keep all they have in 9 digits; doubles here are times and rates. */
#define LINE_FORMAT (JSON_COMPACT | JSON_REAL_PRECISION(10))

static json_int_t
milliseconds(double seconds)
{
    return (json_int_t)(seconds * 1e3);
}

static bool
open_file(metrics *m, problem *why)
{
    m->file = fopen(m->path, m->rank.returned ? "a" : "w");
    if (m->file == NULL) {
        return problem_fail(why, "--metrics %s: %s", m->path, strerror(errno));
    }
    /* Where there is nothing to go on with, it begins after all. */
    if (fseeko(m->file, 0, SEEK_END) != 0 || ftello(m->file) <= 0) {
        m->rank.returned = false;
    }
    return true;
}

static bool
open_leading(const char *path, bool returned, metrics *result, problem *why)
{
    metrics m = {
        .file = NULL, .leads = true, .wanted = path != NULL, .rank.returned = returned};
    if (m.wanted) {
        if (snprintf(m.path, PATH_MAX, "%s", path) >= PATH_MAX) {
            return problem_fail(why, "--metrics %s: too long a name", path);
        }
        if (!open_file(&m, why)) {
            return false;
        }
    }
    *result = m;
    return true;
}

bool
metrics_open(const char *path, metrics *result, problem *why)
{
    return open_leading(path, false, result, why);
}

bool
metrics_reopen(const char *path, metrics *result, problem *why)
{
    return open_leading(path, true, result, why);
}

bool
metrics_open_beside(const char *path, const rank_record *rank, metrics *result,
                    problem *why)
{
    metrics m = {.file = NULL, .rank = *rank};
    m.wanted = path != NULL && files_plain(path);
    if (m.wanted && !files_beside(path, rank->rank, m.path)) {
        return problem_fail(why, "--metrics %s: too long a name", path);
    }
    *result = m;
    return true;
}

void
metrics_lead(metrics *m)
{
    m->leads = true;
}

void
metrics_follow(metrics *m)
{
    m->leads = false;
}

/* Takes over `record`; NULL where there was no memory for it. */
static bool
dump_line(metrics *m, json_t *record, problem *why)
{
    if (record == NULL) {
        return problem_fail(why, "--metrics %s: no memory for a record", m->path);
    }
    errno = 0;
    const bool written = json_dumpf(record, m->file, LINE_FORMAT) == 0 &&
                         fputc('\n', m->file) != EOF && fflush(m->file) == 0;
    json_decref(record);
    return written || problem_fail(why, "--metrics %s: %s", m->path,
                                   errno != 0 ? strerror(errno) : "cannot write");
}

/* The file of a rank that has waited with it: not before rank 0's exists, so that it is
 * rank 0 that says what is wrong with the path. */
static bool
open_late(metrics *m, problem *why)
{
    if (!open_file(m, why)) {
        return false;
    }
    if (m->rank.returned) {
        return true; /* The first line is there already. */
    }
    json_t *record = json_pack("{ss si sI}", "event", "rank", "rank", (int)m->rank.rank,
                               "started", milliseconds(m->rank.started));
    return dump_line(m, record, why);
}

/* As dump_line. */
static bool
write_line(metrics *m, json_t *record, problem *why)
{
    if (m->file == NULL && !open_late(m, why)) {
        json_decref(record);
        return false;
    }
    return dump_line(m, record, why);
}

/* JSON's numbers are doubles to most readers: 64 bits go as 16 hexadecimal digits. A
 * hash that was not taken is left out (the * of json_pack's format). */
static json_t *
hash_text(hash_record hash)
{
    return hash.taken ? json_sprintf("%016" PRIx64, hash.value) : NULL;
}

static json_t *
widths(const model *net)
{
    json_t *list = json_array();
    for (uint32_t l = 0; l <= net->layers; l++) {
        if (json_array_append_new(list, json_integer(net->width[l])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* null where a setting has no meaning for this run. */
static json_t *
or_null(double setting)
{
    return setting >= 0.0 ? json_real(setting) : json_null();
}

/* The options of the update. */
static json_t *
descent(const options *o)
{
    const optimiser_settings *s = &o->settings;
    return json_pack(
        "{ss sf sI so sf so so so so ss sf sI so}", "optimiser",
        optimiser_words[o->optimiser], "lr", o->rate, "lr_batch",
        (json_int_t)o->rate_batch, "momentum", or_null(s->momentum), "weight_decay",
        s->weight_decay, "beta1", or_null(s->beta1), "beta2", or_null(s->beta2),
        "epsilon", or_null(s->epsilon), "trust", or_null(s->trust), "schedule",
        options_schedule_text(o->schedule), "warmup", o->warmup, "decay_every",
        (json_int_t)o->decay_every, "decay_factor", or_null(o->decay_factor));
}

bool
metrics_run(metrics *m, const run_record *r, problem *why)
{
    if (!m->wanted || !m->leads || m->rank.returned) {
        return true;
    }
    const options *o = r->o;
    json_t *record = json_pack(
        "{ss sI sb si si ss sb ss so sI sI si sI sI si sI sI si si so}", "event", "run",
        "started", milliseconds(r->started), "virtual", (int)o->virtual_time, "ranks",
        (int)r->ranks, "servers", (int)r->servers, "mode", options_mode_text(o->mode),
        "canonical", (int)o->canonical, "model", model_words[o->model], "widths",
        widths(r->net), "parameters", (json_int_t)r->net->parameters, "epochs",
        (json_int_t)o->epochs, "global_batch", (int)r->global_batch, "micro_batch",
        (json_int_t)o->micro_batch, "accumulate", (json_int_t)o->accumulate,
        "steps_per_epoch", (int)r->steps_per_epoch, "seed", (json_int_t)o->seed,
        "steps", (json_int_t)r->steps, "train_images", (int)r->train_images,
        "test_images", (int)r->test_images, "data_fingerprint",
        hash_text((hash_record){.taken = true, .value = r->data_fingerprint}));
    if (record != NULL) {
        /* The update's options stand beside the others. */
        json_t *part = descent(o);
        if (part == NULL || json_object_update(record, part) != 0) {
            json_decref(record);
            record = NULL;
        }
        json_decref(part);
    }
    return write_line(m, record, why);
}

bool
metrics_step(metrics *m, const step_record *r, problem *why)
{
    if (!m->wanted || !m->leads) {
        return true;
    }
    json_t *record =
        json_pack("{ss sI sI sf sf sf sI so* so*}", "event", "step", "step",
                  (json_int_t)r->step, "epoch", (json_int_t)r->epoch, "loss", r->loss,
                  "lr", r->rate, "elapsed", r->elapsed, "images", (json_int_t)r->images,
                  "distance", r->apart ? json_real(r->distance) : NULL,
                  "parameters_hash", hash_text(r->hash));
    return write_line(m, record, why);
}

bool
metrics_epoch(metrics *m, const epoch_record *r, problem *why)
{
    if (!m->wanted || !m->leads) {
        return true;
    }
    json_t *record = json_pack(
        "{ss sI sI sf sf sf sf sf sI so*}", "event", "epoch", "epoch",
        (json_int_t)r->epoch, "step", (json_int_t)r->step, "loss", r->loss,
        "test_accuracy", r->test_accuracy, "seconds", r->seconds, "images_per_second",
        r->images_second, "elapsed", r->elapsed, "images", (json_int_t)r->images,
        "parameters_hash", hash_text(r->hash));
    return write_line(m, record, why);
}

/* null: there is no such thing as staleness in this mode. */
static json_t *
staleness_counts(const gradient_counts *g)
{
    uint32_t count = GRADIENT_STALENESS_MAX + 1;
    while (count > 0 && g->staleness[count - 1] == 0) {
        count--;
    }
    if (count == 0) {
        return json_null();
    }
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        if (json_array_append_new(list, json_integer((json_int_t)g->staleness[i])) !=
            0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *
virtual_object(const virtual_record *v)
{
    return json_pack(
        "{sI sI sI sI sI sf sI sI sI sI sf sf sf sf sf sf sf sf}", "workers",
        (json_int_t)v->workers, "updates", (json_int_t)v->updates, "started",
        (json_int_t)v->started, "given_up", (json_int_t)v->given_up, "spread",
        (json_int_t)v->spread, "staleness_mean", v->staleness_mean, "staleness_p50",
        (json_int_t)v->staleness_p50, "staleness_p99", (json_int_t)v->staleness_p99,
        "staleness_largest", (json_int_t)v->staleness_largest, "staleness_open",
        (json_int_t)v->staleness_open, "wait_share", v->wait_share, "communicate_share",
        v->communicate_share, "update_mean", v->update_mean, "update_p50",
        v->update_p50, "update_p90", v->update_p90, "update_p95", v->update_p95,
        "update_p99", v->update_p99, "update_largest", v->update_largest);
}

static json_t *
server_object(const server_record *s, uint64_t used)
{
    const double mean = used > 0 ? (double)s->staleness_sum / (double)used : 0.0;
    return json_pack("{sI sI sI sI sI sf sI}", "version", (json_int_t)s->version,
                     "pushes", (json_int_t)s->pushes, "given_up",
                     (json_int_t)s->given_up, "pulls", (json_int_t)s->pulls, "spread",
                     (json_int_t)s->spread, "staleness_mean", mean, "staleness_largest",
                     (json_int_t)s->staleness_largest);
}

bool
metrics_final(metrics *m, const run_record *run, const final_record *r, problem *why)
{
    if (!m->wanted || !m->leads) {
        return true;
    }
    json_t *record = json_pack(
        "{ss sf sf sf sf sf sf sI sI si ss sb sI sI so so so so}", "event", "final",
        "test_accuracy", r->test_accuracy, "images_per_second", r->images_second,
        "seconds", r->seconds, "total_seconds", r->total_seconds, "wait_seconds",
        r->wait_seconds, "payload_bytes", r->payload_bytes, "steps",
        (json_int_t)r->steps, "images", (json_int_t)r->images, "ranks", (int)run->ranks,
        "mode", options_mode_text(run->o->mode), "canonical", (int)run->o->canonical,
        "used", (json_int_t)r->gradients.used, "dropped",
        (json_int_t)r->gradients.dropped, "staleness_counts",
        staleness_counts(&r->gradients), "parameters_hash",
        hash_text((hash_record){.taken = true, .value = r->hash}), "virtual",
        r->virtual_time != NULL ? virtual_object(r->virtual_time) : json_null(),
        "server",
        r->server != NULL ? server_object(r->server, r->gradients.used) : json_null());
    return write_line(m, record, why);
}

/* Whole ones: there are many times of steps, and digits below mean nothing. */
static double
nanoseconds(double seconds)
{
    return floor(seconds * 1e9 + 0.5) * 1e-9;
}

static json_t *
seconds_list(const worker_record *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->steps; i++) {
        if (json_array_append_new(list, json_real(nanoseconds(r->step_seconds[i]))) !=
            0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

bool
metrics_worker(metrics *m, const worker_record *r, problem *why)
{
    if (!m->wanted) {
        return true;
    }
    json_t *record = json_pack(
        "{ss si sI sI so sI sf sf sf sf sf sf sf so}", "event", "worker", "worker",
        (int)r->worker, "step", (json_int_t)r->step, "version", (json_int_t)r->version,
        "staleness", or_null(r->staleness), "images", (json_int_t)r->images, "loss",
        r->loss, "elapsed", r->elapsed, "seconds", r->seconds, "compute", r->compute,
        "communicate", r->communicate, "wait", r->wait, "bytes", r->bytes,
        "step_seconds", seconds_list(r));
    return write_line(m, record, why);
}

void
metrics_close(metrics *m)
{
    if (m->file != NULL) {
        /* Every line was flushed, and checked, when it was written. */
        (void)fclose(m->file);
        m->file = NULL;
    }
}
