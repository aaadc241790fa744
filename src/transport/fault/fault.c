/* fault.c - a transport that puts calls off and loses a peer, as its plan says. */
#include "transport/fault/fault.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"

/* One direction of one lane. */
struct channel {
    uint32_t put_off; /* calls still to be put off */
    bool shown;       /* a piece was peeked: it stays until it is consumed */
};

struct fault {
    rondo_transport transport; /* first: a wrapper is a transport */
    rondo_transport *inner;
    rondo_fault_plan plan;
    uint32_t nranks;
    uint64_t calls;
    uint64_t random;
    uint64_t signal_at_death; /* all that is ever seen of a dead peer's counter */
    bool dead;
    struct channel channels[]; /* by peer, lane, direction */
};

enum direction { OUT, IN, DIRECTIONS };

static struct fault *
fault_of(rondo_transport *transport)
{
    return (struct fault *)transport;
}

static struct channel *
channel_at(struct fault *fault, uint32_t peer, rondo_lane lane, enum direction way)
{
    const uint64_t pair = (uint64_t)peer * RONDO_LANES + lane;

    RONDO_ASSERT(peer < fault->nranks);
    RONDO_ASSERT(lane < RONDO_LANES);
    return &fault->channels[pair * DIRECTIONS + way];
}

/* Every call counts, whatever it is for: the plan names a moment. */
static void
count_call(struct fault *fault)
{
    const rondo_fault_plan *const plan = &fault->plan;

    fault->calls++;
    if (fault->dead || plan->kill_peer == RONDO_FAULT_NOBODY ||
        fault->calls < plan->kill_at) {
        return;
    }
    fault->dead = true;
    fault->signal_at_death =
        fault->inner->ops->signalled(fault->inner, plan->kill_peer);
}

static bool
is_dead(const struct fault *fault, uint32_t peer)
{
    return fault->dead && peer == fault->plan.kill_peer;
}

/* What the plan makes of a call. RONDO_OK: let it through. */
static rondo_status
meddle(struct fault *fault, uint32_t peer, rondo_lane lane, enum direction way)
{
    struct channel *const channel = channel_at(fault, peer, lane, way);

    count_call(fault);
    if (is_dead(fault, peer)) {
        return rondo_error(RONDO_ERR_PEER, "rank %u died, as planned, at call %llu",
                           peer, (unsigned long long)fault->plan.kill_at);
    }
    if (channel->shown) {
        return RONDO_OK;
    }
    if (channel->put_off > 0) {
        channel->put_off--;
        return RONDO_BUSY;
    }
    fault->random += UINT64_C(0x9e3779b97f4a7c15);
    if (rondo_hash_mix(fault->random) % 100 >= fault->plan.delay_percent) {
        return RONDO_OK;
    }
    channel->put_off = fault->plan.delay_calls > 0 ? fault->plan.delay_calls - 1 : 0;
    return RONDO_BUSY;
}

static rondo_status
fault_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
           rondo_outgoing *message)
{
    struct fault *const fault = fault_of(transport);
    const rondo_status status = meddle(fault, peer, lane, OUT);

    if (status != RONDO_OK) {
        return status;
    }
    return fault->inner->ops->send(fault->inner, peer, lane, message);
}

static rondo_status
fault_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
           rondo_incoming *piece)
{
    struct fault *const fault = fault_of(transport);
    rondo_status status = meddle(fault, peer, lane, IN);

    if (status != RONDO_OK) {
        return status;
    }
    status = fault->inner->ops->peek(fault->inner, peer, lane, piece);
    channel_at(fault, peer, lane, IN)->shown = status == RONDO_OK;
    return status;
}

/* A piece that was shown may be consumed even if its sender died meanwhile. */
static void
fault_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane)
{
    struct fault *const fault = fault_of(transport);

    count_call(fault);
    channel_at(fault, peer, lane, IN)->shown = false;
    fault->inner->ops->consume(fault->inner, peer, lane);
}

static rondo_status
fault_progress(rondo_transport *transport)
{
    struct fault *const fault = fault_of(transport);

    count_call(fault);
    return fault->inner->ops->progress == NULL
               ? RONDO_OK
               : fault->inner->ops->progress(fault->inner);
}

