/* gather.c - reads this machine. */
#include "info.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/error.h"

bool
info_gather(info_found *found)
{
    memset(found, 0, sizeof *found);
    if (gethostname(found->host, sizeof found->host - 1) != 0) {
        (void)snprintf(found->host, sizeof found->host, "this host");
    }
    rondo_cpu_mask(found->mask);
    found->quota = rondo_cpu_quota();
    rondo_rdma_read(&found->rdma);
    rondo_status status = rondo_network_read(&found->network);
    if (status == RONDO_OK) {
        status = rondo_machine_read(NULL, &found->machine);
    }
    if (status != RONDO_OK) {
        fprintf(stderr, "rondo-info: %s\n", rondo_error_text());
        return false;
    }
    return true;
}
