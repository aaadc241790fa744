/*
 * bell.c - sleeping until something may have arrived.
 *
 * A sender stores a piece, then loads the receiver's `waiting`; the receiver stores
 * `waiting`, then looks for pieces. Without a full fence between the sender's two steps
 * its load may overtake its store: it sees nobody waiting, while the receiver, who
 * looked before the store was visible, goes to sleep. Such a fence would cost more than
 * all the rest of a small message. Instead the first sleep after arming lasts 1 ms at
 * most, so a wake-up lost to that race costs 1 ms. Once a whole slice has passed,
 * `waiting` has been visible for far longer than a store stays in a store buffer:
 * everything sent without seeing it is found by the next look, everything sent since
 * rings. So whoever stays armed sleeps as long as it likes from then on, and ranks that
 * have nothing to do cost nothing.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "transport/shm/instance.h"

#define FIRST_SLEEP_NS (1 * RONDO_NS_PER_MS)

/* Not "private": the word is in memory that several processes map. */
static long
futex(_Atomic uint32_t *word, int operation, uint32_t value,
      const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void
rondo_shm_ring_bell(struct rondo_shm_desk *desk)
{
    /* Release: pairs with the acquire of arm, so that whoever is woken sees why. */
    (void)atomic_fetch_add_explicit(&desk->bell, 1, memory_order_release);
    (void)futex(&desk->bell, FUTEX_WAKE, INT32_MAX, NULL);
}

uint32_t
rondo_shm_arm(rondo_transport *transport)
{
    rondo_shm *const shm = (rondo_shm *)transport;

    if (!shm->armed) {
        shm->armed = true;
        shm->settled = false;
        atomic_store_explicit(&shm->desk->waiting, 1, memory_order_seq_cst);
        /* The caller's look at the channels must not overtake this store. */
        atomic_thread_fence(memory_order_seq_cst);
    }
    return atomic_load_explicit(&shm->desk->bell, memory_order_acquire);
}

void
rondo_shm_sleep(rondo_transport *transport, uint32_t ticket, uint64_t wait_ns)
{
    rondo_shm *const shm = (rondo_shm *)transport;
    const uint64_t most = shm->settled ? RONDO_NS_PER_S : FIRST_SLEEP_NS;
    const uint64_t ns = wait_ns < most ? wait_ns : most;
    const struct timespec timeout = {(time_t)(ns / RONDO_NS_PER_S),
                                     (long)(ns % RONDO_NS_PER_S)};

    RONDO_ASSERT(shm->armed);
    if (futex(&shm->desk->bell, FUTEX_WAIT, ticket, &timeout) != 0 &&
        errno == ETIMEDOUT && ns >= FIRST_SLEEP_NS) {
        shm->settled = true;
    }
}

void
rondo_shm_disarm(rondo_transport *transport)
{
    rondo_shm *const shm = (rondo_shm *)transport;

    if (shm->armed) {
        shm->armed = false;
        atomic_store_explicit(&shm->desk->waiting, 0, memory_order_relaxed);
    }
}
