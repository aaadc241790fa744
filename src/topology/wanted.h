/* wanted.h - RONDO_INTERFACE, read: which interfaces and addresses are asked for. */
#ifndef TOPOLOGY_WANTED_H
#define TOPOLOGY_WANTED_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/status.h>

#define RONDO_WANTED_MAX 64

typedef enum rondo_wanted_form {
    RONDO_WANTED_AUTO,
    RONDO_WANTED_NAME, /* or a pattern */
    RONDO_WANTED_RANGE /* of addresses */
} rondo_wanted_form;

typedef struct rondo_wanted_part {
    rondo_wanted_form form;
    bool out;        /* "^": takes out */
    char text[64];   /* as written, without the "^" */
    uint16_t family; /* of a range: 4 or 6 */
    uint16_t prefix;
    unsigned char address[16];
} rondo_wanted_part;

typedef struct rondo_wanted {
    uint32_t nparts;
    rondo_wanted_part parts[RONDO_WANTED_MAX];
} rondo_wanted;

/* rondo_wanted_parse - RONDO_ERR_ARG: the text names the part that cannot be read. */
RONDO_MUST_USE rondo_status
rondo_wanted_parse(const char *text, rondo_wanted *wanted);

/* rondo_wanted_fits - whether an address of an interface is what the part means; a part
 * "auto" fits nothing. */
bool
rondo_wanted_fits(const rondo_wanted_part *part, const char *name, uint16_t family,
                  const unsigned char *address);

#endif /* TOPOLOGY_WANTED_H */
