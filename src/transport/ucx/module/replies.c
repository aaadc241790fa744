/*
 * replies.c - a peer that goes while a connection is made must not end this process.
 *
 * UCX 1.13's transport for TCP holds back the reply to a request to connect until the
 * peer has answered once more. If it dies before, or the worker is destroyed, the reply
 * is to be given up, and libucp asserts that such a message never is: the process would
 * abort. The assertion stands in a callback that the transport is handed for each
 * message it gives up, so we stand in between and let go of those messages silently.
 *
 * UCX's own list of its objects says where the interfaces of a worker are; their table
 * of functions is in a public header. Where anything of it is not found, nothing is
 * changed. A message let go of costs its memory until the worker is destroyed, its
 * text for good: some hundred bytes for a peer that died in that moment.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ucs/vfs/base/vfs_obj.h>
#include <uct/api/uct.h>

#include "transport/ucx/module/wire_state.h"

#define WORKERS "/uct/worker"

typedef __typeof__(&ucs_vfs_path_list_dir) list_function;

/* What it takes; all or nothing. */
static struct {
    bool known;
    list_function list;
    uct_ep_pending_purge_func_t give_up;  /* the transport's */
    uct_pending_purge_callback_t asserts; /* libucp's, for endpoints that failed */
    uct_pending_callback_t message;       /* what a message of a connection runs */
} parts;

/* What a filtered giving-up is done for. */
typedef struct errand {
    uct_pending_purge_callback_t callback;
    void *argument;
} errand;

static bool
find(void *library, const char *symbol, void *function)
{
    void *const found = dlsym(library, symbol);

    if (found != NULL) {
        memcpy(function, &found, sizeof(found));
    }
    return found != NULL;
}

static void
find_parts(void)
{
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);

    if (library == NULL) {
        return;
    }
    parts.known = find(library, "ucs_vfs_path_list_dir", &parts.list) &&
                  find(library, "uct_tcp_ep_pending_purge", &parts.give_up) &&
                  find(library, "ucp_ep_err_pending_purge", &parts.asserts) &&
                  find(library, "ucp_wireup_msg_progress", &parts.message);
    (void)dlclose(library);
}

static void
unless_message(uct_pending_req_t *request, void *argument)
{
    const errand *for_whom = argument;

    if (request->func != parts.message) {
        for_whom->callback(request, for_whom->argument);
    }
}

/* Takes the place of the transport's function. */
static void
give_up(uct_ep_h endpoint, uct_pending_purge_callback_t callback, void *argument)
{
    errand for_whom = {callback, argument};

    if (callback == parts.asserts) {
        parts.give_up(endpoint, unless_message, &for_whom);
    } else {
        parts.give_up(endpoint, callback, argument);
    }
}

static void
take_place(const char *name, void *argument)
{
    uct_iface_t *const interface = (uct_iface_t *)strtoull(name, NULL, 16);

    (void)argument;
    if (interface != NULL && interface->ops.ep_pending_purge == parts.give_up) {
        interface->ops.ep_pending_purge = give_up;
    }
}

static void
add_name(const char *name, void *argument)
{
    rondo_ucx_workers *workers = argument;

    if (workers->count < RONDO_UCX_WORKERS_MAX) {
        workers->at[workers->count++] = strtoull(name, NULL, 16);
    }
}

void
rondo_ucx_workers_list(rondo_ucx_workers *workers)
{
    workers->count = 0;
    if (!parts.known) {
        find_parts();
    }
    if (parts.known) {
        (void)parts.list(WORKERS, add_name, workers);
    }
}

void
rondo_ucx_replies_guard(const rondo_ucx_workers *before)
{
    rondo_ucx_workers now;

    rondo_ucx_workers_list(&now);
    for (uint32_t i = 0; i < now.count; i++) {
        char path[64];
        bool ours = true;
        for (uint32_t k = 0; k < before->count; k++) {
            ours = ours && before->at[k] != now.at[i];
        }
        if (ours) {
            (void)snprintf(path, sizeof(path), WORKERS "/0x%llx/iface",
                           (unsigned long long)now.at[i]);
            (void)parts.list(path, take_place, NULL);
        }
    }
}
