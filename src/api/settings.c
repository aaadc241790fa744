/* settings.c - what a rank says of itself when ranks meet, and what follows for all. */
#include <stdio.h>
#include <string.h>

#include "api/create.h"
#include "base/config.h"
#include "base/log.h"
#include "bootstrap/wire.h"
#include "topology/cores.h"
#include "topology/numa.h"

static void
fill_settings(rondo_settings *settings, rondo_status *status)
{
    uint64_t check = 0;

    *status = rondo_config_number(RONDO_CONFIG_CHUNK, 0, UINT64_C(1) << 26,
                                  &settings->chunk_bytes);
    if (*status == RONDO_OK) {
        *status = rondo_config_number(RONDO_CONFIG_SEGMENT, 0, UINT64_C(1) << 40,
                                      &settings->segment_bytes);
    }
    if (*status == RONDO_OK) {
        *status = rondo_config_number(RONDO_CONFIG_CHECK, 0, 1, &check);
    }
    settings->check = (uint32_t)check;
    (void)snprintf(settings->algo, sizeof settings->algo, "%s",
                   rondo_config_text(RONDO_CONFIG_ALGO));
}

/* Read what the environment says about this rank; nothing else may fail later for
 * it. */
rondo_status
rondo_comm_settings_read(rondo_comm *comm, const rondo_comm_config *config)
{
    rondo_tune_forced forced;
    uint64_t timeout_ms = 0;
    rondo_status status = RONDO_OK;

    fill_settings(&comm->settings, &status);
    if (status == RONDO_OK) {
        status = rondo_tune_forced_parse(rondo_config_text(RONDO_CONFIG_ALGO), &forced);
    }
    if (status == RONDO_OK) {
        status = rondo_config_number(RONDO_CONFIG_TIMEOUT, 1, UINT64_C(1) << 40,
                                     &timeout_ms);
    }
    if (status == RONDO_OK) {
        status = rondo_config_number(RONDO_CONFIG_WARN_AFTER, 0, UINT64_C(1) << 40,
                                     &comm->warn_after_ms);
    }
    if (status != RONDO_OK) {
        return status;
    }
    if (config->op_timeout_ms != 0) {
        timeout_ms = config->op_timeout_ms;
    }
    comm->op_timeout_ms = timeout_ms;
    comm->op_timeout_default_ms = timeout_ms;
    return RONDO_OK;
}

void
rondo_comm_card_fill(const rondo_comm *comm, rondo_card *card)
{
    memset(card, 0, sizeof *card);
    card->version = rondo_version();
    card->rank = comm->rank;
    rondo_service_address(comm->service, &card->address);
    rondo_host_key(&card->host);
    rondo_cpu_mask(card->cpus);
    card->quota = rondo_cpu_quota();
    card->settings = comm->settings;
    card->reach = comm->reach;
    card->part = rondo_numa_node(card->cpus);
    rondo_host_name(card->host_name, sizeof card->host_name);
}

uint32_t
rondo_comm_cores(const rondo_comm *comm, const rondo_card *cards)
{
    rondo_cores cores = {0};

    for (uint32_t i = 0; i < comm->hosts.nlocal; i++) {
        const rondo_card *const card = &cards[comm->hosts.local[i]];

        rondo_cores_add(&cores, card->cpus, card->quota);
    }
    return rondo_cores_count(&cores);
}

rondo_status
rondo_comm_cards_check(const rondo_comm *comm, const rondo_card *cards)
{
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (cards[rank].version != cards[0].version) {
            return rondo_error(RONDO_ERR_START,
                               "rank 0 has version %u of the library, rank %u has %u",
                               cards[0].version, rank, cards[rank].version);
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_comm_cards_hosts(rondo_comm *comm, const rondo_card *cards)
{
    rondo_hosts *const hosts = &comm->hosts;
    const rondo_status status = rondo_hosts_alloc(comm->nranks, hosts);

    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        uint32_t first = 0;

        while (memcmp(&cards[first].host, &cards[rank].host, sizeof cards->host) != 0) {
            first++;
        }
        hosts->of[rank] = first;
        hosts->part_of[rank] = cards[rank].part;
        hosts->reach[rank] = cards[rank].reach;
        (void)snprintf(hosts->names[rank], RONDO_HOST_NAME_MAX, "%.63s",
                       cards[rank].host_name);
        rondo_wire_clean(hosts->names[rank], RONDO_HOST_NAME_MAX);
    }
    rondo_hosts_settle(hosts, comm->rank);
    return RONDO_OK;
}

/* Rank 0's settings count; a difference is told to the log. */
void
rondo_comm_settings_adopt(rondo_comm *comm, const rondo_card *cards)
{
    if (memcmp(&comm->settings, &cards[0].settings, sizeof comm->settings) != 0) {
        rondo_log(
            RONDO_LOG_WARN,
            "%s, rank %u: RONDO_ALGO, _CHUNK, _SEGMENT or _CHECK differ from rank "
            "0's, whose values are used: algo \"%.200s\", chunk %llu, segment %llu, "
            "check %u",
            comm->name, comm->rank, cards[0].settings.algo,
            (unsigned long long)cards[0].settings.chunk_bytes,
            (unsigned long long)cards[0].settings.segment_bytes,
            cards[0].settings.check);
    }
    comm->settings = cards[0].settings;
    comm->settings.algo[sizeof comm->settings.algo - 1] = '\0';
}
