/* guest.c - one connection of the meeting point: bytes in, frames out, its limits. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "bootstrap/server_inside.h"

/* How long a stranger may take to say who it is. */
#define HELLO_MS 5000

/* How long a last frame may take to be fetched. */
#define LINGER_MS 5000

static void
guest_ready(int fd, uint32_t events, void *user);

void
rondo_guest_drop(rondo_guest *guest)
{
    rondo_server *const server = guest->server;
    rondo_guest **place = &server->guests;

    rondo_service_poll_remove(server->service, guest->fd);
    (void)close(guest->fd);
    while (*place != guest) {
        place = &(*place)->next;
    }
    *place = guest->next;
    if (guest->counted) {
        server->by_rank[guest->rank] = NULL;
        server->njoined--;
    } else {
        server->nunknown--;
    }
    rondo_free(guest);
}

static rondo_guest *
find_guest(const rondo_server *server, int fd)
{
    rondo_guest *at = server->guests;

    while (at != NULL && at->fd != fd) {
        at = at->next;
    }
    return at;
}

static void
greet(rondo_guest *guest)
{
    rondo_greeting greeting;

    rondo_wire_preface(&greeting.preface);
    memcpy(greeting.nonce, guest->nonces.server, sizeof greeting.nonce);
    /* A fresh socket has room for this; if not, the guest has to come again. */
    if (send(guest->fd, &greeting, sizeof greeting, MSG_NOSIGNAL) !=
        (ssize_t)sizeof greeting) {
        rondo_guest_drop(guest);
    }
}

void
rondo_guest_add(rondo_server *server, int fd, const rondo_place *from)
{
    void *memory = NULL;

    if (rondo_alloc_zero(sizeof(rondo_guest), &memory) != RONDO_OK) {
        (void)close(fd);
        rondo_server_fail(server, RONDO_ERR_MEMORY, rondo_error_text());
        return;
    }
    rondo_guest *const guest = memory;
    guest->server = server;
    guest->fd = fd;
    rondo_place_text(from, guest->from, sizeof guest->from);
    rondo_random(guest->nonces.server, sizeof guest->nonces.server);
    rondo_socket_tend(fd);
    guest->next = server->guests;
    server->guests = guest;
    server->nunknown++;
    if (rondo_service_poll_until(server->service, fd, EPOLLIN, guest_ready, server,
                                 rondo_deadline_ns(HELLO_MS)) != RONDO_OK) {
        rondo_guest_drop(guest);
        rondo_server_fail(server, RONDO_ERR_SYSTEM, rondo_error_text());
        return;
    }
    greet(guest);
}

/* Drops a guest whose connection has ended; one that had joined takes all along. */
static void
lost(rondo_guest *guest, const char *how)
{
    rondo_server *const server = guest->server;
    char text[RONDO_FAILURE_BYTES];
    const bool counted = guest->counted && guest->state == RONDO_GUEST_JOINED;

    (void)snprintf(text, sizeof text,
                   "rank %u (process %u) %s before all ranks had come to %s",
                   guest->rank, guest->pid, how, server->where);
    rondo_guest_drop(guest);
    if (counted) {
        rondo_server_fail(server, RONDO_ERR_START, text);
    }
}

/* The part of frame and body that has not been sent yet. */
static int
fill_vector(rondo_guest *guest, struct iovec vector[2])
{
    const size_t head = sizeof guest->frame;
    const size_t done = guest->done_bytes;
    int parts = 0;

    if (done < head) {
        vector[parts++] = (struct iovec){.iov_base = (char *)&guest->frame + done,
                                         .iov_len = head - done};
    }
    const size_t at = done < head ? 0 : done - head;
    if (at < guest->frame.body_bytes) {
        /* The kernel only reads; its structure has no const. */
        void *const body = (void *)(uintptr_t)guest->body;
        vector[parts++] = (struct iovec){.iov_base = (char *)body + at,
                                         .iov_len = guest->frame.body_bytes - at};
    }
    return parts;
}

/* Sends what is left of the last frame; false when the guest is gone. */
static bool
flush(rondo_guest *guest)
{
    struct iovec vector[2];
    struct msghdr message = {.msg_iov = vector};

    for (;;) {
        const int parts = fill_vector(guest, vector);
        if (parts == 0) {
            return true;
        }
        message.msg_iovlen = (size_t)parts;
        const ssize_t sent = sendmsg(guest->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            guest->done_bytes += (size_t)sent;
            continue;
        }
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        return sent < 0 && errno == EAGAIN;
    }
}

static bool
is_flushed(const rondo_guest *guest)
{
    return guest->done_bytes == sizeof guest->frame + guest->frame.body_bytes;
}

/* Sends on, and polls for room only while there is none. */
static void
push(rondo_guest *guest)
{
    if (!flush(guest)) {
        rondo_guest_drop(guest);
        return;
    }
    const bool blocked = !is_flushed(guest);
    if (blocked == guest->blocked) {
        return;
    }
    guest->blocked = blocked;
    if (rondo_service_poll_change(guest->server->service, guest->fd,
                                  blocked ? EPOLLIN | EPOLLOUT : EPOLLIN) != RONDO_OK) {
        rondo_guest_drop(guest);
    }
}

