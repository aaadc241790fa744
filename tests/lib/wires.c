/* wires.c - the real module, loaded; parcels made up and checked. */
#include "lib/wires.h"

#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "lib/spaces.h"

const rondo_wire_ops *
wires_ops(void)
{
    const char *folder = getenv("RONDO_LIB");
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/librondo_ucx.so",
                   folder == NULL ? "." : folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)fprintf(stderr, "wires: %s\n", dlerror());
        return NULL;
    }
    rondo_wire_ops_function function;
    *(void **)&function = dlsym(library, RONDO_WIRE_SYMBOL);
    return function == NULL ? NULL : function();
}

static unsigned char
byte_of(const wires_header *header, size_t at)
{
    return (unsigned char)(header->from * 131 + header->number * 29 + at * 7 +
                           (at >> 8));
}

static bool
is_right(const wires_header *header, const void *data)
{
    const unsigned char *bytes = data;

    for (size_t at = 0; at < header->bytes; at++) {
        if (bytes[at] != byte_of(header, at)) {
            return false;
        }
    }
    return true;
}

/* --- what comes in ---------------------------------------------------------------- */

static void
let_go(wires_end *end, uint32_t at)
{
    wires_kept *kept = &end->kept[at];

    (void)rank_expect(end->self, is_right(&kept->header, kept->data),
                      "a kept parcel of %u bytes from %u changed", kept->header.bytes,
                      kept->header.from);
    end->ops->release(end->wire, kept->parcel);
    *kept = end->kept[--end->nkept];
}

static bool
arrived(void *user, const void *header, size_t header_bytes, const void *data,
        size_t bytes, void *parcel)
{
    wires_end *end = user;
    wires_header says = {0};

    if (!rank_expect(end->self, header_bytes == sizeof says, "a header of %zu bytes",
                     header_bytes)) {
        return false;
    }
    memcpy(&says, header, sizeof says);
    if (!rank_expect(end->self, says.from < WIRES_MAX && says.bytes == bytes,
                     "a parcel of %zu bytes from %u says it has %u", bytes, says.from,
                     says.bytes)) {
        return false;
    }
    const uint64_t number = end->of[says.from].arrived++;
    (void)rank_expect(
        end->self, says.number == number, "parcel %llu from %u came as number %llu",
        (unsigned long long)says.number, says.from, (unsigned long long)number);
    (void)rank_expect(end->self, is_right(&says, data),
                      "parcel %llu of %zu bytes from %u is not what was sent",
                      (unsigned long long)number, bytes, says.from);
    if (end->keep_every == 0 || number % end->keep_every != 0) {
        return false;
    }
    if (end->nkept == WIRES_KEPT_MAX) {
        /* Neither the oldest nor the youngest. */
        let_go(end, (uint32_t)(number * 7 % WIRES_KEPT_MAX));
    }
    end->kept[end->nkept++] = (wires_kept){parcel, data, says};
    return true;
}

static void
lost(void *user, void *link_user, const char *why)
{
    wires_end *end = user;
    const size_t peer =
        (size_t)((char *)link_user - (char *)end->of) / sizeof end->of[0];

    end->of[peer].lost++;
    (void)snprintf(end->of[peer].why, sizeof end->of[peer].why, "%s", why);
}

/* --- opening ---------------------------------------------------------------------- */

/* UCX finds devices in /sys, which shows those of the namespace it was mounted in. */
static bool
go_to(rank_self *self, int space)
{
    space_enter(space, NULL);
    return rank_expect(self,
                       unshare(CLONE_NEWNS) == 0 &&
                           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                           mount("rondo", "/sys", "sysfs", 0, NULL) == 0,
                       "no /sys of a namespace's own");
}

bool
wires_open(rank_self *self, wires_board *board, wires_end *end)
{
    char why[300] = "";
    const rondo_wire_setup setup = {
        .devices = board->devices == NULL ? "lo" : board->devices,
        .transports = "tcp",
        .peers = self->nranks,
        .arrived = arrived,
        .lost = lost,
        .user = end,
    };

    if (board->spaces[self->rank] != 0 && !go_to(self, board->spaces[self->rank])) {
        return false;
    }
    *end = (wires_end){.self = self, .ops = wires_ops()};
    if (!rank_expect(self, end->ops != NULL, "the module cannot be loaded") ||
        !rank_expect(self, end->ops->open(&setup, &end->wire, why, sizeof why) == 0,
                     "open: %s", why)) {
        return false;
    }
    end->parcel_bytes = end->ops->parcel_bytes(end->wire);
    size_t *bytes = &board->of[self->rank].bytes;
    *bytes = sizeof board->of[0].address;
    return rank_expect(self,
                       end->ops->address(end->wire, board->of[self->rank].address,
                                         bytes, why, sizeof why) == 0,
                       "address: %s", why);
}

