/*
 * calls.h - UCX's functions, found when the first wire is opened. The module does not
 * link UCX: libucs patches mmap and others of the C library when it is loaded, unless
 * libucm has been told otherwise before. The files of the module call them by their own
 * names.
 */
#ifndef TRANSPORT_UCX_MODULE_CALLS_H
#define TRANSPORT_UCX_MODULE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

/* All that are called. */
#define RONDO_UCX_CALLS(CALL)            \
    CALL(ucp_am_data_release)            \
    CALL(ucp_am_send_nbx)                \
    CALL(ucp_cleanup)                    \
    CALL(ucp_config_modify)              \
    CALL(ucp_config_read)                \
    CALL(ucp_config_release)             \
    CALL(ucp_dt_create_generic)          \
    CALL(ucp_dt_destroy)                 \
    CALL(ucp_ep_close_nbx)               \
    CALL(ucp_ep_create)                  \
    CALL(ucp_ep_flush_nbx)               \
    CALL(ucp_get_version_string)         \
    CALL(ucp_init_version)               \
    CALL(ucp_mem_map)                    \
    CALL(ucp_mem_unmap)                  \
    CALL(ucp_request_check_status)       \
    CALL(ucp_request_free)               \
    CALL(ucp_worker_arm)                 \
    CALL(ucp_worker_create)              \
    CALL(ucp_worker_destroy)             \
    CALL(ucp_worker_get_address)         \
    CALL(ucp_worker_get_efd)             \
    CALL(ucp_worker_progress)            \
    CALL(ucp_worker_query)               \
    CALL(ucp_worker_release_address)     \
    CALL(ucp_worker_set_am_recv_handler) \
    CALL(ucs_log_push_handler)           \
    CALL(ucs_status_string)

#define RONDO_UCX_MEMBER(name) __typeof__(&(name)) name;
typedef struct rondo_ucx_functions {
    RONDO_UCX_CALLS(RONDO_UCX_MEMBER)
} rondo_ucx_functions;
#undef RONDO_UCX_MEMBER

extern rondo_ucx_functions rondo_ucx_calls;

/* rondo_ucx_calls_find - load UCX unless that has been done; false: why not. */
bool
rondo_ucx_calls_find(char *why, size_t why_bytes);

/* rondo_ucx_no_hooks - before each ucp_init: its memory domains shall not patch either.
 * Where somebody else had loaded UCX before, or the user has set UCX_MEM_..., nothing
 * is changed. */
void
rondo_ucx_no_hooks(void);

/* rondo_ucx_user_setting - what the user has set UCX_<name> to; null: nothing. */
const char *
rondo_ucx_user_setting(const char *name);

/* replies.c: UCX's workers in this process, and no more of them. */
#define RONDO_UCX_WORKERS_MAX 64
typedef struct rondo_ucx_workers {
    unsigned long long at[RONDO_UCX_WORKERS_MAX];
    uint32_t count;
} rondo_ucx_workers;

/* rondo_ucx_workers_list - those there are. rondo_ucx_replies_guard - those made since:
 * peers that die while they connect do no harm. */
void
rondo_ucx_workers_list(rondo_ucx_workers *workers);
void
rondo_ucx_replies_guard(const rondo_ucx_workers *before);
/* rondo_ucx_workers_progress - what has come to transports that are not in use as well,
 * of all workers but those of `before`. Once. */
void
rondo_ucx_workers_progress(const rondo_ucx_workers *before);

#ifndef RONDO_UCX_CALLS_PLAIN
#define ucp_am_data_release            rondo_ucx_calls.ucp_am_data_release
#define ucp_am_send_nbx                rondo_ucx_calls.ucp_am_send_nbx
#define ucp_cleanup                    rondo_ucx_calls.ucp_cleanup
#define ucp_config_modify              rondo_ucx_calls.ucp_config_modify
#define ucp_config_read                rondo_ucx_calls.ucp_config_read
#define ucp_config_release             rondo_ucx_calls.ucp_config_release
#define ucp_dt_create_generic          rondo_ucx_calls.ucp_dt_create_generic
#define ucp_dt_destroy                 rondo_ucx_calls.ucp_dt_destroy
#define ucp_ep_close_nbx               rondo_ucx_calls.ucp_ep_close_nbx
#define ucp_ep_create                  rondo_ucx_calls.ucp_ep_create
#define ucp_ep_flush_nbx               rondo_ucx_calls.ucp_ep_flush_nbx
#define ucp_get_version_string         rondo_ucx_calls.ucp_get_version_string
#define ucp_mem_map                    rondo_ucx_calls.ucp_mem_map
#define ucp_mem_unmap                  rondo_ucx_calls.ucp_mem_unmap
#define ucp_request_check_status       rondo_ucx_calls.ucp_request_check_status
#define ucp_request_free               rondo_ucx_calls.ucp_request_free
#define ucp_worker_arm                 rondo_ucx_calls.ucp_worker_arm
#define ucp_worker_create              rondo_ucx_calls.ucp_worker_create
#define ucp_worker_destroy             rondo_ucx_calls.ucp_worker_destroy
#define ucp_worker_get_address         rondo_ucx_calls.ucp_worker_get_address
#define ucp_worker_get_efd             rondo_ucx_calls.ucp_worker_get_efd
#define ucp_worker_progress            rondo_ucx_calls.ucp_worker_progress
#define ucp_worker_query               rondo_ucx_calls.ucp_worker_query
#define ucp_worker_release_address     rondo_ucx_calls.ucp_worker_release_address
#define ucp_worker_set_am_recv_handler rondo_ucx_calls.ucp_worker_set_am_recv_handler
#define ucs_log_push_handler           rondo_ucx_calls.ucs_log_push_handler
#define ucs_status_string              rondo_ucx_calls.ucs_status_string
/* In the header it is a function that calls the one below. */
#define ucp_init(params, config, context)                                              \
    rondo_ucx_calls.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, (params), (config), \
                                     (context))
#endif

#endif /* TRANSPORT_UCX_MODULE_CALLS_H */
