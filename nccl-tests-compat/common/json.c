/* json.c - collects everything and writes it in one piece, so that what is there is
 * always whole. Truth values are the strings "true" and "false" and a root is padded
 * text: so the readers of this version expect them. */
#include "common/json.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JSON_VERSION 3
#define NAMES_TRIED  10000

struct perf_json {
    FILE *file;
    json_t *root;
    json_t *results;
    json_t *row;
};

static json_t *
truth(bool value)
{
    return json_string(value ? "true" : "false");
}

static json_t *
number(double value)
{
    return isfinite(value) ? json_real(value) : json_string("nan");
}

static json_t *
whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* Arguments come in any bytes; JSON is Unicode. */
static json_t *
text(const char *value)
{
    json_t *string = json_string(value);
    return string != NULL ? string : json_string("(not UTF-8)");
}

static json_t *
time_of_day(void)
{
    char word[64] = "";
    struct tm fields;
    const time_t now = time(NULL);
    if (localtime_r(&now, &fields) != NULL) {
        strftime(word, sizeof(word), "%Y-%m-%d %H:%M:%S", &fields);
    }
    return json_string(word);
}

static FILE *
create(const char *path, char *error, size_t error_size)
{
    const size_t size = strlen(path) + 16;
    char *tried = malloc(size);
    if (tried == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    FILE *file = NULL;
    snprintf(tried, size, "%s", path);
    for (int i = 0; i < NAMES_TRIED; i++) {
        const int fd = open(tried, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            file = fdopen(fd, "w");
            if (file == NULL) {
                close(fd);
            }
            break;
        }
        if (errno != EEXIST) {
            break;
        }
        snprintf(tried, size, "%s.%d", path, i);
    }
    if (file == NULL) {
        snprintf(error, error_size, "cannot create %s: %s", tried, strerror(errno));
    } else {
        printf("# Writing JSON output to %s\n", tried);
    }
    free(tried);
    return file;
}

/* Not the whole environment, which holds other people's secrets, and least of all the
 * job's own. */
static bool
is_told(const char *setting)
{
    if (strncmp(setting, "RONDO_SECRET", strlen("RONDO_SECRET")) == 0) {
        return false;
    }
    return strncmp(setting, "RANK=", 5) == 0 ||
           strncmp(setting, "WORLD_SIZE=", 11) == 0 ||
           strncmp(setting, "RONDO_", 6) == 0;
}

static json_t *
told_environment(void)
{
    json_t *list = json_array();
    for (char **setting = environ; *setting != NULL; setting++) {
        if (is_told(*setting)) {
            json_array_append_new(list, text(*setting));
        }
    }
    return list;
}

perf_json *
perf_json_open(const char *path, int argc, char **argv, char *error, size_t error_size)
{
    perf_json *json = calloc(1, sizeof(*json));
    if (json == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    json->file = create(path, error, error_size);
    if (json->file == NULL) {
        free(json);
        return NULL;
    }
    json->root = json_object();
    json->results = json_array();
    json_t *arguments = json_array();
    for (int i = 0; i < argc; i++) {
        json_array_append_new(arguments, text(argv[i]));
    }
    json_object_set_new(json->root, "version", json_integer(JSON_VERSION));
    json_object_set_new(json->root, "start_time", time_of_day());
    json_object_set_new(json->root, "args", arguments);
    json_object_set_new(json->root, "env", told_environment());
    json_object_set_new(json->root, "nccl_version", whole(rondo_version()));
    json_object_set_new(json->root, "library", json_string("rondo"));
    json_object_set_new(json->root, "library_version",
                        json_string(rondo_version_text()));
    return json;
}

static json_t *
device_list(const perf_job *job, const perf_device *devices)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < job->nranks; i++) {
        const perf_device *one = &devices[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "rank", whole(one->rank));
        json_object_set_new(entry, "group", json_integer(0));
        json_object_set_new(entry, "pid", whole(one->pid));
        json_object_set_new(entry, "hostname", text(one->host));
        json_object_set_new(entry, "device", whole(one->device));
        json_object_set_new(entry, "device_hex", json_string("0000:00:00"));
        json_object_set_new(entry, "device_info", text(one->processor));
        json_array_append_new(list, entry);
    }
    return list;
}

