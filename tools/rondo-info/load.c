/* load.c - reads what --dump wrote on this or another machine. Such a file comes from
 * elsewhere, so nothing in it is believed without a look. */
#include "load.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "list.h"

static bool
load_gid(json_t *value, rondo_rdma_gid *gid, load_fault *fault)
{
    const char *type = NULL;
    const char *text = NULL;
    const char *interface = "";
    json_int_t index = 0;

    if (json_unpack_ex(value, &fault->error, 0, "{sI ss ss s?s}", "index", &index,
                       "type", &type, "gid", &text, "interface", &interface) != 0) {
        return false;
    }
    gid->index = load_number(index);
    return load_text(type, gid->type, sizeof gid->type) &&
           load_text(text, gid->text, sizeof gid->text) &&
           load_text(interface, gid->interface, sizeof gid->interface);
}

static bool
load_detail(json_t *value, rondo_rdma_detail *detail, load_fault *fault)
{
    const char *name = NULL;
    const char *state = NULL;
    const char *fabric = "";
    json_int_t mtu = 0;
    json_int_t rate = 0;
    json_int_t seen = 0;
    json_t *gids = NULL;
    json_t *gid = NULL;
    size_t i = 0;

    if (json_unpack_ex(value, &fault->error, 0, "{ss ss s?s s?I s?I s?I s?o}", "name",
                       &name, "state", &state, "fabric", &fabric, "mtu", &mtu,
                       "rate_mbit", &rate, "gids_seen", &seen, "gids", &gids) != 0 ||
        !load_text(name, detail->name, sizeof detail->name) ||
        !load_text(state, detail->state, sizeof detail->state) ||
        !load_text(fabric, detail->fabric, sizeof detail->fabric)) {
        return false;
    }
    detail->mtu = load_number(mtu);
    detail->rate_mbit = load_number(rate);
    detail->ngids_seen = load_number(seen);
    json_array_foreach(gids, i, gid)
    {
        if (detail->ngids == RONDO_RDMA_GIDS_MAX ||
            !load_gid(gid, &detail->gids[detail->ngids], fault)) {
            return false;
        }
        detail->ngids++;
    }
    return true;
}

static bool
load_rdma(json_t *ports, rondo_rdma *rdma, load_fault *fault)
{
    json_t *value = NULL;
    size_t i = 0;

    json_array_foreach(ports, i, value)
    {
        if (rdma->nports == RONDO_RDMA_DETAILS_MAX ||
            !load_detail(value, &rdma->ports[rdma->nports], fault)) {
            return load_fail(fault, "rdma", i, NULL);
        }
        rdma->nports++;
    }
    return true;
}

/* The lines as one text again; null: they are none. */
static char *
join_lines(json_t *lines)
{
    char *text = NULL;
    size_t bytes = 0;
    json_t *line = NULL;
    size_t i = 0;
    FILE *const file = open_memstream(&text, &bytes);

    if (file == NULL) {
        return NULL;
    }
    json_array_foreach(lines, i, line)
    {
        fprintf(file, "%s\n", json_is_string(line) ? json_string_value(line) : "");
    }
    if (fclose(file) != 0 || bytes == 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool
load_machine(json_t *lines, info_found *found, load_fault *fault)
{
    char *const xml = join_lines(lines);

    if (xml == NULL) {
        return load_fail(fault, "hwloc", 0, "there are no lines of XML");
    }
    const rondo_status status = rondo_machine_read(xml, &found->machine);
    free(xml);
    return status == RONDO_OK || load_fail(fault, "hwloc", 0, rondo_error_text());
}

/* Only variables of ours, and only where nothing is set. */
static void
load_environment(json_t *values)
{
    for (uint32_t id = 0; id < RONDO_CONFIGS; id++) {
        const char *const name = rondo_config_variable((rondo_config_id)id);
        const char *const value = json_string_value(json_object_get(values, name));

        if (value != NULL && !rondo_config_set((rondo_config_id)id)) {
            (void)setenv(name, value, 1);
        }
    }
}

static bool
load_all(json_t *all, info_found *found, load_fault *fault)
{
    json_int_t version = 0;
    const char *host = NULL;
    const char *mask = NULL;
    json_t *quota = NULL;
    json_t *network = NULL;
    json_t *rdma = NULL;
    json_t *environment = NULL;
    json_t *hwloc = NULL;

    if (json_unpack_ex(all, &fault->error, 0, "{sI ss ss s?o so s?o s?o so}",
                       "rondo_dump", &version, "host", &host, "processors", &mask,
                       "quota", &quota, "network", &network, "rdma", &rdma,
                       "environment", &environment, "hwloc", &hwloc) != 0) {
        return load_fail(fault, "file", 0, NULL);
    }
    if (version != 1) {
        return load_fail(fault, "file", 0,
                         "it has a version this program does not know");
    }
    if (!load_text(host, found->host, sizeof found->host)) {
        return load_fail(fault, "host", 0, "its name is too long");
    }
    if (!info_list_read(mask, found->mask)) {
        return load_fail(fault, "processors", 0, "not a list such as 0-3,8");
    }
    found->quota =
        json_is_integer(quota) ? load_number(json_integer_value(quota)) : UINT32_MAX;
    if (!load_network(network, &found->network, fault) ||
        !load_rdma(rdma, &found->rdma, fault) || !load_machine(hwloc, found, fault)) {
        return false;
    }
    load_environment(environment);
    return true;
}

bool
info_load(const char *path, info_found *found)
{
    load_fault fault = {.where = "file"};

    memset(found, 0, sizeof *found);
    (void)snprintf(found->origin, sizeof found->origin, "%s", path);
    json_t *const all = json_load_file(path, JSON_REJECT_DUPLICATES, &fault.error);
    const bool loaded = all != NULL && load_all(all, found, &fault);

    if (!loaded) {
        fprintf(stderr, "rondo-info: --load: %s: %s: %s\n", path, fault.where,
                fault.error.text[0] == '\0' ? "cannot be used" : fault.error.text);
    }
    json_decref(all);
    return loaded;
}
