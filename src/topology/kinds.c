/* kinds.c - asks the kernel what kind each interface is and what it is part of. */
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "topology/facts.h"

/* The kernel answers at once; this only keeps a broken one from holding us. */
#define ANSWER_SECONDS 2

static rondo_link *
link_by_index(rondo_network_facts *facts, int index)
{
    for (uint32_t i = 0; i < facts->nlinks; i++) {
        if (facts->links[i].index == (uint32_t)index) {
            return &facts->links[i];
        }
    }
    return NULL;
}

static void
copy_text(char *text, size_t text_bytes, struct rtattr *attribute)
{
    const size_t bytes = RTA_PAYLOAD(attribute);
    const size_t letters = strnlen(RTA_DATA(attribute), bytes);

    if (letters < text_bytes) {
        memcpy(text, RTA_DATA(attribute), letters);
        text[letters] = '\0';
    }
}

static void
take_kind(rondo_link *link, struct rtattr *information)
{
    struct rtattr *part = RTA_DATA(information);
    size_t left = RTA_PAYLOAD(information);

    for (; RTA_OK(part, left); part = RTA_NEXT(part, left)) {
        if (part->rta_type == IFLA_INFO_KIND) {
            copy_text(link->kind, sizeof link->kind, part);
        }
    }
}

static void
take_link(rondo_network_facts *facts, struct nlmsghdr *message)
{
    struct ifinfomsg *const head = NLMSG_DATA(message);
    rondo_link *const link = link_by_index(facts, head->ifi_index);

    if (link == NULL || message->nlmsg_type != RTM_NEWLINK) {
        return;
    }
    struct rtattr *part = IFLA_RTA(head);
    size_t left = IFLA_PAYLOAD(message);

    for (; RTA_OK(part, left); part = RTA_NEXT(part, left)) {
        if (part->rta_type == IFLA_MASTER && RTA_PAYLOAD(part) == sizeof link->master) {
            memcpy(&link->master, RTA_DATA(part), sizeof link->master);
        } else if (part->rta_type == IFLA_LINKINFO) {
            take_kind(link, part);
        }
    }
}

/* One datagram of the answer; false: it was the last. */
static bool
take_messages(rondo_network_facts *facts, void *datagram, size_t bytes)
{
    struct nlmsghdr *message = datagram;

    for (; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes)) {
        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
            return false;
        }
        take_link(facts, message);
    }
    return true;
}

static void
ask(int fd, rondo_network_facts *facts)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg body;
    } request = {
        .head = {.nlmsg_len = sizeof request,
                 .nlmsg_type = RTM_GETLINK,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.ifi_family = AF_UNSPEC},
    };
    const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    union {
        struct nlmsghdr align;
        unsigned char bytes[32768]; /* what the kernel puts into one datagram at most */
    } answer;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        send(fd, &request, sizeof request, 0) != (ssize_t)sizeof request) {
        return;
    }
    for (;;) {
        const ssize_t got = recv(fd, &answer, sizeof answer, 0);

        if (got <= 0 || !take_messages(facts, &answer, (size_t)got)) {
            return;
        }
    }
}

void
rondo_facts_read_kinds(rondo_network_facts *facts)
{
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd >= 0) {
        ask(fd, facts);
        (void)close(fd);
    }
}
