/* port.c - reserves the port of the rendezvous by binding it; looks up a name. */
#include "port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The bound socket, or -1 with errno. */
static int
bind_one(const struct sockaddr *address, socklen_t length)
{
    const int one = 1;
    const int zero = 0;
    const int reserved = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (reserved < 0) {
        return -1;
    }
    if (address->sa_family == AF_INET6) {
        (void)setsockopt(reserved, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    }
    if (setsockopt(reserved, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(reserved, address, length) != 0) {
        const int error = errno;
        close(reserved);
        errno = error;
        return -1;
    }
    return reserved;
}

int
run_port_reserve(run_reach reach, uint32_t *port, run_reason *reason)
{
    const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr = {.s_addr = reach == RUN_REACH_ALL_HOSTS ? htonl(INADDR_ANY)
                                                            : htonl(INADDR_LOOPBACK)}};
    int reserved = -1;
    if (reach == RUN_REACH_ALL_HOSTS) {
        /* Covers IPv4 as well; a kernel without IPv6 refuses it. */
        reserved = bind_one((const struct sockaddr *)&any6, sizeof(any6));
    }
    if (reserved < 0) {
        reserved = bind_one((const struct sockaddr *)&address, sizeof(address));
    }
    struct sockaddr_in6 bound;
    socklen_t length = sizeof(bound);
    if (reserved < 0 ||
        getsockname(reserved, (struct sockaddr *)&bound, &length) != 0) {
        snprintf(reason->text, sizeof(reason->text), "no free port%s: %s",
                 reach == RUN_REACH_THIS_HOST ? " on 127.0.0.1" : "", strerror(errno));
        return RUN_EXIT_FAILURE;
    }
    /* The port has the same place in both families. */
    *port = ntohs(bound.sin6_port);
    return 0;
}

static bool
is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof(four));
        return ntohl(four.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 six;
    memcpy(&six, address, sizeof(six));
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

int
run_address_find(const char *name, char *text, size_t text_size, run_reason *reason)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const int error = getaddrinfo(name, NULL, &hints, &found);
    if (error != 0) {
        snprintf(reason->text, sizeof(reason->text),
                 "cannot find the address of the first host, '%s': %s; --master-addr "
                 "can name it",
                 name, gai_strerror(error));
        return RUN_EXIT_FAILURE;
    }
    const struct addrinfo *one = found;
    while (one != NULL && is_loopback(one->ai_addr)) {
        one = one->ai_next;
    }
    int code = RUN_EXIT_FAILURE;
    if (one == NULL) {
        snprintf(reason->text, sizeof(reason->text),
                 "the first host, '%s', has only a loopback address here, which no "
                 "other host can use; --master-addr can name one",
                 name);
    } else if (getnameinfo(one->ai_addr, one->ai_addrlen, text, (socklen_t)text_size,
                           NULL, 0, NI_NUMERICHOST) == 0) {
        code = 0;
    } else {
        snprintf(reason->text, sizeof(reason->text),
                 "the address of the first host, '%s', cannot be written", name);
    }
    freeaddrinfo(found);
    return code;
}
