/* network.c - finds the interfaces of this host: reads, then judges. */
#include "topology/network.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/alloc.h"
#include "topology/facts.h"

rondo_status
rondo_network_find(const char *wanted, rondo_network *network)
{
    rondo_network_facts *facts = NULL;

    rondo_status status = rondo_alloc_zero(sizeof *facts, (void **)&facts);
    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_network_read(facts);
    if (status == RONDO_OK) {
        status = rondo_network_judge(facts, wanted, network);
    }
    rondo_free(facts);
    return status;
}

void
rondo_network_address_text(uint16_t family, const unsigned char *address, char *text,
                           size_t text_bytes)
{
    const int kind = family == 4 ? AF_INET : AF_INET6;

    if (text_bytes == 0) {
        return;
    }
    if ((family != 4 && family != 6) ||
        inet_ntop(kind, address, text, (socklen_t)text_bytes) == NULL) {
        text[0] = '\0';
    }
}
