/* parcel.c - fuzz target: headers of parcels from other hosts, one after the other, as
 * a channel takes or refuses them. */
#include <string.h>

#include "lib/replay.h"
#include "transport/transport.h"
#include "transport/ucx/parcel.h"

/* One parcel of the input: a header of any length, then the length of its data. */
#define HEADER_MAX 64
#define RECORD     (1 + HEADER_MAX + sizeof(uint32_t))
#define WINDOW     UINT64_C(65536)

static void
check_header(const rondo_parcel_header *header, size_t bytes)
{
    replay_insist(header->magic == RONDO_PARCEL_MAGIC &&
                      header->version == RONDO_PARCEL_VERSION,
                  "ours");
    replay_insist(header->lane < RONDO_LANES, "a lane there is");
    replay_insist(header->kind == RONDO_PARCEL_DATA ||
                      (header->kind == RONDO_PARCEL_CREDIT && bytes == 0),
                  "kinds");
    replay_insist(header->kind == RONDO_PARCEL_CREDIT || bytes <= header->total,
                  "no longer than its message");
}

static void
check_flow(const rondo_parcel_inflow *now, const rondo_parcel_inflow *before,
           uint64_t bytes)
{
    replay_insist(now->sequence == before->sequence + 1, "in turn");
    replay_insist(now->received - now->told <= WINDOW, "within the window");
    replay_insist(now->received - before->received >= bytes, "charged");
    replay_insist(now->midway ? now->filled < now->total : now->filled == now->total,
                  "messages end where they should");
    replay_insist(!now->midway || (bytes > 0 && bytes % 64 == 0), "whole lines");
}

/* A receiver that consumes all there is every third parcel. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    rondo_parcel_inflow in = {.window = WINDOW};
    rondo_parcel_outflow out = {.charged = 4096};

    for (size_t at = 0; at + RECORD <= bytes; at += RECORD) {
        rondo_parcel_header header;
        uint32_t length = 0;
        memset(&header, 0xa5, sizeof header);
        memcpy(&length, data + at + 1 + HEADER_MAX, sizeof length);
        const rondo_parcel_header untouched = header;
        if (!rondo_parcel_read(data + at + 1, data[at] % (HEADER_MAX + 1), length,
                               &header)) {
            replay_insist(memcmp(&header, &untouched, sizeof header) == 0,
                          "untouched if refused");
            continue;
        }
        check_header(&header, length);
        const uint64_t credit = out.credit;
        const char *what = rondo_parcel_credit(&out, header.credit);
        replay_insist(out.credit >= credit && out.credit <= out.charged, "credit");
        const rondo_parcel_inflow before = in;
        if (what == NULL && header.kind == RONDO_PARCEL_DATA) {
            what = rondo_parcel_admit(&in, &header, length);
        }
        if (what == NULL && header.kind == RONDO_PARCEL_DATA) {
            check_flow(&in, &before, length);
        } else {
            replay_insist(memcmp(&in, &before, sizeof in) == 0, "unchanged if refused");
        }
        in.told = at / RECORD % 3 == 2 ? in.received : in.told;
    }
    return 0;
}

/* Honest channels: short messages, a long one, credits between them. */
size_t
replay_seed(uint32_t number, uint8_t *data)
{
    static const uint64_t pieces[4][6] = {{8, 8, 0, 1, 128, 129},
                                          {4096, 4096, 4096, 4096, 4096, 100},
                                          {64, 64, 64, 64, 64, 64},
                                          {32768, 8, 32768, 8, 32768, 8}};
    uint64_t total = 0;

    if (number >= 4) {
        return 0;
    }
    for (int i = 0; i < 6; i++) {
        total += pieces[number][i];
    }
    for (uint64_t i = 0; i < 6; i++) {
        const uint32_t length = (uint32_t)pieces[number][i];
        const bool alone = number % 3 == 0;
        const rondo_parcel_header header = {.magic = RONDO_PARCEL_MAGIC,
                                            .version = RONDO_PARCEL_VERSION,
                                            .kind = RONDO_PARCEL_DATA,
                                            .lane = (uint8_t)(number % RONDO_LANES),
                                            .flags =
                                                alone || i == 5 ? RONDO_PARCEL_LAST : 0,
                                            .token = 7,
                                            .total = alone ? length : total,
                                            .sequence = i,
                                            .credit = i * 256};
        uint8_t *const record = data + i * RECORD;
        memset(record, 0, RECORD);
        record[0] = sizeof header;
        memcpy(record + 1, &header, sizeof header);
        memcpy(record + 1 + HEADER_MAX, &length, sizeof length);
    }
    return 6 * RECORD;
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(100000);
}
#endif
