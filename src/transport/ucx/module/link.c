/*
 * link.c - links to other processes' wires: made from an address, lost at most once,
 * closed within a bound.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "transport/ucx/module/wire_state.h"

/* Closing politely waits for the peer to take what was sent, so it has a bound. */
static const uint64_t close_wait_ns = 200u * 1000u * 1000u;
static const uint64_t force_wait_ns = 50u * 1000u * 1000u;

static uint64_t
now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void
rondo_ucx_link_failed(rondo_wire_link *link, ucs_status_t status)
{
    if (link->failure == UCS_OK) {
        link->failure = status;
        link->wire->failing++;
    }
}

/* Called by UCX from inside its progress, where little may be done. */
static void
endpoint_failed(void *argument, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)endpoint;
    rondo_ucx_link_failed(argument, status);
}

void
rondo_ucx_links_tell(rondo_wire *wire)
{
    rondo_ucx_node *node = wire->links.next;
    while (wire->failing > 0 && node != &wire->links) {
        rondo_wire_link *link = (rondo_wire_link *)node;
        node = node->next;
        if (link->failure == UCS_OK || link->told) {
            continue;
        }
        link->told = true;
        wire->failing--;
        wire->news++;
        wire->lost(wire->user, link->user,
                   link->reason[0] != '\0' ? link->reason
                                           : ucs_status_string(link->failure));
    }
}

/* A peer that refuses at once is lost like one that goes later. */
static bool
is_peers_fault(ucs_status_t status)
{
    return status == UCS_ERR_UNREACHABLE || status == UCS_ERR_REJECTED ||
           status == UCS_ERR_CONNECTION_RESET || status == UCS_ERR_TIMED_OUT ||
           status == UCS_ERR_NOT_CONNECTED;
}

int
rondo_ucx_connect(rondo_wire *wire, const void *address, size_t bytes, void *link_user,
                  rondo_wire_link **link, char *why, size_t why_bytes)
{
    (void)bytes;
    rondo_wire_link *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        (void)snprintf(why, why_bytes, "no memory for a connection");
        return -1;
    }
    made->wire = wire;
    made->user = link_user;
    rondo_ucx_list_init(&made->sending);
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = endpoint_failed, .arg = made},
    };
    rondo_ucx_forget_message();
    const ucs_status_t status = ucp_ep_create(wire->worker, &params, &made->endpoint);
    if (is_peers_fault(status)) {
        made->endpoint = NULL;
        rondo_ucx_sentence(made->reason, sizeof(made->reason), NULL, status);
        rondo_ucx_link_failed(made, status);
    } else if (status != UCS_OK) {
        rondo_ucx_sentence(why, why_bytes, "UCX cannot connect", status);
        free(made);
        return -1;
    }
    rondo_ucx_list_add(&wire->links, &made->node);
    *link = made;
    return 0;
}

/* Starts closing the endpoint; what is left of it is polled later. */
static void
close_endpoint(rondo_wire *wire, rondo_wire_link *link)
{
    /* A flush asks the peer, who may be busy elsewhere: not when it would tell nothing
     * new, nor when it could not succeed. */
    const bool politely = link->failure == UCS_OK && link->unflushed &&
                          rondo_ucx_list_empty(&link->sending);
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = politely ? 0 : UCP_EP_CLOSE_FLAG_FORCE,
    };
    if (link->endpoint == NULL) {
        return;
    }
    void *request = ucp_ep_close_nbx(link->endpoint, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }
    rondo_ucx_closing *closing = malloc(sizeof(*closing));
    if (closing == NULL) {
        ucp_request_free(request);
        return;
    }
    closing->request = request;
    rondo_ucx_list_add(&wire->closing, &closing->node);
}

void
rondo_ucx_closing_poll(rondo_wire *wire)
{
    rondo_ucx_node *node = wire->closing.next;
    while (node != &wire->closing) {
        rondo_ucx_closing *closing = (rondo_ucx_closing *)node;
        node = node->next;
        if (ucp_request_check_status(closing->request) == UCS_INPROGRESS) {
            continue;
        }
        ucp_request_free(closing->request);
        rondo_ucx_list_remove(&closing->node);
        free(closing);
    }
}

void
rondo_ucx_disconnect(rondo_wire *wire, rondo_wire_link *link)
{
    if (link->failure != UCS_OK && !link->told) {
        wire->failing--;
    }
    link->told = true;
    if (link->flush != NULL) {
        ucp_request_free(link->flush);
        link->flush = NULL;
    }
    close_endpoint(wire, link);
    /* After a forced close UCX gives up what it still has; the memory is the caller's
     * again only then. */
    const uint64_t until = now_ns() + force_wait_ns;
    while (!rondo_ucx_list_empty(&link->sending) && now_ns() < until) {
        (void)ucp_worker_progress(wire->worker);
    }
    rondo_ucx_sending_drop(link);
    rondo_ucx_list_remove(&link->node);
    free(link);
}

bool
rondo_ucx_flushed(rondo_wire *wire, rondo_wire_link *link)
{
    (void)wire;
    if (link->failure != UCS_OK || (!link->flushing && !link->unflushed)) {
        return true;
    }
    if (!link->flushing) {
        const ucp_request_param_t param = {.op_attr_mask = 0};
        void *request = ucp_ep_flush_nbx(link->endpoint, &param);
        if (UCS_PTR_IS_ERR(request)) {
            rondo_ucx_link_failed(link, UCS_PTR_STATUS(request));
            return true;
        }
        link->flushing = true;
        link->fresh = false;
        link->flush = request;
    }
    if (link->flush != NULL &&
        ucp_request_check_status(link->flush) == UCS_INPROGRESS) {
        return false;
    }
    if (link->flush != NULL) {
        ucp_request_free(link->flush);
        link->flush = NULL;
    }
    link->flushing = false;
    link->unflushed = link->fresh;
    return true;
}

void
rondo_ucx_links_close(rondo_wire *wire)
{
    while (!rondo_ucx_list_empty(&wire->links)) {
        rondo_ucx_disconnect(wire, (rondo_wire_link *)wire->links.next);
    }
    const uint64_t until = now_ns() + close_wait_ns;
    while (!rondo_ucx_list_empty(&wire->closing) && now_ns() < until) {
        (void)ucp_worker_progress(wire->worker);
        rondo_ucx_closing_poll(wire);
    }
    while (!rondo_ucx_list_empty(&wire->closing)) {
        rondo_ucx_closing *closing = (rondo_ucx_closing *)wire->closing.next;
        ucp_request_free(closing->request);
        rondo_ucx_list_remove(&closing->node);
        free(closing);
    }
}
