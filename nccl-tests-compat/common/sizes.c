/* sizes.c - parsing and stepping without overflow. */
#include "common/sizes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Above this the arithmetic of offsets would need care no machine rewards. */
#define BYTES_MOST ((uint64_t)1 << 62)

static bool
parse_unit(const char *text, double *unit)
{
    static const struct {
        const char *word;
        double bytes;
    } units[] = {{"", 1.0},       {"B", 1.0},     {"K", 1024.0},   {"KB", 1024.0},
                 {"KiB", 1024.0}, {"M", 0x1p20},  {"MB", 0x1p20},  {"MiB", 0x1p20},
                 {"G", 0x1p30},   {"GB", 0x1p30}, {"GiB", 0x1p30}, {"T", 0x1p40},
                 {"TB", 0x1p40},  {"TiB", 0x1p40}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcasecmp(text, units[i].word) == 0) {
            *unit = units[i].bytes;
            return true;
        }
    }
    return false;
}

bool
perf_size_parse(const char *text, uint64_t *bytes)
{
    /* strtod would also take hexadecimal, "inf", signs and leading blanks. */
    const char *end = text;
    while ((*end >= '0' && *end <= '9') || *end == '.') {
        end++;
    }
    char *stopped = NULL;
    const double number = strtod(text, &stopped);
    double unit = 0.0;
    if (end == text || stopped != end || !parse_unit(end, &unit)) {
        return false;
    }
    const double size = number * unit;
    if (!(size >= 0.0) || size > (double)BYTES_MOST) {
        return false;
    }
    *bytes = (uint64_t)size;
    return true;
}

void
perf_size_text(uint64_t bytes, char *text, size_t text_size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)bytes;
    size_t unit = 0;
    while (amount >= 1024.0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        amount /= 1024.0;
        unit++;
    }
    snprintf(text, text_size, unit == 0 ? "%.0f %s" : "%.1f %s", amount, units[unit]);
}

bool
perf_sweep_next(const perf_sweep *sweep, size_t width, uint64_t *bytes)
{
    uint64_t next = 0;
    bool overflow = false;
    if (sweep->factor > 1) {
        overflow = __builtin_mul_overflow(*bytes, sweep->factor, &next);
        next = *bytes == 0 ? width : next;
    } else {
        overflow = __builtin_add_overflow(*bytes, sweep->step, &next);
    }
    if (overflow || next > sweep->most || next <= *bytes) {
        return false;
    }
    *bytes = next;
    return true;
}
