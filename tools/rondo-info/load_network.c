/* load_network.c - the network part of a dump. */
#include "load.h"

#include <arpa/inet.h>
#include <string.h>

bool
load_fail(load_fault *fault, const char *where, size_t number, const char *what)
{
    (void)snprintf(fault->where, sizeof fault->where, "%s %zu", where, number);
    if (what != NULL) {
        (void)snprintf(fault->error.text, sizeof fault->error.text, "%s", what);
    }
    return false;
}

uint32_t
load_number(json_int_t value)
{
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

bool
load_text(const char *from, char *text, size_t text_bytes)
{
    if (strlen(from) >= text_bytes) {
        return false;
    }
    for (const char *at = from; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            return false;
        }
    }
    memcpy(text, from, strlen(from) + 1);
    return true;
}

static bool
load_link(json_t *value, rondo_link *link, load_fault *fault)
{
    const char *name = NULL;
    const char *kind = "";
    json_int_t index = 0;
    json_int_t mtu = 0;
    json_int_t speed = 0;
    json_t *metric = NULL;
    int loopback = 0;
    int up = 0;
    int running = 0;

    if (json_unpack_ex(value, &fault->error, 0, "{ss s?s sI s?I s?I s?o s?b sb sb}",
                       "name", &name, "kind", &kind, "index", &index, "mtu", &mtu,
                       "speed_mbit", &speed, "default_route_metric", &metric,
                       "loopback", &loopback, "up", &up, "running", &running) != 0) {
        return false;
    }
    if (!load_text(name, link->name, sizeof link->name) || name[0] == '\0' ||
        !load_text(kind, link->kind, sizeof link->kind)) {
        (void)snprintf(fault->error.text, sizeof fault->error.text,
                       "its name or kind is empty or too long");
        return false;
    }
    link->index = load_number(index);
    link->mtu = load_number(mtu);
    link->speed_mbit = load_number(speed);
    link->metric = json_is_integer(metric) ? load_number(json_integer_value(metric))
                                           : RONDO_NO_METRIC;
    link->loopback = loopback != 0;
    link->up = up != 0;
    link->running = running != 0;
    return true;
}

static bool
load_links(json_t *values, rondo_network_facts *facts, load_fault *fault)
{
    size_t i = 0;
    json_t *value = NULL;

    json_array_foreach(values, i, value)
    {
        if (facts->nlinks == RONDO_LINKS_MAX ||
            !load_link(value, &facts->links[facts->nlinks], fault)) {
            return load_fail(fault, "link", i, NULL);
        }
        facts->nlinks++;
    }
    json_array_foreach(values, i, value)
    {
        const char *const master = json_string_value(json_object_get(value, "master"));
        const rondo_link *const found = master == NULL || master[0] == '\0'
                                            ? NULL
                                            : rondo_facts_link(facts, master);

        facts->links[i].master = found == NULL ? 0 : found->index;
    }
    return true;
}

static bool
load_address(json_t *value, rondo_network_facts *facts, load_fault *fault)
{
    const char *name = NULL;
    const char *text = NULL;
    json_int_t prefix = 0;
    json_int_t state = 0;
    rondo_link_address *const address = &facts->addresses[facts->naddresses];

    if (json_unpack_ex(value, &fault->error, 0, "{ss ss sI s?I}", "link", &name,
                       "address", &text, "prefix", &prefix, "state", &state) != 0) {
        return false;
    }
    const rondo_link *const link = rondo_facts_link(facts, name);
    const bool four = inet_pton(AF_INET, text, address->address) == 1;
    if (link == NULL || (!four && inet_pton(AF_INET6, text, address->address) != 1) ||
        prefix < 0 || prefix > (four ? 32 : 128)) {
        (void)snprintf(fault->error.text, sizeof fault->error.text,
                       "its link, address or prefix is none");
        return false;
    }
    address->link = (uint32_t)(link - facts->links);
    address->family = four ? 4 : 6;
    address->prefix = (uint16_t)prefix;
    address->state = load_number(state);
    return true;
}

static bool
load_port(json_t *value, rondo_port_fact *port, load_fault *fault)
{
    const char *device = NULL;
    const char *state = NULL;
    const char *fabric = NULL;
    const char *kind = "";
    const char *interfaces = "";
    json_int_t number = 0;

    if (json_unpack_ex(value, &fault->error, 0, "{ss sI ss ss s?s s?s}", "device",
                       &device, "port", &number, "state", &state, "fabric", &fabric,
                       "kind", &kind, "interfaces", &interfaces) != 0) {
        return false;
    }
    port->port = load_number(number);
    if (load_text(device, port->device, sizeof port->device) &&
        load_text(state, port->state, sizeof port->state) &&
        load_text(fabric, port->fabric, sizeof port->fabric) &&
        load_text(kind, port->kind, sizeof port->kind) &&
        load_text(interfaces, port->interfaces, sizeof port->interfaces)) {
        return true;
    }
    (void)snprintf(fault->error.text, sizeof fault->error.text, "a text is too long");
    return false;
}

bool
load_network(json_t *network, rondo_network_facts *facts, load_fault *fault)
{
    json_t *links = NULL;
    json_t *addresses = NULL;
    json_t *ports = NULL;
    json_t *value = NULL;
    size_t i = 0;

    if (json_unpack_ex(network, &fault->error, 0, "{so so s?o}", "links", &links,
                       "addresses", &addresses, "ports", &ports) != 0) {
        return load_fail(fault, "network", 0, NULL);
    }
    if (!load_links(links, facts, fault)) {
        return false;
    }
    json_array_foreach(addresses, i, value)
    {
        if (facts->naddresses == RONDO_ADDRESSES_MAX ||
            !load_address(value, facts, fault)) {
            return load_fail(fault, "address", i, NULL);
        }
        facts->naddresses++;
    }
    json_array_foreach(ports, i, value)
    {
        if (facts->nports == RONDO_RDMA_PORTS_MAX ||
            !load_port(value, &facts->ports[facts->nports], fault)) {
            return load_fail(fault, "port", i, NULL);
        }
        facts->nports++;
    }
    return true;
}
