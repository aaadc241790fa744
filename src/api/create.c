/* create.c - from a config to a communicator all ranks have: meet, map, attach. */
#include <stdio.h>
#include <string.h>

#include "api/create.h"
#include "base/alloc.h"
#include "base/config.h"

void
rondo_comm_config_init(rondo_comm_config *config)
{
    *config = (rondo_comm_config){
        .size = sizeof *config, .rank = RONDO_FROM_ENV, .nranks = RONDO_FROM_ENV};
}

rondo_status
rondo_unique_id_create(rondo_unique_id *id)
{
    uint64_t timeout_ms = 0;

    if (id == NULL) {
        return rondo_error(RONDO_ERR_ARG, "id is null");
    }
    const rondo_status status = rondo_config_number(RONDO_CONFIG_START_TIMEOUT, 1,
                                                    UINT64_C(1) << 40, &timeout_ms);
    return status == RONDO_OK ? rondo_meeting_open_id(timeout_ms, id) : status;
}

rondo_status
rondo_comm_alloc(uint32_t rank, uint32_t nranks, const char *name, rondo_comm **comm)
{
    rondo_comm *made = NULL;
    rondo_status status = rondo_alloc_lines(sizeof *made, 64, (void **)&made);

    if (status != RONDO_OK) {
        return status;
    }
    memset(made, 0, sizeof *made);
    (void)snprintf(made->name, sizeof made->name, "%s", name);
    made->rank = rank;
    made->nranks = nranks;
    made->dead_rank = RONDO_NOBODY;
    status = rondo_service_acquire(&made->service);
    if (status != RONDO_OK) {
        rondo_free(made);
        return status;
    }
    *comm = made;
    return RONDO_OK;
}

static rondo_status
check_config(const rondo_comm_config *config)
{
    if (config->size != sizeof *config) {
        return rondo_error(RONDO_ERR_ARG,
                           "config->size is %zu; allowed is %zu (call "
                           "rondo_comm_config_init first)",
                           config->size, sizeof *config);
    }
    return RONDO_OK;
}

rondo_status
rondo_comm_create_start(const rondo_comm_config *config, rondo_comm **comm)
{
    rondo_comm_config usual;
    rondo_meeting meeting;
    rondo_comm *made = NULL;
    rondo_card card;

    rondo_comm_config_init(&usual);
    const rondo_comm_config *const wanted = config == NULL ? &usual : config;
    if (comm == NULL) {
        return rondo_error(RONDO_ERR_ARG, "comm is null");
    }
    rondo_status status = check_config(wanted);
    if (status == RONDO_OK) {
        status = rondo_meeting_from_config(wanted, &meeting);
    }
    if (status == RONDO_OK) {
        status = rondo_comm_alloc(meeting.rank, meeting.nranks,
                                  wanted->name == NULL ? "world" : wanted->name, &made);
    }
    if (status != RONDO_OK) {
        return status;
    }
    made->start_deadline_ns = meeting.deadline_ns;
    status = rondo_comm_settings_read(made, wanted);
    if (status == RONDO_OK) {
        status = rondo_comm_reach_find(made, meeting.host);
    }
    if (status == RONDO_OK) {
        rondo_comm_card_fill(made, &card);
        status = rondo_rendezvous_start(made->service, &meeting, &card, sizeof card,
                                        &made->rendezvous);
    }
    if (status != RONDO_OK) {
        rondo_comm_destroy(made);
        return status;
    }
    *comm = made;
    return RONDO_OK;
}

static rondo_status
take_cards(rondo_comm *comm, const rondo_cards *given)
{
    const rondo_card *const cards = (const rondo_card *)(const void *)given->cards;
    rondo_status status = rondo_comm_cards_check(comm, cards);

    if (status == RONDO_OK) {
        status = rondo_alloc_zero(comm->nranks * sizeof *comm->addresses,
                                  (void **)&comm->addresses);
    }
    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        comm->addresses[rank] = cards[rank].address;
    }
    status = rondo_comm_cards_hosts(comm, cards);
    if (status != RONDO_OK) {
        return status;
    }
    comm->cores = rondo_comm_cores(comm, cards);
    comm->uid = given->name;
    comm->key = given->key;
    rondo_comm_settings_adopt(comm, cards);
    return rondo_comm_map(comm);
}

static rondo_status
poll_meet(rondo_comm *comm)
{
    rondo_cards cards;
    rondo_status status = rondo_rendezvous_poll(comm->rendezvous, &cards);

    if (status != RONDO_OK) {
        return status;
    }
    status = take_cards(comm, &cards);
    rondo_rendezvous_destroy(comm->rendezvous);
    comm->rendezvous = NULL;
    return status;
}

/* Another rank, perhaps on another host, could not go on. */
static rondo_status
trouble_elsewhere(rondo_comm *comm)
{
    rondo_breakage breakage;

    if (!rondo_board_breakage(&comm->board, &breakage)) {
        return RONDO_OK;
    }
    return rondo_error(breakage.status == RONDO_ERR_ABORTED ? RONDO_ERR_ABORTED
                                                            : RONDO_ERR_START,
                       "%s", breakage.text);
}

