/*
 * rdma.c - what is different for a wire that may use RDMA devices: UCX's traps there,
 * parcels that fit a receive buffer, and data that UCX is to copy and not to register.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/ucx/module/rdma.h"

/* A receive buffer has 8192 bytes; UCX's headers and ours take part of it. */
#define RDMA_PARCEL_BYTES (8192u - 256u)
/* From here on sending from registered memory is cheaper than copying it. */
static const size_t zero_copy_from = 2048;

/* rondo_ucx_sending is what UCX takes for the buffer, and for the state of packing. */
static void *
packing_starts(void *context, const void *buffer, size_t count)
{
    (void)context;
    (void)count;
    return (void *)(uintptr_t)buffer;
}

static void *
unpacking_starts(void *context, void *buffer, size_t count)
{
    (void)context;
    (void)count;
    return buffer;
}

static size_t
packed_bytes(void *state)
{
    const rondo_ucx_sending *sending = state;
    return sending->parcel == NULL ? 0 : sending->parcel->bytes;
}

static size_t
pack(void *state, size_t offset, void *to, size_t room)
{
    const rondo_ucx_sending *sending = state;
    /* Given up meanwhile: nobody will see what is sent. */
    if (sending->parcel == NULL) {
        return 0;
    }
    const size_t left = sending->parcel->bytes - offset;
    const size_t bytes = left < room ? left : room;
    memcpy(to, (const char *)sending->parcel->data + offset, bytes);
    return bytes;
}

static ucs_status_t
unpack(void *state, size_t offset, const void *from, size_t bytes)
{
    (void)state;
    (void)offset;
    (void)from;
    (void)bytes;
    return UCS_ERR_UNSUPPORTED;
}

static void
packing_ends(void *state)
{
    (void)state;
}

/* Whether the kernel drives this device ("mlx5_0:1") by mlx5. */
static bool
is_mlx5(const char *device, size_t name_bytes)
{
    char path[128];
    char driver[PATH_MAX];
    (void)snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s/device/driver",
                   (int)strcspn(device, ":"), device);
    const ssize_t bytes =
        name_bytes < 64 ? readlink(path, driver, sizeof(driver) - 1) : -1;
    if (bytes <= 0) {
        return false;
    }
    driver[bytes] = '\0';
    return strstr(driver, "mlx5") != NULL;
}

static bool
are_all_mlx5(const char *devices)
{
    for (const char *at = devices; *at != '\0';) {
        const size_t bytes = strcspn(at, ",");
        /* Interfaces of TCP have no port behind a colon. */
        if (memchr(at, ':', bytes) != NULL && !is_mlx5(at, bytes)) {
            return false;
        }
        at += bytes + (at[bytes] == ',' ? 1 : 0);
    }
    return true;
}

static ucs_status_t
prefer(ucp_config_t *config, const char *setting, const char *name, const char *value)
{
    return rondo_ucx_user_setting(setting) != NULL
               ? UCS_OK
               : ucp_config_modify(config, name, value);
}

ucs_status_t
rondo_ucx_rdma_settings(rondo_wire *wire, const rondo_wire_setup *setup,
                        ucp_config_t *config)
{
    char from[32];
    if (setup->transports == NULL || strcmp(setup->transports, "tcp") == 0) {
        return UCS_OK;
    }
    if (wire->parcel_bytes > RDMA_PARCEL_BYTES) {
        wire->parcel_bytes = RDMA_PARCEL_BYTES;
    }
    wire->zero_copy_from = zero_copy_from;
    (void)snprintf(from, sizeof(from), "%zu", zero_copy_from);
    ucs_status_t status = prefer(config, "ZCOPY_THRESH", "ZCOPY_THRESH", from);
    /* With keepalive UCX 1.13 sends connection messages by its keepalive lane, and a
     * link that is given up before the peer has answered ends the process by an
     * assertion. Rondo knows by its own connections who is alive. */
    if (status == UCS_OK) {
        status = prefer(config, "KEEPALIVE_INTERVAL", "KEEPALIVE_INTERVAL", "inf");
    }
    /* UCX tells IPv4 from IPv6 by a field that only mlx5 fills in; behind other devices
     * it drops every datagram, and with them all connections. UCX 1.13 wants the name
     * without the transport, later ones with it; what fits nothing is passed over. */
    static const char check[] = "UD_VERBS_ETH_DGID_CHECK";
    if (status == UCS_OK && !are_all_mlx5(setup->devices)) {
        status = prefer(config, check, "UD_ETH_DGID_CHECK", "n");
    }
    if (status == UCS_OK && !are_all_mlx5(setup->devices)) {
        status = prefer(config, check, check, "n");
    }
    return status;
}

ucs_status_t
rondo_ucx_rdma_open(rondo_wire *wire)
{
    static const ucp_generic_dt_ops_t ops = {
        .start_pack = packing_starts,
        .start_unpack = unpacking_starts,
        .packed_size = packed_bytes,
        .pack = pack,
        .unpack = unpack,
        .finish = packing_ends,
    };
    if (wire->zero_copy_from == 0) {
        return UCS_OK;
    }
    const ucs_status_t status = ucp_dt_create_generic(&ops, NULL, &wire->copied);
    wire->registers = status == UCS_OK;
    return status;
}

void
rondo_ucx_rdma_close(rondo_wire *wire)
{
    if (wire->registers) {
        ucp_dt_destroy(wire->copied);
    }
}
