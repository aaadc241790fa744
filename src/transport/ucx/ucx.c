/* ucx.c - the wire of the process: first open to last close, its lock, and fork. */
#include "transport/ucx/ucx.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "transport/ucx/parts.h"

/* Guards `current`, `all` and the user counts. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static rondo_ucx *current; /* over the module */
static rondo_ucx *all;     /* with those over stand-ins */
static bool fork_known;

/* --- fork ------------------------------------------------------------------------- */

static void
before_fork(void)
{
    (void)pthread_mutex_lock(&guard);
    for (rondo_ucx *ucx = all; ucx != NULL; ucx = ucx->next) {
        (void)pthread_mutex_lock(&ucx->lock);
    }
}

static void
after_fork_parent(void)
{
    for (rondo_ucx *ucx = all; ucx != NULL; ucx = ucx->next) {
        (void)pthread_mutex_unlock(&ucx->lock);
    }
    (void)pthread_mutex_unlock(&guard);
}

/* UCX must not be touched in a child, not even to close it: its descriptors are the
 * parent's connections. */
static void
after_fork_child(void)
{
    for (rondo_ucx *ucx = all; ucx != NULL; ucx = ucx->next) {
        atomic_store_explicit(&ucx->forked, true, memory_order_relaxed);
        (void)pthread_mutex_unlock(&ucx->lock);
    }
    all = NULL;
    current = NULL;
    (void)pthread_mutex_unlock(&guard);
}

/* Handlers cannot be taken back, so they are set once. */
static rondo_status
know_forks(void)
{
    if (fork_known) {
        return RONDO_OK;
    }
    const int failed = pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    if (failed != 0) {
        return rondo_error_errno(RONDO_ERR_MEMORY, failed,
                                 "fork handlers could not be set");
    }
    fork_known = true;
    return RONDO_OK;
}

/* --- the lock --------------------------------------------------------------------- */

/* A thread that polls takes the lock again as soon as it has given it back; whoever
 * sleeps for it would lose that race for ever. So pollers keep off while one waits. */
void
rondo_ucx_lock(rondo_ucx *ucx)
{
    if (pthread_mutex_trylock(&ucx->lock) == 0) {
        return;
    }
    atomic_fetch_add_explicit(&ucx->waiting, 1, memory_order_relaxed);
    (void)pthread_mutex_lock(&ucx->lock);
    atomic_fetch_sub_explicit(&ucx->waiting, 1, memory_order_relaxed);
}

bool
rondo_ucx_try(rondo_ucx *ucx)
{
    return atomic_load_explicit(&ucx->waiting, memory_order_relaxed) == 0 &&
           pthread_mutex_trylock(&ucx->lock) == 0;
}

void
rondo_ucx_unlock(rondo_ucx *ucx)
{
    (void)pthread_mutex_unlock(&ucx->lock);
}

uint32_t
rondo_ucx_pump(rondo_ucx *ucx)
{
    const uint32_t happened = ucx->ops->progress(ucx->wire);

    if (ucx->failures && happened == 0) {
        rondo_ucx_links_lose(ucx);
    }
    return happened + rondo_ucx_links_reap(ucx);
}

/* --- open and close --------------------------------------------------------------- */

static rondo_status
open_wire(rondo_ucx *ucx)
{
    char why[400] = "";
    const rondo_wire_setup setup = {.devices = ucx->spec.devices,
                                    .transports = ucx->spec.transports,
                                    .peers = 16,
                                    .arrived = rondo_ucx_arrived,
                                    .lost = rondo_ucx_lost,
                                    .user = ucx};

    if (ucx->ops->open(&setup, &ucx->wire, why, sizeof why) != 0) {
        return rondo_error(RONDO_ERR_SYSTEM, "%s cannot use %s: %s", ucx->ops->name,
                           ucx->spec.devices, why);
    }
    ucx->piece_bytes = ucx->ops->parcel_bytes(ucx->wire) / 64 * 64;
    if (ucx->piece_bytes == 0) {
        ucx->ops->close(ucx->wire);
        return rondo_error(RONDO_ERR_SYSTEM, "%s carries less than 64 bytes at once",
                           ucx->ops->name);
    }
    return RONDO_OK;
}

