/* machine.c - reads cores, caches and memory nodes out of hwloc. */
#include "topology/machine/machine.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* The first node next to an object; RONDO_NO_NODE when all are equally near. */
static uint32_t
node_of(hwloc_topology_t topology, hwloc_obj_t object)
{
    const int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);

    if (object == NULL || object->nodeset == NULL || nodes < 1) {
        return RONDO_NO_NODE;
    }
    const int first = hwloc_bitmap_first(object->nodeset);
    if (first < 0 || (nodes > 1 && hwloc_bitmap_weight(object->nodeset) == nodes)) {
        return RONDO_NO_NODE;
    }
    return (uint32_t)first;
}

static uint32_t
ancestor_index(hwloc_topology_t topology, hwloc_obj_t object, hwloc_obj_type_t type,
               uint32_t fallback)
{
    const hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, object);

    return above == NULL ? fallback : above->logical_index;
}

static void
take_cpus(hwloc_topology_t topology, rondo_machine *machine)
{
    const hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
    hwloc_obj_t one = NULL;

    while ((one = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, one)) != NULL) {
        if (one->os_index >= RONDO_CPUS_MAX || machine->ncpus == RONDO_CPUS_MAX) {
            continue;
        }
        machine->cpus[machine->ncpus++] = (rondo_machine_cpu){
            .cpu = one->os_index,
            .core = ancestor_index(topology, one, HWLOC_OBJ_CORE, one->logical_index),
            .node = node_of(topology, one->parent),
            .package = ancestor_index(topology, one, HWLOC_OBJ_PACKAGE, 0),
            .allowed = hwloc_bitmap_isset(allowed, one->os_index) != 0,
        };
    }
}

static void
take_nodes(hwloc_topology_t topology, rondo_machine *machine)
{
    hwloc_obj_t one = NULL;

    while ((one = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, one)) !=
               NULL &&
           machine->nnodes < RONDO_NODES_MAX) {
        machine->nodes[machine->nnodes++] = (rondo_machine_node){
            .node = one->os_index,
            .memory_bytes = one->attr->numanode.local_memory,
        };
    }
}

static uint32_t
place_of(const rondo_machine *machine, uint32_t node)
{
    for (uint32_t i = 0; i < machine->nnodes; i++) {
        if (machine->nodes[i].node == node) {
            return i;
        }
    }
    return RONDO_NO_NODE;
}

static void
take_matrix(const struct hwloc_distances_s *table, rondo_machine *machine)
{
    for (uint32_t i = 0; i < table->nbobjs; i++) {
        for (uint32_t k = 0; k < table->nbobjs; k++) {
            const uint32_t from = place_of(machine, table->objs[i]->os_index);
            const uint32_t to = place_of(machine, table->objs[k]->os_index);

            if (from != RONDO_NO_NODE && to != RONDO_NO_NODE) {
                machine->distances[from][to] =
                    (uint32_t)table->values[i * table->nbobjs + k];
            }
        }
    }
}

static void
take_distances(hwloc_topology_t topology, rondo_machine *machine)
{
    struct hwloc_distances_s *table = NULL;
    unsigned int count = 1;

    if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &table,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
        count == 0) {
        return;
    }
    take_matrix(table, machine);
    hwloc_distances_release(topology, table);
}

static void
take_caches(hwloc_topology_t topology, rondo_machine *machine)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE};

    for (uint32_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const int count = hwloc_get_nbobjs_by_type(topology, types[i]);
        const hwloc_obj_t first = hwloc_get_obj_by_type(topology, types[i], 0);

        if (count <= 0 || first == NULL || first->attr->cache.size == 0) {
            continue;
        }
        const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(
            topology, first->cpuset, HWLOC_OBJ_CORE);
        machine->caches[machine->ncaches++] = (rondo_machine_cache){
            .level = i + 1,
            .count = (uint32_t)count,
            .cores_each = cores < 1 ? 1 : (uint32_t)cores,
            .bytes = first->attr->cache.size,
        };
    }
}

static void
take_devices(hwloc_topology_t topology, rondo_machine *machine)
{
    hwloc_obj_t one = NULL;

    while ((one = hwloc_get_next_osdev(topology, one)) != NULL) {
        if ((one->attr->osdev.type != HWLOC_OBJ_OSDEV_NETWORK &&
             one->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS) ||
            one->name == NULL || machine->ndevices == RONDO_DEVICES_MAX) {
            continue;
        }
        rondo_machine_device *const device = &machine->devices[machine->ndevices++];
        (void)snprintf(device->name, sizeof device->name, "%s", one->name);
        device->node = node_of(topology, hwloc_get_non_io_ancestor_obj(topology, one));
    }
}

