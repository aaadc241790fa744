/*
 * rondo/message.h - active messages: unexpected, from any rank, handled by a function.
 *
 * For what collectives rightly do not have: requests to a server, votes, notices. A
 * message is a small header and a payload. The handler runs inside the receiver's
 * progress (rondo_comm_progress, request_test, request_wait, any blocking call), on
 * the thread that drives the communicator. A receiver that does not make progress
 * makes senders wait; memory never grows without bound.
 */
#ifndef RONDO_MESSAGE_H
#define RONDO_MESSAGE_H

#include <rondo/comm.h>

/* Most bytes of header and payload together. */
#define RONDO_MESSAGE_BYTES_MAX ((size_t)1 << 20)

/* Number of handler slots of a communicator. */
#define RONDO_MESSAGE_CHANNELS 16

/*
 * Handles one message. `header` and `payload` are valid during the call only. May send
 * messages (RONDO_BUSY then means: try again outside the handler), must not start
 * collectives.
 */
typedef void (*rondo_message_function)(uint32_t from, const void *header,
                                       size_t header_bytes, const void *payload,
                                       size_t payload_bytes, void *user);

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_message_handler_set - messages for `channel` (0 to 15) go to `function`; null:
 * they wait. RONDO_ERR_ARG: channel out of range. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_message_handler_set(rondo_comm *comm, uint32_t channel,
                          rondo_message_function function, void *user);

/*
 * rondo_message_send - send a copy of header and payload to `peer`'s `channel`.
 *
 * RONDO_BUSY     the peer's buffer is full; make progress and try again
 * RONDO_ERR_ARG  peer or channel out of range, too long, null with bytes > 0
 * The broken group: the peer died, the communicator failed.
 * Messages from one rank to another are handled in the order of their sends.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_message_send(rondo_comm *comm, uint32_t peer, uint32_t channel,
                   const void *header, size_t header_bytes, const void *payload,
                   size_t payload_bytes);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_MESSAGE_H */
