/* option_value.c - an option's value, from text and to text. */
#include "option_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
read_count(const option *row, const char *text, uint64_t *count, problem *why)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    const bool digits = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!digits || (double)value < row->least || (double)value > row->most) {
        return problem_usage(why, "%s: '%s' is not a whole number from %.0f to %.0f",
                             row->name, text, row->least, row->most);
    }
    *count = value;
    return true;
}

static bool
read_number(const option *row, const char *text, double *number, problem *why)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    /* So written, NaN is refused too. */
    if (end == text || *end != '\0' || !(value >= row->least && value <= row->most)) {
        return problem_usage(why, "%s: '%s' is not a number from %g to %g", row->name,
                             text, row->least, row->most);
    }
    *number = value;
    return true;
}

static bool
read_choice(const option *row, const char *text, uint32_t *choice, problem *why)
{
    char allowed[128] = "";
    for (uint32_t i = 0; row->words[i] != NULL; i++) {
        if (strcmp(text, row->words[i]) == 0) {
            *choice = i;
            return true;
        }
        const size_t used = strlen(allowed);
        (void)snprintf(allowed + used, sizeof allowed - used, "%s%s", i > 0 ? ", " : "",
                       row->words[i]);
    }
    return problem_usage(why, "%s: '%s' is not one of: %s", row->name, text, allowed);
}

static bool
read_widths(const option *row, const char *text, options *o, problem *why)
{
    uint32_t count = 0;
    if (strcmp(text, "0") != 0) {
        for (const char *at = text;; at++) {
            char *end = NULL;
            errno = 0;
            const unsigned long width = strtoul(at, &end, 10);
            const bool ended = *end == '\0';
            if (count == MODEL_HIDDEN_MAX || *at < '0' || *at > '9' || errno != 0 ||
                width < 1 || width > MODEL_WIDTH_MAX || (!ended && *end != ',')) {
                return problem_usage(
                    why,
                    "%s: '%s' is not 0 and not a list of at most %u whole numbers "
                    "from %.0f to %.0f, such as 256,128",
                    row->name, text, MODEL_HIDDEN_MAX, row->least, row->most);
            }
            o->hidden[count++] = (uint32_t)width;
            if (ended) {
                break;
            }
            at = end;
        }
    }
    o->hidden_count = count;
    return true;
}

bool
option_read(const option *row, const char *text, options *o, problem *why)
{
    char *place = (char *)o + row->place;
    switch (row->kind) {
    case KIND_COUNT:
        return read_count(row, text, (uint64_t *)(void *)place, why);
    case KIND_NUMBER:
        return read_number(row, text, (double *)(void *)place, why);
    case KIND_CHOICE:
        return read_choice(row, text, (uint32_t *)(void *)place, why);
    case KIND_WIDTHS:
        return read_widths(row, text, o, why);
    case KIND_TEXT:
        if (text[0] == '\0') {
            return problem_usage(why, "%s: '' is not a name", row->name);
        }
        *(const char **)(void *)place = text;
        return true;
    case KIND_FLAG:
    case KIND_ACTION:
        break;
    }
    return problem_usage(why, "%s takes no value, but '%s' is given", row->name, text);
}

void
option_set(const option *row, options *o)
{
    char *place = (char *)o + row->place;
    if (row->kind == KIND_FLAG) {
        *(bool *)(void *)place = true;
    } else {
        o->action = (options_action)row->least;
    }
}

/* As few digits as read back to the same number. */
static void
write_number(double number, char value[OPTIONS_VALUE_MAX])
{
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(value, OPTIONS_VALUE_MAX, "%.*g", digits, number);
        if (strtod(value, NULL) == number) {
            return;
        }
    }
}

static void
write_widths(const options *o, char value[OPTIONS_VALUE_MAX])
{
    size_t used = 0;
    if (o->hidden_count == HIDDEN_NOT_GIVEN) {
        return;
    }
    (void)snprintf(value, OPTIONS_VALUE_MAX, "0");
    for (uint32_t i = 0; i < o->hidden_count; i++) {
        const int length = snprintf(value + used, OPTIONS_VALUE_MAX - used, "%s%u",
                                    i > 0 ? "," : "", o->hidden[i]);
        used += length > 0 ? (size_t)length : 0; /* 8 widths of 5 digits fit. */
    }
}

void
option_write(const option *row, const options *o, char value[OPTIONS_VALUE_MAX])
{
    const char *place = (const char *)o + row->place;
    value[0] = '\0';
    switch (row->kind) {
    case KIND_COUNT: {
        const uint64_t count = *(const uint64_t *)(const void *)place;
        /* Outside of what is allowed: the option was not given. */
        if ((double)count >= row->least && (double)count <= row->most) {
            (void)snprintf(value, OPTIONS_VALUE_MAX, "%" PRIu64, count);
        }
        break;
    }
    case KIND_NUMBER: {
        const double number = *(const double *)(const void *)place;
        if (number >= row->least) {
            write_number(number, value);
        }
        break;
    }
    case KIND_CHOICE:
        (void)snprintf(value, OPTIONS_VALUE_MAX, "%s",
                       row->words[*(const uint32_t *)(const void *)place]);
        break;
    case KIND_WIDTHS:
        write_widths(o, value);
        break;
    case KIND_FLAG:
        (void)snprintf(value, OPTIONS_VALUE_MAX, "%s",
                       *(const bool *)(const void *)place ? "on" : "off");
        break;
    case KIND_TEXT: {
        const char *text = *(const char *const *)(const void *)place;
        (void)snprintf(value, OPTIONS_VALUE_MAX, "%s", text != NULL ? text : "");
        break;
    }
    case KIND_ACTION:
        break;
    }
}
