/* nobody.c - the sentences about a meeting point that was never found. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/rendezvous_inside.h"

#define REASONS_BYTES 400

/* "Connection refused", or with several addresses "10.0.0.5: Connection refused,
 * fd00::5: Network is unreachable". */
static void
write_reasons(const rondo_rendezvous *here, char *text, size_t text_bytes)
{
    const bool named = rondo_places_named(&here->places, here->host);
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < here->places.count && used < text_bytes; i++) {
        char host[RONDO_PEER_TEXT_BYTES];
        char buffer[128];
        const int failed = here->attempts[i].failed;
        const char *const reason =
            strerror_r(failed != 0 ? failed : ETIMEDOUT, buffer, sizeof buffer);
        rondo_place_host(&here->places.at[i], host, sizeof host);
        const int wrote = named
                              ? snprintf(text + used, text_bytes - used, "%s%s: %s",
                                         i > 0 ? ", " : "", host, reason)
                              : snprintf(text + used, text_bytes - used, "%s", reason);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static bool
was_cut(const rondo_rendezvous *here)
{
    for (uint32_t i = 0; i < here->places.count; i++) {
        if (here->attempts[i].was_cut) {
            return true;
        }
    }
    return false;
}

rondo_status
rondo_rendezvous_nobody(const rondo_rendezvous *here)
{
    char reasons[REASONS_BYTES];
    char name[RONDO_HOST_NAME_BYTES];

    if (was_cut(here)) {
        return rondo_error(RONDO_ERR_START,
                           "%s closes connections at once: whatever listens there "
                           "does not speak Rondo's protocol",
                           here->where);
    }
    write_reasons(here, reasons, sizeof reasons);
    rondo_host_name(name, sizeof name);
    const bool loopback = rondo_places_are_loopback(&here->places);
    return rondo_error(
        RONDO_ERR_START, "nobody answers at %s, where rank %s is to be met (%s)%s%s",
        here->where, here->by_id ? "that made the id" : "0", reasons,
        loopback ? "; that address always means the own host, here " : "",
        loopback ? name : "");
}

rondo_status
rondo_rendezvous_unreachable(const rondo_rendezvous *here)
{
    char reasons[REASONS_BYTES];
    char name[RONDO_HOST_NAME_BYTES];

    write_reasons(here, reasons, sizeof reasons);
    rondo_host_name(name, sizeof name);
    return rondo_error(RONDO_ERR_START,
                       "%s, where rank %s is to be met, cannot be reached from this "
                       "host (%s)%s: %s",
                       here->where, here->by_id ? "that made the id" : "0", name,
                       rondo_family_missing(&here->places.at[0]), reasons);
}
