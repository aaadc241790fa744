/*
 * settings.c - how UCX is set up: what Rondo prefers, where the user has said nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/ucx/module/wire_state.h"

/* Beside a parcel's data a segment of TCP's holds our header and UCX's. */
#define SEGMENT_EXTRA 512u

static const struct setting {
    const char *name; /* without UCX_ */
    const char *value;
} transport_settings[] = {
    /* 128 KiB of data and SEGMENT_EXTRA: a parcel is one message of TCP's. Half of it
     * takes up to twice as long for vectors of megabytes. */
    {"TCP_RX_SEG_SIZE", "131584"},
    /* connect() must not block the caller. (How long it tries cannot be set: in UCX
     * 1.13 TCP_SYN_CNT, set this way, overwrites its neighbours.) */
    {"TCP_CONN_NB", "y"},
    /* More peers than this and UCX would find TCP unfit. */
    {"TCP_MAX_NUM_EPS", "inf"},
};

static const struct setting settings[] = {
    /* TCP's bandwidth is guessed so low that copying would always look cheaper. */
    {"ZCOPY_THRESH", "8000"},
    /* A cache of registrations needs the hooks that we do not want. */
    {"RCACHE_ENABLE", "n"},
};

const char *
rondo_ucx_user_setting(const char *name)
{
    char variable[64] = "UCX_";
    strncat(variable, name, sizeof(variable) - 5);
    return getenv(variable);
}

static bool
user_has_set(const char *name)
{
    return rondo_ucx_user_setting(name) != NULL;
}

static ucs_status_t
modify(ucp_config_t *config, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0' || user_has_set(name)) {
        return UCS_OK;
    }
    return ucp_config_modify(config, name, value);
}

/* A transport's own setting. UCX 1.13 wants its name without the transport, later ones
 * with it; a name that fits nothing is passed over. */
static ucs_status_t
modify_transport(ucp_config_t *config, const char *name, const char *value)
{
    const ucs_status_t status = modify(config, name, value);
    if (status != UCS_OK || user_has_set(name)) {
        return status;
    }
    const char *bare = strchr(name, '_') + 1;
    return ucp_config_modify(config, bare, value);
}

/* A number of bytes as UCX reads it, such as 64K; 0 when it is none. */
static size_t
bytes_of(const char *text)
{
    char *unit = NULL;
    const unsigned long long number = strtoull(text, &unit, 10);
    if (number == 0 || number > 1u << 30) {
        return 0;
    }
    switch (*unit) {
    case 'k':
    case 'K':
        return (size_t)number << 10;
    case 'm':
    case 'M':
        return (size_t)number << 20;
    default:
        return (size_t)number;
    }
}

/* The longest data that is one fragment, a multiple of 64. */
static size_t
parcel_bytes_of(const char *segment)
{
    const size_t bytes = bytes_of(segment);
    return bytes < 4 * SEGMENT_EXTRA ? SEGMENT_EXTRA
                                     : (bytes - SEGMENT_EXTRA) / 64 * 64;
}

ucs_status_t
rondo_ucx_settings(const rondo_wire_setup *setup, ucp_config_t **config,
                   size_t *parcel_bytes)
{
    /* Registered memory is what we are told of, and unmapped in time: UCX need not
     * follow what becomes of mappings. */
    rondo_ucx_no_hooks();
    ucp_config_t *read = NULL;
    ucs_status_t status = ucp_config_read(NULL, NULL, &read);
    if (status != UCS_OK) {
        return status;
    }
    status = modify(read, "NET_DEVICES", setup->devices);
    if (status == UCS_OK) {
        status = modify(read, "TLS", setup->transports);
    }
    for (size_t k = 0; status == UCS_OK && k < sizeof(settings) / sizeof(settings[0]);
         k++) {
        status = modify(read, settings[k].name, settings[k].value);
    }
    const size_t count = sizeof(transport_settings) / sizeof(transport_settings[0]);
    for (size_t k = 0; status == UCS_OK && k < count; k++) {
        status = modify_transport(read, transport_settings[k].name,
                                  transport_settings[k].value);
    }
    if (status != UCS_OK) {
        ucp_config_release(read);
        return status;
    }
    const char *segment = rondo_ucx_user_setting("TCP_RX_SEG_SIZE");
    *parcel_bytes =
        parcel_bytes_of(segment != NULL ? segment : transport_settings[0].value);
    *config = read;
    return UCS_OK;
}
