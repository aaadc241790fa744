/* group_door.c - how a restarted rank comes back (see group.h, group_door.h).
 *
 * The keeper (rank 0 of the living) makes a communicator for two, itself and whoever
 * comes, and puts its unique id into the ticket. The one who comes says its name; the
 * keeper then makes the unique id of the group to be, and tells it to the one who came
 * and to all others.
 */
#include "group_door.h"

#include "clock.h"
#include "group_ticket.h"

#include <stdlib.h>
#include <string.h>

/* Calls of door_poll between the news and the change, where ranks go in step: more than
 * any message takes. */
#define STEPS_AHEAD 4u
/* Seconds that one who comes is given to say its name. */
#define GREET_SECONDS 20.0

bool
door_create(const char *path, uint32_t names, group_door **result, problem *why)
{
    group_door *d = calloc(1, sizeof *d);
    if (d != NULL) {
        d->to.name_of = calloc(names, sizeof *d->to.name_of);
    }
    if (d == NULL || d->to.name_of == NULL) {
        free(d);
        return problem_fail(why, "no memory for --door %s", path);
    }
    d->path = path;
    d->to.names = names;
    *result = d;
    return true;
}

void
door_shut(group_door *d)
{
    rondo_comm_destroy(d->pair);
    d->pair = NULL;
    d->greeted = false;
    d->state = DOOR_SHUT;
}

void
door_destroy(group_door *d)
{
    if (d == NULL) {
        return;
    }
    ticket_remove(d->path, &d->ticket);
    door_shut(d);
    free(d->to.name_of);
    free(d);
}

/* --- news ------------------------------------------------------------------------- */

void
door_hear(group_door *d, const news *n, const void *names, size_t names_bytes)
{
    if (n->magic != NEWS_MAGIC || n->names != d->to.names || n->count > n->names ||
        names_bytes != n->count * sizeof *d->to.name_of) {
        return;
    }
    d->to.generation = n->generation;
    d->to.at = n->at;
    d->to.count = n->count;
    d->to.id = n->id;
    memcpy(d->to.name_of, names, names_bytes);
    d->invited = true;
}

static void
hear_news(uint32_t from, const void *header, size_t header_bytes, const void *payload,
          size_t payload_bytes, void *user)
{
    group_door *d = user;
    news n;
    (void)from; /* Rank 0: there is no other keeper. */
    if (header_bytes != sizeof n) {
        return;
    }
    memcpy(&n, header, sizeof n);
    door_hear(d, &n, payload, payload_bytes);
    if (d->invited && d->g != NULL && d->g->wake != NULL) {
        d->g->wake(d->g->wake_user);
    }
}

bool
door_listen(group *g, problem *why)
{
    group_door *d = g->door;
    d->polls = 0;
    /* Whoever kept the door may have another rank now. */
    if (d->state != DOOR_SHUT && g->all.rank != 0) {
        door_shut(d);
    }
    const rondo_status status =
        rondo_message_handler_set(g->all.comm, DOOR_CHANNEL, hear_news, d);
    /* Broken already: there will be another one. */
    return status == RONDO_OK || rondo_status_group_of(status) == RONDO_GROUP_BROKEN ||
           ranks_fail(&g->all, status, "keeping the door", why);
}

const invitation *
door_news(const group_door *d)
{
    return d->invited ? &d->to : NULL;
}

void
door_forget(group_door *d)
{
    d->invited = false;
    if (d->state == DOOR_TELL) {
        door_shut(d);
    }
}

rondo_status
door_enter(const invitation *to, uint32_t name, rondo_comm **comm)
{
    rondo_comm_config config;
    rondo_comm_config_init(&config);
    config.id = &to->id;
    config.nranks = to->count;
    config.rank = 0;
    while (config.rank < to->count && to->name_of[config.rank] != name) {
        config.rank++;
    }
    return rondo_comm_create_start(&config, comm);
}

/* --- the keeper ------------------------------------------------------------------- */

rondo_status
door_pair(const rondo_unique_id *id, uint32_t rank, rondo_comm **pair)
{
    rondo_comm_config config;
    rondo_comm_config_init(&config);
    config.id = id;
    config.nranks = 2;
    config.rank = rank;
    config.name = "door";
    return rondo_comm_create_start(&config, pair);
}

static void
go_to(group_door *d, door_state state)
{
    d->state = state;
    d->since = clock_seconds();
}

