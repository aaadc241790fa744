/* config.c - reading the environment, in one place. */
#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef enum value_form { NUMBER, TEXT, SECONDS, BYTES } value_form;

typedef struct row {
    const char *variable; /* as in the environment */
    value_form form;      /* how its text is read */
    const char *fallback; /* when it is not set */
    bool agreed;          /* rank 0's value counts for all */
} row;

static const row rows[RONDO_CONFIGS] = {
#define ROW(id, variable, kind, fallback, agreed, text) \
    [RONDO_CONFIG_##id] = {variable, kind, fallback, (agreed) != 0},
    RONDO_CONFIG_ROWS(ROW)
#undef ROW
};

const char *
rondo_config_variable(rondo_config_id id)
{
    return rows[id].variable;
}

bool
rondo_config_set(rondo_config_id id)
{
    const char *const text = getenv(rows[id].variable);

    return text != NULL && text[0] != '\0';
}

const char *
rondo_config_text(rondo_config_id id)
{
    return rondo_config_set(id) ? getenv(rows[id].variable) : rows[id].fallback;
}

static rondo_status
bad_value(rondo_config_id id, const char *text, uint64_t low, uint64_t high)
{
    return rondo_error(
        RONDO_ERR_ARG, "%s is \"%s\"; allowed is a number from %llu to %llu%s",
        rows[id].variable, text, (unsigned long long)low, (unsigned long long)high,
        rows[id].form == SECONDS ? " (milliseconds, written in seconds)" : "");
}

/* What one K, M or G behind a number stands for; 0 for anything else. */
static uint64_t
suffix_factor(const char *suffix)
{
    if (suffix[0] == '\0') {
        return 1;
    }
    if (suffix[1] != '\0') {
        return 0;
    }
    switch (toupper((unsigned char)suffix[0])) {
    case 'K':
        return UINT64_C(1) << 10;
    case 'M':
        return UINT64_C(1) << 20;
    case 'G':
        return UINT64_C(1) << 30;
    default:
        return 0;
    }
}

static bool
read_seconds(const char *text, uint64_t *value)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds >= 0.0) || seconds > 1e12) {
        return false;
    }
    *value = (uint64_t)(seconds * 1000.0 + 0.5);
    return true;
}

static bool
read_number(const char *text, value_form form, uint64_t *value)
{
    char *end = NULL;

    if (form == SECONDS) {
        return read_seconds(text, value);
    }
    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    const uint64_t factor = suffix_factor(end);
    if (errno != 0 || factor == 0 || (form == NUMBER && factor != 1)) {
        return false;
    }
    return !__builtin_mul_overflow((uint64_t)number, factor, value);
}

rondo_status
rondo_config_number(rondo_config_id id, uint64_t low, uint64_t high, uint64_t *value)
{
    const char *const text = rondo_config_text(id);
    uint64_t number = 0;

    if (!read_number(text, rows[id].form, &number) || number < low || number > high) {
        return bad_value(id, text, low, high);
    }
    *value = number;
    return RONDO_OK;
}

void
rondo_config_agreed(char *line, uint64_t line_bytes)
{
    uint64_t used = 0;

    line[0] = '\0';
    for (uint32_t id = 0; id < RONDO_CONFIGS; id++) {
        if (!rows[id].agreed || used >= line_bytes) {
            continue;
        }
        const int wrote =
            snprintf(line + used, line_bytes - used, "%s%s=%s", used == 0 ? "" : " ",
                     rows[id].variable, rondo_config_text((rondo_config_id)id));
        used += wrote > 0 ? (uint64_t)wrote : 0;
    }
}
