/* links_connect.c - how a leader reaches the hub: every pair of addresses, until one is
 * proven or time is up. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/alloc.h"
#include "base/error.h"
#include "control/links_parts.h"

/* The next pair is tried while the one before it is still on its way. */
#define NEXT_MS 100

/* How long a hub may take to answer; it holds us for a second if we are early. */
#define ANSWER_MS 2000

/* Between two rounds over all pairs. */
#define PAUSE_FIRST_NS RONDO_NS_PER_MS
#define PAUSE_MOST_NS  (50 * RONDO_NS_PER_MS)

static void
add_pairs(rondo_links *links, uint8_t mine, uint16_t family)
{
    for (uint8_t i = 0; i < RONDO_ENDPOINTS_MAX; i++) {
        const rondo_endpoint *const hub = &links->hub[i];
        if (rondo_links_usable(hub) && (family == 0 || hub->family == family) &&
            links->npairs < PAIRS_MAX) {
            links->pairs[links->npairs++] = (link_pair){.mine = mine, .hub = i};
        }
    }
}

void
rondo_links_connect_begin(rondo_links *links)
{
    bool any = false;

    for (uint8_t i = 0; i < RONDO_ENDPOINTS_MAX; i++) {
        any = any || links->mine[i].family != 0;
        if (rondo_links_usable(&links->mine[i])) {
            add_pairs(links, i, links->mine[i].family);
        }
    }
    if (!any) {
        add_pairs(links, RONDO_ENDPOINTS_MAX, 0);
    }
    links->pause_ns = PAUSE_FIRST_NS;
}

void
rondo_links_fail(rondo_links *links, const char *text)
{
    rondo_breakage why = {.status = RONDO_ERR_START, .culprit = UINT32_MAX};

    (void)snprintf(why.text, sizeof why.text, "%s", text);
    links->failed = true;
    rondo_links_attempts_drop(links);
    rondo_board_unlinked_set(&links->board, RONDO_ERR_START, text);
    (void)rondo_board_break(&links->board, &why);
    atomic_store(&links->news, true);
    rondo_links_changed(links);
}

static void
end_text(const link_end *end, char *text, size_t text_bytes)
{
    if (end->phrase == NULL && end->number != 0) {
        char reason[128];
        (void)snprintf(text, text_bytes, "%s",
                       strerror_r(end->number, reason, sizeof reason));
        return;
    }
    (void)snprintf(text, text_bytes, "%s",
                   end->phrase != NULL ? end->phrase
                                       : "it closed the connection without an answer");
}

/* "eth0 10.77.0.4 to 10.77.0.1 port 4242: Connection refused" */
static void
pair_text(const rondo_links *links, const link_pair *pair, char *text,
          size_t text_bytes)
{
    const rondo_endpoint *const hub = &links->hub[pair->hub];
    char from[96] = "";
    char address[64];
    char why[128];

    if (pair->mine < RONDO_ENDPOINTS_MAX) {
        const rondo_endpoint *const mine = &links->mine[pair->mine];
        rondo_links_address_text(mine, address, sizeof address);
        (void)snprintf(from, sizeof from, "%.15s %s to ", mine->interface, address);
    }
    rondo_links_address_text(hub, address, sizeof address);
    end_text(&pair->end, why, sizeof why);
    (void)snprintf(text, text_bytes, "%.95s%.63s port %u: %.127s", from, address,
                   hub->port, pair->tried ? why : "not tried yet");
}

static void
fail_late(rondo_links *links)
{
    char text[RONDO_BOARD_TEXT_MAX];
    char pair[320];
    int used = snprintf(
        text, sizeof text,
        "rank %u on %.63s could not reach the process of rank 0 on "
        "%.63s%s",
        links->rank, links->host_names[links->rank], links->host_names[0],
        links->npairs == 0 ? ": they have no addresses of one family in common" : "");

    for (uint32_t i = 0; i < links->npairs; i++) {
        pair_text(links, &links->pairs[i], pair, sizeof pair);
        if ((size_t)used + strlen(pair) + 4 >= sizeof text) {
            break;
        }
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s",
                         i == 0 ? ": " : "; ", pair);
    }
    rondo_links_fail(links, text);
}

