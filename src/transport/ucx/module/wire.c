/*
 * wire.c - a wire over UCX, from open to close: one context and one worker.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/ucx/module/rdma.h"

/* UCX's own thread belongs to one process: while a parent has a wire, a child that
 * opened another would stir the parent's events. */
static pid_t opened_by;
static uint32_t opened;

/* More than enough: what is left has been told to end. */
#define TURNS_TO_REST 1000

/* Without the version until UCX has been loaded. */
static char name[48] = "UCX";

static ucs_status_t
make_context(rondo_wire *wire, const rondo_wire_setup *setup)
{
    ucp_config_t *config = NULL;
    ucs_status_t status = rondo_ucx_settings(setup, &config, &wire->parcel_bytes);
    if (status != UCS_OK) {
        return status;
    }
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS |
                      UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .estimated_num_eps = setup->peers,
        .mt_workers_shared = 0,
        .name = "rondo",
    };
    status = rondo_ucx_rdma_settings(wire, setup, config);
    if (status == UCS_OK) {
        status = ucp_init(&params, config, &wire->context);
    }
    ucp_config_release(config);
    return status;
}

static ucs_status_t
make_worker(rondo_wire *wire)
{
    const ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    rondo_ucx_workers_list(&wire->others);
    ucs_status_t status = ucp_worker_create(wire->context, &params, &wire->worker);
    if (status != UCS_OK) {
        return status;
    }
    rondo_ucx_replies_guard(&wire->others);
    ucp_worker_attr_t attributes = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};
    status = ucp_worker_query(wire->worker, &attributes);
    if (status == UCS_OK && attributes.thread_mode == UCS_THREAD_MODE_SINGLE) {
        status = UCS_ERR_UNSUPPORTED;
    }
    if (status == UCS_OK &&
        ucp_worker_get_efd(wire->worker, &wire->event_fd) != UCS_OK) {
        wire->event_fd = -1;
    }
    if (status == UCS_OK) {
        status = rondo_ucx_inbox_open(wire);
    }
    if (status == UCS_OK) {
        status = rondo_ucx_rdma_open(wire);
    }
    if (status != UCS_OK) {
        ucp_worker_destroy(wire->worker);
    }
    return status;
}

static void
make_lists(rondo_wire *wire)
{
    rondo_ucx_node *lists[] = {&wire->links,  &wire->maps,         &wire->free_sending,
                               &wire->kept,   &wire->free_kept[0], &wire->free_kept[1],
                               &wire->closing};
    for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
        rondo_ucx_list_init(lists[k]);
    }
}

/* The sentence is in `why` when it is not UCS_OK. */
static ucs_status_t
start(rondo_wire *wire, const rondo_wire_setup *setup, char *why, size_t why_bytes)
{
    char what[320];
    ucs_status_t status = make_context(wire, setup);
    if (status == UCS_OK) {
        status = make_worker(wire);
        if (status != UCS_OK) {
            ucp_cleanup(wire->context);
        }
    }
    if (status != UCS_OK) {
        (void)snprintf(what, sizeof(what), "UCX cannot use the devices %s with %s",
                       setup->devices, setup->transports);
        rondo_ucx_sentence(why, why_bytes, what, status);
    }
    return status;
}

static int
wire_open(const rondo_wire_setup *setup, rondo_wire **wire, char *why, size_t why_bytes)
{
    if (opened > 0 && opened_by != getpid()) {
        (void)snprintf(why, why_bytes,
                       "UCX is in use in the process this one was forked from (%ld), "
                       "and cannot be used in both",
                       (long)opened_by);
        return -1;
    }
    rondo_wire *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        (void)snprintf(why, why_bytes, "no memory for a wire");
        return -1;
    }
    made->arrived = setup->arrived;
    made->lost = setup->lost;
    made->user = setup->user;
    made->owner = getpid();
    make_lists(made);
    rondo_ucx_signals signals;
    rondo_ucx_signals_save(&signals);
    ucs_status_t status = UCS_ERR_UNSUPPORTED;
    if (rondo_ucx_calls_find(why, why_bytes)) {
        (void)snprintf(name, sizeof(name), "UCX %s", ucp_get_version_string());
        rondo_ucx_quiet();
        status = start(made, setup, why, why_bytes);
    }
    rondo_ucx_signals_restore(&signals);
    if (status != UCS_OK) {
        free(made);
        return -1;
    }
    opened_by = made->owner;
    opened++;
    *wire = made;
    return 0;
}

