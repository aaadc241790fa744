/* server_bind.c - communicators that break under servers and workers: they go on with
 * another one, and every gradient is taken once; workers die, leave and come back, and
 * shards move to other servers.
 * ctest: timeout=180 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/shards.h"
#include "server/client_inside.h"

#define COMMS  5
#define NOBODY UINT32_MAX

/* What happens in a run. */
typedef struct story {
    shards_job job;
    uint32_t breaks; /* how often a communicator breaks */
    uint32_t victim; /* worker that dies in the middle of a push; NOBODY */
    uint32_t victim_steps;
    bool moves;   /* the shard goes from server 0 to server 1 with the first break */
    bool returns; /* worker 0 is away for one communicator */
    unsigned char *saved; /* moves: the shard's state, shared */
    uint64_t *saved_bytes;
} story;

/* A rank's communicators, one after the other, and where it is. */
typedef struct route {
    rank_self *self;
    const story *plot;
    rondo_comm *comm[COMMS];
    uint32_t at;
    shards_rank place; /* on comm[at] */
} route;

static bool
survives(const story *plot, uint32_t rank)
{
    return plot->victim == NOBODY || rank != plot->job.nservers + plot->victim;
}

/* Where everybody is on communicator `at`. */
static void
find_place(route *way)
{
    const story *const plot = way->plot;
    const uint32_t nranks = way->self->nranks;

    shards_place(&plot->job, nranks, &way->place);
    if (plot->victim != NOBODY && way->at > 0) {
        way->place.rank_of[plot->victim] = NOBODY;
        for (uint32_t i = plot->victim + 1; i < way->place.nworkers; i++) {
            way->place.rank_of[i]--;
        }
    }
    if (plot->moves && way->at > 0) {
        way->place.owner[0] = 1;
    }
    if (plot->returns && way->at == 1) {
        way->place.rank_of[0] = NOBODY;
    }
    /* The copy's pointers are the copy's own. */
    way->place.placement.owner = way->place.owner;
    way->place.placement.rank_of = way->place.rank_of;
}

static bool
open_way(route *way, rank_self *self, const story *plot)
{
    way->self = self;
    way->plot = plot;
    if (!rank_join(self, 60000, &way->comm[0])) {
        return false;
    }
    for (uint32_t i = 1; i <= plot->breaks; i++) {
        const int32_t color = survives(plot, self->rank) ? 0 : RONDO_NO_COLOR;
        if (!rank_expect_status(self,
                                rondo_comm_split(way->comm[0], color, 0, &way->comm[i]),
                                RONDO_OK, way->comm[0], "split")) {
            return false;
        }
    }
    find_place(way);
    return true;
}

static void
close_way(route *way)
{
    for (uint32_t i = 0; i < COMMS; i++) {
        rondo_comm_destroy(way->comm[i]);
    }
}

/* The next communicator, if `status` says that this one broke. */
static bool
may_go_on(route *way, rondo_status status, const char *text)
{
    if (!rank_expect(way->self,
                     rondo_status_group_of(status) == RONDO_GROUP_BROKEN &&
                         status != RONDO_ERR_WIRE && status != RONDO_ERR_TIMEOUT &&
                         way->at < way->plot->breaks,
                     "on communicator %u: %s, \"%s\"", way->at,
                     rondo_status_name(status), text)) {
        return false;
    }
    /* Nothing of the old one is needed to bind to the new one; a client that ends needs
     * it. */
    if (!way->plot->returns) {
        rondo_comm_destroy(way->comm[way->at]);
        way->comm[way->at] = NULL;
    }
    way->at++;
    find_place(way);
    return true;
}

/* --- a server's way --------------------------------------------------------------- */

static bool
keep_state(route *way, rondo_shard *shard)
{
    const uint64_t bytes = rondo_shard_state_bytes(shard);

    *way->plot->saved_bytes = bytes;
    return rank_expect_status(way->self,
                              rondo_shard_state_save(shard, way->plot->saved, bytes),
                              RONDO_OK, NULL, "save");
}

