/* links.c - links between hosts as the ranks see them: opened, asked, closed. */
#include "control/links.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "control/links_parts.h"

/* Questions of one rank closer together than this are one. */
#define ASK_NS (10 * RONDO_NS_PER_MS)

/* How long after its deadline a leader may take to say that it has failed. */
#define GRACE_MS 2000

void
rondo_links_wake(rondo_links *links)
{
    const uint64_t one = 1;
    ssize_t wrote = 0;

    /* A full counter means that the thread is about to wake anyway. */
    do {
        wrote = write(links->wake, &one, sizeof one);
    } while (wrote < 0 && errno == EINTR);
}

static rondo_status
copy(const void *from, size_t count, size_t item_bytes, void **copied)
{
    const rondo_status status = rondo_alloc_zero(count * item_bytes, copied);

    if (status == RONDO_OK) {
        memcpy(*copied, from, count * item_bytes);
    }
    return status;
}

static rondo_status
copy_setup(const rondo_links_setup *setup, rondo_links *links)
{
    const uint32_t n = setup->nranks;

    links->name = setup->name;
    links->key = setup->key;
    links->board = *setup->board;
    links->rank = setup->rank;
    links->nranks = n;
    links->host = setup->host_of[setup->rank];
    links->deadline_ns = setup->deadline_ns;
    links->silence_ms = setup->silence_ms;
    memcpy(links->hub, setup->hub, sizeof links->hub);
    memcpy(links->mine, setup->mine, sizeof links->mine);
    rondo_status status =
        copy(setup->host_of, n, sizeof *links->host_of, (void **)&links->host_of);
    if (status == RONDO_OK) {
        status = copy(setup->addresses, n, sizeof *links->addresses,
                      (void **)&links->addresses);
    }
    if (status == RONDO_OK) {
        status = copy(setup->host_names, n, sizeof *links->host_names,
                      (void **)&links->host_names);
    }
    return status;
}

/* Numbers and texts come from other ranks' cards. */
static rondo_status
check_hosts(rondo_links *links)
{
    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        const uint32_t host = links->host_of[rank];

        links->host_names[rank][sizeof links->host_names[rank] - 1] = '\0';
        if (host > links->nhosts) {
            return rondo_error(RONDO_ERR_ARG,
                               "the hosts are not numbered as they come");
        }
        if (host == links->nhosts) {
            links->leaders[links->nhosts++] = rank;
        }
    }
    return RONDO_OK;
}

static rondo_status
make_tables(rondo_links *links)
{
    const uint32_t n = links->nranks;

    rondo_status status =
        rondo_alloc_zero(n * sizeof *links->leaders, (void **)&links->leaders);
    if (status == RONDO_OK) {
        void *memory = NULL;
        status = rondo_alloc_zero(n * sizeof *links->died, &memory);
        links->died = memory;
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(n * sizeof(rondo_watch *), (void **)&links->watches);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(n * sizeof *links->sent, (void **)&links->sent);
    }
    return status == RONDO_OK ? check_hosts(links) : status;
}

/* From here on the links are the service thread's. */
static rondo_status
hand_over(rondo_links *links)
{
    rondo_service *const service = links->service;
    links_home *home = NULL;

    rondo_status status = rondo_links_home(service, &home);
    if (status != RONDO_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&service->lock);
    links->wake = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (links->wake < 0) {
        status = rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                   "a descriptor of the links could not be opened");
    } else {
        status = rondo_links_poll_locked(service, links->wake, EPOLLIN,
                                         rondo_links_ready, links);
    }
    if (status == RONDO_OK) {
        links->next = home->all;
        home->all = links;
    } else if (links->wake >= 0) {
        (void)close(links->wake);
    }
    (void)pthread_mutex_unlock(&service->lock);
    return status;
}

