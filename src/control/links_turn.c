/* links_turn.c - what the service thread does for a communicator's links, and when. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "control/links_parts.h"

/* How often a leader looks at its board without having been told to. */
#define LOOK_NS (200 * RONDO_NS_PER_MS)

void
rondo_links_changed(rondo_links *links)
{
    (void)pthread_mutex_lock(&links->service->lock);
    rondo_service_event(links->service);
    (void)pthread_mutex_unlock(&links->service->lock);
}

/* Runs on the service thread, which must not be called from here. */
static void
process_died(const rondo_address *address, void *user)
{
    rondo_links *const links = user;

    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        if (links->host_of[rank] == links->host &&
            memcmp(&links->addresses[rank], address, sizeof *address) == 0) {
            atomic_store(&links->died[rank], true);
        }
    }
    rondo_links_wake(links);
}

/* Every other process of this host, once. That one cannot be watched is for those to
 * say who wait for it. */
static void
watch_host(rondo_links *links)
{
    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        bool known = links->host_of[rank] != links->host;
        for (uint32_t i = 0; i < rank && !known; i++) {
            known = memcmp(&links->addresses[i], &links->addresses[rank],
                           sizeof links->addresses[i]) == 0;
        }
        if (!known &&
            rondo_service_watch(links->service, &links->addresses[rank], process_died,
                                links, &links->watches[rank]) != RONDO_OK) {
            links->watches[rank] = NULL;
        }
    }
}

static void
take_deaths(rondo_links *links)
{
    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        if (!atomic_exchange(&links->died[rank], false) ||
            rondo_board_presence(&links->board, rank) == RONDO_LEFT) {
            continue;
        }
        rondo_breakage why = {.status = RONDO_ERR_PEER, .culprit = rank};
        rondo_board_gone_set(&links->board, rank);
        (void)snprintf(why.text, sizeof why.text, "rank %u (process %u on %.63s) died",
                       rank, links->addresses[rank].pid, links->host_names[rank]);
        (void)rondo_board_break(&links->board, &why);
        atomic_store(&links->news, true);
        rondo_links_changed(links);
    }
}

static void
begin(rondo_links *links)
{
    links->begun = true;
    if (!rondo_links_is_leader(links)) {
        return;
    }
    watch_host(links);
    if (links->nhosts == 1) {
        rondo_board_linked_set(&links->board, "");
    } else if (rondo_links_is_hub(links)) {
        rondo_links_claim(links);
    } else {
        rondo_links_connect_begin(links);
    }
}

static void
hub_is_late(rondo_links *links, uint64_t now)
{
    char text[RONDO_BOARD_TEXT_MAX];
    int used = snprintf(text, sizeof text, "no connection has come to rank 0 on %.63s",
                        links->host_names[0]);
    bool more = false;

    if (links->failed || links->nlinks + 1 >= links->nhosts ||
        now < links->deadline_ns) {
        return;
    }
    for (uint32_t host = 1; host < links->nhosts && used < 360; host++) {
        bool there = false;
        for (const rondo_link *at = links->links; at != NULL && !there; at = at->next) {
            there = at->host == host;
        }
        if (!there) {
            const uint32_t rank = links->leaders[host];
            used +=
                snprintf(text + used, sizeof text - (size_t)used, "%s %.63s (rank %u)",
                         more ? "," : " from", links->host_names[rank], rank);
            more = true;
        }
    }
    rondo_links_fail(links, text);
}

static void
leader_turn(rondo_links *links, uint64_t now)
{
    take_deaths(links);
    if (rondo_links_is_hub(links)) {
        hub_is_late(links, now);
    } else if (links->closing_ns == 0) {
        rondo_links_connect_turn(links, now);
    }
    if (atomic_exchange(&links->news, false) || now >= links->look_ns) {
        links->look_ns = now + LOOK_NS;
        rondo_links_look(links);
    }
    rondo_links_ask_turn(links, now);
}

static void
sooner(uint64_t *moment, uint64_t other)
{
    *moment = other < *moment ? other : *moment;
}

static uint64_t
next_moment(const rondo_links *links, uint64_t now)
{
    uint64_t moment = links->end_ns;

    if (!rondo_links_is_leader(links)) {
        sooner(&moment, links->retry_ns);
        return moment;
    }
    sooner(&moment, links->look_ns);
    sooner(&moment, rondo_links_ask_moment(links));
    if (links->closing_ns != 0 || links->failed) {
        return moment;
    }
    if (links->nlinks + 1 < links->nhosts && now < links->deadline_ns) {
        sooner(&moment, links->deadline_ns);
    }
    if (links->pair < links->npairs) {
        sooner(&moment, links->attempt_ns);
    }
    return moment;
}

