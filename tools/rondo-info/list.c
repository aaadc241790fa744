/* list.c - sets of processors as text. */
#include "list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
info_list_write(const uint64_t mask[RONDO_CPUS_MAX / 64], char *text, size_t text_bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t first = 0; first < RONDO_CPUS_MAX; first++) {
        uint32_t last = first;

        if (!info_list_has(mask, first)) {
            continue;
        }
        while (info_list_has(mask, last + 1)) {
            last++;
        }
        if (used + 24 > text_bytes) {
            (void)snprintf(text + used, text_bytes - used, ",...");
            return;
        }
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%u",
                                 used == 0 ? "" : ",", first);
        if (last > first) {
            used += (size_t)snprintf(text + used, text_bytes - used, "-%u", last);
        }
        first = last;
    }
}

static bool
read_number(const char **at, uint32_t *number)
{
    char *end = NULL;

    if (!isdigit((unsigned char)**at)) {
        return false;
    }
    const unsigned long value = strtoul(*at, &end, 10);
    *at = end;
    *number = value < RONDO_CPUS_MAX ? (uint32_t)value : 0;
    return value < RONDO_CPUS_MAX;
}

bool
info_list_read(const char *text, uint64_t mask[RONDO_CPUS_MAX / 64])
{
    const char *at = text;

    memset(mask, 0, RONDO_CPUS_MAX / 8);
    while (*at != '\0') {
        uint32_t first = 0;
        uint32_t last = 0;

        if (!read_number(&at, &first)) {
            return false;
        }
        last = first;
        if (*at == '-') {
            at++;
            if (!read_number(&at, &last)) {
                return false;
            }
        }
        for (uint32_t cpu = first; cpu <= last; cpu++) {
            info_list_add(mask, cpu);
        }
        if (*at == ',') {
            at++;
        } else if (*at != '\0') {
            return false;
        }
    }
    return text[0] != '\0';
}