rondo_status
rondo_links_open(rondo_service *service, const rondo_links_setup *setup,
                 rondo_links **links)
{
    void *memory = NULL;

    if (rondo_service_forked(service)) {
        return rondo_error(RONDO_ERR_FORKED,
                           "the service belongs to the parent process");
    }
    rondo_status status = rondo_alloc_zero(sizeof **links, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_links *const made = memory;
    status = rondo_service_acquire(&made->service);
    if (status != RONDO_OK) {
        rondo_free(made);
        return status;
    }
    made->wake = -1;
    made->end_ns = RONDO_NEVER;
    made->retry_ns = RONDO_NEVER;
    status = copy_setup(setup, made);
    if (status == RONDO_OK) {
        status = make_tables(made);
    }
    if (status == RONDO_OK) {
        status = hand_over(made);
    }
    if (status != RONDO_OK) {
        rondo_links_free(made);
        return status;
    }
    *links = made;
    return RONDO_OK;
}

rondo_status
rondo_links_poll(rondo_links *links, char *interfaces, size_t interfaces_bytes)
{
    rondo_breakage why;
    const rondo_status status =
        rondo_board_linked(&links->board, interfaces, interfaces_bytes);

    if (status != RONDO_BUSY) {
        return status;
    }
    if (rondo_board_breakage(&links->board, &why)) {
        return rondo_error(why.status, "%s", why.text);
    }
    const uint64_t now = rondo_now_ns();
    if (now < links->deadline_ns ||
        now - links->deadline_ns < GRACE_MS * RONDO_NS_PER_MS) {
        return RONDO_BUSY;
    }
    const uint32_t leader = links->leaders[links->host];
    return rondo_error(
        RONDO_ERR_START,
        "rank %u (process %u), which connects %s to the other hosts, did "
        "not do so in time",
        leader, links->addresses[leader].pid, links->host_names[leader]);
}

void
rondo_links_news(rondo_links *links)
{
    atomic_store(&links->news, true);
    rondo_links_wake(links);
}

void
rondo_links_ask(rondo_links *links)
{
    const uint64_t now = rondo_now_ns();
    uint64_t last = atomic_load(&links->asked_ns);

    if (now < last + ASK_NS ||
        !atomic_compare_exchange_strong(&links->asked_ns, &last, now)) {
        return;
    }
    atomic_store(&links->asked, true);
    rondo_links_wake(links);
}

void
rondo_links_host(const rondo_links *links, uint32_t rank, char *text, size_t text_bytes)
{
    rondo_endpoint at = {.family = 0};
    char address[64];

    if (rank >= links->nranks) {
        (void)snprintf(text, text_bytes, "an unknown host");
        return;
    }
    const uint32_t leader = links->leaders[links->host_of[rank]];
    if (rondo_board_reached(&links->board, leader, &at.family, at.address)) {
        rondo_links_address_text(&at, address, sizeof address);
        (void)snprintf(text, text_bytes, "%s (%s)", links->host_names[rank], address);
        return;
    }
    (void)snprintf(text, text_bytes, "%s", links->host_names[rank]);
}

/* Waits until the service thread is done with them, or with the caller's board. */
static bool
wait_for_end(rondo_links *links)
{
    rondo_service *const service = links->service;

    (void)pthread_mutex_lock(&service->lock);
    while (!links->done && !links->detached) {
        (void)pthread_cond_wait(&service->changed, &service->lock);
    }
    const bool done = links->done;
    links->orphan = !done;
    (void)pthread_mutex_unlock(&service->lock);
    return done;
}

void
rondo_links_close(rondo_links *links)
{
    if (links == NULL) {
        return;
    }
    rondo_service *const service = links->service;
    if (rondo_service_forked(service)) {
        rondo_links_free(links);
        return;
    }
    /* Woken before the lock is free: a thread that is up already would see `closing`
     * and close the descriptor first. */
    (void)pthread_mutex_lock(&service->lock);
    links->closing = true;
    rondo_links_wake(links);
    (void)pthread_mutex_unlock(&service->lock);
    if (wait_for_end(links)) {
        rondo_links_free(links);
    }
}
