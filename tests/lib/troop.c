/* troop.c - several ranks in one thread. */
#include "lib/troop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

#define FINISH_NS (UINT64_C(20) * RONDO_NS_PER_S)

static rondo_status
start_all(uint32_t nranks, uint64_t start_timeout_ms, troop *made)
{
    rondo_comm_config config;
    rondo_unique_id id;
    rondo_status status = rondo_unique_id_create(&id);

    rondo_comm_config_init(&config);
    config.nranks = nranks;
    config.id = &id;
    config.start_timeout_ms = start_timeout_ms;
    for (uint32_t rank = 0; status == RONDO_OK && rank < nranks; rank++) {
        config.rank = rank;
        status = rondo_comm_create_start(&config, &made->comm[rank]);
        made->nranks += status == RONDO_OK ? 1 : 0;
    }
    return status;
}

rondo_status
troop_try(uint32_t nranks, uint64_t start_timeout_ms, troop *made)
{
    uint32_t ready = 0;

    memset(made, 0, sizeof *made);
    rondo_status status = start_all(nranks, start_timeout_ms, made);
    while (status == RONDO_OK && ready < nranks) {
        ready = 0;
        for (uint32_t rank = 0; rank < nranks; rank++) {
            const rondo_status one = rondo_comm_create_test(made->comm[rank]);

            ready += one == RONDO_OK ? 1 : 0;
            status = one == RONDO_OK || one == RONDO_BUSY ? status : one;
        }
    }
    if (status != RONDO_OK) {
        troop_destroy(made);
    }
    return status;
}

void
troop_make(uint32_t nranks, troop *made)
{
    const rondo_status status = troop_try(nranks, 20000, made);

    if (status != RONDO_OK) {
        fail_msg("%u ranks in a thread: %s, %s", nranks, rondo_status_name(status),
                 rondo_error_text());
    }
}

void
troop_destroy(troop *made)
{
    for (uint32_t rank = 0; rank < made->nranks; rank++) {
        rondo_comm_destroy(made->comm[rank]);
        made->comm[rank] = NULL;
    }
    made->nranks = 0;
}

void
troop_finish(uint32_t nranks, rondo_request **requests, rondo_status *statuses)
{
    const uint64_t deadline_ns = rondo_now_ns() + FINISH_NS;
    uint32_t done = 0;

    while (done < nranks) {
        for (uint32_t rank = 0; rank < nranks; rank++) {
            if (requests[rank] == NULL) {
                continue;
            }
            const rondo_status status = rondo_request_test(requests[rank]);
            if (status != RONDO_BUSY) {
                statuses[rank] = status;
                requests[rank] = NULL;
                done++;
            }
        }
        if (rondo_now_ns() > deadline_ns) {
            fail_msg("%u of %u ranks are not done after 20 s", nranks - done, nranks);
        }
    }
}
