/* linked.c - ranks of make-believe hosts: their processes, their boards, their
 * orders. */
#include "lib/linked.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

/* What a rank's process is given. */
typedef struct rank_user {
    linked *cast;
    uint32_t rank;
} rank_user;

static void
insist(bool fact, const char *what)
{
    if (!fact) {
        (void)fprintf(stderr, "linked: %s\n", what);
        abort();
    }
}

static void *
map(size_t bytes)
{
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    insist(memory != MAP_FAILED, "no memory");
    return memory;
}

void
linked_init(const uint32_t *per_host, linked *cast)
{
    memset(cast, 0, sizeof *cast);
    cast->stage = map(sizeof *cast->stage);
    for (uint32_t host = 0; per_host[host] != 0; host++) {
        for (uint32_t i = 0; i < per_host[host]; i++) {
            cast->stage->host_of[cast->nranks++] = host;
        }
        cast->nhosts++;
    }
    cast->stage->nranks = cast->nranks;
    cast->stage->silence_ms = 6000;
    rondo_random(&cast->stage->name, sizeof cast->stage->name);
    rondo_key key;
    rondo_random(&key, sizeof key);
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        rondo_endpoint *const at = &cast->stage->mine[rank][0];
        cast->stage->keys[rank] = key;
        cast->stage->start_ms[rank] = 10000;
        *at = (rondo_endpoint){.family = 4, .address = {127, 0, 0, 1}};
        (void)snprintf(at->interface, sizeof at->interface, "if%u",
                       cast->stage->host_of[rank]);
        (void)snprintf(cast->stage->host_names[rank], 64, "node%u",
                       cast->stage->host_of[rank]);
    }
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        cast->memory[host] = map(rondo_board_bytes(cast->nranks));
        rondo_board_open(cast->memory[host], cast->nranks, 0, &cast->boards[host]);
    }
}

rondo_board *
linked_board(linked *cast, uint32_t rank)
{
    return &cast->boards[cast->stage->host_of[rank]];
}

/* Inside a rank's process. */
typedef struct actor {
    rondo_service *service;
    linked *cast;
    linked_stage *stage;
    uint32_t rank;
    rondo_board board;
    rondo_links *links;
    uint64_t operation;
} actor;

static rondo_status
open_links(actor *self)
{
    static const rondo_endpoint none[RONDO_ENDPOINTS_MAX];
    linked_stage *const stage = self->stage;
    const rondo_links_setup setup = {
        .name = stage->name,
        .key = stage->keys[self->rank],
        .board = &self->board,
        .rank = self->rank,
        .nranks = stage->nranks,
        .host_of = stage->host_of,
        .addresses = stage->addresses,
        .hub = stage->mine[0],
        .mine = stage->blind ? none : stage->mine[self->rank],
        .host_names = (const char(*)[64])stage->host_names,
        .deadline_ns = rondo_deadline_ns(stage->start_ms[self->rank]),
        .silence_ms = stage->silence_ms};
    char interfaces[RONDO_BOARD_INTERFACES_MAX] = "";

    rondo_status status = rondo_links_open(self->service, &setup, &self->links);
    while (status == RONDO_OK) {
        status = rondo_links_poll(self->links, interfaces, sizeof interfaces);
        if (status != RONDO_BUSY) {
            break;
        }
        status = RONDO_OK;
        (void)usleep(500);
    }
    (void)snprintf(stage->text[self->rank], sizeof stage->text[0], "%s",
                   status == RONDO_OK ? interfaces : rondo_error_text());
    return status;
}

static rondo_status
listen_here(actor *self)
{
    rondo_endpoint *const mine = self->stage->mine[self->rank];
    uint32_t count = 0;

    while (count < RONDO_ENDPOINTS_MAX && mine[count].family != 0) {
        count++;
    }
    return rondo_links_port(self->service, mine, count);
}

static void
join(actor *self)
{
    char wire[64];

    const int bytes = snprintf(wire, sizeof wire, "wire of rank %u", self->rank);
    rondo_board_wire_set(&self->board, wire, (size_t)bytes);
    rondo_board_presence_set(&self->board, RONDO_JOINED);
    rondo_links_news(self->links);
}

static void
leave(actor *self)
{
    rondo_board_presence_set(&self->board, RONDO_LEFT);
    rondo_links_news(self->links);
    rondo_links_close(self->links);
    self->links = NULL;
}

/* A child that does nothing: whatever it has inherited stays open as long as it
 * lives. */
static void
fork_child(void)
{
    const pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, 0);
        (void)sleep(4);
        _exit(0);
    }
}

