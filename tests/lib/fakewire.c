/* fakewire.c - parcels between wires of one process, late, lost and kept as planned. */
#include "lib/fakewire.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/hash.h"

#define MAGIC     UINT32_C(0xfa4e)
#define QUEUE_MAX 8192
#define RESET     "Connection reset by remote peer"

/* A parcel that has crossed. */
typedef struct delivery {
    struct delivery *next;
    void *header; /* each of exactly its size */
    size_t header_bytes;
    void *data;
    size_t bytes;
} delivery;

struct rondo_wire_map {
    const unsigned char *memory;
    size_t bytes;
};

struct rondo_wire_link {
    rondo_wire_link *next;
    uint32_t to;
    void *user;
    rondo_wire_parcel *queue[QUEUE_MAX]; /* a ring */
    uint32_t head;
    uint32_t queued;
    bool cut;
    bool told; /* of being cut */
    char why[100];
};

struct rondo_wire {
    uint32_t number;
    rondo_wire_setup setup;
    rondo_wire_link *links;
    delivery *inbox;
    delivery *inbox_tail;
    fakewire_state state;
    uint64_t zero_copy_bytes;
    uint64_t random;
    int event;
    bool armed;
    bool stopped;
};

typedef struct address {
    uint32_t magic;
    uint32_t number;
    unsigned char padding[40];
} address;

/* Guards all that follows and all wires, but is not held when a wire calls back. */
static pthread_mutex_t world = PTHREAD_MUTEX_INITIALIZER;
static fakewire_plan plan;
static rondo_wire *wires[FAKEWIRES_MAX];
static uint32_t nwires;
static uint64_t left_behind;

static void
enter(void)
{
    (void)pthread_mutex_lock(&world);
}

static void
leave(void)
{
    (void)pthread_mutex_unlock(&world);
}