/* Server 1 makes the shard anew from what server 0 saved. */
static bool
take_over(route *way, rondo_shard **shard, rondo_server *server)
{
    shards_rank fresh = way->place;

    fresh.placement.owner = fresh.owner;
    fresh.placement.rank_of = fresh.rank_of;
    if (!shards_make(way->self, 1, &fresh)) {
        return false;
    }
    *shard = fresh.shard[0];
    /* The other one is the one that is here already. */
    rondo_shard_destroy(fresh.shard[1]);
    rank_expect_status(
        way->self,
        rondo_shard_state_load(*shard, way->plot->saved, *way->plot->saved_bytes),
        RONDO_OK, NULL, "load");
    return rank_expect_status(way->self, rondo_server_add(server, 0, *shard), RONDO_OK,
                              NULL, "add");
}

static bool
server_follows(route *way, rondo_server *server, rondo_shard **shard)
{
    const bool saves =
        way->plot->moves && way->at == 1 && way->self->rank == 0 && *shard != NULL;

    if (saves && !keep_state(way, *shard)) {
        return false;
    }
    if (way->plot->moves && !rank_meet(way->self, 1, 20000)) {
        return false;
    }
    if (!rank_expect_status(
            way->self,
            rondo_server_bind(server, way->comm[way->at], &way->place.placement),
            RONDO_OK, NULL, "rondo_server_bind")) {
        return false;
    }
    return !way->plot->moves || way->self->rank != 1 || take_over(way, shard, server);
}

static void
serve(route *way, uint64_t *used, uint64_t *arrived)
{
    rank_self *const self = way->self;
    rondo_server *server = NULL;
    shards_rank place = way->place;
    rondo_status status = RONDO_ERR_STATE;

    place.placement.owner = place.owner;
    place.placement.rank_of = place.rank_of;
    bool good = shards_server(self, way->comm[0], &place, &server);
    while (good && status != RONDO_OK) {
        status = rondo_server_serve(server, 5);
        if (status != RONDO_OK && status != RONDO_BUSY) {
            good = may_go_on(way, status, rondo_server_error_text(server)) &&
                   server_follows(way, server, &place.shard[0]);
        }
    }
    for (uint32_t i = 0; good && i < way->plot->job.nshards; i++) {
        rondo_shard_stats stats = {.size = sizeof stats};
        if (place.shard[i] == NULL || way->place.owner[i] != self->rank) {
            continue;
        }
        rank_expect_status(self, rondo_shard_stats_get(place.shard[i], &stats),
                           RONDO_OK, NULL, "stats");
        *used += shards_used(self, &way->place, i,
                             rondo_shard_parameters(place.shard[i], NULL));
        *arrived += stats.pushes;
        rank_expect(self, stats.used + stats.dropped == stats.pushes, "none waits");
        rank_expect(self,
                    way->plot->job.rule != RONDO_SHARD_BOUNDED ||
                        stats.spread_largest <= way->plot->job.bound + 1,
                    "spread %llu", (unsigned long long)stats.spread_largest);
    }
    rank_expect(self, !good || way->at == way->plot->breaks, "%u breaks seen", way->at);
    rondo_server_destroy(server);
    shards_free(&place);
}

/* --- a worker's way --------------------------------------------------------------- */

/* A worker at work. */
typedef struct doing {
    route *way;
    rondo_client **client;
    uint32_t worker;
    float *parameters;
    float *gradient;
    uint64_t pushed;
} doing;

/* Half a push, then nothing more. */
static void
die_in_a_push(route *way, rondo_client *client, const float *gradient)
{
    rondo_client_shard *const shard = &client->shards[0];
    rondo_note note = rondo_note_make(RONDO_NOTE_PUSH, client->worker, 0);
    rondo_status status = RONDO_BUSY;

    note.session = shard->session;
    note.number = shard->clock + 1;
    note.version = shard->version;
    note.weight = 1;
    note.flags = RONDO_NOTE_PULL_TOO;
    while (status == RONDO_BUSY) {
        status = rondo_message_send(way->comm[0], way->place.owner[0], 14, &note,
                                    sizeof note, gradient, 400);
        (void)usleep(100);
    }
    /* Time for it to arrive. */
    (void)usleep(20000);
    (void)kill(getpid(), SIGKILL);
}

/* Step `step` of the victim or the breaker, before its pull or after it. */
static void
meddle(const doing *what, uint32_t step, bool pulled)
{
    route *const way = what->way;
    const uint32_t worker = what->worker;
    const story *const plot = way->plot;
    const uint32_t steps = plot->job.steps;

    if (worker == plot->victim && step == plot->victim_steps && pulled) {
        die_in_a_push(way, *what->client, what->gradient);
    }
    /* Worker 1 breaks the communicators, at other points of a step each time. */
    const bool breaks = plot->victim == NOBODY && worker == 1 &&
                        way->at < plot->breaks && pulled == (way->at % 2 == 1) &&
                        step == (way->at + 1) * steps / (plot->breaks + 1);
    if (breaks) {
        rank_expect_status(way->self, rondo_comm_abort(way->comm[way->at]), RONDO_OK,
                           NULL, "abort");
    }
}

