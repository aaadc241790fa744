/* transport_ucx_alone.c - what the transport between hosts costs by itself: two ranks
 * of one thread over a wire that is nothing but a copy. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "transport/ucx/ucx.h"

static void
give_up(void)
{
    (void)fprintf(stderr, "transport_ucx_alone: %s\n", rondo_error_text());
    exit(1);
}

static struct {
    rondo_wire_setup setup;
    unsigned char header[RONDO_WIRE_HEADER_MAX];
    unsigned char data[1 << 16];
    size_t header_bytes;
    size_t bytes;
    bool full;
} boxes[2];

static uintptr_t nboxes;

/* Wires and links are numbers from 1: of the box they belong to, or lead to. */
static int
copy_open(const rondo_wire_setup *setup, rondo_wire **wire, char *why, size_t why_bytes)
{
    (void)why;
    (void)why_bytes;
    boxes[nboxes].setup = *setup;
    nboxes++;
    *wire = (rondo_wire *)nboxes;
    return 0;
}

static void
copy_close(rondo_wire *wire)
{
    (void)wire;
}

static int
copy_address(rondo_wire *wire, void *address, size_t *bytes, char *why,
             size_t why_bytes)
{
    (void)why;
    (void)why_bytes;
    memcpy(address, &wire, sizeof wire);
    *bytes = sizeof wire;
    return 0;
}

static int
copy_connect(rondo_wire *wire, const void *address, size_t bytes, void *link_user,
             rondo_wire_link **link, char *why, size_t why_bytes)
{
    (void)wire;
    (void)link_user;
    (void)why;
    (void)why_bytes;
    memcpy(link, address, bytes);
    return 0;
}

static void
copy_disconnect(rondo_wire *wire, rondo_wire_link *link)
{
    (void)wire;
    (void)link;
}

static size_t
copy_parcel_bytes(const rondo_wire *wire)
{
    (void)wire;
    return sizeof boxes[0].data;
}

static void
copy_send(rondo_wire *wire, rondo_wire_link *link, rondo_wire_parcel *parcel)
{
    const uintptr_t to = (uintptr_t)link - 1;

    (void)wire;
    memcpy(boxes[to].header, parcel->header, parcel->header_bytes);
    memcpy(boxes[to].data, parcel->data, parcel->bytes);
    boxes[to].header_bytes = parcel->header_bytes;
    boxes[to].bytes = parcel->bytes;
    boxes[to].full = true;
    parcel->done = true;
}

static uint32_t
copy_progress(rondo_wire *wire)
{
    const uintptr_t at = (uintptr_t)wire - 1;
    const bool full = boxes[at].full;

    boxes[at].full = false;
    if (full) {
        (void)boxes[at].setup.arrived(boxes[at].setup.user, boxes[at].header,
                                      boxes[at].header_bytes, boxes[at].data,
                                      boxes[at].bytes, &boxes[at]);
    }
    return full;
}

static void
copy_release(rondo_wire *wire, void *parcel)
{
    (void)wire;
    (void)parcel;
}

static const rondo_wire_ops copy_ops = {
    .version = RONDO_WIRE_OPS_VERSION,
    .name = "a copy",
    .open = copy_open,
    .close = copy_close,
    .address = copy_address,
    .connect = copy_connect,
    .disconnect = copy_disconnect,
    .parcel_bytes = copy_parcel_bytes,
    .send = copy_send,
    .progress = copy_progress,
    .release = copy_release,
};

static bool
find_copy(void *user, uint32_t rank, void *address, size_t *bytes)
{
    rondo_ucx *const *const both = user;

    return rondo_ucx_address(both[rank], address, bytes) == RONDO_OK;
}

/* There and back, many times; nanoseconds of one message. */
static double
alone_ns(rondo_transport *const *both, uint64_t bytes)
{
    static unsigned char data[sizeof boxes[0].data];
    const uint64_t start = rondo_now_ns();

    for (uint32_t i = 0; i < 400; i++) {
        rondo_transport *const from = both[i % 2];
        rondo_transport *const to = both[1 - i % 2];
        rondo_outgoing message = {.data = data, .bytes = bytes};
        rondo_incoming piece;
        if (from->ops->send(from, 1 - i % 2, RONDO_LANE_COLL, &message) != RONDO_OK ||
            to->ops->peek(to, i % 2, RONDO_LANE_COLL, &piece) != RONDO_OK) {
            give_up();
        }
        to->ops->consume(to, i % 2, RONDO_LANE_COLL);
    }
    return (double)(rondo_now_ns() - start) / 400;
}

static void
measure_alone(void)
{
    const rondo_ucx_spec spec = {.devices = "none", .ops = &copy_ops};
    rondo_ucx *ucx[2];
    rondo_transport *both[2];

    for (uint32_t me = 0; me < 2; me++) {
        if (rondo_ucx_open(&spec, &ucx[me]) != RONDO_OK) {
            give_up();
        }
        const rondo_ucx_setup setup = {
            .ucx = ucx[me], .me = me, .nranks = 2, .find = find_copy, .user = ucx};
        if (rondo_ucx_create(&setup, &both[me]) != RONDO_OK) {
            give_up();
        }
    }
    for (uint64_t bytes = 8; bytes <= sizeof boxes[0].data; bytes *= 8) {
        double best = 1e9;
        for (int round = 0; round < 2000; round++) {
            const double took = alone_ns(both, bytes);
            best = took < best ? took : best;
        }
        printf("%9llu %10.1f\n", (unsigned long long)bytes, best);
    }
    for (uint32_t me = 0; me < 2; me++) {
        both[me]->ops->destroy(both[me]);
        rondo_ucx_close(ucx[me]);
    }
}

int
main(void)
{
    printf("# one message, one copy among it\n#%8s %10s\n", "bytes", "best ns");
    measure_alone();
    return 0;
}