rondo_status
rondo_comm_create_trouble(rondo_comm *comm)
{
    const uint32_t dead = atomic_load(&comm->dead_rank);

    if (dead != RONDO_NOBODY) {
        return rondo_error(RONDO_ERR_START,
                           "rank %u (process %u) died during the start", dead,
                           comm->addresses[dead].pid);
    }
    if (atomic_load(&comm->abort_asked) != 0) {
        return rondo_error(RONDO_ERR_ABORTED, "rank %u aborted the communicator",
                           comm->rank);
    }
    if (atomic_load(&comm->board_ready) != 0 && rondo_board_broken(&comm->board)) {
        return trouble_elsewhere(comm);
    }
    if (comm->phase != RONDO_PHASE_MEET && rondo_now_ns() >= comm->start_deadline_ns) {
        uint32_t missing = 0;

        while (comm->phase == RONDO_PHASE_ATTACH && missing + 1 < comm->nranks &&
               rondo_board_presence(&comm->board, missing) != RONDO_ABSENT) {
            missing++;
        }
        return rondo_error(RONDO_ERR_START,
                           "the start has not ended in time: waiting for rank %u of %u",
                           missing, comm->nranks);
    }
    return RONDO_OK;
}

static rondo_status
poll_map(rondo_comm *comm)
{
    if (comm->segment == NULL) {
        const rondo_segment_spec spec = rondo_comm_segment(comm);
        const rondo_status status =
            rondo_segment_take(comm->service, &spec, &comm->segment);

        if (status != RONDO_OK) {
            return status;
        }
    }
    rondo_board_open(comm->segment, comm->nranks, comm->rank, &comm->board);
    atomic_store(&comm->board_ready, 1);
    rondo_status status = rondo_comm_wire(comm);
    if (status == RONDO_OK && comm->hosts.count > 1) {
        status = rondo_comm_link(comm);
        comm->phase = RONDO_PHASE_LINK;
        return status;
    }
    if (status != RONDO_OK) {
        return status;
    }
    rondo_board_presence_set(&comm->board, RONDO_JOINED);
    comm->phase = RONDO_PHASE_ATTACH;
    return RONDO_OK;
}

static rondo_status
poll_link(rondo_comm *comm)
{
    const rondo_status status = rondo_comm_link_poll(comm);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_board_presence_set(&comm->board, RONDO_JOINED);
    rondo_links_news(comm->links);
    comm->phase = RONDO_PHASE_ATTACH;
    return RONDO_OK;
}

static rondo_status
poll_attach(rondo_comm *comm)
{
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (rondo_board_presence(&comm->board, rank) == RONDO_ABSENT) {
            return RONDO_BUSY;
        }
    }
    comm->phase = RONDO_PHASE_READY;
    return RONDO_OK;
}

static rondo_status
poll_phase(rondo_comm *comm)
{
    switch (comm->phase) {
    case RONDO_PHASE_MEET:
        return poll_meet(comm);
    case RONDO_PHASE_MAP:
        return poll_map(comm);
    case RONDO_PHASE_LINK:
        return poll_link(comm);
    case RONDO_PHASE_ATTACH:
        return poll_attach(comm);
    case RONDO_PHASE_READY:
    case RONDO_PHASE_FAILED:
        break;
    }
    return comm->status;
}

rondo_status
rondo_comm_create_step(rondo_comm *comm)
{
    rondo_status status = RONDO_OK;

    while (status == RONDO_OK && comm->phase < RONDO_PHASE_READY) {
        status = poll_phase(comm);
    }
    return status;
}

rondo_status
rondo_comm_create_test(rondo_comm *comm)
{
    if (comm == NULL) {
        return rondo_error(RONDO_ERR_ARG, "comm is null");
    }
    if (rondo_service_forked(comm->service)) {
        return rondo_error(RONDO_ERR_FORKED, "%s belongs to the parent process",
                           comm->name);
    }
    rondo_status status = rondo_comm_create_step(comm);
    if (status == RONDO_BUSY) {
        const rondo_status trouble = rondo_comm_create_trouble(comm);
        status = trouble == RONDO_OK ? RONDO_BUSY : trouble;
    }
    if (status == RONDO_OK || status == RONDO_BUSY ||
        comm->phase == RONDO_PHASE_FAILED) {
        return status;
    }
    comm->phase = RONDO_PHASE_FAILED;
    (void)rondo_comm_fail(comm, "start", status);
    comm->status = status;
    return status;
}

rondo_status
rondo_comm_create_finish(rondo_comm *comm)
{
    for (;;) {
        const rondo_status status = rondo_comm_create_test(comm);

        if (status != RONDO_BUSY) {
            return status;
        }
        if (comm->phase == RONDO_PHASE_MEET) {
            rondo_rendezvous_wait(comm->rendezvous, 10 * RONDO_NS_PER_MS);
        } else {
            rondo_segment_wait(comm->service, RONDO_NS_PER_MS / 10);
        }
    }
}

rondo_status
rondo_comm_create(const rondo_comm_config *config, rondo_comm **comm)
{
    rondo_comm *made = NULL;
    rondo_status status = rondo_comm_create_start(config, comm == NULL ? NULL : &made);

    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_comm_create_finish(made);
    if (status != RONDO_OK) {
        rondo_comm_destroy(made);
        return status;
    }
    *comm = made;
    return RONDO_OK;
}