static bool
client_follows(route *way, rondo_client **client, uint32_t worker, bool *renewed)
{
    if (way->plot->moves && !rank_meet(way->self, 1, 20000)) {
        return false;
    }
    if (way->place.rank_of[worker] != NOBODY) {
        return rank_expect_status(
            way->self,
            rondo_client_bind(*client, way->comm[way->at], &way->place.placement),
            RONDO_OK, NULL, "rondo_client_bind");
    }
    /* Away for one communicator: a new client on the next. */
    rondo_client_destroy(*client);
    *client = NULL;
    *renewed = true;
    while (rondo_comm_progress(way->comm[way->at]) == RONDO_OK) {
        (void)usleep(1000);
    }
    way->at++;
    find_place(way);
    return rank_expect_status(
        way->self,
        rondo_client_create(way->comm[way->at], &way->place.placement, worker, client),
        RONDO_OK, NULL, "a new client");
}

/* One call until it succeeds, over all breaks. */
static rondo_status
call(const doing *what, char which)
{
    switch (which) {
    case 'l':
        return rondo_client_pull(*what->client, what->parameters);
    case 's':
        return rondo_client_push(*what->client, 1, what->gradient);
    default:
        return rondo_client_leave(*what->client);
    }
}

/* False: something is wrong; `renewed` is set when the client is another one now. */
static bool
insist(const doing *what, char which, bool *renewed)
{
    while (!*renewed) {
        const rondo_status status = call(what, which);
        if (status == RONDO_OK) {
            return true;
        }
        if (!may_go_on(what->way, status, rondo_client_error_text(*what->client)) ||
            !client_follows(what->way, what->client, what->worker, renewed)) {
            return false;
        }
    }
    return true;
}

/* Nobody says goodbye before the last break: the others could not follow it. */
static bool
await_breaks(const doing *what, bool *renewed)
{
    route *const way = what->way;

    while (way->at < way->plot->breaks) {
        const rondo_status status = rondo_comm_progress(way->comm[way->at]);
        (void)usleep(200);
        if (status != RONDO_OK &&
            (!may_go_on(way, status, rondo_comm_error_text(way->comm[way->at])) ||
             !client_follows(way, what->client, what->worker, renewed))) {
            return false;
        }
    }
    return true;
}

static void
steps(doing *what)
{
    route *const way = what->way;
    unsigned int seed = what->worker + 1;
    bool good = true;

    for (uint32_t step = 0; good && step < way->plot->job.steps; step++) {
        bool renewed = false;
        rank_note(way->self, "step %u on communicator %u", step, way->at);
        meddle(what, step, false);
        good = insist(what, 'l', &renewed);
        if (!good || renewed) {
            continue;
        }
        meddle(what, step, true);
        for (uint32_t s = 0; s < way->plot->job.nshards; s++) {
            (void)shards_used(way->self, &way->place, s,
                              what->parameters +
                                  way->plot->job.count * s / way->plot->job.nshards);
        }
        (void)usleep((useconds_t)rand_r(&seed) % 300);
        good = insist(what, 's', &renewed);
        what->pushed += good && !renewed ? 1 : 0;
    }
    bool renewed = false;
    if (good && await_breaks(what, &renewed)) {
        renewed = false;
        (void)insist(what, 'b', &renewed);
    }
}

static void
work(route *way, uint64_t *pushed)
{
    const uint64_t count = way->plot->job.count;
    const uint32_t worker = way->self->rank - way->plot->job.nservers;
    rondo_client *client = NULL;
    doing what = {.way = way,
                  .client = &client,
                  .worker = worker,
                  .parameters = calloc(count, sizeof(float)),
                  .gradient = calloc(count, sizeof(float))};

    shards_gradient(&way->place, what.gradient);
    if (rank_expect_status(
            way->self,
            rondo_client_create(way->comm[0], &way->place.placement, worker, &client),
            RONDO_OK, NULL, "rondo_client_create")) {
        steps(&what);
    }
    *pushed = what.pushed * way->plot->job.nshards;
    rondo_client_destroy(client);
    free(what.parameters);
    free(what.gradient);
}

