/* choose.c - which RDMA ports can be used, and what UCX is given. */
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/error.h"
#include "topology/facts.h"
#include "topology/judge.h"

/* UCX's names: reliable connections, the datagrams they are set up with, and TCP. */
#define WITH_RDMA "rc,ud,tcp"
#define ONLY_RDMA "rc,ud"
#define ONLY_TCP  "tcp"

/* Why a port cannot be used; "" when it can. */
static const char *
port_objection(const rondo_port_fact *fact)
{
    if (strcmp(fact->kind, "RNIC") == 0) {
        return "is iWARP, which UCX cannot use";
    }
    if (strcmp(fact->state, "ACTIVE") == 0) {
        return "";
    }
    if (strcmp(fact->state, "INIT") == 0 || strcmp(fact->state, "ARMED") == 0) {
        return "waits for the subnet manager";
    }
    return fact->state[0] == '\0' ? "has no state" : "is down";
}

static void
fill_port(const rondo_port_fact *fact, rondo_rdma_port *port)
{
    memset(port, 0, sizeof *port);
    (void)snprintf(port->name, sizeof port->name, "%s:%u", fact->device, fact->port);
    (void)snprintf(port->reason, sizeof port->reason, "%s", port_objection(fact));
    memcpy(port->fabric, fact->fabric, sizeof port->fabric);
    memcpy(port->interfaces, fact->interfaces, sizeof port->interfaces);
    if (strcmp(fact->fabric, "Ethernet") == 0) {
        const size_t letters = strcspn(fact->interfaces, ",");

        (void)snprintf(port->interface, sizeof port->interface, "%.*s",
                       letters == 0 ? 1 : (int)letters,
                       letters == 0 ? "?" : fact->interfaces);
    }
}

void
rondo_ports_judge(const rondo_network_facts *facts, rondo_network *network)
{
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < facts->nports; i++) {
            const bool fits = port_objection(&facts->ports[i])[0] == '\0';

            if (fits != (round == 0)) {
                continue;
            }
            fill_port(&facts->ports[i], &network->ports[network->nports_seen++]);
            network->nports += fits ? 1 : 0;
        }
    }
}

