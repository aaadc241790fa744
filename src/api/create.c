/* create.c - from a config to a communicator all ranks have: meet, map, attach. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/create.h"
#include "base/alloc.h"
#include "base/config.h"
#include "base/log.h"

/* Plans kept per communicator. */
#define PLANS_MAX       256
#define PLANS_BYTES_MAX (UINT64_C(64) << 20)

/* Polls before a waiting rank yields, where every rank has a core of its own. */
#define SPINS_ALONE 4000

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

/* A process of peers has ended; runs on the service thread. */
static void
peer_died(const rondo_address *address, void *user)
{
    const rondo_neighbour *const neighbour = user;
    rondo_comm *const comm = neighbour->comm;
    const bool ready = atomic_load(&comm->board_ready) != 0;
    uint32_t nobody = RONDO_NOBODY;

    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (memcmp(&comm->addresses[rank], address, sizeof *address) != 0 ||
            (ready && rondo_board_presence(&comm->board, rank) == RONDO_LEFT)) {
            continue;
        }
        (void)atomic_compare_exchange_strong(&comm->dead_rank, &nobody, rank);
        rondo_breakage breakage = {
            .status = RONDO_ERR_PEER, .culprit = rank, .reporter = comm->rank};
        (void)snprintf(breakage.text, sizeof breakage.text, "rank %u (process %u) died",
                       rank, address->pid);
        if (atomic_load(&comm->board_ready) != 0) {
            (void)rondo_board_break(&comm->board, &breakage);
        }
        return;
    }
}

/* Watch every other process once, however many ranks it has. */
static rondo_status
watch_neighbours(rondo_comm *comm)
{
    rondo_address mine;
    const rondo_status status = rondo_alloc_zero(
        comm->nranks * sizeof *comm->neighbours, (void **)&comm->neighbours);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_service_address(comm->service, &mine);
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        const rondo_address *const address = &comm->addresses[rank];
        bool known = memcmp(address, &mine, sizeof mine) == 0;

        for (uint32_t i = 0; i < comm->nneighbours && !known; i++) {
            known = memcmp(address, &comm->addresses[comm->neighbours[i].rank],
                           sizeof *address) == 0;
        }
        if (known) {
            continue;
        }
        rondo_neighbour *const neighbour = &comm->neighbours[comm->nneighbours];
        neighbour->comm = comm;
        neighbour->rank = rank;
        const rondo_status watched = rondo_service_watch(
            comm->service, address, peer_died, neighbour, &neighbour->watch);
        if (watched != RONDO_OK) {
            return watched;
        }
        comm->nneighbours++;
    }
    return RONDO_OK;
}

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

/* Read what the environment says about this rank; nothing else may fail later for it. */
static rondo_status
read_local(rondo_comm *comm, const rondo_comm_config *config)
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

