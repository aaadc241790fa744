/* identity.c - who this rank is and where it meets the others. */
#include "bootstrap/identity.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/error.h"
#include "bootstrap/address.h"
#include "bootstrap/wire.h"

/* About a year; more is a slip of units. */
#define TIMEOUT_MS_MAX (UINT64_C(366) * 24 * 3600 * 1000)

/* Both variables or none: half a job is a mistake in the launch. */
static rondo_status
check_pair(void)
{
    const bool rank = rondo_config_set(RONDO_CONFIG_RANK);
    const bool size = rondo_config_set(RONDO_CONFIG_WORLD_SIZE);

    if (rank == size) {
        return RONDO_OK;
    }
    return rondo_error(
        RONDO_ERR_ARG, "%s is set but %s is not; set both or neither",
        rondo_config_variable(rank ? RONDO_CONFIG_RANK : RONDO_CONFIG_WORLD_SIZE),
        rondo_config_variable(rank ? RONDO_CONFIG_WORLD_SIZE : RONDO_CONFIG_RANK));
}

static rondo_status
read_number(rondo_config_id id, uint64_t fallback, uint64_t low, uint32_t *value)
{
    uint64_t number = fallback;

    if (rondo_config_set(id)) {
        const rondo_status status =
            rondo_config_number(id, low, RONDO_MEETING_RANKS_MAX, &number);
        if (status != RONDO_OK) {
            return status;
        }
    }
    *value = (uint32_t)number;
    return RONDO_OK;
}

static rondo_status
read_ranks(uint32_t rank, uint32_t nranks, rondo_meeting *meeting)
{
    const bool all_from_env = rank == RONDO_FROM_ENV && nranks == RONDO_FROM_ENV;
    rondo_status status = all_from_env ? check_pair() : RONDO_OK;

    meeting->rank = rank;
    meeting->nranks = nranks;
    if (status == RONDO_OK && rank == RONDO_FROM_ENV) {
        status = read_number(RONDO_CONFIG_RANK, 0, 0, &meeting->rank);
    }
    if (status == RONDO_OK && nranks == RONDO_FROM_ENV) {
        status = read_number(RONDO_CONFIG_WORLD_SIZE, 1, 1, &meeting->nranks);
    }
    if (status != RONDO_OK) {
        return status;
    }
    if (meeting->nranks < 1 || meeting->nranks > RONDO_MEETING_RANKS_MAX) {
        return rondo_error(RONDO_ERR_ARG, "nranks is %u; allowed is 1 to %u",
                           meeting->nranks, RONDO_MEETING_RANKS_MAX);
    }
    if (meeting->rank >= meeting->nranks) {
        return rondo_error(
            RONDO_ERR_ARG, "%s is %u; with %u ranks (%s) allowed is 0 to %u",
            rank == RONDO_FROM_ENV ? "RANK" : "rank", meeting->rank, meeting->nranks,
            nranks == RONDO_FROM_ENV ? "WORLD_SIZE" : "nranks", meeting->nranks - 1);
    }
    return RONDO_OK;
}

/* torchrun's own store listens at MASTER_PORT; the next port is free by custom. */
static rondo_status
read_port(uint16_t *port)
{
    const bool agent = rondo_config_set(RONDO_CONFIG_AGENT_STORE);
    const bool ours = rondo_config_set(RONDO_CONFIG_PORT);
    const rondo_config_id id = ours ? RONDO_CONFIG_PORT : RONDO_CONFIG_MASTER_PORT;
    const uint64_t step = agent && !ours ? 1 : 0;
    uint64_t number = 0;

    if (!rondo_config_set(id)) {
        return rondo_error(RONDO_ERR_ARG,
                           "several ranks need a port to meet at: MASTER_PORT (or "
                           "RONDO_PORT) is not set; allowed is 1 to 65535");
    }
    const rondo_status status = rondo_config_number(id, 1, 65535 - step, &number);
    if (status != RONDO_OK) {
        return status;
    }
    *port = (uint16_t)(number + step);
    return RONDO_OK;
}

static rondo_status
read_place(rondo_meeting *meeting)
{
    rondo_status status =
        rondo_host_read(rondo_config_variable(RONDO_CONFIG_MASTER_ADDR),
                        rondo_config_text(RONDO_CONFIG_MASTER_ADDR), meeting->host);

    if (status == RONDO_OK) {
        status = read_port(&meeting->port);
    }
    meeting->serve = meeting->rank == 0;
    return status == RONDO_OK ? rondo_secret_read(&meeting->secret) : status;
}

static rondo_status
read_deadline(uint64_t timeout_ms, rondo_meeting *meeting)
{
    uint64_t span_ms = timeout_ms;

    if (timeout_ms == 0) {
        const rondo_status status = rondo_config_number(RONDO_CONFIG_START_TIMEOUT, 1,
                                                        TIMEOUT_MS_MAX, &span_ms);
        if (status != RONDO_OK) {
            return status;
        }
    }
    meeting->deadline_ns = rondo_deadline_ns(span_ms);
    return RONDO_OK;
}

rondo_status
rondo_meeting_from_config(const rondo_comm_config *config, rondo_meeting *meeting)
{
    rondo_meeting made = {.port = 0};
    const uint32_t rank = config != NULL ? config->rank : RONDO_FROM_ENV;
    const uint32_t nranks = config != NULL ? config->nranks : RONDO_FROM_ENV;
    const rondo_unique_id *const id = config != NULL ? config->id : NULL;

    rondo_status status = read_ranks(rank, nranks, &made);
    if (status == RONDO_OK) {
        status = read_deadline(config != NULL ? config->start_timeout_ms : 0, &made);
    }
    if (status == RONDO_OK && id != NULL) {
        status = rondo_id_read(id, &made);
    } else if (status == RONDO_OK && made.nranks > 1) {
        status = read_place(&made);
    }
    if (status != RONDO_OK) {
        return status;
    }
    *meeting = made;
    return RONDO_OK;
}