/* Whether a word is in a list with commas. */
static bool
listed(const char *list, const char *word, size_t letters)
{
    for (const char *at = list; *at != '\0';) {
        const size_t length = strcspn(at, ",");

        if (length == letters && memcmp(at, word, letters) == 0) {
            return true;
        }
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return false;
}

static bool
lists_meet(const char *left, const char *right)
{
    for (const char *at = left; *at != '\0';) {
        const size_t length = strcspn(at, ",");

        if (length > 0 && listed(right, at, length)) {
            return true;
        }
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return false;
}

/* False: no room. */
static bool
append(char *list, size_t list_bytes, const char *word, size_t letters)
{
    const size_t used = strlen(list);
    const int wrote = snprintf(list + used, list_bytes - used, "%s%.*s",
                               used == 0 ? "" : ",", (int)letters, word);

    return wrote > 0 && (size_t)wrote < list_bytes - used;
}

static rondo_status
too_many(void)
{
    return rondo_error(RONDO_ERR_ARG,
                       "the names of the devices for UCX do not fit into %zu letters; "
                       "%s and %s can name fewer",
                       sizeof((rondo_network_choice *)NULL)->devices,
                       rondo_config_variable(RONDO_CONFIG_INTERFACE),
                       rondo_config_variable(RONDO_CONFIG_RDMA));
}

/* TCP over the interfaces, and the ports that belong to them, when these are wanted. */
static rondo_status
choose_all(const rondo_network *network, const char *interfaces, bool rdma,
           rondo_network_choice *choice)
{
    uint32_t taken = 0;

    for (uint32_t i = 0; rdma && i < network->nports; i++) {
        const rondo_rdma_port *const port = &network->ports[i];
        const bool fits =
            port->interface[0] == '\0' || lists_meet(port->interfaces, interfaces);

        if (!fits) {
            continue;
        }
        if (!append(choice->devices, sizeof choice->devices, port->name,
                    strlen(port->name))) {
            return too_many();
        }
        taken++;
    }
    const char *const first = choice->devices;
    if (taken > 0) {
        (void)snprintf(
            choice->reason, sizeof choice->reason,
            taken == 1 ? "RDMA port %s is active" : "RDMA ports %s are active", first);
    } else if (!rdma) {
        (void)snprintf(choice->reason, sizeof choice->reason, "%s is off",
                       rondo_config_variable(RONDO_CONFIG_RDMA));
    } else {
        (void)snprintf(choice->reason, sizeof choice->reason, "%s",
                       network->nports == 0
                           ? "there is no active RDMA port"
                           : "no active RDMA port belongs to these interfaces");
    }
    (void)snprintf(choice->transports, sizeof choice->transports, "%s",
                   taken > 0 ? WITH_RDMA : ONLY_TCP);
    if (interfaces[0] != '\0' && !append(choice->devices, sizeof choice->devices,
                                         interfaces, strlen(interfaces))) {
        return too_many();
    }
    return RONDO_OK;
}

/* Of all ports, for a sentence: "mlx5_0:1, mlx5_1:1 (is down)"; "none". */
static void
list_ports(const rondo_network *network, char *text, size_t text_bytes)
{
    size_t used = 0;

    (void)snprintf(text, text_bytes, "none");
    for (uint32_t i = 0; i < network->nports_seen && used < text_bytes; i++) {
        const rondo_rdma_port *const port = &network->ports[i];
        const bool fits = port->reason[0] == '\0';
        const int wrote =
            snprintf(text + used, text_bytes - used, "%s%s%s%s%s", i == 0 ? "" : ", ",
                     port->name, fits ? "" : " (", port->reason, fits ? "" : ")");

        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

/* A name of a device means all its ports that can be used. False: there is none. */
static bool
take_named(const rondo_network *network, const char *name, size_t letters,
           rondo_network_choice *choice, bool *room)
{
    bool found = false;

    for (uint32_t i = 0; i < network->nports; i++) {
        const char *const port = network->ports[i].name;
        const size_t whole = strlen(port);
        const size_t device = strcspn(port, ":");

        if ((letters != whole && letters != device) ||
            memcmp(port, name, letters) != 0) {
            continue;
        }
        found = true;
        if (!listed(choice->devices, port, whole)) {
            *room =
                *room && append(choice->devices, sizeof choice->devices, port, whole);
        }
    }
    return found;
}

static rondo_status
choose_named(const rondo_network *network, const char *names,
             rondo_network_choice *choice)
{
    bool room = true;
    char there[512];

    for (const char *at = names;;) {
        const size_t letters = strcspn(at, ",");

        if (letters == 0 || !take_named(network, at, letters, choice, &room)) {
            list_ports(network, there, sizeof there);
            return rondo_error(
                RONDO_ERR_ARG,
                "%s: \"%.*s\" is not an RDMA port that can be used; there are: %s",
                rondo_config_variable(RONDO_CONFIG_RDMA), (int)letters, at, there);
        }
        if (at[letters] == '\0') {
            break;
        }
        at += letters + 1;
    }
    if (!room) {
        return too_many();
    }
    (void)snprintf(choice->transports, sizeof choice->transports, "%s", ONLY_RDMA);
    (void)snprintf(choice->reason, sizeof choice->reason,
                   "%s asks for it, so TCP is left out",
                   rondo_config_variable(RONDO_CONFIG_RDMA));
    return RONDO_OK;
}

rondo_status
rondo_network_choose(const rondo_network *network, const char *interfaces,
                     const char *rdma, rondo_network_choice *choice)
{
    rondo_network_choice made;
    rondo_status status = RONDO_OK;

    memset(&made, 0, sizeof made);
    if (strcmp(rdma, "off") == 0) {
        status = choose_all(network, interfaces, false, &made);
    } else if (rdma[0] == '\0' || strcmp(rdma, "auto") == 0) {
        status = choose_all(network, interfaces, true, &made);
    } else {
        status = choose_named(network, rdma, &made);
    }
    if (status == RONDO_OK) {
        *choice = made;
    }
    return status;
}
