/* patience.c - how a server or a worker waits between two polls. */
#include "server/patience.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"

/* How long it gives the core away before it sleeps. Whoever else is there runs. */
#define YIELD_NS (UINT64_C(50) * 1000)

/* Naps grow with the wait: a short one ends at once, a long one costs little. */
#define NAP_NS_MIN (UINT64_C(20) * 1000)
#define NAP_NS_MAX (UINT64_C(200) * 1000)

static void
nap(uint64_t idle_ns)
{
    uint64_t ns = idle_ns / 4;

    ns = ns < NAP_NS_MIN ? NAP_NS_MIN : ns;
    ns = ns > NAP_NS_MAX ? NAP_NS_MAX : ns;
    const struct timespec span = {.tv_nsec = (long)ns};
    (void)nanosleep(&span, NULL);
}

void
rondo_patience_wait(rondo_patience *patience, uint64_t moves)
{
    const uint64_t now_ns = rondo_now_ns();

    if (moves != patience->moves || patience->idle_since_ns == 0) {
        patience->moves = moves;
        patience->idle_since_ns = now_ns;
        return;
    }
    if (now_ns - patience->idle_since_ns < YIELD_NS) {
        (void)sched_yield();
        return;
    }
    nap(now_ns - patience->idle_since_ns);
}
