/* links_letters.c - what the processes of one host tell each other about its links. */
#include <errno.h>
#include <string.h>

#include "control/links_parts.h"

/* When a letter that met a full queue is sent again. */
#define RETRY_NS (2 * RONDO_NS_PER_MS)

static void
letter_make(const rondo_links *links, message_kind kind, letter *message)
{
    rondo_datagram_init(kind, message);
    message->name = links->name;
    message->index = links->rank;
    rondo_datagram_sign(&links->key, message);
}

/* A process whose queue is full is asked by the next round again. */
void
rondo_links_ask_processes(const rondo_links *links)
{
    letter message;

    letter_make(links, MESSAGE_LINK_PULSE, &message);
    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        bool known = links->host_of[rank] != links->host;
        for (uint32_t i = 0; i < rank && !known; i++) {
            known = memcmp(&links->addresses[i].socket, &links->addresses[rank].socket,
                           sizeof(rondo_name)) == 0;
        }
        if (!known) {
            (void)rondo_datagram_send(links->service, &links->addresses[rank], &message,
                                      -1);
        }
    }
}

/* True: said, or nobody is there to hear it. */
static bool
tell(rondo_links *links, message_kind kind)
{
    const rondo_address *const leader = &links->addresses[links->leaders[links->host]];
    letter message;

    letter_make(links, kind, &message);
    const int failed = rondo_datagram_send(links->service, leader, &message, -1);
    return failed != EAGAIN && failed != ENOBUFS;
}

void
rondo_links_tell_leader(rondo_links *links, uint64_t now)
{
    links->retry_ns = RONDO_NEVER;
    if (atomic_exchange(&links->news, false) && !tell(links, MESSAGE_LINK_NEWS)) {
        atomic_store(&links->news, true);
        links->retry_ns = now + RETRY_NS;
    }
    if (atomic_exchange(&links->asked, false)) {
        (void)tell(links, MESSAGE_LINK_ASK);
    }
}

/* A leader of our host asks all its processes; each rank answers for itself. */
static void
answer_pulse(const rondo_links *links, const letter *message)
{
    if (links->host_of[message->index] == links->host &&
        links->leaders[links->host] == message->index) {
        rondo_board board = links->board;
        rondo_board_pulse_set(&board, links->rank, rondo_now_ns());
    }
}

static bool
is_for(const rondo_links *links, const letter *message)
{
    return memcmp(&links->name, &message->name, sizeof links->name) == 0 &&
           message->index < links->nranks &&
           links->host_of[message->index] == links->host &&
           rondo_datagram_signed(&links->key, message);
}

/* A turn may free the links it is for, so where to go on is read first. */
void
rondo_links_letter(rondo_service *service, const letter *message)
{
    (void)pthread_mutex_lock(&service->lock);
    rondo_links *at = service->links != NULL ? service->links->all : NULL;
    (void)pthread_mutex_unlock(&service->lock);
    while (at != NULL) {
        rondo_links *const links = at;
        at = at->next;
        if (!is_for(links, message)) {
            continue;
        }
        if (message->kind == MESSAGE_LINK_PULSE) {
            answer_pulse(links, message);
        } else if (rondo_links_is_leader(links)) {
            atomic_store(message->kind == MESSAGE_LINK_NEWS ? &links->news
                                                            : &links->asked,
                         true);
            rondo_links_turn(links);
        }
    }
}
