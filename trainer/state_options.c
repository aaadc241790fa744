/* state_options.c - whether a state is of a run like this one (see state_options.h). */
#include "state_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MORE 4u /* Things that are no options. */
#define ROWS (OPTIONS_MAX + MORE)

/* May be others when a run goes on. The images of a step are compared as a whole. */
static const char *const free_options[] = {
    "--steps",        "--log-every",       "--hash-every", "--batch",
    "--global-batch", "--straggler",       "--on-failure", "--return-timeout",
    "--resume",       "--checkpoint-every"};

static bool
is_free(const options *o, const char *name)
{
    /* With any other schedule the rate of a step depends on where the end is. */
    if (strcmp(name, "--epochs") == 0) {
        return o->schedule == RATE_CONSTANT;
    }
    for (uint32_t i = 0; i < sizeof free_options / sizeof free_options[0]; i++) {
        if (strcmp(name, free_options[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void
add_number(option_text *row, const char *name, uint64_t value)
{
    row->name = name;
    (void)snprintf(row->value, sizeof row->value, "%" PRIu64, value);
}

static uint32_t
rows_of(const trainer *t, option_text row[ROWS])
{
    option_text all[OPTIONS_MAX];
    const uint32_t count = options_shared(t->o, all);
    uint32_t rows = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_free(t->o, all[i].name)) {
            row[rows++] = all[i];
        }
    }
    add_number(&row[rows++], "images-of-a-step", t->run.global_batch);
    add_number(&row[rows++], "steps-of-an-epoch", t->run.steps_per_epoch);
    add_number(&row[rows++], "parameters", t->net.parameters);
    row[rows].name = "data-fingerprint";
    (void)snprintf(row[rows].value, sizeof row[rows].value, "%016" PRIx64,
                   t->run.data_fingerprint);
    return rows + 1;
}

char *
state_options_text(const trainer *t, problem *why)
{
    option_text row[ROWS];
    const uint32_t rows = rows_of(t, row);
    size_t bytes = 1;
    for (uint32_t i = 0; i < rows; i++) {
        bytes += strlen(row[i].name) + strlen(row[i].value) + 2;
    }
    char *text = malloc(bytes);
    if (text == NULL) {
        (void)problem_fail(why, "no memory for the options of a state");
        return NULL;
    }
    char *end = text;
    *end = '\0';
    for (uint32_t i = 0; i < rows; i++) {
        end += sprintf(end, "%s %s\n", row[i].name, row[i].value);
    }
    return text;
}

/* The value behind a name, up to the end of its line; false where there is none. */
static bool
find_value(const char *text, uint64_t bytes, const char *name,
           char value[OPTIONS_VALUE_MAX])
{
    const size_t length = strlen(name);
    const char *end = text + bytes;
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        line_end = line_end != NULL ? line_end : end;
        const size_t line = (size_t)(line_end - text);
        if (line > length && text[length] == ' ' && memcmp(text, name, length) == 0) {
            (void)snprintf(value, OPTIONS_VALUE_MAX, "%.*s", (int)(line - length - 1),
                           text + length + 1);
            return true;
        }
        text = line_end + (line_end < end);
    }
    return false;
}

bool
state_options_compare(const trainer *t, const char *path, const char *text,
                      uint64_t bytes, problem *why)
{
    option_text row[ROWS];
    const uint32_t rows = rows_of(t, row);
    for (uint32_t i = 0; i < rows; i++) {
        char value[OPTIONS_VALUE_MAX] = "";
        const bool found = find_value(text, bytes, row[i].name, value);
        if (!found || strcmp(value, row[i].value) != 0) {
            return problem_fail(
                why, "%s: of a run with other options: %s was %s, and is %s", path,
                row[i].name, value[0] != '\0' ? value : "not given",
                row[i].value[0] != '\0' ? row[i].value : "not given");
        }
    }
    return true;
}