static void
fault_signal(rondo_transport *transport, uint64_t value)
{
    struct fault *const fault = fault_of(transport);

    count_call(fault);
    fault->inner->ops->signal(fault->inner, value);
}

static uint64_t
fault_signalled(rondo_transport *transport, uint32_t peer)
{
    struct fault *const fault = fault_of(transport);

    count_call(fault);
    if (is_dead(fault, peer)) {
        return fault->signal_at_death;
    }
    return fault->inner->ops->signalled(fault->inner, peer);
}

static rondo_status
fault_am_send(rondo_transport *transport, uint32_t peer, const rondo_am *message)
{
    struct fault *const fault = fault_of(transport);
    const rondo_status status = meddle(fault, peer, RONDO_LANE_MESSAGE, OUT);

    if (status != RONDO_OK) {
        return status;
    }
    return fault->inner->ops->am_send(fault->inner, peer, message);
}

/* A poll that is put off finds nothing, which its contract calls RONDO_OK. */
static rondo_status
fault_am_poll(rondo_transport *transport, uint32_t peer, rondo_am_function function,
              void *user)
{
    struct fault *const fault = fault_of(transport);
    const rondo_status status = meddle(fault, peer, RONDO_LANE_MESSAGE, IN);

    if (status != RONDO_OK) {
        return status == RONDO_BUSY ? RONDO_OK : status;
    }
    return fault->inner->ops->am_poll(fault->inner, peer, function, user);
}

static uint32_t
fault_arm(rondo_transport *transport)
{
    struct fault *const fault = fault_of(transport);

    return fault->inner->ops->arm(fault->inner);
}

/* What was put off will not ring: whoever sleeps on it must wake by itself, soon. */
static void
fault_sleep(rondo_transport *transport, uint32_t ticket, uint64_t wait_ns)
{
    struct fault *const fault = fault_of(transport);
    const uint64_t most = RONDO_NS_PER_MS;
    const bool meddles = fault->plan.delay_percent > 0 || fault->dead;

    fault->inner->ops->sleep(fault->inner, ticket,
                             meddles && wait_ns > most ? most : wait_ns);
}

static void
fault_disarm(rondo_transport *transport)
{
    struct fault *const fault = fault_of(transport);

    fault->inner->ops->disarm(fault->inner);
}

static void
fault_ring(rondo_transport *transport, uint32_t peer)
{
    struct fault *const fault = fault_of(transport);

    fault->inner->ops->ring(fault->inner, peer);
}

static void
fault_counters(const rondo_transport *transport, rondo_transport_counters *counters)
{
    const struct fault *const fault = (const struct fault *)transport;

    fault->inner->ops->counters(fault->inner, counters);
}

static void
fault_destroy(rondo_transport *transport)
{
    struct fault *const fault = fault_of(transport);

    fault->inner->ops->destroy(fault->inner);
    rondo_free(fault);
}

static const rondo_transport_ops fault_ops = {
    .name = "fault",
    .send = fault_send,
    .peek = fault_peek,
    .consume = fault_consume,
    .progress = fault_progress,
    .signal = fault_signal,
    .signalled = fault_signalled,
    .am_send = fault_am_send,
    .am_poll = fault_am_poll,
    .arm = fault_arm,
    .sleep = fault_sleep,
    .disarm = fault_disarm,
    .ring = fault_ring,
    .counters = fault_counters,
    .destroy = fault_destroy,
};

rondo_status
rondo_fault_create(const rondo_fault_plan *plan, rondo_transport *inner,
                   uint32_t nranks, rondo_transport **transport)
{
    const uint64_t channels = (uint64_t)nranks * RONDO_LANES * DIRECTIONS;
    void *memory = NULL;

    RONDO_ASSERT(plan->delay_percent < 100);
    RONDO_ASSERT(plan->kill_peer == RONDO_FAULT_NOBODY || plan->kill_peer < nranks);
    const rondo_status status = rondo_alloc_zero(
        sizeof(struct fault) + channels * sizeof(struct channel), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    struct fault *const made = memory;
    made->transport.ops = &fault_ops;
    made->inner = inner;
    made->plan = *plan;
    made->nranks = nranks;
    made->random = rondo_hash_mix(plan->seed + 1);
    *transport = &made->transport;
    return RONDO_OK;
}
