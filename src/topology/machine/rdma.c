/* rdma.c - asks libibverbs for ports, rates and GIDs. */
#include "topology/machine/rdma.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

/* Lanes of a link, by the bit that says it. */
static uint32_t
lanes(uint8_t width)
{
    switch (width) {
    case 1:
        return 1;
    case 2:
        return 4;
    case 4:
        return 8;
    case 8:
        return 12;
    case 16:
        return 2;
    default:
        return 0;
    }
}

/* Mbit/s of one lane, by the bit that says the speed. */
static uint32_t
lane_mbit(uint32_t speed)
{
    switch (speed) {
    case 1:
        return 2500;
    case 2:
        return 5000;
    case 4: /* FDR10 and QDR */
    case 8:
        return 10000;
    case 16:
        return 14000;
    case 32:
        return 25000;
    case 64:
        return 50000;
    case 128:
        return 100000;
    default:
        return 0;
    }
}

static const char *
fabric_text(uint8_t layer)
{
    return layer == IBV_LINK_LAYER_ETHERNET     ? "Ethernet"
           : layer == IBV_LINK_LAYER_INFINIBAND ? "InfiniBand"
                                                : "";
}

static const char *
state_text(enum ibv_port_state state)
{
    switch (state) {
    case IBV_PORT_DOWN:
        return "down";
    case IBV_PORT_INIT:
        return "init";
    case IBV_PORT_ARMED:
        return "armed";
    case IBV_PORT_ACTIVE:
        return "active";
    default:
        return "unknown";
    }
}

static const char *
type_text(uint32_t type)
{
    return type == IBV_GID_TYPE_IB        ? "IB"
           : type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1"
           : type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2"
                                          : "unknown";
}

static void
take_gid(const struct ibv_gid_entry *entry, rondo_rdma_detail *detail)
{
    static const unsigned char none[16];
    char name[IF_NAMESIZE];

    if (memcmp(entry->gid.raw, none, sizeof none) == 0) {
        return;
    }
    detail->ngids_seen++;
    if (detail->ngids == RONDO_RDMA_GIDS_MAX) {
        return;
    }
    rondo_rdma_gid *const gid = &detail->gids[detail->ngids++];
    gid->index = entry->gid_index;
    (void)snprintf(gid->type, sizeof gid->type, "%s", type_text(entry->gid_type));
    if (inet_ntop(AF_INET6, entry->gid.raw, gid->text, sizeof gid->text) == NULL) {
        gid->text[0] = '\0';
    }
    if (entry->ndev_ifindex != 0 && if_indextoname(entry->ndev_ifindex, name) != NULL) {
        (void)snprintf(gid->interface, sizeof gid->interface, "%.15s", name);
    }
}

static void
take_port(struct ibv_context *context, uint32_t port, rondo_rdma_detail *detail)
{
    struct ibv_port_attr attributes;

    memset(&attributes, 0, sizeof attributes);
    (void)snprintf(detail->name, sizeof detail->name, "%.60s:%u",
                   ibv_get_device_name(context->device), port);
    if (ibv_query_port(context, (uint8_t)port, &attributes) != 0) {
        (void)snprintf(detail->state, sizeof detail->state, "unknown");
        return;
    }
    (void)snprintf(detail->state, sizeof detail->state, "%s",
                   state_text(attributes.state));
    (void)snprintf(detail->fabric, sizeof detail->fabric, "%s",
                   fabric_text(attributes.link_layer));
    detail->mtu = attributes.active_mtu >= IBV_MTU_256
                      ? UINT32_C(128) << (uint32_t)attributes.active_mtu
                      : 0;
    detail->rate_mbit =
        lanes(attributes.active_width) * lane_mbit(attributes.active_speed);
    for (uint32_t i = 0;
         attributes.gid_tbl_len > 0 && i < (uint32_t)attributes.gid_tbl_len; i++) {
        struct ibv_gid_entry entry;

        memset(&entry, 0, sizeof entry);
        if (ibv_query_gid_ex(context, port, i, &entry, 0) == 0) {
            take_gid(&entry, detail);
        }
    }
}

static void
take_device(struct ibv_device *device, rondo_rdma *rdma)
{
    struct ibv_device_attr attributes;
    struct ibv_context *const context = ibv_open_device(device);

    if (context == NULL) {
        return;
    }
    memset(&attributes, 0, sizeof attributes);
    if (ibv_query_device(context, &attributes) == 0) {
        for (uint32_t port = 1;
             port <= attributes.phys_port_cnt && rdma->nports < RONDO_RDMA_DETAILS_MAX;
             port++) {
            take_port(context, port, &rdma->ports[rdma->nports++]);
        }
    }
    (void)ibv_close_device(context);
}

void
rondo_rdma_read(rondo_rdma *rdma)
{
    int count = 0;
    struct ibv_device **const devices = ibv_get_device_list(&count);

    memset(rdma, 0, sizeof *rdma);
    for (int i = 0; devices != NULL && i < count; i++) {
        take_device(devices[i], rdma);
    }
    if (devices != NULL) {
        ibv_free_device_list(devices);
    }
}