static rondo_status
keep_text(const char *text, size_t bytes, rondo_machine *machine)
{
    const rondo_status status = rondo_alloc_zero(bytes + 1, (void **)&machine->xml);

    if (status == RONDO_OK) {
        memcpy(machine->xml, text, bytes);
    }
    return status;
}

/* What was read from XML is handed on as it was: hwloc would add to it what it thinks
 * of this machine. */
static rondo_status
take_xml(hwloc_topology_t topology, const char *given, rondo_machine *machine)
{
    char *xml = NULL;
    int bytes = 0;

    if (given != NULL) {
        return keep_text(given, strlen(given), machine);
    }
    if (hwloc_topology_export_xmlbuffer(topology, &xml, &bytes, 0) != 0) {
        return rondo_error(RONDO_ERR_SYSTEM, "hwloc cannot write its topology down");
    }
    const rondo_status status = keep_text(xml, (size_t)bytes, machine);
    hwloc_free_xmlbuffer(topology, xml);
    return status;
}

static rondo_status
take_all(hwloc_topology_t topology, const char *xml, rondo_machine *machine)
{
    const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *const model =
        package == NULL ? NULL : hwloc_obj_get_info_by_name(package, "CPUModel");
    const int packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);

    (void)snprintf(machine->model, sizeof machine->model, "%s",
                   model == NULL ? "" : model);
    take_cpus(topology, machine);
    machine->npackages = packages < 1 ? 1 : (uint32_t)packages;
    machine->ncores = cores < 1 ? machine->ncpus : (uint32_t)cores;
    take_nodes(topology, machine);
    take_distances(topology, machine);
    take_caches(topology, machine);
    take_devices(topology, machine);
    return take_xml(topology, xml, machine);
}

/* Plugins that would start whole stacks of graphics cards, and one for PCI that knows
 * no more than the kernel's files say, but leaks. */
static void
leave_out(hwloc_topology_t topology)
{
    static const char *const plugins[] = {"pci",  "gl",   "opencl",   "cuda",
                                          "nvml", "rsmi", "levelzero"};

    for (size_t i = 0; i < sizeof plugins / sizeof plugins[0]; i++) {
        (void)hwloc_topology_set_components(
            topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugins[i]);
    }
}

static rondo_status
load(hwloc_topology_t topology, const char *xml)
{
    if (xml != NULL &&
        hwloc_topology_set_xmlbuffer(topology, xml, (int)strlen(xml) + 1) != 0) {
        return rondo_error(RONDO_ERR_ARG, "the topology is not XML of hwloc");
    }
    /* What the cgroup forbids is shown as forbidden, and devices with what is between
     * them and memory. */
    (void)hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    (void)hwloc_topology_set_io_types_filter(topology,
                                             HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    leave_out(topology);
    if (hwloc_topology_load(topology) != 0) {
        return xml == NULL
                   ? rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                       "hwloc cannot read this machine's topology")
                   : rondo_error(RONDO_ERR_ARG, "hwloc cannot read this topology");
    }
    return RONDO_OK;
}

rondo_status
rondo_machine_read(const char *xml, rondo_machine **machine)
{
    hwloc_topology_t topology = NULL;
    rondo_machine *made = NULL;

    rondo_status status = rondo_alloc_zero(sizeof *made, (void **)&made);
    if (status != RONDO_OK) {
        return status;
    }
    if (hwloc_topology_init(&topology) != 0) {
        rondo_free(made);
        return rondo_error(RONDO_ERR_MEMORY, "hwloc has no memory");
    }
    status = load(topology, xml);
    if (status == RONDO_OK) {
        status = take_all(topology, xml, made);
    }
    hwloc_topology_destroy(topology);
    if (status != RONDO_OK) {
        rondo_machine_free(made);
        return status;
    }
    *machine = made;
    return RONDO_OK;
}

void
rondo_machine_free(rondo_machine *machine)
{
    if (machine != NULL) {
        rondo_free(machine->xml);
    }
    rondo_free(machine);
}

uint32_t
rondo_machine_near(const rondo_machine *machine, const char *device)
{
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        if (strcmp(machine->devices[i].name, device) == 0) {
            return machine->devices[i].node;
        }
    }
    return RONDO_NO_NODE;
}

uint32_t
rondo_machine_distance(const rondo_machine *machine, uint32_t from, uint32_t to)
{
    const uint32_t i = place_of(machine, from);
    const uint32_t k = place_of(machine, to);

    return i == RONDO_NO_NODE || k == RONDO_NO_NODE ? 0 : machine->distances[i][k];
}