void
rondo_links_turn(rondo_links *links)
{
    const uint64_t now = rondo_now_ns();

    if (!links->begun) {
        begin(links);
    }
    if (rondo_links_is_leader(links)) {
        leader_turn(links, now);
    } else {
        rondo_links_tell_leader(links, now);
    }
    if (!rondo_links_end_turn(links, now)) {
        rondo_service_alarm(links->service, links->wake, next_moment(links, now));
    }
}

void
rondo_links_ready(int fd, uint32_t events, void *user)
{
    uint64_t count = 0;

    while (events != 0 && read(fd, &count, sizeof count) < 0 && errno == EINTR) {
        continue;
    }
    rondo_links_turn(user);
}

/* Adds to "eth0,eth1" what is not in it yet. */
static void
add_interface(rondo_links *links, const char *name)
{
    const size_t used = strlen(links->interfaces);
    char item[24];
    char list[RONDO_BOARD_INTERFACES_MAX + 4];

    (void)snprintf(item, sizeof item, ",%.15s,", name);
    (void)snprintf(list, sizeof list, ",%s,", links->interfaces);
    if (name[0] == '\0' || strstr(list, item) != NULL) {
        return;
    }
    (void)snprintf(links->interfaces + used, sizeof links->interfaces - used, "%s%.15s",
                   used > 0 ? "," : "", name);
}

void
rondo_links_up(rondo_link *link)
{
    rondo_links *const links = link->owner;

    if (rondo_alloc_zero(links->nranks * sizeof *link->told, (void **)&link->told) !=
        RONDO_OK) {
        if (rondo_links_is_hub(links)) {
            link->next = links->attempts;
            links->attempts = link;
        }
        rondo_link_end(link, (link_end){.number = ENOMEM});
        return;
    }
    if (!rondo_links_is_hub(links)) {
        links->attempts = NULL; /* it was the only one */
    }
    link->next = links->links;
    links->links = link;
    links->nlinks++;
    link->state = LINK_UP;
    rondo_links_tune(link->fd, links->silence_ms);
    rondo_links_interface(links->mine, &link->here);
    add_interface(links, link->here.interface);
    rondo_board_reached_set(&links->board, link->rank, link->there.family,
                            link->there.address);
    if (rondo_links_is_hub(links)) {
        rondo_link_send(link, RONDO_LINK_WELCOME, NULL, 0);
    }
    if (!rondo_links_is_hub(links) || links->nlinks + 1 == links->nhosts) {
        rondo_board_linked_set(&links->board, links->interfaces);
        rondo_links_changed(links);
    }
    atomic_store(&links->news, true);
}

static bool
is_cut(int number)
{
    return number == ETIMEDOUT || number == EHOSTUNREACH || number == ENETUNREACH ||
           number == ENETDOWN || number == EHOSTDOWN || number == ENONET;
}

static void
lost_text(const rondo_links *links, const rondo_link *link, char *text,
          size_t text_bytes)
{
    const char *const host = links->host_names[link->rank];
    char address[64];
    char reason[128];

    rondo_links_address_text(&link->there, address, sizeof address);
    if (link->end.phrase == NULL && is_cut(link->end.number)) {
        (void)snprintf(text, text_bytes,
                       "no answer from %.63s (%s), rank %u's host, for %.3g s: the "
                       "path is cut or the host is down",
                       host, address, link->rank, (double)links->silence_ms / 1e3);
        return;
    }
    const bool died = link->end.phrase == NULL &&
                      (link->end.number == 0 || link->end.number == ECONNRESET ||
                       link->end.number == EPIPE);
    (void)snprintf(text, text_bytes, "rank %u (process %u on %.63s, %s) %s%s",
                   link->rank, links->addresses[link->rank].pid, host, address,
                   died ? "has closed its connection: it died or was ended"
                        : "is cut off: ",
                   died ? ""
                   : link->end.phrase != NULL
                       ? link->end.phrase
                       : strerror_r(link->end.number, reason, sizeof reason));
}

/* Other hosts are reached through the hub, the ranks of a host through its leader. */
static void
cut_off(rondo_links *links, const rondo_link *link)
{
    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        const bool behind =
            rondo_links_is_hub(links) ? links->host_of[rank] == link->host : rank == 0;

        if (behind) {
            rondo_board_gone_set(&links->board, rank);
        }
    }
    atomic_store(&links->news, true);
    rondo_links_changed(links);
}

void
rondo_links_lost(rondo_link *link)
{
    rondo_links *const links = link->owner;
    rondo_link **place = &links->links;
    rondo_breakage why = {.status = RONDO_ERR_PEER, .culprit = link->rank};

    while (*place != link) {
        place = &(*place)->next;
    }
    *place = link->next;
    if (!link->end.orderly &&
        rondo_board_presence(&links->board, link->rank) != RONDO_LEFT) {
        lost_text(links, link, why.text, sizeof why.text);
        why.status = link->end.phrase != NULL ? RONDO_ERR_WIRE : RONDO_ERR_PEER;
        (void)rondo_board_break(&links->board, &why);
    }
    cut_off(links, link);
    rondo_link_free(link);
}
