/* interface.c - which address of this host RONDO_INTERFACE means, for a unique id. */
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bootstrap/identity.h"
#include "topology/network.h"

static bool
place_of(const rondo_interface *from, rondo_place *place)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_scope_id = from->index};
    struct sockaddr_in four = {.sin_family = AF_INET};

    memcpy(&six.sin6_addr, from->address, sizeof six.sin6_addr);
    memcpy(&four.sin_addr, from->address, sizeof four.sin_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) {
        six.sin6_scope_id = 0;
    }
    return from->family == 6 ? rondo_place_of((const struct sockaddr *)&six, 0, place)
                             : rondo_place_of((const struct sockaddr *)&four, 0, place);
}

static rondo_status
say_none(const rondo_network *network, const char *wanted)
{
    char there[320] = "";
    char name[RONDO_HOST_NAME_BYTES];
    size_t used = 0;

    for (uint32_t i = 0; i < network->ninterfaces && used < sizeof there; i++) {
        const rondo_interface *const at = &network->interfaces[i];
        char address[RONDO_PEER_TEXT_BYTES] = "without an address";

        if (at->family != 0) {
            rondo_network_address_text(at->family, at->address, address,
                                       sizeof address);
        }
        const int wrote = snprintf(there + used, sizeof there - used, "%s%s %s",
                                   used > 0 ? ", " : "", at->name, address);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    rondo_host_name(name, sizeof name);
    return rondo_error(RONDO_ERR_ARG,
                       "RONDO_INTERFACE is \"%.100s\": no interface of this host (%s) "
                       "that is up has such a name or address; there are: %s",
                       wanted, name, there);
}

rondo_status
rondo_interface_place(const char *wanted, rondo_place *place)
{
    rondo_network *network = NULL;
    rondo_status status = rondo_alloc_zero(sizeof *network, (void **)&network);

    if (status == RONDO_OK) {
        status = rondo_network_find(wanted, network);
    }
    if (status == RONDO_OK &&
        (network->nusable == 0 || !place_of(&network->interfaces[0], place))) {
        status = say_none(network, wanted);
    }
    rondo_free(network);
    return status;
}
