/* datagram.c - the service's abstract Unix socket: what is sent, what is refused. */
#include <errno.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"
#include "control/links_parts.h"
#include "control/service_parts.h"

/* "RND" and the version of this format. */
#define MAGIC UINT32_C(0x524e4401)

#define HEXADECIMAL_BYTES (2 * RONDO_NAME_BYTES + 1)

/* Room for one descriptor only: the kernel closes whatever more is sent. */
#define CONTROL_BYTES (CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int)))

/* Datagrams handled before other descriptors get their turn. */
#define READS_AT_ONCE 64

typedef struct datagram {
    unsigned char bytes[sizeof(letter) + 1]; /* one more, to notice longer ones */
    size_t nbytes;
    struct sockaddr_un from;
    socklen_t from_bytes;
    uint32_t uid;
    bool uid_known;
    int fds[2];
    uint32_t nfds;
    bool cut; /* the kernel had to leave out control data */
} datagram;

socklen_t
rondo_datagram_name(const rondo_name *socket, struct sockaddr_un *name)
{
    static const char prefix[] = "rondo-";
    const size_t skip = 1 + sizeof prefix - 1;

    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path + 1, prefix, sizeof prefix - 1);
    (void)sodium_bin2hex(name->sun_path + skip, HEXADECIMAL_BYTES, socket->bytes,
                         sizeof socket->bytes);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + skip +
                       HEXADECIMAL_BYTES - 1);
}

void
rondo_datagram_init(message_kind kind, letter *message)
{
    memset(message, 0, sizeof *message);
    message->magic = MAGIC;
    message->kind = kind;
}

static void
hash(const rondo_key *key, const letter *message, unsigned char mac[RONDO_MAC_BYTES])
{
    _Static_assert(crypto_auth_BYTES == RONDO_MAC_BYTES, "a hash fills the field");
    _Static_assert(sizeof(*message) == 80, "no padding is sent");
    (void)crypto_auth(mac, (const unsigned char *)message, offsetof(letter, mac),
                      key->bytes);
}

void
rondo_datagram_sign(const rondo_key *key, letter *message)
{
    hash(key, message, message->mac);
}

bool
rondo_datagram_signed(const rondo_key *key, const letter *message)
{
    unsigned char mac[RONDO_MAC_BYTES];

    hash(key, message, mac);
    return sodium_memcmp(mac, message->mac, sizeof mac) == 0;
}

static int
send_to(int socket, const struct sockaddr_un *to, socklen_t to_bytes,
        const letter *message, int fd)
{
    struct sockaddr_un name = *to;
    letter copy = *message;
    struct iovec data = {.iov_base = &copy, .iov_len = sizeof copy};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr header = {
        .msg_name = &name, .msg_namelen = to_bytes, .msg_iov = &data, .msg_iovlen = 1};
    ssize_t sent = 0;

    if (fd >= 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
        struct cmsghdr *const part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(part), &fd, sizeof fd);
    }
    do {
        sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

int
rondo_datagram_send(const rondo_service *service, const rondo_address *to,
                    const letter *message, int fd)
{
    struct sockaddr_un name;
    const socklen_t bytes = rondo_datagram_name(&to->socket, &name);

    return send_to(service->socket, &name, bytes, message, fd);
}

int
rondo_datagram_answer(const rondo_service *service, const struct sockaddr_un *to,
                      socklen_t to_bytes, const letter *message)
{
    return send_to(service->socket, to, to_bytes, message, -1);
}

bool
rondo_datagram_check(const void *bytes, size_t nbytes, uint32_t nfds, letter *message)
{
    letter read;

    if (nbytes != sizeof read) {
        return false;
    }
    memcpy(&read, bytes, sizeof read);
    if (read.magic != MAGIC) {
        return false;
    }
    switch (read.kind) {
    case MESSAGE_PING:
    case MESSAGE_PONG:
    case MESSAGE_LINK_NEWS:
    case MESSAGE_LINK_ASK:
    case MESSAGE_LINK_PULSE:
        if (nfds != 0) {
            return false;
        }
        break;
    case MESSAGE_SEGMENT:
        if (nfds > 1 || read.bytes == 0 || read.bytes > SIZE_MAX / 2) {
            return false;
        }
        break;
    default:
        return false;
    }
    *message = read;
    return true;
}

static void
read_control(struct msghdr *header, datagram *got)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL;
         part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (part->cmsg_type == SCM_CREDENTIALS &&
            part->cmsg_len >= CMSG_LEN(sizeof(struct ucred))) {
            struct ucred who;
            memcpy(&who, CMSG_DATA(part), sizeof who);
            got->uid = who.uid;
            got->uid_known = true;
        }
        if (part->cmsg_type == SCM_RIGHTS) {
            const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            const size_t room = sizeof got->fds / sizeof got->fds[0];
            got->nfds = (uint32_t)(count < room ? count : room);
            memcpy(got->fds, CMSG_DATA(part), got->nfds * sizeof(int));
        }
    }
}

