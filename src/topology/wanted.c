/* wanted.c - reads RONDO_INTERFACE: names, patterns, address ranges, and what to leave
 * out. */
#include "topology/wanted.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/error.h"

/* The kernel's IFNAMSIZ without the zero at the end. */
#define NAME_LETTERS 15

static rondo_status
refuse(const char *part, const char *why)
{
    return rondo_error(RONDO_ERR_ARG, "%s: \"%s\" %s",
                       rondo_config_variable(RONDO_CONFIG_INTERFACE), part, why);
}

/* "/16" behind an address; none is the whole address. */
static bool
read_prefix(const char *slash, uint16_t most, uint16_t *prefix)
{
    char *end = NULL;

    *prefix = most;
    if (slash == NULL) {
        return true;
    }
    if (!isdigit((unsigned char)slash[1]) || strlen(slash) > 4) {
        return false;
    }
    const unsigned long bits = strtoul(slash + 1, &end, 10);
    if (*end != '\0' || bits > most) {
        return false;
    }
    *prefix = (uint16_t)bits;
    return true;
}

static rondo_status
read_range(rondo_wanted_part *part)
{
    char address[sizeof part->text];
    const char *const slash = strchr(part->text, '/');
    const size_t letters =
        slash == NULL ? strlen(part->text) : (size_t)(slash - part->text);

    memcpy(address, part->text, letters);
    address[letters] = '\0';
    if (inet_pton(AF_INET, address, part->address) == 1) {
        part->family = 4;
    } else if (inet_pton(AF_INET6, address, part->address) == 1) {
        part->family = 6;
    } else {
        return refuse(part->text, "is neither the name of an interface nor a range of "
                                  "addresses such as 10.1.0.0/16 or fd00::/8");
    }
    if (!read_prefix(slash, part->family == 4 ? 32 : 128, &part->prefix)) {
        return refuse(part->text, part->family == 4
                                      ? "has no length from /0 to /32 behind it"
                                      : "has no length from /0 to /128 behind it");
    }
    return RONDO_OK;
}

static bool
is_address(const char *text)
{
    unsigned char bytes[16];

    return inet_pton(AF_INET, text, bytes) == 1;
}

static rondo_status
read_name(rondo_wanted_part *part)
{
    if (strcspn(part->text, " \t") != strlen(part->text)) {
        return refuse(part->text, "has a blank in it; parts are separated by commas");
    }
    if (strpbrk(part->text, "*?[") == NULL && strlen(part->text) > NAME_LETTERS) {
        return refuse(part->text, "is longer than the name of an interface can be");
    }
    const char *const open = strchr(part->text, '[');
    if (open != NULL && strchr(open, ']') == NULL) {
        return refuse(part->text, "has a [ without its ]");
    }
    return RONDO_OK;
}

static rondo_status
read_part(const char *text, rondo_wanted_part *part)
{
    memset(part, 0, sizeof *part);
    part->out = text[0] == '^';
    text += part->out ? 1 : 0;
    if (text[0] == '\0' || text[0] == '^') {
        return refuse(part->out ? text - 1 : text,
                      part->out ? "does not say what to take out" : "is empty");
    }
    if (strlen(text) >= sizeof part->text) {
        return refuse(text, "is too long");
    }
    memcpy(part->text, text, strlen(text) + 1);
    if (strcmp(text, "auto") == 0) {
        part->form = RONDO_WANTED_AUTO;
        return part->out ? refuse("^auto", "would take out everything") : RONDO_OK;
    }
    if (strpbrk(text, "/:") != NULL || is_address(text)) {
        part->form = RONDO_WANTED_RANGE;
        return read_range(part);
    }
    part->form = RONDO_WANTED_NAME;
    return read_name(part);
}

/* Elsewhere a "^" in front turns a whole list around; here it belongs to one part. A
 * name that follows could be meant either way, and the wrong guess would be silent. */
static rondo_status
take_part(const char *text, rondo_wanted *wanted)
{
    rondo_wanted_part part;

    if (wanted->nparts == RONDO_WANTED_MAX) {
        return refuse(text, "is one part too many: 64 are allowed");
    }
    const rondo_status status = read_part(text, &part);
    if (status != RONDO_OK) {
        return status;
    }
    if (!part.out && wanted->nparts > 0 && wanted->parts[wanted->nparts - 1].out) {
        return refuse(text, "stands behind a part with ^: what is wanted comes first, "
                            "then what is taken out, each part with a ^ of its own");
    }
    wanted->parts[wanted->nparts++] = part;
    return RONDO_OK;
}

static rondo_status
take_all(char *text, rondo_wanted *wanted)
{
    rondo_status status = RONDO_OK;
    char *rest = text;

    for (char *part = strsep(&rest, ","); status == RONDO_OK && part != NULL;
         part = strsep(&rest, ",")) {
        while (isspace((unsigned char)part[0])) {
            part++;
        }
        for (size_t end = strlen(part);
             end > 0 && isspace((unsigned char)part[end - 1]); end--) {
            part[end - 1] = '\0';
        }
        status = take_part(part, wanted);
    }
    return status;
}

rondo_status
rondo_wanted_parse(const char *text, rondo_wanted *wanted)
{
    rondo_wanted all = {.nparts = 0};
    char copy[2048];

    if (text[0] == '\0') {
        text = "auto";
    }
    if (strlen(text) >= sizeof copy) {
        return rondo_error(RONDO_ERR_ARG, "%s is longer than %zu letters",
                           rondo_config_variable(RONDO_CONFIG_INTERFACE),
                           sizeof copy - 1);
    }
    memcpy(copy, text, strlen(text) + 1);
    const rondo_status status = take_all(copy, &all);
    if (status == RONDO_OK) {
        *wanted = all;
    }
    return status;
}

bool
rondo_wanted_fits(const rondo_wanted_part *part, const char *name, uint16_t family,
                  const unsigned char *address)
{
    if (part->form == RONDO_WANTED_NAME) {
        return fnmatch(part->text, name, 0) == 0;
    }
    if (part->form == RONDO_WANTED_AUTO || part->family != family) {
        return false;
    }
    const size_t bytes = part->prefix / 8;
    const uint32_t bits = part->prefix % 8;

    if (memcmp(part->address, address, bytes) != 0) {
        return false;
    }
    return bits == 0 ||
           ((part->address[bytes] ^ address[bytes]) & (0xff00u >> bits) & 0xffu) == 0;
}
