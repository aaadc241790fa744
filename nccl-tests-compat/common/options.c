/* options.c - every flag of nccl-tests; whatever cannot be honoured is refused. */
#include "common/options.h"

#include "common/exitcode.h"
#include "common/help.h"
#include "common/names.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_WALK = 256 };

static const struct option long_options[] = {
    {"nthreads", required_argument, NULL, 't'},
    {"ngpus", required_argument, NULL, 'g'},
    {"minbytes", required_argument, NULL, 'b'},
    {"maxbytes", required_argument, NULL, 'e'},
    {"stepbytes", required_argument, NULL, 'i'},
    {"stepfactor", required_argument, NULL, 'f'},
    {"iters", required_argument, NULL, 'n'},
    {"agg_iters", required_argument, NULL, 'm'},
    {"warmup_iters", required_argument, NULL, 'w'},
    {"run_cycles", required_argument, NULL, 'N'},
    {"parallel_init", required_argument, NULL, 'p'},
    {"per_iter_timing", required_argument, NULL, 'I'},
    {"per_iter_skip", required_argument, NULL, 'K'},
    {"check", required_argument, NULL, 'c'},
    {"op", required_argument, NULL, 'o'},
    {"datatype", required_argument, NULL, 'd'},
    {"root", required_argument, NULL, 'r'},
    {"blocking", required_argument, NULL, 'z'},
    {"stream_null", required_argument, NULL, 'y'},
    {"timeout", required_argument, NULL, 'T'},
    {"cudagraph", required_argument, NULL, 'G'},
    {"report_cputime", required_argument, NULL, 'C'},
    {"report_timestamps", required_argument, NULL, 'S'},
    {"output_file", required_argument, NULL, 'J'},
    {"average", required_argument, NULL, 'a'},
    {"local_register", required_argument, NULL, 'R'},
    {"cta_policy", required_argument, NULL, 'x'},
    {"device_implementation", required_argument, NULL, 'D'},
    {"device_cta_count", required_argument, NULL, 'V'},
    {"memory", required_argument, NULL, 'M'},
    {"unalign", required_argument, NULL, 'u'},
    {"walk", required_argument, NULL, OPT_WALK},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Flags that take a number: where it goes and what is allowed. */
typedef struct number_row {
    int letter;
    size_t offset;
    uint32_t least;
    uint32_t most;
    const char *meaning;
} number_row;

#define NUMBER(letter, field, least, most, meaning)                 \
    {                                                               \
        letter, offsetof(perf_options, field), least, most, meaning \
    }
#define MANY 1000000000u

static const number_row number_rows[] = {
    NUMBER('t', threads, 1, 1024, "threads"),
    NUMBER('g', ranks_per_thread, 1, 1024, "ranks per thread"),
    NUMBER('n', iterations, 1, MANY, "iterations"),
    NUMBER('w', warmup_iterations, 0, MANY, "warm-up iterations"),
    NUMBER('m', aggregated, 1, 65536, "operations in flight together"),
    NUMBER('N', cycles, 0, MANY, "cycles, 0 for ever"),
    NUMBER('p', parallel_init, 0, 1, "0 or 1"),
    NUMBER('c', checks, 0, MANY, "verified operations, 0 for none"),
    NUMBER('z', blocking, 0, 3, "0, 1, 2 or 3"),
    NUMBER('T', timeout_s, 0, 1000000, "seconds, 0 for none"),
    NUMBER('C', cpu_time, 0, 1, "0 or 1"),
    NUMBER('S', timestamps, 0, 1, "0 or 1"),
    NUMBER('a', average, 0, 3, "0 (rank 0), 1 (mean), 2 (min) or 3 (max)"),
    NUMBER('R', registered, 0, 2, "0, 1 or 2"),
    NUMBER('M', memory_report, 0, 1, "0 or 1"),
    NUMBER('u', unalign, 0, 65536, "elements"),
    NUMBER('I', per_iteration, 0, 1, "0 or 1"),
    NUMBER('K', per_iteration_skip, 0, MANY, "iterations"),
    NUMBER(OPT_WALK, walk, 0, 1, "0 or 1"),
};

/* Flags about things only a GPU has. */
static const struct {
    int letter;
    const char *reason;
} gpu_rows[] = {
    {'G', "-G launches CUDA graphs; there are none here"},
    {'x', "-x chooses how a GPU's thread blocks are used; there is no GPU here"},
    {'D', "-D chooses a GPU kernel; there is no GPU here"},
    {'V', "-V counts the thread blocks of a GPU kernel; there is no GPU here"},
    {'y', "-y uses CUDA's null stream; there are no streams here"},
};

static const char *program_name;

static int
refuse(int code, const char *what, const char *value)
{
    fprintf(stderr, "%s: %s, not '%s'\n", program_name, what, value);
    return code;
}

static bool
parse_number(const char *text, uint32_t least, uint32_t most, uint32_t *number)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || text[0] == ' ' ||
        value < (long long)least || value > (long long)most) {
        return false;
    }
    *number = (uint32_t)value;
    return true;
}