/* 0, or the error number. */
static int
connect_from(rondo_links *links, const link_pair *pair, rondo_link *link)
{
    struct sockaddr_storage place;
    const int yes = 1;

    link->there = links->hub[pair->hub];
    if (rondo_links_socket(links->service, link->there.family, rondo_link_ready, link,
                           &link->fd) != RONDO_OK) {
        return errno != 0 ? errno : EMFILE;
    }
    rondo_links_tune_early(link->fd);
    if (pair->mine < RONDO_ENDPOINTS_MAX) {
        rondo_endpoint mine = links->mine[pair->mine];
        mine.port = 0;
        (void)setsockopt(link->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes,
                         sizeof yes);
        const socklen_t bytes = rondo_links_place(&mine, &place);
        if (bind(link->fd, (const struct sockaddr *)&place, bytes) != 0) {
            return errno;
        }
    }
    const socklen_t bytes = rondo_links_place(&link->there, &place);
    if (connect(link->fd, (const struct sockaddr *)&place, bytes) != 0 &&
        errno != EINPROGRESS) {
        return errno;
    }
    return rondo_service_poll_change(links->service, link->fd, EPOLLOUT) == RONDO_OK
               ? 0
               : EMFILE;
}

static void
start(rondo_links *links, uint32_t at, uint64_t now)
{
    link_pair *const pair = &links->pairs[at];
    rondo_link *link = NULL;

    pair->tried = true;
    pair->end = (link_end){.phrase = "no answer"};
    links->attempt_ns = now + NEXT_MS * RONDO_NS_PER_MS;
    if (rondo_link_make(links->service, &link) != RONDO_OK) {
        pair->end = (link_end){.number = ENOMEM};
        return;
    }
    link->state = LINK_CONNECTING;
    link->owner = links;
    link->pair = at;
    const int failed = connect_from(links, pair, link);
    if (failed != 0) {
        pair->end = (link_end){.number = failed};
        links->attempt_ns = now;
        rondo_link_free(link);
        return;
    }
    link->next = links->attempts;
    links->attempts = link;
}

static void
end_slow(rondo_links *links, uint64_t now)
{
    for (rondo_link *at = links->attempts; at != NULL; at = at->next) {
        if ((at->state == LINK_CONNECTING || at->state == LINK_ANSWER) &&
            now >= at->since_ns + ANSWER_MS * RONDO_NS_PER_MS) {
            rondo_link_end(at, (link_end){.phrase = "no answer"});
        }
    }
}

/* All pairs have been tried and none is on its way: once more, after a pause. */
static void
start_over(rondo_links *links, uint64_t now)
{
    links->pair = 0;
    links->attempt_ns = now + links->pause_ns;
    links->pause_ns =
        links->pause_ns < PAUSE_MOST_NS / 2 ? links->pause_ns * 2 : PAUSE_MOST_NS;
}

void
rondo_links_connect_turn(rondo_links *links, uint64_t now)
{
    if (links->links != NULL || links->nlinks > 0 || links->failed) {
        return;
    }
    if (links->npairs == 0 || now >= links->deadline_ns) {
        fail_late(links);
        return;
    }
    end_slow(links, now);
    while (links->pair < links->npairs && now >= links->attempt_ns) {
        start(links, links->pair++, now);
    }
    if (links->pair == links->npairs && links->attempts == NULL) {
        start_over(links, now);
    }
}

static void
unlink_attempt(rondo_links *links, const rondo_link *link)
{
    rondo_link **place = &links->attempts;

    while (*place != link) {
        place = &(*place)->next;
    }
    *place = link->next;
}

void
rondo_links_attempt_ended(rondo_link *link)
{
    rondo_links *const links = link->owner;

    links->pairs[link->pair].end = link->end;
    links->attempt_ns = rondo_now_ns();
    unlink_attempt(links, link);
    rondo_link_free(link);
}

void
rondo_links_attempt_won(rondo_link *link)
{
    rondo_links *const links = link->owner;

    unlink_attempt(links, link);
    rondo_links_attempts_drop(links);
    link->next = NULL;
    links->attempts = link;
    links->pair = links->npairs;
}

void
rondo_links_attempts_drop(rondo_links *links)
{
    while (links->attempts != NULL) {
        rondo_link *const gone = links->attempts;
        links->attempts = gone->next;
        rondo_link_free(gone);
    }
}
