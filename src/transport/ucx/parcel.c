/* parcel.c - what is believed of a parcel that arrives. */
#include "transport/ucx/parcel.h"

#include <string.h>

#include "transport/transport.h"

static bool
is_sane_credit(const rondo_parcel_header *header, size_t payload_bytes)
{
    return payload_bytes == 0 && header->flags == 0 && header->token == 0 &&
           header->total == 0 && header->sequence == 0;
}

static bool
is_sane_data(const rondo_parcel_header *header, size_t payload_bytes)
{
    return (header->flags & ~RONDO_PARCEL_LAST) == 0 && payload_bytes <= header->total;
}

bool
rondo_parcel_read(const void *data, size_t data_bytes, size_t payload_bytes,
                  rondo_parcel_header *header)
{
    rondo_parcel_header read;

    if (data_bytes != sizeof read) {
        return false;
    }
    memcpy(&read, data, sizeof read);
    if (read.magic != RONDO_PARCEL_MAGIC || read.version != RONDO_PARCEL_VERSION ||
        read.reserved != 0 || read.lane >= RONDO_LANES) {
        return false;
    }
    const bool sane =
        read.kind == RONDO_PARCEL_CREDIT
            ? is_sane_credit(&read, payload_bytes)
            : read.kind == RONDO_PARCEL_DATA && is_sane_data(&read, payload_bytes);
    if (sane) {
        *header = read;
    }
    return sane;
}

/* Whether a piece fits into its message. */
static const char *
misfit(const rondo_parcel_inflow *inflow, const rondo_parcel_header *header,
       uint64_t bytes)
{
    const bool last = (header->flags & RONDO_PARCEL_LAST) != 0;
    const uint64_t filled = inflow->midway ? inflow->filled : 0;

    if (inflow->midway &&
        (header->token != inflow->token || header->total != inflow->total)) {
        return "its pieces belong to different messages";
    }
    if (bytes > header->total - filled) {
        return "a message longer than announced";
    }
    if (last != (filled + bytes == header->total)) {
        return "a message that ends where it should not";
    }
    if (!last && (bytes == 0 || bytes % 64 != 0)) {
        return "a piece of impossible length";
    }
    return NULL;
}

const char *
rondo_parcel_admit(rondo_parcel_inflow *inflow, const rondo_parcel_header *header,
                   uint64_t bytes)
{
    const uint64_t charge = rondo_parcel_charge(bytes);
    const uint64_t under_way = inflow->received - inflow->told;

    if (header->sequence != inflow->sequence) {
        return "a parcel out of turn";
    }
    if (charge > inflow->window || under_way > inflow->window - charge) {
        return "more than there was room for";
    }
    const char *const what = misfit(inflow, header, bytes);
    if (what != NULL) {
        return what;
    }
    inflow->filled = (inflow->midway ? inflow->filled : 0) + bytes;
    inflow->token = header->token;
    inflow->total = header->total;
    inflow->midway = (header->flags & RONDO_PARCEL_LAST) == 0;
    inflow->sequence++;
    inflow->received += charge;
    return NULL;
}

const char *
rondo_parcel_credit(rondo_parcel_outflow *outflow, uint64_t credit)
{
    if (credit > outflow->charged) {
        return "more was consumed than was sent";
    }
    if (credit < outflow->credit) {
        return "less was consumed than before";
    }
    outflow->credit = credit;
    return NULL;
}
