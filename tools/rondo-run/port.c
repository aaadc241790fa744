/* port.c - reserves the port of the rendezvous by binding it. */
#include "port.h"

#include "options.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

int
run_port_reserve(uint32_t *port)
{
    const int one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    const int reserved = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (reserved < 0 ||
        setsockopt(reserved, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(reserved, (struct sockaddr *)&address, length) != 0 ||
        getsockname(reserved, (struct sockaddr *)&address, &length) != 0) {
        perror("rondo-run: no free port on 127.0.0.1");
        return RUN_EXIT_FAILURE;
    }
    *port = ntohs(address.sin_port);
    return 0;
}
