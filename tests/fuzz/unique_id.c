/* unique_id.c - fuzz target: 128 bytes that somebody says are an id. */
#include <string.h>

#include "base/hash.h"
#include "bootstrap/identity.h"
#include "lib/replay.h"

#define SUM_AT 120

/* The first byte says whether the checksum is made right. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    rondo_unique_id id;
    rondo_meeting meeting;

    if (bytes < 1) {
        return 0;
    }
    memset(&id, 0, sizeof id);
    memcpy(&id, data + 1, bytes - 1 < sizeof id ? bytes - 1 : sizeof id);
    if ((data[0] & 1) != 0) {
        const uint64_t sum = rondo_hash_bytes(0, id.bytes, SUM_AT);
        for (uint32_t i = 0; i < 8; i++) {
            id.bytes[SUM_AT + i] = (unsigned char)(sum >> 8 * i);
        }
    }
    memset(&meeting, 0xA5, sizeof meeting);
    if (rondo_id_read(&id, &meeting) == RONDO_OK) {
        replay_insist(memchr(meeting.host, '\0', sizeof meeting.host) != NULL,
                      "a host that ends");
        replay_insist(strlen(meeting.host) >= 2, "a host at all");
        replay_insist(meeting.by_id && !meeting.serve, "by id");
    }
    return 0;
}

size_t
replay_seed(uint32_t number, uint8_t *data)
{
    rondo_unique_id id;

    if (number >= 2 || rondo_meeting_open_id(1, &id) != RONDO_OK) {
        return 0;
    }
    data[0] = 1;
    memcpy(data + 1, &id, sizeof id);
    if (number == 1) {
        data[1 + 12] = 6; /* as an IPv6 address */
    }
    return 1 + sizeof id;
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(100000);
}
#endif
