/* unique_id.c - a meeting point in 128 bytes, whatever a machine's byte order. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/error.h"
#include "base/hash.h"
#include "bootstrap/identity.h"
#include "bootstrap/server.h"

/* Offsets in the id. What is not named is zero. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8, /* RONDO_VERSION */
    AT_FAMILY = 12, /* 4 or 6 */
    AT_PORT = 14,
    AT_ADDRESS = 16,
    AT_SCOPE = 32, /* of a link-local address */
    AT_SECRET = 40,
    AT_JOB = 72,
    AT_SUM = 120
};

static const unsigned char magic[8] = {'R', 'O', 'N', 'D', 'O', 'u', 'i', 'd'};

static void
put(unsigned char *bytes, uint64_t value, uint32_t nbytes)
{
    for (uint32_t i = 0; i < nbytes; i++) {
        bytes[i] = (unsigned char)(value >> 8 * i);
    }
}

static uint64_t
get(const unsigned char *bytes, uint32_t nbytes)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i < nbytes; i++) {
        value |= (uint64_t)bytes[i] << 8 * i;
    }
    return value;
}

static uint64_t
sum_of(const rondo_unique_id *id)
{
    return rondo_hash_bytes(0, id->bytes, AT_SUM);
}

static void
write_id(const rondo_place *place, const rondo_server_spec *spec, rondo_unique_id *id)
{
    unsigned char *const bytes = id->bytes;

    _Static_assert(AT_JOB + RONDO_NAME_BYTES <= AT_SUM, "everything fits");
    memset(id, 0, sizeof *id);
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    put(bytes + AT_VERSION, RONDO_VERSION, 4);
    if (place->address.ss_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, &place->address, sizeof four);
        bytes[AT_FAMILY] = 4;
        put(bytes + AT_PORT, ntohs(four.sin_port), 2);
        memcpy(bytes + AT_ADDRESS, &four.sin_addr, 4);
    } else {
        struct sockaddr_in6 six;
        memcpy(&six, &place->address, sizeof six);
        bytes[AT_FAMILY] = 6;
        put(bytes + AT_PORT, ntohs(six.sin6_port), 2);
        put(bytes + AT_SCOPE, six.sin6_scope_id, 4);
        memcpy(bytes + AT_ADDRESS, &six.sin6_addr, 16);
    }
    memcpy(bytes + AT_SECRET, spec->secret.bytes, sizeof spec->secret.bytes);
    memcpy(bytes + AT_JOB, spec->job.bytes, sizeof spec->job.bytes);
    put(bytes + AT_SUM, sum_of(id), 8);
}

rondo_status
rondo_id_read(const rondo_unique_id *id, rondo_meeting *meeting)
{
    const unsigned char *const bytes = id->bytes;
    const uint64_t version = get(bytes + AT_VERSION, 4);
    const uint64_t scope = get(bytes + AT_SCOPE, 4);
    const bool six = bytes[AT_FAMILY] == 6;
    char host[INET6_ADDRSTRLEN];

    if (memcmp(bytes + AT_MAGIC, magic, sizeof magic) != 0) {
        return rondo_error(RONDO_ERR_ARG, "the unique id is none of Rondo's");
    }
    if (get(bytes + AT_SUM, 8) != sum_of(id)) {
        return rondo_error(RONDO_ERR_ARG, "the unique id was damaged on its way");
    }
    if (version != RONDO_VERSION) {
        return rondo_error(RONDO_ERR_ARG,
                           "the unique id was made by Rondo %u.%u.%u; this is %u.%u.%u",
                           (unsigned)(version / 10000), (unsigned)(version / 100 % 100),
                           (unsigned)(version % 100), RONDO_VERSION_MAJOR,
                           RONDO_VERSION_MINOR, RONDO_VERSION_PATCH);
    }
    if ((!six && bytes[AT_FAMILY] != 4) ||
        inet_ntop(six ? AF_INET6 : AF_INET, bytes + AT_ADDRESS, host, sizeof host) ==
            NULL) {
        return rondo_error(RONDO_ERR_ARG, "the unique id holds no address");
    }
    if (six && scope != 0) {
        (void)snprintf(meeting->host, sizeof meeting->host, "%s%%%u", host,
                       (unsigned)scope);
    } else {
        (void)snprintf(meeting->host, sizeof meeting->host, "%s", host);
    }
    meeting->port = (uint16_t)get(bytes + AT_PORT, 2);
    meeting->serve = false;
    meeting->by_id = true;
    memcpy(meeting->secret.bytes, bytes + AT_SECRET, sizeof meeting->secret.bytes);
    memcpy(meeting->job.bytes, bytes + AT_JOB, sizeof meeting->job.bytes);
    return RONDO_OK;
}

rondo_status
rondo_meeting_open_id(uint64_t timeout_ms, rondo_unique_id *id)
{
    const char *const wanted = rondo_config_text(RONDO_CONFIG_INTERFACE);
    rondo_server_spec spec = {
        .host = "127.0.0.1", .port = 0, .deadline_ns = rondo_deadline_ns(timeout_ms)};
    const bool asked = strcmp(wanted, "auto") != 0;
    rondo_place place;

    /* A host may have no IPv4 address at all, not even this one. */
    rondo_status status =
        rondo_interface_place(asked ? wanted : "127.0.0.1,::1", &place);
    if (status == RONDO_OK) {
        rondo_place_host(&place, spec.host, sizeof spec.host);
    } else if (asked) {
        return status;
    }
    rondo_random(&spec.secret, sizeof spec.secret);
    rondo_random(&spec.job, sizeof spec.job);
    status = rondo_server_open(&spec, &place);
    if (status != RONDO_OK) {
        return status;
    }
    write_id(&place, &spec, id);
    return RONDO_OK;
}
