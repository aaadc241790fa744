/* links_end.c - how links end: in good order, within 200 ms for whoever closes them,
 * and within 2 s for ranks of this host that are still there. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "control/links_parts.h"

/* The caller of rondo_links_close is let go. */
#define DETACH_NS (150 * RONDO_NS_PER_MS)

/* How long others are waited for: with a mapping of our own, and without. */
#define LINGER_NS (2 * RONDO_NS_PER_S)
#define HASTE_NS  (90 * RONDO_NS_PER_MS)

/* How long the other side may take to close, too. */
#define LEAVE_NS (90 * RONDO_NS_PER_MS)

/* A second mapping of the same memory, where it is shared: the board's owner may go
 * while ranks of this host are still there. */
static void
map_board(rondo_links *links)
{
    if (!rondo_links_is_leader(links)) {
        return;
    }
    void *const memory = mremap(links->board.memory, 0,
                                rondo_board_bytes(links->nranks), MREMAP_MAYMOVE);

    if (memory != MAP_FAILED) {
        links->own_board = memory;
        links->board.memory = memory;
    }
}

static bool
host_has_left(const rondo_links *links)
{
    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        if (links->host_of[rank] == links->host &&
            rondo_board_presence(&links->board, rank) != RONDO_LEFT) {
            return false;
        }
    }
    return true;
}

/* Whether nobody needs these links any more. */
static bool
may_leave(const rondo_links *links)
{
    if (!rondo_links_is_leader(links)) {
        return !atomic_load(&links->news);
    }
    if (links->links == NULL) {
        return true;
    }
    return rondo_board_broken(&links->board) ||
           (host_has_left(links) && !rondo_links_is_hub(links));
}

static void
leave(rondo_links *links, uint64_t now)
{
    links->leaving = true;
    links->leaving_ns = now;
    rondo_links_attempts_drop(links);
    rondo_links_look(links);
    for (rondo_link *at = links->links; at != NULL; at = at->next) {
        rondo_link_bye(at);
    }
}

/* Nothing of it is used by the service thread any more. */
static void
finish(rondo_links *links)
{
    rondo_service *const service = links->service;

    while (links->links != NULL) {
        rondo_link *const gone = links->links;
        links->links = gone->next;
        rondo_link_free(gone);
    }
    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        rondo_service_unwatch(service, links->watches[rank]);
    }
    rondo_links_close_fd(service, &links->wake);
    (void)pthread_mutex_lock(&service->lock);
    rondo_links **place = &service->links->all;
    while (*place != links) {
        place = &(*place)->next;
    }
    *place = links->next;
    links->done = true;
    const bool orphan = links->orphan;
    rondo_service_event(service);
    (void)pthread_mutex_unlock(&service->lock);
    if (orphan) {
        rondo_links_free(links);
    }
}

static bool
is_closing(rondo_links *links)
{
    (void)pthread_mutex_lock(&links->service->lock);
    const bool closing = links->closing;
    (void)pthread_mutex_unlock(&links->service->lock);
    return closing;
}

static void
detach(rondo_links *links)
{
    (void)pthread_mutex_lock(&links->service->lock);
    links->detached = true;
    rondo_service_event(links->service);
    (void)pthread_mutex_unlock(&links->service->lock);
}

bool
rondo_links_end_turn(rondo_links *links, uint64_t now)
{
    if (links->closing_ns == 0) {
        links->end_ns = RONDO_NEVER;
        if (!is_closing(links)) {
            return false;
        }
        links->closing_ns = now;
        map_board(links);
    }
    const uint64_t until_ns =
        links->closing_ns + (links->own_board != NULL ? LINGER_NS : HASTE_NS);
    if (!links->leaving && (may_leave(links) || now >= until_ns)) {
        leave(links, now);
    }
    if (links->leaving &&
        (links->links == NULL || now >= links->leaving_ns + LEAVE_NS)) {
        finish(links);
        return true;
    }
    links->end_ns = links->leaving ? links->leaving_ns + LEAVE_NS : until_ns;
    if (links->own_board != NULL && now >= links->closing_ns + DETACH_NS) {
        detach(links);
    } else if (links->own_board != NULL &&
               links->closing_ns + DETACH_NS < links->end_ns) {
        links->end_ns = links->closing_ns + DETACH_NS;
    }
    return false;
}

void
rondo_links_free(rondo_links *links)
{
    rondo_service *const service = links->service;

    if (links->own_board != NULL) {
        (void)munmap(links->own_board, rondo_board_bytes(links->nranks));
    }
    rondo_link_forget(&links->key, sizeof links->key);
    rondo_free(links->host_of);
    rondo_free(links->addresses);
    rondo_free(links->host_names);
    rondo_free(links->leaders);
    rondo_free((void *)(uintptr_t)links->died);
    rondo_free((void *)links->watches);
    rondo_free(links->sent);
    rondo_free(links);
    rondo_service_release(service);
}