/* False when the socket is empty. */
static bool
receive(int socket, datagram *got)
{
    union {
        struct cmsghdr align;
        char bytes[CONTROL_BYTES];
    } control;
    struct iovec data = {.iov_base = got->bytes, .iov_len = sizeof got->bytes};
    struct msghdr header = {.msg_name = &got->from,
                            .msg_namelen = sizeof got->from,
                            .msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    ssize_t bytes = 0;

    do {
        bytes = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) {
        return false;
    }
    got->nbytes = (size_t)bytes;
    got->from_bytes = header.msg_namelen;
    got->cut = (header.msg_flags & MSG_CTRUNC) != 0;
    read_control(&header, got);
    return true;
}

/* Hands a message on; true when its descriptor has found an owner. */
static bool
handle(rondo_service *service, const datagram *got)
{
    letter message;

    if (!got->uid_known || got->uid != getuid() ||
        !rondo_datagram_check(got->bytes, got->nbytes, got->nfds, &message)) {
        return false;
    }
    switch (message.kind) {
    case MESSAGE_PING:
        rondo_ask_reply(service, &message, &got->from, got->from_bytes);
        return false;
    case MESSAGE_PONG:
        rondo_ask_answered(service, &message, &got->from, got->from_bytes);
        return false;
    case MESSAGE_LINK_NEWS:
    case MESSAGE_LINK_ASK:
    case MESSAGE_LINK_PULSE:
        rondo_links_letter(service, &message);
        return false;
    default:
        break;
    }
    if (got->nfds == 0 && !got->cut) {
        return false;
    }
    rondo_segment_arrived(service, &message, got->nfds == 1 ? got->fds[0] : -1);
    return true;
}

static void
readable(int fd, uint32_t events, void *user)
{
    rondo_service *const service = user;

    if (events == 0) {
        rondo_ask_retry(service);
        return;
    }
    for (uint32_t i = 0; i < READS_AT_ONCE; i++) {
        datagram got = {.nfds = 0};
        if (!receive(fd, &got)) {
            return;
        }
        if (handle(service, &got)) {
            continue;
        }
        for (uint32_t at = 0; at < got.nfds; at++) {
            (void)close(got.fds[at]);
        }
    }
}

rondo_status
rondo_datagram_open(rondo_service *service)
{
    struct sockaddr_un name;
    const int yes = 1;

    const rondo_status status =
        rondo_watch_started((uint32_t)getpid(), &service->address.started);
    /* Without /proc the start time stays 0: unknown. */
    if (status != RONDO_OK && status != RONDO_ERR_PEER) {
        return status;
    }
    service->address.pid = (uint32_t)getpid();
    rondo_random(&service->address.socket, sizeof service->address.socket);
    service->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (service->socket < 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "a Unix socket could not be opened");
    }
    const socklen_t bytes = rondo_datagram_name(&service->address.socket, &name);
    if (setsockopt(service->socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0 ||
        bind(service->socket, (const struct sockaddr *)&name, bytes) != 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "an abstract Unix socket could not be bound");
    }
    return rondo_service_poll_add_locked(service, service->socket, EPOLLIN, readable,
                                         service);
}
