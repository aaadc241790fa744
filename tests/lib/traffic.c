/* traffic.c - messages that can be told from each other, sent and checked by steps. */
#include "lib/traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

unsigned char
traffic_byte(uint64_t seed, uint64_t number, uint64_t at)
{
    const uint64_t word = seed * 131 + number * 17 + at / 251;

    return (unsigned char)(at + word * 7);
}

uint64_t
traffic_token(uint64_t seed, uint64_t number)
{
    return rondo_hash_mix(seed * 1000003 + number + 1);
}

static uint64_t
size_of(const traffic_flow *flow, uint64_t number)
{
    return flow->sizes[number % flow->nsizes];
}

uint64_t
traffic_bytes(const traffic_flow *flow)
{
    uint64_t sum = 0;

    for (uint64_t number = 0; number < flow->nmessages; number++) {
        sum += size_of(flow, number);
    }
    return sum;
}

/* Memory of exactly the message's size, so that a read beyond its end is found. */
static void
begin(traffic_flow *flow)
{
    const uint64_t bytes = size_of(flow, flow->done);

    flow->data = malloc(bytes == 0 ? 1 : bytes);
    if (flow->data == NULL) {
        abort();
    }
    for (uint64_t at = 0; at < bytes; at++) {
        flow->data[at] = traffic_byte(flow->seed, flow->done, at);
    }
    flow->sending = (rondo_outgoing){.data = bytes == 0 ? NULL : flow->data,
                                     .bytes = bytes,
                                     .token = traffic_token(flow->seed, flow->done)};
}

rondo_status
traffic_send(traffic_flow *flow)
{
    if (flow->done == flow->nmessages) {
        return RONDO_OK;
    }
    if (flow->data == NULL) {
        begin(flow);
    }
    const rondo_status status = flow->transport->ops->send(flow->transport, flow->peer,
                                                           flow->lane, &flow->sending);
    if (status != RONDO_OK) {
        return status;
    }
    /* The data may change now: whoever still reads it would see this. */
    memset(flow->data, 0xee, flow->sending.bytes);
    traffic_end(flow);
    flow->done++;
    return flow->done == flow->nmessages ? RONDO_OK : RONDO_BUSY;
}

static rondo_status
wrong(traffic_flow *flow, const char *what, uint64_t got, uint64_t want)
{
    (void)snprintf(flow->why, sizeof flow->why,
                   "lane %d from rank %u, message %llu at %llu: %s: %llu, not %llu",
                   (int)flow->lane, flow->peer, (unsigned long long)flow->done,
                   (unsigned long long)flow->filled, what, (unsigned long long)got,
                   (unsigned long long)want);
    return RONDO_ERR_INTERNAL;
}

static rondo_status
check(traffic_flow *flow, const rondo_incoming *piece)
{
    const uint64_t bytes = size_of(flow, flow->done);
    const unsigned char *const data = piece->data;

    if (piece->token != traffic_token(flow->seed, flow->done)) {
        return wrong(flow, "token", piece->token,
                     traffic_token(flow->seed, flow->done));
    }
    if (piece->bytes > bytes - flow->filled) {
        return wrong(flow, "too long", flow->filled + piece->bytes, bytes);
    }
    if (!piece->last && (piece->bytes == 0 || piece->bytes % 64 != 0)) {
        return wrong(flow, "a piece before the last is of", piece->bytes, 64);
    }
    if (piece->last != (flow->filled + piece->bytes == bytes)) {
        return wrong(flow, "the last piece", piece->last, !piece->last);
    }
    if (piece->bytes == 0 && bytes != 0) {
        return wrong(flow, "an empty piece of a message of", bytes, 0);
    }
    for (uint64_t at = 0; at < piece->bytes; at++) {
        const unsigned char want =
            traffic_byte(flow->seed, flow->done, flow->filled + at);
        if (data[at] != want) {
            return wrong(flow, "byte", data[at], want);
        }
    }
    return RONDO_OK;
}

rondo_status
traffic_receive(traffic_flow *flow)
{
    rondo_incoming piece;

    if (flow->done == flow->nmessages) {
        return RONDO_OK;
    }
    rondo_status status =
        flow->transport->ops->peek(flow->transport, flow->peer, flow->lane, &piece);
    if (status != RONDO_OK) {
        return status;
    }
    status = check(flow, &piece);
    if (status != RONDO_OK) {
        return status;
    }
    flow->transport->ops->consume(flow->transport, flow->peer, flow->lane);
    flow->filled += piece.bytes;
    if (piece.last) {
        flow->filled = 0;
        flow->done++;
    }
    return flow->done == flow->nmessages ? RONDO_OK : RONDO_BUSY;
}

void
traffic_end(traffic_flow *flow)
{
    free(flow->data);
    flow->data = NULL;
}
