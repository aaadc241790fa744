/* straggler.c - how long a worker's step is made to take (see straggler.h). */
#include "straggler.h"

#include "random.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 3u

/* A number that a kind needs. */
typedef struct key {
    const char *name;
    size_t place; /* In straggler. */
    double least;
    double most;
    double unit; /* What the number is multiplied by. */
} key;

#define TIME_MAX   1e7
#define FACTOR_MAX 1e6
#define AT(field)  offsetof(straggler, field)
#define KEY_BASE                              \
    {                                         \
        "base", AT(base), 0.0, TIME_MAX, 1e-3 \
    }
#define KEY_FACTOR                                 \
    {                                              \
        "factor", AT(factor), 1.0, FACTOR_MAX, 1.0 \
    }
#define WORKER_MAX 65535.0

typedef struct kind_row {
    const char *name;
    straggler_kind kind;
    key keys[KEYS_MAX]; /* All are needed; ends early with a name that is NULL. */
    const char *example;
} kind_row;

static const kind_row rows[] = {
    {"fixed", STRAGGLER_FIXED, {KEY_BASE}, "fixed:base=10"},
    {"exp",
     STRAGGLER_EXPONENTIAL,
     {KEY_BASE, {"mean", AT(mean), 0.0, TIME_MAX, 1e-3}},
     "exp:base=40,mean=40"},
    {"rare",
     STRAGGLER_RARE,
     {KEY_BASE, {"p", AT(probability), 0.0, 1.0, 1.0}, KEY_FACTOR},
     "rare:base=10,p=0.05,factor=8"},
    {"slow",
     STRAGGLER_SLOW,
     {KEY_BASE, {"worker", AT(worker), 0.0, WORKER_MAX, 1.0}, KEY_FACTOR},
     "slow:base=10,worker=0,factor=5"},
    {"lognormal",
     STRAGGLER_LOGNORMAL,
     {KEY_BASE, {"sigma", AT(sigma), 0.0, 5.0, 1.0}},
     "lognormal:base=10,sigma=0.3"},
};
#define ROWS (sizeof rows / sizeof rows[0])

static const kind_row *
find_kind(const char *text, size_t length)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == length &&
            strncmp(rows[i].name, text, length) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* KEYS_MAX: there is no such key. */
static uint32_t
find_key(const kind_row *row, const char *text, size_t length)
{
    uint32_t at = 0;
    while (at < KEYS_MAX && row->keys[at].name != NULL &&
           (strlen(row->keys[at].name) != length ||
            strncmp(row->keys[at].name, text, length) != 0)) {
        at++;
    }
    return at < KEYS_MAX && row->keys[at].name != NULL ? at : KEYS_MAX;
}

static void
store(const key *k, double number, straggler *s)
{
    char *place = (char *)s + k->place;
    if (k->place == AT(worker)) {
        *(uint32_t *)(void *)place = (uint32_t)number;
    } else {
        *(double *)(void *)place = number * k->unit;
    }
}

/* One "key=value" of `text`, which ends at a comma or with the string; returns where
 * the next one begins, or NULL after a failure. */
static const char *
read_pair(const kind_row *row, const char *text, uint32_t *given, straggler *s,
          problem *why)
{
    const size_t length = strcspn(text, "=,");
    const uint32_t at = find_key(row, text, length);
    if (at == KEYS_MAX || text[length] != '=') {
        (void)problem_usage(why,
                            "--straggler: '%.*s' is nothing that %s has; such as %s",
                            (int)strcspn(text, ","), text, row->name, row->example);
        return NULL;
    }
    if ((*given & 1u << at) != 0) {
        (void)problem_usage(why, "--straggler: %s is given twice", row->keys[at].name);
        return NULL;
    }
    *given |= 1u << at;
    const key *k = &row->keys[at];
    const char *value = text + length + 1;
    char *end = NULL;
    const double number = strtod(value, &end);
    const bool whole = k->place != AT(worker) || number == floor(number);
    /* So written, NaN is refused too. */
    if (end == value || (*end != ',' && *end != '\0') ||
        !(number >= k->least && number <= k->most) || !whole) {
        (void)problem_usage(why,
                            "--straggler: %s: '%.*s' is not a %snumber from %g to %g",
                            k->name, (int)strcspn(value, ","), value,
                            k->place == AT(worker) ? "whole " : "", k->least, k->most);
        return NULL;
    }
    store(k, number, s);
    return *end == ',' ? end + 1 : end;
}

bool
straggler_read(const char *text, uint64_t seed, straggler *result, problem *why)
{
    straggler s = {.kind = STRAGGLER_NONE, .seed = seed, .factor = 1.0};
    if (text == NULL) {
        *result = s;
        return true;
    }
    const size_t length = strcspn(text, ":");
    const kind_row *row = find_kind(text, length);
    if (row == NULL) {
        return problem_usage(
            why, "--straggler: '%.*s' is not one of: fixed, exp, rare, slow, lognormal",
            (int)length, text);
    }
    uint32_t given = 0;
    const char *at = text[length] == ':' ? text + length + 1 : text + length;
    while (*at != '\0') {
        at = read_pair(row, at, &given, &s, why);
        if (at == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < KEYS_MAX && row->keys[i].name != NULL; i++) {
        if ((given & 1u << i) == 0) {
            return problem_usage(why, "--straggler: %s needs %s; such as %s", row->name,
                                 row->keys[i].name, row->example);
        }
    }
    s.kind = row->kind;
    *result = s;
    return true;
}

/* Uniform in (0, 1]: its logarithm is finite. */
static double
uniform(random_stream stream, uint64_t i)
{
    return (double)((random_bits(stream, i) >> 11) + 1) * 0x1p-53;
}

double
straggler_seconds(const straggler *s, uint32_t worker, uint64_t step)
{
    const random_stream stream = random_open(s->seed, RANDOM_STRAGGLER, worker);
    switch (s->kind) {
    case STRAGGLER_NONE:
        return 0.0;
    case STRAGGLER_FIXED:
        return s->base;
    case STRAGGLER_EXPONENTIAL:
        return s->base - s->mean * log(uniform(stream, step));
    case STRAGGLER_RARE:
        return uniform(stream, step) <= s->probability ? s->base * s->factor : s->base;
    case STRAGGLER_SLOW:
        return worker == s->worker ? s->base * s->factor : s->base;
    case STRAGGLER_LOGNORMAL:
        return s->base * exp(s->sigma * (double)random_normal(stream, step));
    }
    return 0.0;
}

double
straggler_mean(const straggler *s, uint32_t worker)
{
    switch (s->kind) {
    case STRAGGLER_NONE:
        return 0.0;
    case STRAGGLER_FIXED:
        return s->base;
    case STRAGGLER_EXPONENTIAL:
        return s->base + s->mean;
    case STRAGGLER_RARE:
        return s->base * (1.0 + s->probability * (s->factor - 1.0));
    case STRAGGLER_SLOW:
        return worker == s->worker ? s->base * s->factor : s->base;
    case STRAGGLER_LOGNORMAL:
        return s->base * exp(0.5 * s->sigma * s->sigma);
    }
    return 0.0;
}