static void
fill_card(const rondo_comm *comm, rondo_card *card)
{
    memset(card, 0, sizeof *card);
    card->version = rondo_version();
    card->rank = comm->rank;
    rondo_service_address(comm->service, &card->address);
    rondo_host_key(&card->host);
    rondo_cpu_mask(card->cpus);
    card->quota = rondo_cpu_quota();
    card->settings = comm->settings;
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
    status = read_local(made, wanted);
    if (status == RONDO_OK) {
        fill_card(made, &card);
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

/* Cores the ranks share: all they may run on, but no more than their smallest quota. */
static uint32_t
shared_cores(const rondo_card *cards, uint32_t ncards)
{
    uint32_t cores = 0;
    uint32_t quota = UINT32_MAX;

    for (uint32_t word = 0; word < RONDO_CPUS_MAX / 64; word++) {
        uint64_t any = 0;

        for (uint32_t i = 0; i < ncards; i++) {
            any |= cards[i].cpus[word];
        }
        cores += (uint32_t)__builtin_popcountll(any);
    }
    for (uint32_t i = 0; i < ncards; i++) {
        quota = cards[i].quota < quota ? cards[i].quota : quota;
    }
    cores = cores < quota ? cores : quota;
    return cores == 0 ? 1 : cores;
}

static rondo_status
check_cards(const rondo_comm *comm, const rondo_card *cards)
{
    for (uint32_t rank = 0; rank < comm->nranks; rank++) {
        if (cards[rank].version != cards[0].version) {
            return rondo_error(RONDO_ERR_START,
                               "rank 0 has version %u of the library, rank %u has %u",
                               cards[0].version, rank, cards[rank].version);
        }
        if (memcmp(&cards[rank].host, &cards[0].host, sizeof cards[0].host) != 0) {
            return rondo_error(
                RONDO_ERR_UNSUPPORTED,
                "rank %u is on another host, network namespace or user "
                "than rank 0; this version has no transport between hosts",
                rank);
        }
    }
    return RONDO_OK;
}

/* Rank 0's settings count; a difference is told to the log. */
static void
adopt_settings(rondo_comm *comm, const rondo_card *cards)
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

static rondo_status
take_cards(rondo_comm *comm, const rondo_cards *given)
{
    const rondo_card *const cards = (const rondo_card *)(const void *)given->cards;
    rondo_status status = check_cards(comm, cards);

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
    comm->cores = shared_cores(cards, comm->nranks);
    comm->uid = given->name;
    comm->key = given->key;
    adopt_settings(comm, cards);
    return rondo_comm_map(comm);
}

/* Polls before yielding: none where ranks share cores, RONDO_SPIN where it is given. */
static rondo_status
read_spins(rondo_comm *comm)
{
    uint64_t spins = comm->nranks <= comm->cores ? SPINS_ALONE : 0;

    if (strcmp(rondo_config_text(RONDO_CONFIG_SPIN), "auto") != 0) {
        const rondo_status status =
            rondo_config_number(RONDO_CONFIG_SPIN, 0, UINT32_MAX, &spins);
        if (status != RONDO_OK) {
            return status;
        }
    }
    comm->spins = (uint32_t)spins;
    return RONDO_OK;
}

/* Everything after the ranks know each other: watch, and make or await the segment. */
rondo_status
rondo_comm_map(rondo_comm *comm)
{
    rondo_status status = rondo_tune_forced_parse(comm->settings.algo, &comm->forced);

    if (status == RONDO_OK) {
        status = read_spins(comm);
    }
    if (status == RONDO_OK) {
        status = watch_neighbours(comm);
    }
    if (status != RONDO_OK) {
        return status;
    }
    comm->layout = rondo_shm_layout_default(comm->nranks, comm->settings.chunk_bytes);
    comm->phase = RONDO_PHASE_MAP;
    if (comm->rank != 0) {
        return RONDO_OK;
    }
    const rondo_segment_spec spec = rondo_comm_segment(comm);
    return rondo_segment_publish(comm->service, &spec, comm->addresses, comm->nranks,
                                 &comm->segment);
}

rondo_segment_spec
rondo_comm_segment(const rondo_comm *comm)
{
    const rondo_segment_spec spec = {
        .name = comm->uid,
        .key = comm->key,
        .bytes = rondo_board_bytes(comm->nranks) + rondo_shm_bytes(&comm->layout),
    };

    return spec;
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

/* What stops a start besides failures of our own. */
static rondo_status
poll_trouble(rondo_comm *comm)
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
    const rondo_status status = rondo_comm_wire(comm);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_board_presence_set(&comm->board, RONDO_JOINED);
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

/* The transport, the routes and what calls need later; nothing here waits for peers. */
rondo_status
rondo_comm_wire(rondo_comm *comm)
{
    const uint32_t nranks = comm->nranks;
    uint32_t *ranks = NULL;

    rondo_status status = rondo_alloc_zero(nranks * sizeof *ranks, (void **)&ranks);
    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        ranks[rank] = rank;
    }
    const rondo_shm_setup setup = {
        .layout = comm->layout,
        .memory = (unsigned char *)comm->segment + rondo_board_bytes(nranks),
        .me = comm->rank,
        .nranks = nranks,
        .ranks = ranks,
    };
    status = rondo_shm_create(&setup, &comm->shm);
    rondo_free(ranks);
    if (status == RONDO_OK) {
        status =
            rondo_alloc_zero(nranks * sizeof *comm->routes, (void **)&comm->routes);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(nranks * sizeof *comm->sent_pairs,
                                  (void **)&comm->sent_pairs);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(nranks * sizeof *comm->received_pairs,
                                  (void **)&comm->received_pairs);
    }
    if (status == RONDO_OK) {
        status = rondo_plan_cache_create(PLANS_MAX, PLANS_BYTES_MAX, &comm->cache);
    }
    for (uint32_t peer = 0; status == RONDO_OK && peer < nranks; peer++) {
        comm->routes[peer] = peer == comm->rank ? NULL : comm->shm;
    }
    return status;
}

static rondo_status
poll_phase(rondo_comm *comm)
{
    switch (comm->phase) {
    case RONDO_PHASE_MEET:
        return poll_meet(comm);
    case RONDO_PHASE_MAP:
        return poll_map(comm);
    case RONDO_PHASE_ATTACH:
        return poll_attach(comm);
    case RONDO_PHASE_READY:
    case RONDO_PHASE_FAILED:
        break;
    }
    return comm->status;
}

rondo_status
rondo_comm_create_test(rondo_comm *comm)
{
    rondo_status status = RONDO_OK;

    if (comm == NULL) {
        return rondo_error(RONDO_ERR_ARG, "comm is null");
    }
    if (rondo_service_forked(comm->service)) {
        return rondo_error(RONDO_ERR_FORKED, "%s belongs to the parent process",
                           comm->name);
    }
    while (status == RONDO_OK && comm->phase < RONDO_PHASE_READY) {
        status = poll_phase(comm);
    }
    if (status == RONDO_BUSY) {
        const rondo_status trouble = poll_trouble(comm);
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
    rondo_status status = rondo_comm_create_start(config, &made);

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