static rondo_status
create(const rondo_ucx_spec *spec, rondo_ucx **ucx)
{
    void *memory = NULL;
    rondo_status status = rondo_alloc_zero(sizeof **ucx, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_ucx *const made = memory;
    made->spec = *spec;
    made->ops = spec->ops;
    if (spec->ops == NULL) {
        status = rondo_ucx_load(spec->module, &made->ops);
    }
    if (status == RONDO_OK && pthread_mutex_init(&made->lock, NULL) != 0) {
        status = rondo_error(RONDO_ERR_MEMORY, "a lock could not be had");
    }
    if (status == RONDO_OK) {
        status = open_wire(made);
    }
    if (status != RONDO_OK) {
        rondo_free(made);
        return status;
    }
    made->next = all;
    all = made;
    *ucx = made;
    return RONDO_OK;
}

/* Whether every name of the list `wanted` is in the list `have`. */
static bool
includes(const char *have, const char *wanted)
{
    while (*wanted != '\0') {
        const size_t length = strcspn(wanted, ",");
        const char *at = have;
        while (*at != '\0' &&
               !(strcspn(at, ",") == length && strncmp(at, wanted, length) == 0)) {
            at += strcspn(at, ",");
            at += *at == ',';
        }
        if (*at == '\0' && length > 0) {
            return false;
        }
        wanted += length;
        wanted += *wanted == ',';
    }
    return true;
}

/* With the guard. */
static rondo_status
open_guarded(const rondo_ucx_spec *spec, rondo_ucx **ucx)
{
    rondo_ucx *found = spec->ops == NULL ? current : NULL;
    rondo_status status = know_forks();

    if (status != RONDO_OK) {
        return status;
    }
    if (found != NULL && !includes(found->spec.devices, spec->devices)) {
        return rondo_error(RONDO_ERR_STATE,
                           "this process talks to other hosts over %s already, so it "
                           "cannot use %s: name all of them from the start",
                           found->spec.devices, spec->devices);
    }
    if (found == NULL) {
        status = create(spec, &found);
        if (status != RONDO_OK) {
            return status;
        }
    }
    if (spec->ops == NULL) {
        current = found;
    }
    found->users++;
    *ucx = found;
    return RONDO_OK;
}

rondo_status
rondo_ucx_open(const rondo_ucx_spec *spec, rondo_ucx **ucx)
{
    (void)pthread_mutex_lock(&guard);
    const rondo_status status = open_guarded(spec, ucx);
    (void)pthread_mutex_unlock(&guard);
    return status;
}

static void
unlist(const rondo_ucx *ucx)
{
    rondo_ucx **at = &all;

    while (*at != NULL && *at != ucx) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = ucx->next;
    }
    if (current == ucx) {
        current = NULL;
    }
}

/* With the guard, so that a fork waits until the wire is closed. */
static void
destroy(rondo_ucx *ucx)
{
    unlist(ucx);
    rondo_ucx_links_end(ucx);
    if (!rondo_ucx_forked(ucx)) {
        ucx->ops->close(ucx->wire);
        (void)pthread_mutex_destroy(&ucx->lock);
    }
    rondo_ucx_pool_end(ucx);
    rondo_free(ucx);
}

void
rondo_ucx_close(rondo_ucx *ucx)
{
    if (ucx == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&guard);
    ucx->users--;
    if (ucx->users == 0) {
        destroy(ucx);
    }
    (void)pthread_mutex_unlock(&guard);
}

/* --- what is asked of a wire ------------------------------------------------------ */

static rondo_status
parents(void)
{
    return rondo_error(RONDO_ERR_FORKED,
                       "the connections to other hosts belong to the parent process");
}

rondo_status
rondo_ucx_address(rondo_ucx *ucx, void *address, size_t *bytes)
{
    char why[160] = "";
    size_t length = RONDO_WIRE_ADDRESS_MAX;

    if (rondo_ucx_forked(ucx)) {
        return parents();
    }
    rondo_ucx_lock(ucx);
    const int failed = ucx->ops->address(ucx->wire, address, &length, why, sizeof why);
    rondo_ucx_unlock(ucx);
    if (failed != 0) {
        return rondo_error(RONDO_ERR_SYSTEM, "%s tells no address: %s", ucx->ops->name,
                           why);
    }
    *bytes = length;
    return RONDO_OK;
}

int
rondo_ucx_event_fd(rondo_ucx *ucx)
{
    return rondo_ucx_forked(ucx) ? -1 : ucx->ops->event_fd(ucx->wire);
}

bool
rondo_ucx_arm(rondo_ucx *ucx)
{
    if (rondo_ucx_forked(ucx)) {
        return true;
    }
    rondo_ucx_lock(ucx);
    const bool armed = rondo_ucx_pump(ucx) == 0 && ucx->ops->arm(ucx->wire);
    rondo_ucx_unlock(ucx);
    return armed;
}

uint64_t
rondo_ucx_zero_copy_bytes(rondo_ucx *ucx)
{
    uint64_t bytes = 0;

    if (!rondo_ucx_forked(ucx) && ucx->ops->zero_copy_bytes != NULL) {
        rondo_ucx_lock(ucx);
        bytes = ucx->ops->zero_copy_bytes(ucx->wire);
        rondo_ucx_unlock(ucx);
    }
    return bytes;
}

uint64_t
rondo_ucx_dropped(rondo_ucx *ucx)
{
    if (rondo_ucx_forked(ucx)) {
        return 0;
    }
    rondo_ucx_lock(ucx);
    const uint64_t dropped = ucx->dropped;
    rondo_ucx_unlock(ucx);
    return dropped;
}
