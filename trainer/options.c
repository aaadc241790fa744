/* options.c - reads a whole command line; prints the help (see options.h). */
#include "options.h"

#include "data.h"
#include "option_table.h"

#include <string.h>

/* Of the help, for options with their operands. */
#define COLUMN 33

static const options defaults = {
    .hidden_count = HIDDEN_NOT_GIVEN,
    .epochs = 10,
    .accumulate = 1,
    .rate = NUMBER_NOT_GIVEN,
    .settings = {.momentum = NUMBER_NOT_GIVEN,
                 .weight_decay = 1e-4,
                 .beta1 = NUMBER_NOT_GIVEN,
                 .beta2 = NUMBER_NOT_GIVEN,
                 .epsilon = NUMBER_NOT_GIVEN,
                 .trust = NUMBER_NOT_GIVEN},
    .schedule = RATE_COSINE,
    .decay_factor = NUMBER_NOT_GIVEN,
    .seed = 1,
    .data = DATA_DEFAULT_DIR,
    .log_every = 100,
    .servers = COUNT_NOT_GIVEN,
    .backups = COUNT_NOT_GIVEN,
    .bound = COUNT_NOT_GIVEN,
    .compensate = NUMBER_NOT_GIVEN,
    .outer_rate = NUMBER_NOT_GIVEN,
    .outer_momentum = NUMBER_NOT_GIVEN,
    .own_images = COUNT_NOT_GIVEN,
    .return_timeout = NUMBER_NOT_GIVEN,
    .virtual_latency = NUMBER_NOT_GIVEN,
    .virtual_bandwidth = NUMBER_NOT_GIVEN,
};

/* Takes "--name value", "--name=value" or "--flag" from argv[*at] on. */
static bool
read_argument(int argc, char *const *argv, int *at, options *o, problem *why)
{
    const char *word = argv[*at];
    const size_t length = strcspn(word, "=");
    const option *row = option_find(word, length);
    if (row == NULL) {
        return problem_usage(why, "unknown option '%s'; --help lists all", word);
    }
    *at += 1;
    o->given[row - option_table] = true;
    if (word[length] == '=') {
        return option_read(row, word + length + 1, o, why);
    }
    if (option_stands_alone(row)) {
        option_set(row, o);
        return true;
    }
    if (*at == argc) {
        return problem_usage(why, "%s needs a value", row->name);
    }
    *at += 1;
    return option_read(row, argv[*at - 1], o, why);
}

bool
options_read(int argc, char *const *argv, options *result, problem *why)
{
    options o = defaults;
    for (int at = 1; at < argc;) {
        if (!read_argument(argc, argv, &at, &o, why)) {
            return false;
        }
        if (o.action != ACTION_TRAIN) {
            break; /* Whatever follows --help, the user wants help. */
        }
    }
    if (!options_complete(&o, why)) {
        return false;
    }
    *result = o;
    return true;
}

uint32_t
options_shared(const options *o, option_text text[OPTIONS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < option_rows; i++) {
        const option *row = &option_table[i];
        if (row->scope == SCOPE_ALL) {
            text[count].name = row->name;
            option_write(row, o, text[count].value);
            count++;
        }
    }
    return count;
}

bool
options_given(const options *o, const char *name)
{
    return o->given[option_find(name, strlen(name)) - option_table];
}

const char *
options_mode_text(train_mode mode)
{
    return mode_words[mode];
}

const char *
options_schedule_text(rate_schedule schedule)
{
    return option_find("--schedule", strlen("--schedule"))->words[schedule];
}

/* "--schedule constant|cosine", "--seed N", "--quiet". */
static void
write_synopsis(const option *row, char *synopsis, size_t size)
{
    static const char *const operand[] = {[KIND_COUNT] = "N",
                                          [KIND_NUMBER] = "X",
                                          [KIND_WIDTHS] = "N,N,...",
                                          [KIND_TEXT] = "PATH"};
    int used = snprintf(synopsis, size, "%s", row->name);
    if (row->kind == KIND_CHOICE) {
        for (uint32_t i = 0; row->words[i] != NULL; i++) {
            used += snprintf(synopsis + used, size - (size_t)used, "%s%s",
                             i > 0 ? "|" : " ", row->words[i]);
        }
    } else if (!option_stands_alone(row)) {
        (void)snprintf(synopsis + used, size - (size_t)used, " %s", operand[row->kind]);
    }
}

void
options_print_help(FILE *out)
{
    (void)fprintf(
        out, "rondo-train - trains a network on Fashion-MNIST, on one rank or many\n"
             "usage: rondo-train [OPTION]...\n"
             "       rondo-run -n RANKS rondo-train [OPTION]...\n"
             "options [and their defaults]:\n");
    for (uint32_t i = 0; i < option_rows; i++) {
        const option *row = &option_table[i];
        char synopsis[80];
        write_synopsis(row, synopsis, sizeof synopsis);
        /* What is too long for its column stands on a line of its own. */
        const bool fits = strlen(synopsis) < COLUMN;
        (void)fprintf(out, "  %-*s%s", COLUMN, synopsis, fits ? "" : "\n");
        (void)fprintf(out, "%*s%s", fits ? 0 : COLUMN + 2, "", row->help);
        char value[OPTIONS_VALUE_MAX];
        option_write(row, &defaults, value);
        if (value[0] != '\0' && !option_stands_alone(row)) {
            (void)fprintf(out, " [%s]", value);
        }
        (void)fprintf(out, "\n");
    }
    (void)fprintf(out, "exit code: 0 done, 1 failed, 2 wrong usage\n");
}