static const char *
long_name(int letter)
{
    for (size_t i = 0; long_options[i].name != NULL; i++) {
        if (long_options[i].val == letter) {
            return long_options[i].name;
        }
    }
    return "?";
}

static int
take_number(const number_row *row, const char *value, perf_options *options)
{
    uint32_t *field = (uint32_t *)(void *)((char *)options + row->offset);
    if (parse_number(value, row->least, row->most, field)) {
        return PERF_GO_ON;
    }
    fprintf(stderr, "%s: --%s takes %s, from %u to %u, not '%s'\n", program_name,
            long_name(row->letter), row->meaning, row->least, row->most, value);
    return PERF_EXIT_USAGE;
}

static int
take_size(int letter, const char *value, perf_options *options)
{
    uint64_t *bytes = letter == 'b'   ? &options->sweep.least
                      : letter == 'e' ? &options->sweep.most
                                      : &options->sweep.step;
    if (!perf_size_parse(value, bytes)) {
        return refuse(PERF_EXIT_SIZES,
                      letter == 'b'   ? "-b takes a size like 8, 1.5M or 1G"
                      : letter == 'e' ? "-e takes a size like 8, 1.5M or 1G"
                                      : "-i takes a size like 8, 1.5M or 1G",
                      value);
    }
    if (letter == 'e') {
        options->size_text = value;
    }
    return PERF_GO_ON;
}

static int
take_factor(const char *value, perf_options *options)
{
    uint32_t factor = 0;
    if (!parse_number(value, 2, MANY, &factor)) {
        return refuse(PERF_EXIT_USAGE, "-f takes a whole factor of 2 or more", value);
    }
    options->sweep.factor = factor;
    return PERF_GO_ON;
}

static int
take_word(int letter, const char *value, perf_options *options)
{
    if (letter == 'd') {
        if (perf_dtype_find(value, &options->dtype)) {
            return PERF_GO_ON;
        }
        if (strcmp(value, "f8e4m3") == 0 || strcmp(value, "f8e5m2") == 0) {
            return refuse(PERF_EXIT_UNSUPPORTED, "-d: the library has no 8-bit floats",
                          value);
        }
        return refuse(PERF_EXIT_USAGE,
                      "-d takes int8, uint8, int32, uint32, int64, uint64, half, float,"
                      " double, bfloat16 or all",
                      value);
    }
    if (perf_op_find(value, &options->op)) {
        return PERF_GO_ON;
    }
    if (strcmp(value, "mulsum") == 0) {
        return refuse(PERF_EXIT_UNSUPPORTED,
                      "-o: the library has no sum with a factor for each rank", value);
    }
    return refuse(PERF_EXIT_USAGE, "-o takes sum, prod, max, min, avg or all", value);
}

static int
take_root(const char *value, perf_options *options)
{
    uint32_t root = 0;
    if (strcmp(value, "all") == 0 || strcmp(value, "-1") == 0) {
        options->root = PERF_ALL;
        return PERF_GO_ON;
    }
    if (!parse_number(value, 0, INT32_MAX, &root)) {
        return refuse(PERF_EXIT_USAGE, "-r takes a rank, or all (-1)", value);
    }
    options->root = root;
    return PERF_GO_ON;
}

static int
take_file(const char *value, perf_options *options)
{
    const size_t length = strlen(value);
    if (length <= 5 || strcmp(value + length - 5, ".json") != 0) {
        return refuse(PERF_EXIT_USAGE, "-J takes a file name that ends in .json",
                      value);
    }
    options->output_file = value;
    return PERF_GO_ON;
}

