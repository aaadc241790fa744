/* json.c - the same for programs: one JSON object. */
#include "info.h"

#include <string.h>

#include "base/config.h"
#include "environment.h"
#include "list.h"

static const char *
verdict_text(rondo_interface_verdict verdict)
{
    switch (verdict) {
    case RONDO_INTERFACE_USABLE:
        return "usable";
    case RONDO_INTERFACE_LOOPBACK:
        return "loopback";
    case RONDO_INTERFACE_DOWN:
        return "down";
    case RONDO_INTERFACE_LINK_LOCAL:
        return "link_local";
    case RONDO_INTERFACE_CONTAINER:
        return "container";
    case RONDO_INTERFACE_NOT_ASKED:
        return "not_asked";
    case RONDO_INTERFACE_VIRTUAL:
        return "virtual";
    case RONDO_INTERFACE_NO_ADDRESS:
        return "no_address";
    }
    return "unknown";
}

static json_t *
number_or_null(uint32_t value, uint32_t none)
{
    return value == none ? json_null() : json_integer((json_int_t)value);
}

static json_t *
pack_machine(const info_found *found)
{
    const rondo_machine *const machine = found->machine;
    json_t *const caches = json_array();
    json_t *const memory = json_array();
    char usable[4096];

    for (uint32_t i = 0; i < machine->ncaches; i++) {
        const rondo_machine_cache *const cache = &machine->caches[i];

        json_array_append_new(caches, json_pack("{sI sI sI sI}", "level",
                                                (json_int_t)cache->level, "bytes",
                                                (json_int_t)cache->bytes, "count",
                                                (json_int_t)cache->count, "cores_each",
                                                (json_int_t)cache->cores_each));
    }
    for (uint32_t i = 0; i < machine->nnodes; i++) {
        json_array_append_new(
            memory, json_pack("{sI sI}", "node", (json_int_t)machine->nodes[i].node,
                              "bytes", (json_int_t)machine->nodes[i].memory_bytes));
    }
    info_list_write(found->mask, usable, sizeof usable);
    return json_pack("{ss sI sI sI sI ss so so so}", "model", machine->model,
                     "packages", (json_int_t)machine->npackages, "nodes",
                     (json_int_t)machine->nnodes, "cores", (json_int_t)machine->ncores,
                     "processors", (json_int_t)machine->ncpus, "usable", usable,
                     "quota", number_or_null(found->quota, UINT32_MAX), "caches",
                     caches, "memory", memory);
}

static json_t *
pack_ranks(const info_decided *decided)
{
    json_t *const binding = json_array();

    for (uint32_t rank = 0; decided->bound && rank < decided->nranks; rank++) {
        uint64_t mask[RONDO_CPUS_MAX / 64] = {0};
        char list[4096];
        cpu_set_t part;

        info_part(decided, rank, &part);
        for (uint32_t cpu = 0; cpu < CPU_SETSIZE && cpu < RONDO_CPUS_MAX; cpu++) {
            if (CPU_ISSET(cpu, &part)) {
                info_list_add(mask, cpu);
            }
        }
        info_list_write(mask, list, sizeof list);
        json_array_append_new(binding, json_pack("{sI ss}", "rank", (json_int_t)rank,
                                                 "processors", list));
    }
    return json_pack("{sI sI sI ss so}", "count", (json_int_t)decided->nranks, "cores",
                     (json_int_t)decided->cores, "spins", (json_int_t)decided->spins,
                     "waits", decided->spins > 0 ? "poll" : "yield", "binding",
                     binding);
}

static json_t *
pack_interfaces(const info_decided *decided)
{
    json_t *const all = json_array();

    for (uint32_t i = 0; i < decided->network.ninterfaces; i++) {
        const rondo_interface *const one = &decided->network.interfaces[i];
        char address[64];

        rondo_network_address_text(one->family, one->address, address, sizeof address);
        json_array_append_new(
            all,
            json_pack("{ss ss sI sI sI so sb sb sb ss ss}", "name", one->name,
                      "address", address, "prefix", (json_int_t)one->prefix, "family",
                      (json_int_t)one->family, "mtu", (json_int_t)one->mtu,
                      "speed_mbit", number_or_null(one->speed_mbit, 0), "default_route",
                      (int)(one->metric != RONDO_NO_METRIC), "usable",
                      (int)(one->verdict == RONDO_INTERFACE_USABLE), "chosen",
                      (int)(i == decided->chosen), "verdict",
                      verdict_text(one->verdict), "reason", one->reason));
    }
    return all;
}