/* An endpoint whose connection was broken as it was made, and that has not been read
 * since, ends the process by an assertion when it is destroyed with the worker. UCX
 * does not read of transports that no endpoint of ours uses, so that is done here, and
 * UCX told, until nothing comes any more. */
static void
come_to_rest(const rondo_wire *wire)
{
    for (uint32_t turn = 0; turn < TURNS_TO_REST; turn++) {
        rondo_ucx_workers_progress(&wire->others);
        if (ucp_worker_progress(wire->worker) == 0) {
            return;
        }
    }
}

static void
wire_close(rondo_wire *wire)
{
    /* A child has the memory but not the threads: it must not touch UCX. */
    if (wire == NULL || wire->owner != getpid()) {
        return;
    }
    rondo_ucx_links_close(wire);
    come_to_rest(wire);
    rondo_ucx_inbox_close(wire);
    rondo_ucx_maps_close(wire);
    ucp_worker_destroy(wire->worker);
    ucp_cleanup(wire->context);
    rondo_ucx_sending_free(wire);
    rondo_ucx_rdma_close(wire);
    free(wire);
    opened--;
}

static int
wire_address(rondo_wire *wire, void *address, size_t *bytes, char *why,
             size_t why_bytes)
{
    ucp_address_t *packed = NULL;
    size_t length = 0;
    const ucs_status_t status = ucp_worker_get_address(wire->worker, &packed, &length);
    if (status != UCS_OK) {
        rondo_ucx_sentence(why, why_bytes, "UCX gives no address", status);
        return -1;
    }
    const bool fits = length <= *bytes;
    if (fits) {
        memcpy(address, packed, length);
        *bytes = length;
    } else {
        (void)snprintf(why, why_bytes,
                       "UCX's address has %zu bytes, %zu at most are possible; name "
                       "fewer devices",
                       length, *bytes);
    }
    ucp_worker_release_address(wire->worker, packed);
    return fits ? 0 : -1;
}

static size_t
wire_parcel_bytes(const rondo_wire *wire)
{
    return wire->parcel_bytes;
}

static uint32_t
wire_progress(rondo_wire *wire)
{
    wire->news = 0;
    const uint32_t events = ucp_worker_progress(wire->worker);
    if (wire->failing > 0) {
        rondo_ucx_links_tell(wire);
    }
    if (!rondo_ucx_list_empty(&wire->closing)) {
        rondo_ucx_closing_poll(wire);
    }
    return events + wire->news;
}

static int
wire_event_fd(rondo_wire *wire)
{
    return wire->event_fd;
}

static bool
wire_arm(rondo_wire *wire)
{
    /* A device may have been armed after what came last, and says nothing of that: look
     * once more. */
    return wire->failing == 0 && ucp_worker_arm(wire->worker) == UCS_OK &&
           wire_progress(wire) == 0;
}

static uint64_t
wire_zero_copy_bytes(const rondo_wire *wire)
{
    return wire->zero_copy_bytes;
}

static const rondo_wire_ops ops = {
    .version = RONDO_WIRE_OPS_VERSION,
    .name = name,
    .open = wire_open,
    .close = wire_close,
    .address = wire_address,
    .connect = rondo_ucx_connect,
    .disconnect = rondo_ucx_disconnect,
    .parcel_bytes = wire_parcel_bytes,
    .send = rondo_ucx_send,
    .progress = wire_progress,
    .release = rondo_ucx_release,
    .flushed = rondo_ucx_flushed,
    .event_fd = wire_event_fd,
    .arm = wire_arm,
    .map = rondo_ucx_map,
    .unmap = rondo_ucx_unmap,
    .zero_copy_bytes = wire_zero_copy_bytes,
};

/* The module's one symbol; see rondo_wire_ops_function. */
__attribute__((visibility("default"))) const rondo_wire_ops *
rondo_ucx_wire(void);

const rondo_wire_ops *
rondo_ucx_wire(void)
{
    return &ops;
}
