/* options.c - reads a whole command line; prints the help (see options.h). */
#include "options.h"

#include "data.h"
#include "option_table.h"

#include <inttypes.h>
#include <string.h>

#define BATCH_DEFAULT       64u
#define MICRO_BATCH_DEFAULT 32u

static const options defaults = {
    .hidden_count = 2,
    .hidden = {256, 128},
    .epochs = 10,
    .rate = 0.03,
    .momentum = 0.9,
    .weight_decay = 1e-4,
    .schedule = RATE_COSINE,
    .seed = 1,
    .data = DATA_DEFAULT_DIR,
    .log_every = 100,
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

/* Refuses what makes no sense together; fills in what depends on other options. */
static bool
complete(options *o, problem *why)
{
    if (o->batch > 0 && o->global_batch > 0) {
        return problem_usage(why,
                             "--batch %" PRIu64 " and --global-batch %" PRIu64
                             ": give one; the other follows from the ranks",
                             o->batch, o->global_batch);
    }
    if (o->micro_batch > 0 && !o->canonical) {
        return problem_usage(why,
                             "--micro-batch %" PRIu64 " without --canonical: only a "
                             "canonical gradient is made from pieces",
                             o->micro_batch);
    }
    if (o->canonical && o->mode == TRAIN_NONE) {
        return problem_usage(why, "--canonical with --mode none: ranks that exchange "
                                  "nothing cannot agree on a gradient");
    }
    if (o->hash_every > 0 && o->mode == TRAIN_NONE) {
        return problem_usage(why,
                             "--hash-every %" PRIu64 " with --mode none: ranks that "
                             "exchange nothing differ, there is nothing to compare",
                             o->hash_every);
    }
    if (o->batch == 0 && o->global_batch == 0) {
        o->batch = BATCH_DEFAULT;
    }
    if (o->canonical && o->micro_batch == 0) {
        o->micro_batch = MICRO_BATCH_DEFAULT;
    }
    return true;
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
    if (!complete(&o, why)) {
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

const char *
options_mode_text(train_mode mode)
{
    return option_find("--mode", strlen("--mode"))->words[mode];
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
        char synopsis[64];
        write_synopsis(row, synopsis, sizeof synopsis);
        (void)fprintf(out, "  %-32s%s", synopsis, row->help);
        char value[OPTIONS_VALUE_MAX];
        option_write(row, &defaults, value);
        if (value[0] != '\0' && !option_stands_alone(row)) {
            (void)fprintf(out, " [%s]", value);
        }
        (void)fprintf(out, "\n");
    }
    (void)fprintf(out, "exit code: 0 done, 1 failed, 2 wrong usage\n");
}
