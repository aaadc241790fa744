/* dump.c - writes down everything that was read, so that it can be judged elsewhere. */
#include "info.h"

#include <string.h>

#include "environment.h"
#include "list.h"

static json_t *
pack_link(const rondo_network_facts *facts, const rondo_link *link)
{
    const char *master = "";

    for (uint32_t i = 0; i < facts->nlinks && link->master != 0; i++) {
        if (facts->links[i].index == link->master) {
            master = facts->links[i].name;
        }
    }
    return json_pack("{ss ss sI ss sI sI so sb sb sb}", "name", link->name, "kind",
                     link->kind, "index", (json_int_t)link->index, "master", master,
                     "mtu", (json_int_t)link->mtu, "speed_mbit",
                     (json_int_t)link->speed_mbit, "default_route_metric",
                     link->metric == RONDO_NO_METRIC
                         ? json_null()
                         : json_integer((json_int_t)link->metric),
                     "loopback", (int)link->loopback, "up", (int)link->up, "running",
                     (int)link->running);
}

static json_t *
pack_address(const rondo_network_facts *facts, const rondo_link_address *address)
{
    char text[64];

    rondo_network_address_text(address->family, address->address, text, sizeof text);
    return json_pack("{ss ss sI sI}", "link", facts->links[address->link].name,
                     "address", text, "prefix", (json_int_t)address->prefix, "state",
                     (json_int_t)address->state);
}

static json_t *
pack_port(const rondo_port_fact *port)
{
    return json_pack("{ss sI ss ss ss ss}", "device", port->device, "port",
                     (json_int_t)port->port, "state", port->state, "fabric",
                     port->fabric, "kind", port->kind, "interfaces", port->interfaces);
}

static json_t *
pack_network(const rondo_network_facts *facts)
{
    json_t *const links = json_array();
    json_t *const addresses = json_array();
    json_t *const ports = json_array();

    for (uint32_t i = 0; i < facts->nlinks; i++) {
        json_array_append_new(links, pack_link(facts, &facts->links[i]));
    }
    for (uint32_t i = 0; i < facts->naddresses; i++) {
        json_array_append_new(addresses, pack_address(facts, &facts->addresses[i]));
    }
    for (uint32_t i = 0; i < facts->nports; i++) {
        json_array_append_new(ports, pack_port(&facts->ports[i]));
    }
    return json_pack("{so so so}", "links", links, "addresses", addresses, "ports",
                     ports);
}

static json_t *
pack_detail(const rondo_rdma_detail *detail)
{
    json_t *const gids = json_array();

    for (uint32_t i = 0; i < detail->ngids; i++) {
        const rondo_rdma_gid *const gid = &detail->gids[i];

        json_array_append_new(
            gids, json_pack("{sI ss ss ss}", "index", (json_int_t)gid->index, "type",
                            gid->type, "gid", gid->text, "interface", gid->interface));
    }
    return json_pack("{ss ss ss sI sI sI so}", "name", detail->name, "state",
                     detail->state, "fabric", detail->fabric, "mtu",
                     (json_int_t)detail->mtu, "rate_mbit",
                     (json_int_t)detail->rate_mbit, "gids_seen",
                     (json_int_t)detail->ngids_seen, "gids", gids);
}

static json_t *
pack_rdma(const rondo_rdma *rdma)
{
    json_t *const ports = json_array();

    for (uint32_t i = 0; i < rdma->nports; i++) {
        json_array_append_new(ports, pack_detail(&rdma->ports[i]));
    }
    return ports;
}

/* Lines instead of one text, so that people and diff can read it. */
static json_t *
pack_lines(const char *text)
{
    json_t *const lines = json_array();

    while (*text != '\0') {
        const size_t letters = strcspn(text, "\n");

        json_array_append_new(lines, json_stringn_nocheck(text, letters));
        text += letters + (text[letters] == '\n' ? 1 : 0);
    }
    return lines;
}

/* What is set, but no secret. */
static json_t *
pack_environment(void)
{
    json_t *const values = json_object();

    for (uint32_t id = 0; id < RONDO_CONFIGS; id++) {
        info_variable variable;

        info_variable_read((rondo_config_id)id, &variable);
        if (variable.set && !variable.secret) {
            json_object_set_new_nocheck(values, variable.name,
                                        json_string_nocheck(variable.value));
        }
    }
    return values;
}

bool
info_dump(const info_found *found, const char *path)
{
    char mask[4096];

    info_list_write(found->mask, mask, sizeof mask);
    json_t *const all = json_pack(
        "{sI ss ss ss so so so so so}", "rondo_dump", (json_int_t)1, "version",
        rondo_version_text(), "host", found->host, "processors", mask, "quota",
        found->quota == UINT32_MAX ? json_null()
                                   : json_integer((json_int_t)found->quota),
        "network", pack_network(&found->network), "rdma", pack_rdma(&found->rdma),
        "environment", pack_environment(), "hwloc", pack_lines(found->machine->xml));
    const bool written =
        all != NULL &&
        json_dump_file(all, path, JSON_INDENT(1) | JSON_ENSURE_ASCII) == 0;

    json_decref(all);
    if (!written) {
        fprintf(stderr, "rondo-info: --dump: %s cannot be written\n", path);
    }
    return written;
}