/* --- together --------------------------------------------------------------------- */

static void
play(rank_self *self)
{
    const story *const plot = self->user;
    route way = {0};
    uint64_t terms[3] = {0}; /* pushed, used, arrived */
    uint64_t sums[3] = {0};

    if (!open_way(&way, self, plot)) {
        close_way(&way);
        return;
    }
    if (self->rank < plot->job.nservers) {
        serve(&way, &terms[1], &terms[2]);
    } else {
        work(&way, &terms[0]);
    }
    rank_expect_status(
        self,
        rondo_all_reduce(way.comm[way.at], terms, sums, 3, RONDO_UINT64, RONDO_SUM),
        RONDO_OK, way.comm[way.at], "the comparison");
    const uint64_t before =
        plot->victim == NOBODY ? 0 : (uint64_t)plot->victim_steps * plot->job.nshards;
    if (!plot->moves && !plot->returns) {
        rank_expect(self, sums[0] + before == sums[2],
                    "%llu pushed, and %llu before the death; %llu arrived",
                    (unsigned long long)sums[0], (unsigned long long)before,
                    (unsigned long long)sums[2]);
    }
    if (plot->job.rule != RONDO_SHARD_BACKUP) {
        rank_expect(self, sums[1] == sums[2], "%llu arrived, %llu used",
                    (unsigned long long)sums[2], (unsigned long long)sums[1]);
    }
    close_way(&way);
}

static void
set_rule(shards_job *job, uint32_t rule)
{
    job->rule = rule == 0   ? RONDO_SHARD_ASYNC
                : rule == 1 ? RONDO_SHARD_BACKUP
                            : RONDO_SHARD_BOUNDED;
    job->bound = rule == 2 ? 0 : 2;
}
#define RULES 4

static void
every_gradient_is_taken_once(void **state)
{
    (void)state;
    for (uint32_t rule = 0; rule < RULES; rule++) {
        for (uint32_t large = 0; large < 2; large++) {
            story plot = {.job = {.nservers = rule == 1 ? 1 : 2,
                                  .nshards = rule == 1 ? 1 : 3,
                                  .count = large == 1 ? 150001 : 11,
                                  .steps = 60},
                          .breaks = COMMS - 1,
                          .victim = NOBODY};
            set_rule(&plot.job, rule);
            run_ranks(5, rule % 2 == 0 ? AS_PROCESSES : AS_THREADS, play, &plot, 60000);
        }
    }
}

static void
a_worker_dies_in_a_push(void **state)
{
    (void)state;
    for (uint32_t rule = 0; rule < RULES; rule++) {
        for (uint32_t victim = 0; victim < 3; victim += 2) {
            story plot = {
                .job = {.nservers = 1, .nshards = 1, .count = 500, .steps = 30},
                .breaks = 1,
                .victim = victim,
                .victim_steps = 4 * victim};
            rank_report report;
            set_rule(&plot.job, rule);
            const rank_run run = {
                .nranks = 4, .function = play, .user = &plot, .deadline_ms = 60000};
            ranks_run(&run, &report);
            ranks_expect(&report, RANK_RETURNED, 1 + victim);
        }
    }
}

static void
a_shard_moves(void **state)
{
    (void)state;
    for (uint32_t rule = 0; rule < RULES; rule++) {
        story plot = {.job = {.nservers = 2, .nshards = 2, .count = 70001, .steps = 30},
                      .breaks = 1,
                      .victim = NOBODY,
                      .moves = true,
                      .saved = test_shared(4 << 20),
                      .saved_bytes = test_shared(sizeof(uint64_t))};
        set_rule(&plot.job, rule);
        run_ranks(5, AS_PROCESSES, play, &plot, 60000);
    }
}

static void
a_worker_comes_back(void **state)
{
    (void)state;
    for (uint32_t rule = 0; rule < RULES; rule++) {
        story plot = {.job = {.nservers = 1, .nshards = 1, .count = 101, .steps = 60},
                      .breaks = 2,
                      .victim = NOBODY,
                      .returns = true};
        set_rule(&plot.job, rule);
        run_ranks(4, AS_PROCESSES, play, &plot, 60000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_is_taken_once),
        cmocka_unit_test(a_worker_dies_in_a_push),
        cmocka_unit_test(a_shard_moves),
        cmocka_unit_test(a_worker_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