static void *
claim(size_t bytes)
{
    void *const memory = calloc(1, bytes == 0 ? 1 : bytes);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

static bool
chance(rondo_wire *wire, uint32_t percent)
{
    wire->random += 1;
    return rondo_hash_mix(wire->random) % 100 < percent;
}

static void
ring(rondo_wire *wire)
{
    const uint64_t one = 1;

    if (wire->armed) {
        wire->armed = false;
        if (write(wire->event, &one, sizeof one) != sizeof one) {
            abort();
        }
    }
}

static void
put(rondo_wire *to, const void *header, size_t header_bytes, const void *data,
    size_t bytes)
{
    delivery *const made = claim(sizeof *made);

    made->header = claim(header_bytes);
    made->header_bytes = header_bytes;
    made->data = claim(bytes);
    made->bytes = bytes;
    memcpy(made->header, header, header_bytes);
    if (bytes > 0) {
        memcpy(made->data, data, bytes);
    }
    if (to->inbox == NULL) {
        to->inbox = made;
    } else {
        to->inbox_tail->next = made;
    }
    to->inbox_tail = made;
    to->state.waiting++;
    ring(to);
}

static void
free_delivery(delivery *done)
{
    free(done->header);
    free(done->data);
    free(done);
}

/* --- links ------------------------------------------------------------------------ */

static void
fail_queue(rondo_wire_link *link)
{
    while (link->queued > 0) {
        rondo_wire_parcel *const parcel = link->queue[link->head];
        link->head = (link->head + 1) % QUEUE_MAX;
        link->queued--;
        parcel->failed = true;
        parcel->done = true;
    }
}

static void
cut_links(uint32_t from, uint32_t to, const char *why)
{
    rondo_wire *const wire = wires[from];
    rondo_wire_link *link = wire == NULL ? NULL : wire->links;

    for (; link != NULL; link = link->next) {
        if (link->to == to && !link->cut) {
            link->cut = true;
            (void)snprintf(link->why, sizeof link->why, "%s", why);
            ring(wire);
        }
    }
}

static void
cross(rondo_wire *wire, rondo_wire_link *link, rondo_wire_parcel *parcel)
{
    rondo_wire *const to = wires[link->to];

    if (to == NULL) {
        cut_links(wire->number, link->to, RESET);
        parcel->failed = true;
    } else {
        put(to, parcel->header, parcel->header_bytes, parcel->data, parcel->bytes);
    }
    if (parcel->map != NULL) {
        const uint64_t at = (uint64_t)((const unsigned char *)parcel->data -
                                       (const unsigned char *)parcel->map->memory);
        if (at > parcel->map->bytes || parcel->bytes > parcel->map->bytes - at) {
            abort();
        }
        wire->zero_copy_bytes += parcel->bytes;
    }
    parcel->done = true;
}

/* In turn: what has been queued first. */
static uint32_t
move_link(rondo_wire *wire, rondo_wire_link *link)
{
    uint32_t moved = 0;

    while (!link->cut && !wire->stopped && link->queued > 0 &&
           !chance(wire, plan.idle_percent)) {
        rondo_wire_parcel *const parcel = link->queue[link->head];
        link->head = (link->head + 1) % QUEUE_MAX;
        link->queued--;
        cross(wire, link, parcel);
        moved++;
    }
    return moved;
}

/* --- the table -------------------------------------------------------------------- */

static int
fake_open(const rondo_wire_setup *setup, rondo_wire **wire, char *why, size_t why_bytes)
{
    enter();
    if (nwires == FAKEWIRES_MAX || strcmp(setup->devices, "none") == 0) {
        leave();
        (void)snprintf(why, why_bytes, "no such device");
        return -1;
    }
    rondo_wire *const made = claim(sizeof *made);
    made->number = nwires;
    made->setup = *setup;
    made->random = rondo_hash_mix(plan.seed + nwires);
    made->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    wires[nwires] = made;
    nwires++;
    leave();
    *wire = made;
    return 0;
}

static void
unlink_all(rondo_wire *wire)
{
    while (wire->links != NULL) {
        rondo_wire_link *const link = wire->links;
        wire->links = link->next;
        fail_queue(link);
        left_behind++;
        free(link);
    }
}

static void
fake_close(rondo_wire *wire)
{
    enter();
    wires[wire->number] = NULL;
    for (uint32_t other = 0; other < nwires; other++) {
        cut_links(other, wire->number, RESET);
    }
    unlink_all(wire);
    while (wire->inbox != NULL) {
        delivery *const dropped = wire->inbox;
        wire->inbox = dropped->next;
        free_delivery(dropped);
    }
    left_behind += wire->state.kept + wire->state.maps;
    (void)close(wire->event);
    free(wire);
    leave();
}

static int
fake_address(rondo_wire *wire, void *bytes, size_t *length, char *why, size_t why_bytes)
{
    const address mine = {.magic = MAGIC, .number = wire->number};

    if (*length < sizeof mine) {
        (void)snprintf(why, why_bytes, "no room");
        return -1;
    }
    memcpy(bytes, &mine, sizeof mine);
    *length = sizeof mine;
    return 0;
}

static int
fake_connect(rondo_wire *wire, const void *bytes, size_t length, void *link_user,
             rondo_wire_link **link, char *why, size_t why_bytes)
{
    address to;

    if (length != sizeof to) {
        (void)snprintf(why, why_bytes, "no address");
        return -1;
    }
    memcpy(&to, bytes, sizeof to);
    if (to.magic != MAGIC || to.number >= FAKEWIRES_MAX) {
        (void)snprintf(why, why_bytes, "not an address of a wire");
        return -1;
    }
    enter();
    rondo_wire_link *const made = claim(sizeof *made);
    made->to = to.number;
    made->user = link_user;
    made->next = wire->links;
    wire->links = made;
    wire->state.links++;
    leave();
    *link = made;
    return 0;
}

/* As UCX has it: the other side notices that its end leads nowhere. */
static void
fake_disconnect(rondo_wire *wire, rondo_wire_link *link)
{
    rondo_wire_link **at = &wire->links;

    enter();
    fail_queue(link);
    if (!link->cut) {
        cut_links(link->to, wire->number, RESET);
    }
    while (*at != link) {
        at = &(*at)->next;
    }
    *at = link->next;
    free(link);
    wire->state.links--;
    leave();
}

static size_t
fake_parcel_bytes(const rondo_wire *wire)
{
    (void)wire;
    return plan.parcel_bytes == 0 ? 8000 : plan.parcel_bytes;
}

/* Call back for what has arrived, without the world's lock. */
static uint32_t
look_at_inbox(rondo_wire *wire, uint32_t most)
{
    uint32_t seen = 0;

    while (seen < most && wire->inbox != NULL) {
        delivery *const first = wire->inbox;
        wire->inbox = first->next;
        wire->state.waiting--;
        leave();
        const bool kept =
            wire->setup.arrived(wire->setup.user, first->header, first->header_bytes,
                                first->data, first->bytes, first);
        if (!kept) {
            free_delivery(first);
        }
        enter();
        wire->state.kept += kept;
        if (wire->state.kept > wire->state.kept_peak) {
            wire->state.kept_peak = wire->state.kept;
        }
        seen++;
    }
    return seen;
}

static void
fake_send(rondo_wire *wire, rondo_wire_link *link, rondo_wire_parcel *parcel)
{
    enter();
    wire->state.sent++;
    if (parcel->bytes > fake_parcel_bytes(wire) ||
        parcel->header_bytes > RONDO_WIRE_HEADER_MAX || link->queued == QUEUE_MAX) {
        abort();
    }
    if (link->cut) {
        parcel->failed = true;
        parcel->done = true;
    } else if (link->queued == 0 && !wire->stopped &&
               !chance(wire, plan.late_percent)) {
        cross(wire, link, parcel);
    } else {
        link->queue[(link->head + link->queued) % QUEUE_MAX] = parcel;
        link->queued++;
    }
    if (chance(wire, plan.nested_percent)) {
        (void)look_at_inbox(wire, 2);
    }
    leave();
}

/* Lost links are told of when nothing that came before is left. */
static uint32_t
tell_losses(rondo_wire *wire)
{
    uint32_t told = 0;
    rondo_wire_link *link = wire->inbox == NULL ? wire->links : NULL;

    while (link != NULL) {
        rondo_wire_link *const next = link->next;
        if (link->cut && !link->told) {
            link->told = true;
            fail_queue(link);
            leave();
            wire->setup.lost(wire->setup.user, link->user, link->why);
            enter();
            told++;
        }
        link = next;
    }
    return told;
}

static uint32_t
fake_progress(rondo_wire *wire)
{
    uint32_t happened = 0;

    enter();
    for (rondo_wire_link *link = wire->links; link != NULL; link = link->next) {
        happened += move_link(wire, link);
    }
    happened += look_at_inbox(wire, 1 + (uint32_t)(rondo_hash_mix(++wire->random) % 8));
    happened += tell_losses(wire);
    leave();
    return happened;
}

static void
fake_release(rondo_wire *wire, void *parcel)
{
    enter();
    if (wire->state.kept == 0) {
        abort();
    }
    wire->state.kept--;
    leave();
    free_delivery(parcel);
}

static bool
fake_flushed(rondo_wire *wire, rondo_wire_link *link)
{
    (void)wire;
    enter();
    const bool flushed = link->queued == 0 || link->cut;
    leave();
    return flushed;
}

static int
fake_event_fd(rondo_wire *wire)
{
    return wire->event;
}

static bool
fake_arm(rondo_wire *wire)
{
    uint64_t drained = 0;
    bool busy = false;

    enter();
    busy = wire->inbox != NULL;
    for (const rondo_wire_link *link = wire->links; link != NULL; link = link->next) {
        busy = busy || (link->cut && !link->told) ||
               (link->queued > 0 && !link->cut && !wire->stopped);
    }
    if (!busy) {
        const ssize_t ignored = read(wire->event, &drained, sizeof drained);
        (void)ignored;
        wire->armed = true;
    }
    leave();
    return !busy;
}

static rondo_wire_map *
fake_map(rondo_wire *wire, void *memory, size_t bytes)
{
    if (!plan.maps) {
        return NULL;
    }
    rondo_wire_map *const map = claim(sizeof *map);
    *map = (rondo_wire_map){memory, bytes};
    enter();
    wire->state.maps++;
    leave();
    return map;
}

static void
fake_unmap(rondo_wire *wire, rondo_wire_map *map)
{
    enter();
    wire->state.maps--;
    leave();
    free(map);
}

static uint64_t
fake_zero_copy_bytes(const rondo_wire *wire)
{
    return wire->zero_copy_bytes;
}

const rondo_wire_ops *
fakewire_ops(void)
{
    static const rondo_wire_ops ops = {
        .version = RONDO_WIRE_OPS_VERSION,
        .name = "a stand-in",
        .open = fake_open,
        .close = fake_close,
        .address = fake_address,
        .connect = fake_connect,
        .disconnect = fake_disconnect,
        .parcel_bytes = fake_parcel_bytes,
        .send = fake_send,
        .progress = fake_progress,
        .release = fake_release,
        .flushed = fake_flushed,
        .event_fd = fake_event_fd,
        .arm = fake_arm,
        .map = fake_map,
        .unmap = fake_unmap,
        .zero_copy_bytes = fake_zero_copy_bytes,
    };

    return &ops;
}

/* --- what tests do ---------------------------------------------------------------- */

void
fakewire_begin(const fakewire_plan *wanted)
{
    enter();
    plan = *wanted;
    nwires = 0;
    left_behind = 0;
    leave();
}

uint64_t
fakewire_end(void)
{
    uint64_t left = 0;

    enter();
    left = left_behind;
    for (uint32_t number = 0; number < nwires; number++) {
        left += wires[number] != NULL;
    }
    leave();
    return left;
}

void
fakewire_cut(uint32_t a, uint32_t b, const char *why)
{
    enter();
    cut_links(a, b, why);
    cut_links(b, a, why);
    leave();
}

void
fakewire_stop(uint32_t wire, bool stopped)
{
    enter();
    wires[wire]->stopped = stopped;
    leave();
}

void
fakewire_inject(uint32_t to, const void *header, size_t header_bytes, const void *data,
                size_t bytes)
{
    enter();
    put(wires[to], header, header_bytes, data, bytes);
    leave();
}

fakewire_state
fakewire_look(uint32_t wire)
{
    enter();
    const fakewire_state state = wires[wire]->state;
    leave();
    return state;
}