void
perf_json_config(perf_json *json, const perf_job *job, const perf_device *devices)
{
    const perf_options *o = job->options;
    json_t *config = json_object();
    json_object_set_new(config, "nthreads", whole(o->threads));
    json_object_set_new(config, "ngpus", whole(o->ranks_per_thread));
    json_object_set_new(config, "minimum_bytes", whole(o->sweep.least));
    json_object_set_new(config, "maximum_bytes", whole(o->sweep.most));
    if (o->sweep.factor > 1) {
        json_object_set_new(config, "step_factor", whole(o->sweep.factor));
    } else {
        json_object_set_new(config, "step_bytes", whole(o->sweep.step));
    }
    json_object_set_new(config, "warmup_iters", whole(o->warmup_iterations));
    json_object_set_new(config, "iterations", whole(o->iterations));
    json_object_set_new(config, "aggregated_iterations", whole(o->aggregated));
    json_object_set_new(config, "validation", whole(o->checks));
    json_object_set_new(config, "graph", json_integer(0));
    json_object_set_new(config, "blocking_collectives", truth(o->blocking != 0));
    json_object_set_new(config, "per_iter_timing", truth(o->per_iteration != 0));
    json_object_set_new(config, "per_iter_skip", whole(o->per_iteration_skip));
    json_object_set_new(config, "parallel_init", truth(o->parallel_init != 0));
    json_object_set_new(config, "devices", device_list(job, devices));
    json_object_set_new(json->root, "config", config);
    json_object_set(json->root, "results", json->results);
}

void
perf_json_row(perf_json *json, uint64_t bytes, uint64_t count, const char *dtype,
              const char *op, int64_t root)
{
    char root_text[32];
    snprintf(root_text, sizeof(root_text), "%6lld", (long long)root);
    json->row = json_object();
    json_object_set_new(json->row, "size", whole(bytes));
    json_object_set_new(json->row, "count", whole(count));
    json_object_set_new(json->row, "type", json_string(dtype));
    json_object_set_new(json->row, "redop", json_string(op));
    json_object_set_new(json->row, "root", json_string(root_text));
}

void
perf_json_half(perf_json *json, const char *name, bool cpu_time, const perf_half *half)
{
    json_t *entry = json_object();
    const double seconds = cpu_time ? half->cpu_seconds : half->seconds;
    json_object_set_new(entry, cpu_time ? "cpu_time" : "time", number(seconds * 1e6));
    json_object_set_new(entry, "alg_bw", number(half->algorithm_bandwidth));
    json_object_set_new(entry, "bus_bw", number(half->bus_bandwidth));
    json_object_set_new(entry, "nwrong",
                        half->check.done ? number((double)half->check.wrong)
                                         : json_null());
    json_object_set_new(json->row, name, entry);
}

static json_t *
microseconds(const double *seconds, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_array_append_new(list, number(seconds[i] * 1e6));
    }
    return list;
}

void
perf_json_samples(perf_json *json, const char *name, const perf_summary *summary,
                  const perf_samples *samples)
{
    const uint32_t count = samples->count;
    json_t *entry = json_object();
    json_object_set_new(entry, "skipped_iterations", whole(samples->skipped));
    json_object_set_new(entry, "min_us", number(summary->least * 1e6));
    json_object_set_new(entry, "max_us", number(summary->most * 1e6));
    json_object_set_new(entry, "avg_us", number(summary->mean * 1e6));
    json_object_set_new(entry, "p50_us", number(summary->p50 * 1e6));
    json_object_set_new(entry, "p95_us", number(summary->p95 * 1e6));
    json_object_set_new(entry, "p99_us", number(summary->p99 * 1e6));
    json_object_set_new(entry, "stdev_us", number(summary->deviation * 1e6));
    json_object_set_new(entry, "cv_pct", number(summary->variation));
    json_object_set_new(entry, "times_us", microseconds(samples->slowest, count));
    if (samples->processes > 1) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < samples->processes; i++) {
            json_array_append_new(
                list, microseconds(samples->rows + (size_t)i * count, count));
        }
        json_object_set_new(entry, "per_process_max_times_us", list);
    }
    json_object_set_new(json->row, name, entry);
}

void
perf_json_row_end(perf_json *json, uint32_t iterations)
{
    json_object_set_new(json->row, "actual_iterations", whole(iterations));
    json_object_set_new(json->row, "experiment_name", json_string(""));
    json_array_append_new(json->results, json->row);
    json->row = NULL;
}

void
perf_json_footer(perf_json *json, uint64_t errors, double bandwidth, double least)
{
    json_t *bounds = json_object();
    json_object_set_new(bounds, "count", whole(errors));
    json_object_set_new(bounds, "okay", truth(errors == 0));
    json_object_set_new(json->root, "out_of_bounds", bounds);
    json_t *average = json_object();
    json_object_set_new(average, "bandwidth", number(bandwidth));
    json_object_set_new(average, "okay",
                        least < 0.0 ? json_string("unchecked")
                                    : truth(bandwidth >= least * 0.9));
    json_object_set_new(json->root, "average_bus_bandwidth", average);
}

bool
perf_json_close(perf_json *json, const char *error)
{
    json_t *errors = json_array();
    if (error[0] != '\0') {
        json_array_append_new(errors, text(error));
    }
    json_object_set_new(json->root, "errors", errors);
    json_object_set_new(json->root, "end_time", time_of_day());
    bool written = json_dumpf(json->root, json->file, JSON_INDENT(1)) == 0;
    written = fputc('\n', json->file) != EOF && written;
    written = fclose(json->file) == 0 && written;
    json_decref(json->row);
    json_decref(json->results);
    json_decref(json->root);
    free(json);
    return written;
}
