/* network.c - ranks on other hosts: what we can be reached at, control links, the
 * wire. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "api/create.h"
#include "api/doze.h"
#include "base/alloc.h"
#include "base/config.h"
#include "topology/network.h"

static bool
is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;

    if (inet_pton(AF_INET, host, &four) == 1) {
        return ntohl(four.s_addr) >> 24 == 127;
    }
    if (inet_pton(AF_INET6, host, &six) == 1) {
        return IN6_IS_ADDR_LOOPBACK(&six);
    }
    return strcmp(host, "localhost") == 0;
}

/* Where ranks meet on loopback, other hosts are other network stacks of this machine
 * only by their RONDO_HOST_ID, and they talk over loopback, too. */
static const char *
wanted_interfaces(bool loopback)
{
    return loopback && !rondo_config_set(RONDO_CONFIG_INTERFACE)
               ? "lo"
               : rondo_config_text(RONDO_CONFIG_INTERFACE);
}

/* The sentence for a host without a usable interface: each with its reason. */
static rondo_status
none_usable(const rondo_network *network)
{
    char reasons[400] = "";

    for (uint32_t i = 0; i < network->ninterfaces; i++) {
        const size_t used = strlen(reasons);

        (void)snprintf(reasons + used, sizeof reasons - used, "%s%s %s",
                       used == 0 ? "" : ", ", network->interfaces[i].name,
                       network->interfaces[i].reason);
    }
    return rondo_error(RONDO_ERR_START,
                       "no interface of this host can reach others: %s; "
                       "RONDO_INTERFACE asks for one",
                       reasons[0] == '\0' ? "there is none" : reasons);
}

static rondo_status
look_at_network(const char *wanted, rondo_network **network)
{
    rondo_network *found = NULL;
    rondo_status status = rondo_alloc_zero(sizeof *found, (void **)&found);

    if (status == RONDO_OK) {
        status = rondo_network_find(wanted, found);
    }
    if (status != RONDO_OK) {
        rondo_free(found);
        return status;
    }
    *network = found;
    return RONDO_OK;
}

static void
list_addresses(const rondo_network *network, rondo_reach *reach)
{
    uint32_t used = 0;

    memset(reach, 0, sizeof *reach);
    for (uint32_t i = 0; i < network->nusable && used < RONDO_ENDPOINTS_MAX; i++) {
        const rondo_interface *const interface = &network->interfaces[i];
        rondo_endpoint *const endpoint = &reach->at[used++];

        endpoint->family = interface->family;
        memcpy(endpoint->address, interface->address, sizeof endpoint->address);
        memcpy(endpoint->interface, interface->name, sizeof endpoint->interface);
    }
}

rondo_status
rondo_comm_reach_open(rondo_comm *comm)
{
    uint32_t count = 0;

    while (count < RONDO_ENDPOINTS_MAX && comm->reach.at[count].family != 0) {
        count++;
    }
    return count == 0 ? RONDO_OK
                      : rondo_links_port(comm->service, comm->reach.at, count);
}

rondo_status
rondo_comm_reach_find(rondo_comm *comm, const char *host)
{
    const bool loopback = is_loopback(host);
    rondo_network *network = NULL;

    if (comm->nranks == 1 || (loopback && !rondo_config_set(RONDO_CONFIG_HOST_ID))) {
        return RONDO_OK;
    }
    const rondo_status status = look_at_network(wanted_interfaces(loopback), &network);
    if (status != RONDO_OK) {
        return status;
    }
    list_addresses(network, &comm->reach);
    rondo_free(network);
    return comm->rank == 0 ? rondo_comm_reach_open(comm) : RONDO_OK;
}

/* Hosts that have met where none of them can be reached. */
static rondo_status
check_reach(const rondo_comm *comm)
{
    const rondo_hosts *const hosts = &comm->hosts;
    rondo_network *network = NULL;
    uint32_t other = 0;

    if (comm->reach.at[0].family != 0 && hosts->reach[0].at[0].family != 0) {
        return RONDO_OK;
    }
    while (rondo_hosts_together(hosts, other, 0)) {
        other++;
    }
    if (hosts->reach[0].at[0].family != 0) {
        const rondo_status status =
            look_at_network(rondo_config_text(RONDO_CONFIG_INTERFACE), &network);
        if (status == RONDO_OK) {
            (void)none_usable(network);
        }
        rondo_free(network);
        return status == RONDO_OK ? RONDO_ERR_START : status;
    }
    return rondo_error(
        RONDO_ERR_START,
        "rank %u (on %s) and rank 0 (on %s) share no memory, and they met "
        "at a loopback address: MASTER_ADDR, or RONDO_INTERFACE for a "
        "unique id, must be an address that all hosts reach",
        other, hosts->names[other], hosts->names[0]);
}