static rondo_status
act(actor *self, char order)
{
    linked_stage *const stage = self->stage;
    const rondo_signature signature = {.what = 1, .count = 1000 + self->operation + 1};

    switch (order) {
    case 'p':
        return listen_here(self);
    case 'o':
        return open_links(self);
    case 'j':
        join(self);
        break;
    case 'e':
        rondo_board_enter(&self->board, ++self->operation, &signature);
        rondo_board_standing_set(&self->board, 7, 0);
        break;
    case 'f':
        rondo_board_finish(&self->board, self->operation);
        break;
    case 'b':
    case 'B':
        (void)rondo_board_break(&self->board, &stage->why[self->rank]);
        if (order == 'b') {
            rondo_links_news(self->links);
        }
        break;
    case 'a':
        rondo_links_ask(self->links);
        break;
    case 'l':
        leave(self);
        break;
    case 'x':
        rondo_links_close(self->links);
        self->links = NULL;
        break;
    case 'F':
        fork_child();
        break;
    case 'h':
        rondo_links_host(self->links, stage->about[self->rank], stage->text[self->rank],
                         sizeof stage->text[0]);
        break;
    default:
        break;
    }
    return RONDO_OK;
}

static int
play(rondo_service *service, peer *test)
{
    const rank_user *const user = test->user;
    linked_stage *const stage = user->cast->stage;
    const uint32_t host = stage->host_of[user->rank];
    actor self = {
        .service = service, .cast = user->cast, .stage = stage, .rank = user->rank};
    void *memory = user->cast->memory[host];

    rondo_board_open(memory, stage->nranks, user->rank, &self.board);
    for (char order = peer_hear(test); order != 0 && order != 'q';
         order = peer_hear(test)) {
        const uint64_t start = rondo_now_ns();
        stage->status[user->rank] = act(&self, order);
        stage->took_ns[user->rank] = rondo_now_ns() - start;
        peer_say(test, order);
    }
    rondo_links_close(self.links);
    return 0;
}

void
linked_start(linked *cast, uint32_t rank)
{
    static rank_user users[LINKED_RANKS];

    users[rank] = (rank_user){.cast = cast, .rank = rank};
    peer_start(play, &users[rank], &cast->ranks[rank]);
    cast->stage->addresses[rank] = cast->ranks[rank].address;
}

void
linked_order(linked *cast, uint32_t rank, char order)
{
    peer_say(&cast->ranks[rank], order);
}

void
linked_done(linked *cast, uint32_t rank)
{
    insist(peer_hear(&cast->ranks[rank]) != 0, "a rank has ended");
}

void
linked_do(linked *cast, uint32_t rank, char order)
{
    linked_order(cast, rank, order);
    linked_done(cast, rank);
}

void
linked_do_all(linked *cast, char order)
{
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        if (!cast->gone[rank]) {
            linked_order(cast, rank, order);
        }
    }
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        if (!cast->gone[rank]) {
            linked_done(cast, rank);
        }
    }
}

void
linked_start_all(linked *cast)
{
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        linked_start(cast, rank);
    }
    linked_do_all(cast, 'p');
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        insist(cast->stage->status[rank] == RONDO_OK, "listening failed");
    }
}

void
linked_open(const uint32_t *per_host, linked *cast)
{
    linked_init(per_host, cast);
    linked_start_all(cast);
    linked_do_all(cast, 'o');
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        insist(cast->stage->status[rank] == RONDO_OK, cast->stage->text[rank]);
    }
}

void
linked_kill(linked *cast, uint32_t rank)
{
    peer_end(&cast->ranks[rank]);
    cast->gone[rank] = true;
}

bool
linked_end(linked *cast)
{
    bool well = true;

    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        if (!cast->gone[rank]) {
            linked_order(cast, rank, 'q');
        }
    }
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        if (!cast->gone[rank]) {
            const int how = peer_join(&cast->ranks[rank]);
            if (how != 0) {
                (void)fprintf(stderr, "rank %u ended with %d\n", rank, how);
            }
            well = well && how == 0;
        }
    }
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        (void)munmap(cast->memory[host], rondo_board_bytes(cast->nranks));
    }
    (void)munmap(cast->stage, sizeof *cast->stage);
    return well;
}

bool
linked_until(linked *cast, linked_fact fact, uint32_t value, uint64_t ms)
{
    const uint64_t deadline = rondo_deadline_ns(ms);

    while (!fact(cast, value)) {
        if (rondo_now_ns() >= deadline) {
            return fact(cast, value);
        }
        (void)usleep(500);
    }
    return true;
}
