/* group_ticket.h - the file by which a restarted rank finds the others: a unique id in
 * hexadecimal digits, readable by its owner only, since whoever has it can join. */
#ifndef TRAINER_GROUP_TICKET_H
#define TRAINER_GROUP_TICKET_H

#include "problem.h"

#include <rondo/rondo.h>

/* Replaces what is there in one go. */
TRAINER_MUST_USE bool
ticket_write(const char *path, const rondo_unique_id *id);

/* False where there is none, or none that is whole and of this user alone. */
TRAINER_MUST_USE bool
ticket_read(const char *path, rondo_unique_id *id);

/* If the file holds `id`. */
void
ticket_remove(const char *path, const rondo_unique_id *id);

#endif
