/*
 * replies.c - a peer that goes while a connection is made must not end this process.
 *
 * UCX 1.13 holds back what it says to connect until TCP's own connection is up. Two of
 * its assertions then stand between the death of a peer and an error of ours:
 *
 * - A reply that TCP gives up, because the peer died or the worker is destroyed, must
 *   not exist. The assertion is in a callback that the transport is handed for each
 *   message it gives up: we stand in between and let go of those messages silently.
 * - A request that fails as it is sent, out of TCP's queue, is missed there. When the
 *   connection is known to be broken, it counts as sent: TCP reads of the end in a
 *   moment, with its queue complete. That leaves the microsecond between the look and
 *   the sending. (To send it later would break UCX's order of two that connect to each
 *   other.)
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
#include <sys/epoll.h>

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
    uct_pending_callback_t request;       /* what one runs that waits in TCP's queue */
    uct_ep_pending_add_func_t queue;
    uct_ep_am_bcopy_func_t send;
} parts;

/* This thread is in TCP's queue, at a request. */
static _Thread_local bool in_queue;

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
                  find(library, "ucp_wireup_msg_progress", &parts.message) &&
                  find(library, "ucp_wireup_ep_progress_pending", &parts.request) &&
                  find(library, "uct_tcp_ep_pending_add", &parts.queue) &&
                  find(library, "uct_tcp_ep_am_bcopy", &parts.send);
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

/* Takes the place of what a waiting request runs. */
static ucs_status_t
send_request(uct_pending_req_t *request)
{
    in_queue = true;
    const ucs_status_t status = parts.request(request);
    in_queue = false;
    return status;
}

/* Takes the place of the transport's function, as the next one. */
static ucs_status_t
queue(uct_ep_h endpoint, uct_pending_req_t *request, unsigned flags)
{
    if (request->func == parts.request) {
        request->func = send_request;
    }
    return parts.queue(endpoint, request, flags);
}

/* TCP's event set tells of a reset connection until TCP has read of it. */
static bool
is_broken(uct_ep_h endpoint)
{
    struct epoll_event events[64];
    int fd = -1;

    if (endpoint->iface->ops.iface_event_fd_get(endpoint->iface, &fd) != UCS_OK) {
        return false;
    }
    const int count =
        epoll_wait(fd, events, (int)(sizeof(events) / sizeof(events[0])), 0);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == endpoint &&
            (events[i].events & (EPOLLERR | EPOLLHUP)) != 0) {
            return true;
        }
    }
    return false;
}

static ssize_t
send_message(uct_ep_h endpoint, uint8_t id, uct_pack_callback_t pack, void *argument,
             unsigned flags)
{
    if (in_queue && is_broken(endpoint)) {
        return 0; /* bytes on their way to nobody */
    }
    return parts.send(endpoint, id, pack, argument, flags);
}

static void
take_place(const char *name, void *argument)
{
    uct_iface_t *const interface = (uct_iface_t *)strtoull(name, NULL, 16);

    (void)argument;
    if (interface != NULL && interface->ops.ep_pending_purge == parts.give_up &&
        interface->ops.ep_pending_add == parts.queue &&
        interface->ops.ep_am_bcopy == parts.send) {
        interface->ops.ep_pending_purge = give_up;
        interface->ops.ep_pending_add = queue;
        interface->ops.ep_am_bcopy = send_message;
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

/* The interfaces of all workers but those of `before`. */
static void
visit(const rondo_ucx_workers *before, ucs_vfs_list_dir_cb_t function, void *argument)
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
            (void)parts.list(path, function, argument);
        }
    }
}

void
rondo_ucx_replies_guard(const rondo_ucx_workers *before)
{
    visit(before, take_place, NULL);
}

/* UCX's list is locked while it is read, so what it names is only noted. */
void
rondo_ucx_workers_progress(const rondo_ucx_workers *before)
{
    rondo_ucx_workers interfaces = {.count = 0};

    visit(before, add_name, &interfaces);
    for (uint32_t i = 0; i < interfaces.count; i++) {
        uct_iface_t *const interface = (uct_iface_t *)interfaces.at[i];

        if (interface != NULL && interface->ops.ep_pending_purge == give_up) {
            (void)interface->ops.iface_progress(interface);
        }
    }
}
