/* links.c - connections to other processes: shared by communicators, lost once. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "transport/ucx/parts.h"

static bool
is_lost(const struct rondo_ucx_link *link)
{
    return atomic_load_explicit(&link->lost, memory_order_relaxed);
}

/* A lost link is not taken up again, whoever still has it: a process that asks for the
 * same address now wants a new connection. */
static struct rondo_ucx_link *
known(const rondo_ucx *ucx, const void *address, size_t bytes)
{
    for (uint64_t i = 0; i < ucx->nlinks; i++) {
        struct rondo_ucx_link *const link = ucx->links[i];
        if (!is_lost(link) && link->address_bytes == bytes &&
            memcmp(link->address, address, bytes) == 0) {
            return link;
        }
    }
    return NULL;
}

static rondo_status
connect_to(rondo_ucx *ucx, struct rondo_ucx_link *link)
{
    char why[160] = "";

    if (ucx->ops->connect(ucx->wire, link->address, link->address_bytes, link,
                          &link->wire, why, sizeof why) == 0) {
        return RONDO_OK;
    }
    return rondo_error(RONDO_ERR_PEER, "%s", why);
}

static rondo_status
link_make(rondo_ucx *ucx, const void *address, size_t bytes,
          struct rondo_ucx_link **link)
{
    void *links = ucx->links;
    void *memory = NULL;
    rondo_status status =
        rondo_alloc_grow(&links, ucx->nlinks, &ucx->links_room, sizeof *ucx->links);

    ucx->links = links;
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(sizeof **link, &memory);
    }
    if (status != RONDO_OK || memory == NULL) {
        return status;
    }
    struct rondo_ucx_link *const made = memory;
    memcpy(made->address, address, bytes);
    made->address_bytes = bytes;
    status = connect_to(ucx, made);
    if (status != RONDO_OK) {
        rondo_free(made);
        return status;
    }
    ucx->links[ucx->nlinks] = made;
    ucx->nlinks++;
    *link = made;
    return RONDO_OK;
}

rondo_status
rondo_ucx_link_get(rondo_ucx *ucx, const void *address, size_t bytes,
                   struct rondo_ucx_link **link)
{
    struct rondo_ucx_link *found = NULL;

    if (bytes == 0 || bytes > RONDO_WIRE_ADDRESS_MAX) {
        return rondo_error(RONDO_ERR_WIRE, "an address of %zu bytes", bytes);
    }
    found = known(ucx, address, bytes);
    if (found == NULL) {
        const rondo_status status = link_make(ucx, address, bytes, &found);
        if (status != RONDO_OK) {
            return status;
        }
    }
    found->users++;
    *link = found;
    return RONDO_OK;
}

/* A link without users stays for the next communicator: were it closed, the process at
 * its other end would lose what other communicators may just have begun to send on it.
 * A lost one goes with the next reap. */
void
rondo_ucx_link_put(rondo_ucx *ucx, struct rondo_ucx_link *link)
{
    link->users--;
    ucx->losses = ucx->losses || is_lost(link);
}

/* The wire will say why, after what has arrived before. */
static void
note_failure(rondo_ucx *ucx, struct rondo_ucx_link *link,
             const struct rondo_ucx_entry *entry)
{
    if (entry->parcel.failed && !is_lost(link)) {
        link->failing = true;
        ucx->failures = true;
    }
}

static void
give_back(rondo_ucx *ucx, struct rondo_ucx_entry *entry)
{
    if (entry->owner != NULL) {
        entry->outlet->pending--;
        rondo_ucx_wake(entry->owner);
    }
    rondo_ucx_entry_put(ucx, entry);
}

void
rondo_ucx_link_send(rondo_ucx *ucx, struct rondo_ucx_link *link,
                    struct rondo_ucx_entry *entry)
{
    ucx->ops->send(ucx->wire, link->wire, &entry->parcel);
    if (entry->parcel.done) {
        note_failure(ucx, link, entry);
        rondo_ucx_entry_put(ucx, entry);
        return;
    }
    if (entry->owner != NULL) {
        entry->outlet->pending++;
    }
    if (link->head == NULL) {
        link->head = entry;
    } else {
        link->tail->next = entry;
    }
    link->tail = entry;
    ucx->nflying++;
}

static uint32_t
link_reap(rondo_ucx *ucx, struct rondo_ucx_link *link)
{
    uint32_t reaped = 0;

    while (link->head != NULL && link->head->parcel.done) {
        struct rondo_ucx_entry *const entry = link->head;
        link->head = entry->next;
        note_failure(ucx, link, entry);
        give_back(ucx, entry);
        ucx->nflying--;
        reaped++;
    }
    return reaped;
}

/* The wire sets what was under way done when it disconnects. */
static uint32_t
link_close(rondo_ucx *ucx, struct rondo_ucx_link *link)
{
    if (link->wire != NULL) {
        ucx->ops->disconnect(ucx->wire, link->wire);
        link->wire = NULL;
    }
    return link_reap(ucx, link);
}

static uint32_t
close_lost(rondo_ucx *ucx)
{
    uint32_t reaped = 0;
    uint64_t kept = 0;

    ucx->losses = false;
    for (uint64_t i = 0; i < ucx->nlinks; i++) {
        struct rondo_ucx_link *const link = ucx->links[i];
        if (is_lost(link)) {
            reaped += link_close(ucx, link);
        }
        if (is_lost(link) && link->users == 0 && link->head == NULL) {
            rondo_free(link);
            continue;
        }
        ucx->links[kept] = link;
        kept++;
    }
    ucx->nlinks = kept;
    return reaped;
}

void
rondo_ucx_link_cut(rondo_ucx *ucx, struct rondo_ucx_link *link, const char *why)
{
    rondo_ucx_lost(ucx, link, why);
    (void)link_close(ucx, link);
}

void
rondo_ucx_links_lose(rondo_ucx *ucx)
{
    ucx->failures = false;
    for (uint64_t i = 0; i < ucx->nlinks; i++) {
        if (ucx->links[i]->failing) {
            rondo_ucx_lost(ucx, ucx->links[i], "it takes nothing any more");
        }
    }
}

uint32_t
rondo_ucx_links_reap(rondo_ucx *ucx)
{
    uint32_t reaped = 0;

    for (uint64_t i = 0; ucx->nflying > 0 && i < ucx->nlinks; i++) {
        reaped += link_reap(ucx, ucx->links[i]);
    }
    if (ucx->losses) {
        reaped += close_lost(ucx);
    }
    return reaped;
}

void
rondo_ucx_links_end(rondo_ucx *ucx)
{
    for (uint64_t i = 0; i < ucx->nlinks; i++) {
        if (!rondo_ucx_forked(ucx)) {
            (void)link_close(ucx, ucx->links[i]);
        }
        rondo_free(ucx->links[i]);
    }
    rondo_free(ucx->links);
    ucx->links = NULL;
    ucx->nlinks = 0;
}

void
rondo_ucx_lost(void *user, void *link_user, const char *why)
{
    rondo_ucx *const ucx = user;
    struct rondo_ucx_link *const link = link_user;

    if (is_lost(link)) {
        return;
    }
    link->failing = false;
    (void)snprintf(link->why, sizeof link->why, "%s", why);
    atomic_store_explicit(&link->lost, true, memory_order_release);
    ucx->losses = true;
    rondo_ucx_wake_all(ucx);
}