bool
wires_link(wires_end *end, const wires_board *board, uint32_t peer)
{
    char why[300] = "";

    return rank_expect(end->self,
                       end->ops->connect(end->wire, board->of[peer].address,
                                         board->of[peer].bytes, &end->of[peer],
                                         &end->of[peer].link, why, sizeof why) == 0,
                       "connect to %u: %s", peer, why);
}

bool
wires_join(rank_self *self, wires_board *board, wires_end *end)
{
    if (!wires_open(self, board, end) || !rank_meet(self, 0, 20000)) {
        return false;
    }
    for (uint32_t peer = 0; peer < self->nranks; peer++) {
        if (peer != self->rank && !wires_link(end, board, peer)) {
            return false;
        }
    }
    return true;
}

void
wires_close(wires_end *end)
{
    while (end->nkept > 0) {
        let_go(end, 0);
    }
    end->ops->close(end->wire);
    end->wire = NULL;
}

/* --- what goes out ---------------------------------------------------------------- */

bool
wires_room(wires_parcel *parcel, size_t bytes)
{
    *parcel = (wires_parcel){.parcel = {.done = true}, .data = malloc(bytes + 1)};
    return parcel->data != NULL;
}

void
wires_send(wires_end *end, uint32_t peer, size_t bytes, wires_parcel *parcel)
{
    parcel->header =
        (wires_header){end->self->rank, (uint32_t)bytes, end->of[peer].sent++};
    for (size_t at = 0; at < bytes; at++) {
        parcel->data[at] = byte_of(&parcel->header, at);
    }
    parcel->parcel = (rondo_wire_parcel){.header = &parcel->header,
                                         .header_bytes = sizeof parcel->header,
                                         .data = bytes == 0 ? NULL : parcel->data,
                                         .bytes = bytes};
    end->ops->send(end->wire, end->of[peer].link, &parcel->parcel);
}

/* --- waiting ---------------------------------------------------------------------- */

bool
wires_pump(wires_end *end)
{
    return end->ops->progress(end->wire) != 0;
}

bool
wires_nap(wires_end *end, int wait_ms)
{
    if (wires_pump(end) || !end->ops->arm(end->wire)) {
        return true;
    }
    struct pollfd fd = {.fd = end->ops->event_fd(end->wire), .events = POLLIN};
    return poll(&fd, 1, wait_ms) == 1;
}

/* What the functions below wait for. */
typedef struct wait_for {
    const wires_parcel *parcel;
    uint32_t peer;
    uint64_t parcels;
    bool flush;
    bool loss;
} wait_for;

static bool
is_so(wires_end *end, const wait_for *what)
{
    if (what->parcel != NULL) {
        return what->parcel->parcel.done;
    }
    if (what->flush) {
        return end->ops->flushed(end->wire, end->of[what->peer].link);
    }
    if (what->loss) {
        return end->of[what->peer].lost > 0;
    }
    return end->of[what->peer].arrived >= what->parcels;
}

static bool
wait_until(wires_end *end, const wait_for *what, const char *name, uint64_t wait_ms)
{
    const uint64_t until = test_now_ms() + wait_ms;
    bool so = is_so(end, what);

    while (!so && test_now_ms() < until) {
        if (!wires_pump(end)) {
            rank_pause(0);
        }
        so = is_so(end, what);
    }
    return rank_expect(end->self, so,
                       "%s: not in %llu ms (rank %u; %llu arrived, lost %u times, %s)",
                       name, (unsigned long long)wait_ms, what->peer,
                       (unsigned long long)end->of[what->peer].arrived,
                       end->of[what->peer].lost, end->of[what->peer].why);
}

bool
wires_arrived(wires_end *end, uint32_t peer, uint64_t parcels, uint64_t wait_ms)
{
    const wait_for what = {.peer = peer, .parcels = parcels};
    return wait_until(end, &what, "parcels", wait_ms);
}

bool
wires_lost(wires_end *end, uint32_t peer, uint64_t wait_ms)
{
    const wait_for what = {.peer = peer, .loss = true};
    return wait_until(end, &what, "loss", wait_ms);
}

bool
wires_done(wires_end *end, const wires_parcel *parcel, uint64_t wait_ms)
{
    const wait_for what = {.parcel = parcel};
    return wait_until(end, &what, "parcel done", wait_ms);
}

bool
wires_flushed(wires_end *end, uint32_t peer, uint64_t wait_ms)
{
    const wait_for what = {.peer = peer, .flush = true};
    return wait_until(end, &what, "flush", wait_ms);
}

void
wires_linger(wires_end *end, uint64_t ms)
{
    const uint64_t until = test_now_ms() + ms;

    while (test_now_ms() < until) {
        if (!wires_pump(end)) {
            rank_pause(1);
        }
    }
}
