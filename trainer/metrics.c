/* metrics.c - the metrics file (see metrics.h). */
#include "metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* Floats keep all they have in 9 digits; doubles here are times and rates. */
#define LINE_FORMAT (JSON_COMPACT | JSON_REAL_PRECISION(10))

bool
metrics_open(const char *path, metrics *result, problem *why)
{
    metrics m = {.file = NULL, .path = path};
    if (path != NULL) {
        m.file = fopen(path, "w");
        if (m.file == NULL) {
            return problem_fail(why, "--metrics %s: %s", path, strerror(errno));
        }
    }
    *result = m;
    return true;
}

/* Takes over `record`; NULL where there was no memory for it. */
static bool
write_line(metrics *m, json_t *record, problem *why)
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
    if (m->file == NULL) {
        return true;
    }
    const options *o = r->o;
    json_t *record = json_pack(
        "{ss si ss sb ss so sI sI si sI sI si sI sI si si so}", "event", "run", "ranks",
        (int)r->ranks, "mode", options_mode_text(o->mode), "canonical",
        (int)o->canonical, "model", model_words[o->model], "widths", widths(r->net),
        "parameters", (json_int_t)r->net->parameters, "epochs", (json_int_t)o->epochs,
        "global_batch", (int)r->global_batch, "micro_batch", (json_int_t)o->micro_batch,
        "accumulate", (json_int_t)o->accumulate, "steps_per_epoch",
        (int)r->steps_per_epoch, "seed", (json_int_t)o->seed, "steps",
        (json_int_t)r->steps, "train_images", (int)r->train_images, "test_images",
        (int)r->test_images, "data_fingerprint",
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
    if (m->file == NULL) {
        return true;
    }
    json_t *record =
        json_pack("{ss sI sI sf sf so*}", "event", "step", "step", (json_int_t)r->step,
                  "epoch", (json_int_t)r->epoch, "loss", r->loss, "lr", r->rate,
                  "parameters_hash", hash_text(r->hash));
    return write_line(m, record, why);
}

bool
metrics_epoch(metrics *m, const epoch_record *r, problem *why)
{
    if (m->file == NULL) {
        return true;
    }
    json_t *record = json_pack("{ss sI sI sf sf sf sf so*}", "event", "epoch", "epoch",
                               (json_int_t)r->epoch, "step", (json_int_t)r->step,
                               "loss", r->loss, "test_accuracy", r->test_accuracy,
                               "seconds", r->seconds, "images_per_second",
                               r->images_second, "parameters_hash", hash_text(r->hash));
    return write_line(m, record, why);
}

bool
metrics_final(metrics *m, const run_record *run, const final_record *r, problem *why)
{
    if (m->file == NULL) {
        return true;
    }
    json_t *record = json_pack(
        "{ss sf sf sf sf sf sf sI sI si ss sb so}", "event", "final", "test_accuracy",
        r->test_accuracy, "images_per_second", r->images_second, "seconds", r->seconds,
        "total_seconds", r->total_seconds, "wait_seconds", r->wait_seconds,
        "payload_bytes", r->payload_bytes, "steps", (json_int_t)r->steps, "images",
        (json_int_t)r->images, "ranks", (int)run->ranks, "mode",
        options_mode_text(run->o->mode), "canonical", (int)run->o->canonical,
        "parameters_hash", hash_text((hash_record){.taken = true, .value = r->hash}));
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
