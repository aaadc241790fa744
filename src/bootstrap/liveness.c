/* liveness.c - a connection whose other end has fallen silent is to end by itself. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/config.h"
#include "bootstrap/address.h"

/* Where RONDO_LINK_SILENCE cannot be read; whoever makes the links says so. */
#define SILENCE_MS 6000

/* Longer silences than a day are none. */
#define SILENCE_MS_MAX (UINT64_C(24) * 3600 * 1000)

void
rondo_socket_tend(int fd)
{
    const int yes = 1;
    uint64_t silence_ms = SILENCE_MS;

    if (rondo_config_number(RONDO_CONFIG_LINK_SILENCE, 1, SILENCE_MS_MAX,
                            &silence_ms) != RONDO_OK) {
        silence_ms = SILENCE_MS;
    }
    /* Asked three times before it is over; the kernel counts in whole seconds. */
    const int third = silence_ms < 6000 ? 1 : (int)(silence_ms / 3000);
    const int times = 3;
    const unsigned limit = (unsigned)silence_ms;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &third, sizeof third);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &third, sizeof third);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}
