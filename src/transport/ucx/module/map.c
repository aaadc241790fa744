/*
 * map.c - registered memory, from which a device can send without a copy.
 */
#include <stdlib.h>

#include "transport/ucx/module/wire_state.h"

rondo_wire_map *
rondo_ucx_map(rondo_wire *wire, void *memory, size_t bytes)
{
    if (!wire->registers || memory == NULL || bytes == 0) {
        return NULL;
    }
    rondo_wire_map *map = malloc(sizeof(*map));
    if (map == NULL) {
        return NULL;
    }
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_PROT |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address = memory,
        .length = bytes,
        .prot = UCP_MEM_MAP_PROT_LOCAL_READ | UCP_MEM_MAP_PROT_LOCAL_WRITE,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    if (ucp_mem_map(wire->context, &params, &map->memory) != UCS_OK) {
        free(map);
        return NULL;
    }
    rondo_ucx_list_add(&wire->maps, &map->node);
    return map;
}

void
rondo_ucx_unmap(rondo_wire *wire, rondo_wire_map *map)
{
    (void)ucp_mem_unmap(wire->context, map->memory);
    rondo_ucx_list_remove(&map->node);
    free(map);
}

void
rondo_ucx_maps_close(rondo_wire *wire)
{
    while (!rondo_ucx_list_empty(&wire->maps)) {
        rondo_ucx_unmap(wire, (rondo_wire_map *)wire->maps.next);
    }
}
