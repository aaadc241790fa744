/* links_line.c - one connection: bytes in and out, frames, its end. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "control/links_parts.h"

/* Reads before other descriptors get their turn. */
#define READS_AT_ONCE 16

#define NOT_OURS "it sent a message that is not what it should be"

rondo_status
rondo_link_make(rondo_service *service, rondo_link **link)
{
    void *memory = NULL;
    const rondo_status status = rondo_alloc_zero(sizeof **link, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    *link = memory;
    (*link)->service = service;
    (*link)->fd = -1;
    (*link)->since_ns = rondo_now_ns();
    return RONDO_OK;
}

void
rondo_link_free(rondo_link *link)
{
    rondo_links_close_fd(link->service, &link->fd);
    rondo_link_forget(&link->in_key, sizeof link->in_key);
    rondo_link_forget(&link->out_key, sizeof link->out_key);
    rondo_free(link->out);
    rondo_free(link->told);
    rondo_free(link);
}

void
rondo_link_end(rondo_link *link, link_end end)
{
    if (link->state == LINK_ENDED) {
        return;
    }
    link->end = end;
    link->end.orderly = end.orderly || link->state == LINK_LEAVING;
    link->state = LINK_ENDED;
    rondo_service_alarm(link->service, link->fd, rondo_now_ns());
}

bool
rondo_link_flushed(const rondo_link *link)
{
    return link->mute || link->out_at == link->out_bytes;
}

/* Polls for room only while there is none. */
static void
set_blocked(rondo_link *link, bool blocked)
{
    if (blocked == link->blocked) {
        return;
    }
    link->blocked = blocked;
    if (rondo_service_poll_change(link->service, link->fd,
                                  blocked ? EPOLLIN | EPOLLOUT : EPOLLIN) != RONDO_OK) {
        rondo_link_end(link, (link_end){.phrase = "it could not be polled"});
    }
}

/* A connection that cannot be written to is not given up here: what is still to be read
 * tells why it ended. */
static void
flush(rondo_link *link)
{
    while (!rondo_link_flushed(link)) {
        const ssize_t sent =
            send(link->fd, link->out + link->out_at, link->out_bytes - link->out_at,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            link->out_at += (size_t)sent;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            link->mute = true;
        }
    }
    if (rondo_link_flushed(link)) {
        link->out_at = 0;
        link->out_bytes = 0;
        if (link->state == LINK_LEAVING) {
            (void)shutdown(link->fd, SHUT_WR);
        }
    }
    set_blocked(link, !rondo_link_flushed(link));
}

static bool
make_room(rondo_link *link, size_t nbytes)
{
    const size_t wanted = link->out_bytes + nbytes;
    size_t room = link->out_room == 0 ? 4096 : link->out_room;
    void *memory = NULL;

    while (room < wanted) {
        room *= 2;
    }
    if (room == link->out_room) {
        return true;
    }
    if (rondo_alloc_zero(room, &memory) != RONDO_OK) {
        rondo_link_end(link, (link_end){.number = ENOMEM});
        return false;
    }
    if (link->out_bytes > 0) {
        memcpy(memory, link->out, link->out_bytes);
    }
    rondo_free(link->out);
    link->out = memory;
    link->out_room = room;
    return true;
}

static void
append(rondo_link *link, const void *bytes, size_t nbytes)
{
    memcpy(link->out + link->out_bytes, bytes, nbytes);
    link->out_bytes += nbytes;
}

void
rondo_link_raw(rondo_link *link, const void *bytes, size_t nbytes)
{
    if (link->state == LINK_ENDED || link->mute || !make_room(link, nbytes)) {
        return;
    }
    append(link, bytes, nbytes);
    flush(link);
}

void
rondo_link_send(rondo_link *link, rondo_link_kind kind, const void *body, size_t bytes)
{
    rondo_link_frame frame = {.kind = kind, .bytes = (uint32_t)bytes};

    if (link->state != LINK_UP || link->mute ||
        !make_room(link, sizeof frame + bytes)) {
        return;
    }
    rondo_link_frame_sign(&link->out_key, link->out_count++, body, &frame);
    append(link, &frame, sizeof frame);
    if (bytes > 0) {
        append(link, body, bytes);
    }
    link->quiet_bytes += sizeof frame + bytes;
    flush(link);
}

void
rondo_link_bye(rondo_link *link)
{
    if (link->state != LINK_UP) {
        return;
    }
    rondo_link_send(link, RONDO_LINK_BYE, NULL, 0);
    if (link->state == LINK_UP) {
        link->state = LINK_LEAVING;
        flush(link);
    }
}

static void
take(rondo_link *link, size_t nbytes)
{
    link->in_bytes -= nbytes;
    memmove(link->in, link->in + nbytes, link->in_bytes);
}

/* False: more bytes are needed, or it is over. */
static bool
read_frame(rondo_link *link)
{
    const unsigned char *const bytes = link->in + sizeof(rondo_link_frame);
    rondo_link_frame frame;
    rondo_link_body body;

    if (link->in_bytes < sizeof frame) {
        return false;
    }
    memcpy(&frame, link->in, sizeof frame);
    if (!rondo_link_frame_check(&frame)) {
        rondo_link_end(link, (link_end){.phrase = NOT_OURS});
        return false;
    }
    if (link->in_bytes < sizeof frame + frame.bytes) {
        return false;
    }
    if (!rondo_link_frame_signed(&link->in_key, link->in_count, bytes, &frame) ||
        !rondo_link_body_read(&frame, bytes, link->owner->nranks, link->owner->nhosts,
                              &body) ||
        (link->state == LINK_WELCOME) != (frame.kind == RONDO_LINK_WELCOME)) {
        rondo_link_end(link, (link_end){.phrase = NOT_OURS});
        return false;
    }
    link->in_count++;
    link->quiet_bytes = 0;
    take(link, sizeof frame + frame.bytes);
    if (frame.kind == RONDO_LINK_WELCOME) {
        rondo_links_up(link);
    } else {
        rondo_links_frame(link, (rondo_link_kind)frame.kind, &body);
    }
    return true;
}

static bool
step(rondo_link *link)
{
    switch (link->state) {
    case LINK_HELLO:
    case LINK_PROOF:
    case LINK_ANSWER:
        return rondo_link_greet(link);
    case LINK_WELCOME:
    case LINK_UP:
        return read_frame(link);
    case LINK_UNCLAIMED:
        if (link->in_bytes > 0) {
            rondo_link_end(link, (link_end){.phrase = "it says more than a hello"});
        }
        return false;
    default:
        link->in_bytes = 0;
        return false;
    }
}

static void
read_some(rondo_link *link)
{
    for (uint32_t i = 0; i < READS_AT_ONCE && link->state != LINK_ENDED; i++) {
        const ssize_t got = recv(link->fd, link->in + link->in_bytes,
                                 sizeof link->in - link->in_bytes, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        if (got <= 0) {
            rondo_link_end(link, (link_end){.number = got < 0 ? errno : 0});
            return;
        }
        link->in_bytes += (size_t)got;
        while (step(link)) {
            continue;
        }
    }
}

/* Our connection has been made, or cannot be. */
static void
connected(rondo_link *link)
{
    struct sockaddr_storage place = {0};
    socklen_t bytes = sizeof place;
    int number = 0;
    socklen_t number_bytes = sizeof number;

    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &number, &number_bytes) != 0) {
        number = errno;
    }
    if (number == 0 && getsockname(link->fd, (struct sockaddr *)&place, &bytes) != 0) {
        number = errno;
    }
    if (number != 0 ||
        rondo_service_poll_change(link->service, link->fd, EPOLLIN) != RONDO_OK) {
        rondo_link_end(link, (link_end){.number = number});
        return;
    }
    (void)rondo_links_endpoint(&place, &link->here);
    rondo_link_say_hello(link);
}

static void
handle(rondo_link *link, uint32_t events)
{
    if (link->state == LINK_ENDED) {
        return;
    }
    if (events == 0) {
        if (link->owner == NULL) {
            rondo_link_end(link, (link_end){.phrase = "it did not say who it is"});
        }
        return;
    }
    if (link->state == LINK_CONNECTING) {
        connected(link);
        return;
    }
    if ((events & EPOLLOUT) != 0) {
        flush(link);
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        read_some(link);
    }
}

void
rondo_link_ready(int fd, uint32_t events, void *user)
{
    rondo_link *const link = user;

    (void)fd;
    handle(link, events);
    rondo_links *const owner = link->owner;
    if (link->state == LINK_ENDED) {
        if (owner == NULL) {
            rondo_links_guest_ended(link);
        } else if (link->told == NULL) {
            rondo_links_attempt_ended(link);
        } else {
            rondo_links_lost(link);
        }
    }
    if (owner != NULL) {
        rondo_links_turn(owner);
    }
}
