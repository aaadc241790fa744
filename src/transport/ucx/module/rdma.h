/*
 * rdma.h - what is different for a wire that may use RDMA devices.
 */
#ifndef TRANSPORT_UCX_MODULE_RDMA_H
#define TRANSPORT_UCX_MODULE_RDMA_H

#include "transport/ucx/module/wire_state.h"

/* rondo_ucx_rdma_settings - changes to UCX's configuration, and shorter parcels. */
ucs_status_t
rondo_ucx_rdma_settings(rondo_wire *wire, const rondo_wire_setup *setup,
                        ucp_config_t *config);

/* rondo_ucx_rdma_open - registered memory is of use from now on, and data outside of it
 * is copied. */
ucs_status_t
rondo_ucx_rdma_open(rondo_wire *wire);
void
rondo_ucx_rdma_close(rondo_wire *wire);

#endif /* TRANSPORT_UCX_MODULE_RDMA_H */
