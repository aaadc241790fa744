/* group_knock.c - how a restarted rank asks to be let in (see group_door.h). */
#include "clock.h"
#include "group_door.h"
#include "group_ticket.h"
#include "hash.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Seconds in which somebody must open, and in which whoever did must answer. */
#define KNOCK_SECONDS  60.0
#define ANSWER_SECONDS 20.0

/* The number of names comes with the invitation. */
static void
hear_invitation(uint32_t from, const void *header, size_t header_bytes,
                const void *payload, size_t payload_bytes, void *user)
{
    group_door *d = user;
    news n;
    (void)from; /* There is only the keeper. */
    if (header_bytes != sizeof n || d->invited) {
        return;
    }
    memcpy(&n, header, sizeof n);
    free(d->to.name_of);
    d->to.name_of = calloc(n.names, sizeof *d->to.name_of);
    d->to.names = n.names;
    if (d->to.name_of != NULL) {
        door_hear(d, &n, payload, payload_bytes);
    }
}

static void
pause_ms(uint32_t ms)
{
    const struct timespec pause = {.tv_nsec = 1000000L * ms};
    (void)nanosleep(&pause, NULL);
}

/* Two that come with the same ticket turn each other away, so they must not go on in
 * step: some milliseconds, other ones each time and in each process. */
static void
pause_apart(uint32_t attempt)
{
    const uint64_t draw = hash_pair((uint64_t)getpid(), attempt);
    pause_ms(1 + (uint32_t)(draw % (attempt < 8 ? 25u * attempt + 1u : 200u)));
}

/* False once the ticket is not the one at the door any more. */
static bool
meet_keeper(group_door *d)
{
    rondo_unique_id there = d->ticket;
    rondo_status status = door_pair(&d->ticket, 1, &d->pair);
    while (status == RONDO_OK &&
           (status = rondo_comm_create_test(d->pair)) == RONDO_BUSY &&
           memcmp(&there, &d->ticket, sizeof there) == 0 &&
           clock_seconds() - d->since < KNOCK_SECONDS) {
        pause_ms(1);
        status = RONDO_OK;
        if (!ticket_read(d->path, &there)) {
            return false;
        }
    }
    return status == RONDO_OK;
}

static bool
ask_in(group_door *d, uint32_t name)
{
    const double start = clock_seconds();
    const news greeting = {.magic = NEWS_MAGIC, .generation = name};
    rondo_status status =
        rondo_message_handler_set(d->pair, DOOR_CHANNEL, hear_invitation, d);
    bool sent = false;
    while ((status == RONDO_OK || status == RONDO_BUSY) && !d->invited &&
           clock_seconds() - start < ANSWER_SECONDS) {
        if (!sent) {
            status = rondo_message_send(d->pair, 0, DOOR_CHANNEL, &greeting,
                                        sizeof greeting, NULL, 0);
            sent = status == RONDO_OK;
        }
        if (status == RONDO_OK) {
            status = rondo_comm_progress(d->pair);
        }
        pause_ms(1);
    }
    return d->invited;
}

bool
door_knock(const char *path, uint32_t name, group_door **result, problem *why)
{
    group_door *d = NULL;
    if (!door_create(path, 1, &d, why)) {
        return false;
    }
    d->since = clock_seconds();
    for (uint32_t attempt = 0;
         !d->invited && clock_seconds() - d->since < KNOCK_SECONDS; attempt++) {
        door_shut(d);
        pause_apart(attempt);
        if (ticket_read(path, &d->ticket) && meet_keeper(d) && ask_in(d, name)) {
            d->state = DOOR_TELL; /* The pair stays until the group is there. */
        }
    }
    memset(&d->ticket, 0, sizeof d->ticket); /* It is not ours to remove. */
    if (d->invited) {
        *result = d;
        return true;
    }
    door_destroy(d);
    return problem_fail(why,
                        "--return: nobody has opened the door in %.0f s: --door %s "
                        "must name the file of the run, which must still be there, "
                        "and rank %u must be one that is missing",
                        KNOCK_SECONDS, path, name);
}
