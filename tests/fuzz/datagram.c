/* datagram.c - fuzz target: what comes in by the service's socket. */
#include <string.h>

#include "control/service_parts.h"
#include "lib/replay.h"

/* The first byte is the number of descriptors. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    letter read;
    rondo_key key = {{1}};

    if (bytes == 0) {
        return 0;
    }
    memset(&read, 0xA5, sizeof read);
    const letter before = read;
    const uint32_t nfds = data[0] % 4;
    if (!rondo_datagram_check(data + 1, bytes - 1, nfds, &read)) {
        replay_insist(memcmp(&read, &before, sizeof read) == 0, "untouched if refused");
        return 0;
    }
    replay_insist(bytes - 1 == sizeof read, "one length");
    replay_insist(read.kind >= MESSAGE_PING && read.kind <= MESSAGE_LINK_PULSE,
                  "kinds");
    replay_insist(nfds == 0 || (read.kind == MESSAGE_SEGMENT && nfds == 1),
                  "descriptors where they belong");
    replay_insist(read.kind != MESSAGE_SEGMENT ||
                      (read.bytes > 0 && read.bytes <= SIZE_MAX / 2),
                  "sizes that can be");
    (void)rondo_datagram_signed(&key, &read);
    return 0;
}

size_t
replay_seed(uint32_t number, uint8_t *data)
{
    letter seed;
    const rondo_key key = {{1}};

    if (number >= 6) {
        return 0;
    }
    rondo_datagram_init((message_kind)(MESSAGE_PING + (int)number), &seed);
    seed.bytes = 4096;
    rondo_datagram_sign(&key, &seed);
    data[0] = number == 2 ? 1 : 0;
    memcpy(data + 1, &seed, sizeof seed);
    return 1 + sizeof seed;
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(100000);
}
#endif