void
rondo_guest_end(rondo_guest *guest, rondo_frame_kind kind)
{
    rondo_server *const server = guest->server;

    rondo_wire_frame_init(kind, &guest->frame);
    if (kind == RONDO_FRAME_RESULT) {
        guest->body = server->body;
        guest->frame.body_bytes = server->body_bytes;
        memcpy(guest->frame.body_hash, server->body_hash, RONDO_HASH_BYTES);
    }
    if (kind == RONDO_FRAME_FAILURE) {
        guest->body = server->failure;
        guest->frame.body_bytes = sizeof server->failure;
        guest->frame.status = server->failure_status;
        rondo_wire_body_hash(server->failure, sizeof server->failure,
                             guest->frame.body_hash);
    }
    rondo_wire_frame_sign(&server->secret, &guest->nonces, &guest->frame);
    guest->state = RONDO_GUEST_ENDING;
    guest->done_bytes = 0;
    rondo_service_alarm(server->service, guest->fd, rondo_deadline_ns(LINGER_MS));
    push(guest);
}

bool
rondo_guest_welcome(rondo_guest *guest)
{
    rondo_wire_frame_init(RONDO_FRAME_WELCOME, &guest->frame);
    rondo_wire_frame_sign(&guest->server->secret, &guest->nonces, &guest->frame);
    guest->done_bytes = 0;
    /* From now on only the meeting's deadline counts. */
    rondo_service_alarm(guest->server->service, guest->fd, RONDO_NEVER);
    return flush(guest) && is_flushed(guest);
}

/* A foreign or broken hello ends here, an honest one goes on to rondo_server_join. */
static void
read_hello(rondo_guest *guest)
{
    rondo_server *const server = guest->server;
    rondo_hello hello;
    char text[128];

    switch (rondo_wire_preface_check(guest->in, guest->in_bytes)) {
    case RONDO_PREFACE_FOREIGN:
        rondo_server_refused(server, guest, "it does not speak Rondo's protocol");
        rondo_guest_drop(guest);
        return;
    case RONDO_PREFACE_VERSION:
        memcpy(&hello.preface, guest->in, sizeof hello.preface);
        rondo_wire_versions(&hello.preface, text, sizeof text);
        rondo_server_refused(server, guest, text);
        rondo_guest_drop(guest);
        return;
    default:
        break;
    }
    if (guest->in_bytes < sizeof hello) {
        return;
    }
    memcpy(&hello, guest->in, sizeof hello);
    if (!rondo_wire_hello_check(&hello)) {
        rondo_server_refused(server, guest, "its hello cannot be true");
        rondo_guest_drop(guest);
        return;
    }
    if (guest->in_bytes == sizeof hello + hello.card_bytes) {
        guest->in_bytes = 0;
        rondo_server_join(guest, &hello, guest->in + sizeof hello);
    } else if (guest->in_bytes > sizeof hello + hello.card_bytes) {
        rondo_server_refused(server, guest, "it says more than a hello");
        rondo_guest_drop(guest);
    }
}

static void
read_notice(rondo_guest *guest)
{
    rondo_notice notice;

    if (guest->in_bytes < sizeof notice) {
        return;
    }
    memcpy(&notice, guest->in, sizeof notice);
    guest->in_bytes = 0;
    if (!rondo_wire_notice_check(&notice)) {
        lost(guest, "sent garbage");
    } else if (notice.kind == RONDO_NOTICE_GIVE_UP) {
        lost(guest, "gave up");
    } else {
        rondo_server_late(guest->server);
    }
}

/* Bytes wanted at most: a notice is read alone, whatever comes behind it. */
static size_t
wanted_bytes(const rondo_guest *guest)
{
    const size_t most =
        guest->state == RONDO_GUEST_JOINED ? sizeof(rondo_notice) : sizeof guest->in;

    return most - guest->in_bytes;
}

static void
read_guest(rondo_guest *guest)
{
    if (guest->state == RONDO_GUEST_ENDING) {
        guest->in_bytes = 0;
    }
    const ssize_t got =
        recv(guest->fd, guest->in + guest->in_bytes, wanted_bytes(guest), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        const bool silent = got < 0 && (errno == ETIMEDOUT || errno == EHOSTUNREACH);
        lost(guest,
             silent ? "could no longer be reached" : "died or closed its connection");
        return;
    }
    guest->in_bytes += (size_t)got;
    if (guest->state == RONDO_GUEST_UNKNOWN) {
        read_hello(guest);
    } else if (guest->state == RONDO_GUEST_JOINED) {
        read_notice(guest);
    }
}

static void
guest_ready(int fd, uint32_t events, void *user)
{
    rondo_server *const server = user;
    rondo_guest *guest = find_guest(server, fd);

    if (guest != NULL && events == 0) {
        if (guest->state == RONDO_GUEST_UNKNOWN) {
            rondo_server_refused(server, guest, "it did not say who it is");
        }
        rondo_guest_drop(guest);
        guest = NULL;
    }
    if (guest != NULL && (events & EPOLLOUT) != 0) {
        push(guest);
        guest = find_guest(server, fd);
    }
    if (guest != NULL && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        read_guest(guest);
    }
    rondo_server_settle(server);
}