static json_t *
pack_gids(const rondo_rdma_detail *detail)
{
    json_t *const gids = json_array();

    for (uint32_t i = 0; i < detail->ngids; i++) {
        json_array_append_new(
            gids, json_pack("{sI ss ss ss}", "index", (json_int_t)detail->gids[i].index,
                            "type", detail->gids[i].type, "gid", detail->gids[i].text,
                            "interface", detail->gids[i].interface));
    }
    return gids;
}

static json_t *
pack_port(const info_found *found, const rondo_rdma_port *port)
{
    char device[80];

    (void)snprintf(device, sizeof device, "%.*s", (int)strcspn(port->name, ":"),
                   port->name);
    const uint32_t node = rondo_machine_near(found->machine, device);
    json_t *const packed = json_pack(
        "{ss ss ss sb ss so}", "name", port->name, "fabric", port->fabric, "interface",
        port->interfaces, "usable", (int)(port->reason[0] == '\0'), "reason",
        port->reason, "node", number_or_null(node, RONDO_NO_NODE));
    for (uint32_t i = 0; i < found->rdma.nports; i++) {
        const rondo_rdma_detail *const detail = &found->rdma.ports[i];

        if (strcmp(detail->name, port->name) == 0) {
            json_object_set_new(packed, "state", json_string(detail->state));
            json_object_set_new(packed, "mtu", number_or_null(detail->mtu, 0));
            json_object_set_new(packed, "rate_mbit",
                                number_or_null(detail->rate_mbit, 0));
            json_object_set_new(packed, "gids", pack_gids(detail));
        }
    }
    return packed;
}

static json_t *
pack_ports(const info_found *found, const info_decided *decided)
{
    json_t *const all = json_array();

    for (uint32_t i = 0; i < decided->network.nports_seen; i++) {
        json_array_append_new(all, pack_port(found, &decided->network.ports[i]));
    }
    return all;
}

static json_t *
pack_reach(const info_decided *decided)
{
    json_t *const all = json_array();

    for (uint32_t i = 0; i < decided->nprobes; i++) {
        const info_probe *const probe = &decided->probes[i];
        const rondo_interface *const from =
            &decided->network.interfaces[probe->interface];
        char source[64];
        char target[64];

        rondo_network_address_text(from->family, from->address, source, sizeof source);
        rondo_network_address_text(probe->family, probe->target, target, sizeof target);
        json_array_append_new(all, json_pack("{ss ss ss sb sf ss}", "interface",
                                             from->name, "source", source, "target",
                                             target, "reached", (int)probe->reached,
                                             "ms", probe->ms, "words", probe->words));
    }
    return all;
}

static json_t *
pack_environment(void)
{
    json_t *const all = json_array();

    for (uint32_t id = 0; id < RONDO_CONFIGS; id++) {
        info_variable variable;

        info_variable_read((rondo_config_id)id, &variable);
        json_array_append_new(all,
                              json_pack("{ss ss% ss sb ss}", "variable", variable.name,
                                        "value", variable.value, strlen(variable.value),
                                        "default", variable.fallback, "set",
                                        (int)variable.set, "about", variable.about));
    }
    return all;
}

static json_t *
pack_problems(const info_decided *decided)
{
    json_t *const all = json_array();

    for (uint32_t i = 0; i < decided->nproblems; i++) {
        json_array_append_new(all, json_string(decided->problems[i]));
    }
    return all;
}

/* The transports in UCX's words are more than a pair uses: rc is set up through ud. */
static const char *
other_host(const rondo_network_choice *choice)
{
    const bool rdma = strstr(choice->transports, "rc") != NULL;
    const bool tcp = strstr(choice->transports, "tcp") != NULL;

    if (choice->devices[0] == '\0') {
        return "none";
    }
    return rdma && tcp ? "rc or tcp" : rdma ? "rc" : "tcp";
}

bool
info_print_json(const info_found *found, const info_decided *decided)
{
    const rondo_network_choice *const choice = &decided->choice;
    const char *const name = decided->chosen < RONDO_INTERFACES_MAX
                                 ? decided->network.interfaces[decided->chosen].name
                                 : "";
    json_t *const all = json_pack(
        "{sI ss ss ss so so so so s{ss ss ss ss} s{ss ss} so so so}", "rondo_info",
        (json_int_t)1, "version", rondo_version_text(), "host", found->host, "origin",
        found->origin, "machine", pack_machine(found), "ranks", pack_ranks(decided),
        "interfaces", pack_interfaces(decided), "rdma", pack_ports(found, decided),
        "choice", "interface", name, "devices", choice->devices, "transports",
        choice->transports, "reason", choice->reason, "pairs", "same_host", "shm",
        "other_host", other_host(choice), "reach", pack_reach(decided), "environment",
        pack_environment(), "problems", pack_problems(decided));
    const bool written =
        all != NULL && json_dumpf(all, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII) == 0;

    json_decref(all);
    putchar('\n');
    return written;
}
