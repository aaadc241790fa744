/* framing_parts.c - tokens and buffers of active messages. */
#include "transport/framing_parts.h"

#include "base/alloc.h"

/* A token, from the top: mark, channel, bytes of header, bytes of payload. */
#define SIZE_BITS    21
#define CHANNEL_BITS 6
#define MARK         UINT64_C(0xa3e5)
#define MARK_SHIFT   (2 * SIZE_BITS + CHANNEL_BITS)
#define SIZE_MASK    ((UINT64_C(1) << SIZE_BITS) - 1)
#define CHANNEL_MASK ((UINT64_C(1) << CHANNEL_BITS) - 1)

/* Buffers up to this size stay with the peer when they are empty again. */
#define KEEP_BYTES ((uint64_t)64 << 10)

uint64_t
rondo_frame_token(const rondo_am *message)
{
    return MARK << MARK_SHIFT | (uint64_t)message->channel << (2 * SIZE_BITS) |
           (uint64_t)message->header_bytes << SIZE_BITS |
           (uint64_t)message->payload_bytes;
}

bool
rondo_frame_read(uint64_t token, struct rondo_frame *frame)
{
    frame->channel = (uint32_t)(token >> (2 * SIZE_BITS) & CHANNEL_MASK);
    frame->header_bytes = token >> SIZE_BITS & SIZE_MASK;
    frame->payload_bytes = token & SIZE_MASK;
    return token >> MARK_SHIFT == MARK && frame->channel < RONDO_MESSAGE_CHANNELS &&
           frame->header_bytes + frame->payload_bytes <= RONDO_MESSAGE_BYTES_MAX;
}

rondo_status
rondo_buffer_reserve(struct rondo_buffer *buffer, uint64_t bytes)
{
    if (bytes <= buffer->room) {
        return RONDO_OK;
    }
    void *memory = NULL;
    const rondo_status status = rondo_alloc_zero(bytes, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_free(buffer->data);
    buffer->data = memory;
    buffer->room = bytes;
    return RONDO_OK;
}

/* A large buffer per peer would add up over many peers. */
void
rondo_buffer_rest(struct rondo_buffer *buffer)
{
    if (buffer->room > KEEP_BYTES) {
        rondo_free(buffer->data);
        *buffer = (struct rondo_buffer){0};
    }
}