rondo_status
rondo_comm_link(rondo_comm *comm)
{
    uint64_t silence_ms = 0;
    rondo_status status = check_reach(comm);

    if (status == RONDO_OK) {
        status =
            rondo_config_number(RONDO_CONFIG_LINK_SILENCE, 1000, 3600000, &silence_ms);
    }
    if (status != RONDO_OK) {
        return status;
    }
    const rondo_links_setup setup = {
        .name = comm->uid,
        .key = comm->key,
        .board = &comm->board,
        .rank = comm->rank,
        .nranks = comm->nranks,
        .host_of = comm->hosts.of,
        .addresses = comm->addresses,
        .hub = comm->hosts.reach[0].at,
        .mine = comm->reach.at,
        .host_names = (const char(*)[RONDO_HOST_NAME_MAX])comm->hosts.names,
        .deadline_ns = comm->start_deadline_ns,
        .silence_ms = silence_ms,
    };
    return rondo_links_open(comm->service, &setup, &comm->links);
}

/* Devices and transports for UCX, from the interfaces the links have proved. */
static rondo_status
choose_wire(const char *interfaces, rondo_ucx_spec *spec)
{
    rondo_network *network = NULL;
    rondo_network_choice choice;

    rondo_status status = look_at_network(interfaces, &network);
    if (status == RONDO_OK) {
        status = rondo_network_choose(network, interfaces,
                                      rondo_config_text(RONDO_CONFIG_RDMA), &choice);
    }
    rondo_free(network);
    if (status != RONDO_OK) {
        return status;
    }
    memset(spec, 0, sizeof *spec);
    (void)snprintf(spec->devices, sizeof spec->devices, "%s", choice.devices);
    (void)snprintf(spec->transports, sizeof spec->transports, "%s", choice.transports);
    (void)snprintf(spec->module, sizeof spec->module, "%s",
                   rondo_config_text(RONDO_CONFIG_UCX_MODULE));
    return RONDO_OK;
}

static bool
find_wire(void *user, uint32_t rank, void *address, size_t *bytes)
{
    const rondo_comm *const comm = user;

    return rondo_board_wire(&comm->board, rank, address, bytes) == RONDO_OK;
}

/* Another thread of this process has brought something for us; see doze.h. */
static void
wake(void *user)
{
    rondo_comm *const comm = user;

    if (atomic_load_explicit(&comm->dozing, memory_order_relaxed)) {
        comm->shm->ops->ring(comm->shm, comm->rank);
    }
}

/* The wire is open: my address goes on the board, peers elsewhere get their route. */
static rondo_status
join_wire(rondo_comm *comm)
{
    unsigned char address[RONDO_WIRE_ADDRESS_MAX];
    size_t bytes = sizeof address;
    rondo_ucx_setup setup = {
        .ucx = comm->ucx,
        .me = comm->rank,
        .nranks = comm->nranks,
        .find = find_wire,
        .wake = wake,
        .user = comm,
    };

    memcpy(&setup.comm, comm->uid.bytes, sizeof setup.comm);
    rondo_status status = rondo_ucx_address(comm->ucx, address, &bytes);
    if (status == RONDO_OK) {
        status = rondo_ucx_create(&setup, &comm->net);
    }
    if (status == RONDO_OK) {
        status = rondo_doze_open(comm->service, comm->ucx, &comm->doze);
    }
    if (status == RONDO_OK) {
        rondo_board_wire_set(&comm->board, address, bytes);
    }
    for (uint32_t peer = 0; status == RONDO_OK && peer < comm->nranks; peer++) {
        if (!rondo_hosts_together(&comm->hosts, peer, comm->rank)) {
            comm->routes[peer] = comm->net;
        }
    }
    return status;
}

rondo_status
rondo_comm_link_poll(rondo_comm *comm)
{
    char interfaces[RONDO_BOARD_INTERFACES_MAX];
    rondo_ucx_spec spec;

    rondo_status status = rondo_links_poll(comm->links, interfaces, sizeof interfaces);
    if (status != RONDO_OK) {
        return status;
    }
    status = choose_wire(interfaces, &spec);
    if (status == RONDO_OK) {
        status = rondo_ucx_open(&spec, &comm->ucx);
    }
    return status == RONDO_OK ? join_wire(comm) : status;
}

void
rondo_comm_links_news(rondo_comm *comm)
{
    if (comm->links != NULL) {
        rondo_links_news(comm->links);
    }
}

void
rondo_comm_unlink(rondo_comm *comm)
{
    rondo_doze_close(comm->doze);
    if (comm->net != NULL) {
        comm->net->ops->destroy(comm->net);
    }
    rondo_links_close(comm->links);
    rondo_ucx_close(comm->ucx);
}
