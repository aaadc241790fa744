/* puppet.c - a transport that does as it is told. */
#include "lib/puppet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct puppet *
puppet_of(rondo_transport *transport)
{
    return (struct puppet *)transport;
}

static rondo_status
puppet_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
            rondo_outgoing *message)
{
    struct puppet *const puppet = puppet_of(transport);

    assert_int_equal(lane, RONDO_LANE_COLL);
    puppet->send_calls[peer]++;
    puppet->sent[peer] = *message;
    if (puppet->fails[peer] != RONDO_OK) {
        return puppet->fails[peer];
    }
    if (!puppet->takes[peer]) {
        return RONDO_BUSY;
    }
    message->done_bytes = message->bytes;
    puppet->sends[peer]++;
    return RONDO_OK;
}

static rondo_status
puppet_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
            rondo_incoming *piece)
{
    struct puppet *const puppet = puppet_of(transport);

    assert_int_equal(lane, RONDO_LANE_COLL);
    if (puppet->fails[peer] != RONDO_OK) {
        return puppet->fails[peer];
    }
    if (puppet->consumed[peer] == puppet->npieces[peer]) {
        return RONDO_BUSY;
    }
    *piece = puppet->pieces[peer][puppet->consumed[peer]];
    return RONDO_OK;
}

static void
puppet_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane)
{
    struct puppet *const puppet = puppet_of(transport);

    assert_int_equal(lane, RONDO_LANE_COLL);
    assert_true(puppet->consumed[peer] < puppet->npieces[peer]);
    puppet->consumed[peer]++;
}

static void
puppet_signal(rondo_transport *transport, uint64_t value)
{
    struct puppet *const puppet = puppet_of(transport);

    assert_true(value > puppet->signal);
    puppet->signal = value;
}

static uint64_t
puppet_signalled(rondo_transport *transport, uint32_t peer)
{
    return puppet_of(transport)->signalled[peer];
}

static const rondo_transport_ops puppet_ops = {
    .name = "puppet",
    .send = puppet_send,
    .peek = puppet_peek,
    .consume = puppet_consume,
    .signal = puppet_signal,
    .signalled = puppet_signalled,
};

void
puppet_init(struct puppet *puppet)
{
    memset(puppet, 0, sizeof *puppet);
    puppet->transport.ops = &puppet_ops;
}

void
puppet_give(struct puppet *puppet, uint32_t peer, rondo_incoming piece)
{
    assert_true(puppet->npieces[peer] < PUPPET_PIECES);
    puppet->pieces[peer][puppet->npieces[peer]++] = piece;
}