static int
take(int letter, const char *value, perf_options *options)
{
    for (size_t i = 0; i < sizeof(number_rows) / sizeof(number_rows[0]); i++) {
        if (number_rows[i].letter == letter) {
            return take_number(&number_rows[i], value, options);
        }
    }
    for (size_t i = 0; i < sizeof(gpu_rows) / sizeof(gpu_rows[0]); i++) {
        if (gpu_rows[i].letter == letter) {
            return strcmp(value, "0") == 0
                       ? PERF_GO_ON
                       : refuse(PERF_EXIT_UNSUPPORTED, gpu_rows[i].reason, value);
        }
    }
    switch (letter) {
    case 'b':
    case 'e':
    case 'i':
        return take_size(letter, value, options);
    case 'f':
        return take_factor(value, options);
    case 'd':
    case 'o':
        return take_word(letter, value, options);
    case 'r':
        return take_root(value, options);
    case 'J':
        return take_file(value, options);
    case 'h':
        perf_help_print(program_name);
        return PERF_EXIT_OK;
    default:
        fprintf(stderr, "%s: see %s --help\n", program_name, program_name);
        return PERF_EXIT_USAGE;
    }
}

static int
say(int code, const char *what)
{
    fprintf(stderr, "%s: %s\n", program_name, what);
    return code;
}

/* What no single flag can tell. */
static int
check_together(const perf_options *options)
{
    if (options->sweep.least > options->sweep.most) {
        return say(PERF_EXIT_SIZES, "-b is more than -e");
    }
    if (options->sweep.step == 0 && options->sweep.factor <= 1) {
        return say(PERF_EXIT_SIZES, "-i 0 would never reach -e; give -i or -f");
    }
    if (options->per_iteration_skip > 0 && options->per_iteration == 0) {
        return say(PERF_EXIT_USAGE, "-K leaves out samples of -I, so it needs -I 1");
    }
    if (options->per_iteration_skip >= options->iterations) {
        return say(PERF_EXIT_USAGE, "-K leaves nothing of the -n iterations");
    }
    if (options->ranks_per_thread > 1 && options->registered > 0) {
        return say(PERF_EXIT_UNSUPPORTED,
                   "-R registers by a blocking call of all ranks, which several ranks"
                   " of one thread (-g) cannot make; use -t");
    }
    return PERF_GO_ON;
}

static int
read_environment(perf_options *options)
{
    if (getenv("NCCL_TESTS_SPLIT") != NULL || getenv("NCCL_TESTS_SPLIT_MASK") != NULL) {
        return say(PERF_EXIT_UNSUPPORTED,
                   "NCCL_TESTS_SPLIT and NCCL_TESTS_SPLIT_MASK are not supported");
    }
    const char *least = getenv("NCCL_TESTS_MIN_BW");
    if (least == NULL) {
        return PERF_GO_ON;
    }
    char *end = NULL;
    options->bandwidth_least = strtod(least, &end);
    if (end == least || *end != '\0' || !isfinite(options->bandwidth_least) ||
        options->bandwidth_least < 0.0) {
        return refuse(PERF_EXIT_USAGE, "NCCL_TESTS_MIN_BW is a bandwidth in GB/s",
                      least);
    }
    return PERF_GO_ON;
}

int
perf_options_parse(int argc, char **argv, const char *program, perf_options *options)
{
    program_name = program;
    *options = (perf_options){
        .threads = 1,
        .ranks_per_thread = 1,
        .sweep = {.least = 32u << 20, .most = 32u << 20, .step = 1u << 20, .factor = 1},
        .iterations = 20,
        .warmup_iterations = 1,
        .aggregated = 1,
        .cycles = 1,
        .checks = 1,
        .op = RONDO_SUM,
        .dtype = RONDO_FP32,
        .average = PERF_AVERAGE_MEAN,
        .bandwidth_least = -1.0,
        .size_text = "32M"};
    for (;;) {
        const int letter = getopt_long(
            argc, argv,
            "t:g:b:e:i:f:n:m:w:N:p:I:K:c:o:d:r:z:y:T:hG:C:a:R:x:D:V:J:S:M:u:",
            long_options, NULL);
        if (letter == -1) {
            break;
        }
        const int code = take(letter, optarg, options);
        if (code != PERF_GO_ON) {
            return code;
        }
    }
    if (optind < argc) {
        return refuse(PERF_EXIT_USAGE, "only flags are expected", argv[optind]);
    }
    const int code = read_environment(options);
    return code != PERF_GO_ON ? code : check_together(options);
}