/* A door that cannot be opened now is tried again at the next step. */
static void
open_door(group_door *d)
{
    if (rondo_unique_id_create(&d->ticket) != RONDO_OK ||
        door_pair(&d->ticket, 0, &d->pair) != RONDO_OK) {
        return;
    }
    if (!ticket_write(d->path, &d->ticket)) {
        door_shut(d);
        return;
    }
    go_to(d, DOOR_OPEN);
}

static void
hear_greeting(uint32_t from, const void *header, size_t header_bytes,
              const void *payload, size_t payload_bytes, void *user)
{
    group_door *d = user;
    news n;
    (void)from;
    (void)payload;
    (void)payload_bytes;
    if (header_bytes == sizeof n) {
        memcpy(&n, header, sizeof n);
        d->greeted = n.magic == NEWS_MAGIC && n.generation < d->to.names;
        d->guest = (uint32_t)n.generation;
    }
}

static void
await_guest(group_door *d)
{
    const rondo_status status = rondo_comm_create_test(d->pair);
    if (status == RONDO_BUSY) {
        return;
    }
    if (status != RONDO_OK || rondo_message_handler_set(d->pair, DOOR_CHANNEL,
                                                        hear_greeting, d) != RONDO_OK) {
        door_shut(d); /* Nobody came in time; the next ticket is for the next one. */
        return;
    }
    go_to(d, DOOR_GREET);
}

static bool
guest_lost(const group_door *d)
{
    return rondo_comm_progress(d->pair) != RONDO_OK ||
           clock_seconds() - d->since > GREET_SECONDS;
}

/* The group to be: the living and the guest, by name. */
static bool
plan_group(group_door *d, const group *g)
{
    invitation *to = &d->to;
    if (rondo_unique_id_create(&to->id) != RONDO_OK) {
        return false;
    }
    to->generation = g->generation + 1;
    to->at = g->lockstep ? d->polls + STEPS_AHEAD : 0;
    to->count = 0;
    for (uint32_t name = 0; name < g->names; name++) {
        if (g->rank_of[name] != UINT32_MAX || name == d->guest) {
            to->name_of[to->count++] = name;
        }
    }
    return true;
}

static void
greet(group_door *d, const group *g)
{
    if (guest_lost(d)) {
        door_shut(d);
        return;
    }
    /* One whose death is not known yet waits until it is. */
    if (d->greeted && g->rank_of[d->guest] == UINT32_MAX && plan_group(d, g)) {
        d->told = 0;
        go_to(d, DOOR_TELL);
    }
}

static rondo_status
tell(rondo_comm *comm, uint32_t rank, const invitation *to)
{
    const news n = {.magic = NEWS_MAGIC,
                    .generation = to->generation,
                    .at = to->at,
                    .names = to->names,
                    .count = to->count,
                    .id = to->id};
    return rondo_message_send(comm, rank, DOOR_CHANNEL, &n, sizeof n, to->name_of,
                              to->count * sizeof *to->name_of);
}

/* The guest first: if it is gone, the others need not know of it. */
static void
tell_all(group_door *d, const group *g)
{
    rondo_status status = rondo_comm_progress(d->pair);
    while (status == RONDO_OK && d->told < g->all.count) {
        status = d->told == 0 ? tell(d->pair, 1, &d->to)
                              : tell(g->all.comm, d->told, &d->to);
        d->told += status == RONDO_OK ? 1 : 0;
    }
    if (status == RONDO_OK) {
        d->invited = true;
    } else if (status != RONDO_BUSY) {
        /* A member has died, which ends in a recovery, or the guest. Whoever has been
         * told waits for the new group in vain, but not for long. */
        door_shut(d);
    }
}

static void
keep_door(group_door *d, const group *g)
{
    switch (d->state) {
    case DOOR_SHUT:
        open_door(d);
        break;
    case DOOR_OPEN:
        await_guest(d);
        break;
    case DOOR_GREET:
        greet(d, g);
        break;
    case DOOR_TELL:
        if (!d->invited) {
            tell_all(d, g);
        }
        break;
    }
}

const invitation *
door_poll(group *g)
{
    group_door *d = g->door;
    d->g = g;
    d->polls++;
    if (g->all.rank == 0) {
        keep_door(d, g);
    }
    return d->invited && d->polls >= d->to.at ? &d->to : NULL;
}
