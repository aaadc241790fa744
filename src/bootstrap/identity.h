/*
 * identity.h - the pieces of a meeting that come from elsewhere: the job's secret and
 * the contents of a unique id.
 */
#ifndef BOOTSTRAP_IDENTITY_H
#define BOOTSTRAP_IDENTITY_H

#include "bootstrap/address.h"
#include "bootstrap/bootstrap.h"

/* rondo_secret_read - from RONDO_SECRET or RONDO_SECRET_FILE; all zero without them.
 * RONDO_ERR_ARG names the variable; the secret itself is never in a text. */
RONDO_MUST_USE rondo_status
rondo_secret_read(rondo_key *secret);

/* rondo_id_read - host, port, secret and job of a meeting from an id; RONDO_ERR_ARG:
 * damaged, or of another version (both are named). */
RONDO_MUST_USE rondo_status
rondo_id_read(const rondo_unique_id *id, rondo_meeting *meeting);

/* rondo_interface_place - the first address that RONDO_INTERFACE's names, patterns,
 * addresses and ranges mean, in their order: IPv4 before IPv6, loopback last, nothing
 * that "^" takes out. RONDO_ERR_ARG: none; the text lists what there is. */
RONDO_MUST_USE rondo_status
rondo_interface_place(const char *wanted, rondo_place *place);

#endif /* BOOTSTRAP_IDENTITY_H */
