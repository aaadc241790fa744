/*
 * service_parts.h - the functions by which the files of the service call each other.
 */
#ifndef CONTROL_SERVICE_PARTS_H
#define CONTROL_SERVICE_PARTS_H

#include "control/service_inside.h"

/* service.c; rondo_service_ended frees a service whose thread ends by itself. */
void
rondo_service_ended(rondo_service *service);
/* rondo_service_sleep - wait for `changed`; the lock is held. False at the deadline. */
bool
rondo_service_sleep(rondo_service *service, uint64_t deadline_ns);
/* rondo_service_events - things that arrived so far, in any service of this process;
 * rondo_service_event counts one and wakes all who sleep (the lock is held). */
uint64_t
rondo_service_events(void);
void
rondo_service_event(rondo_service *service);

/* loop.c */
void *
rondo_service_loop(void *service);
bool
rondo_service_is_thread(const rondo_service *service);
void
rondo_service_wake(rondo_service *service);

/* pollers.c; _locked: the lock is held. */
RONDO_MUST_USE rondo_status
rondo_service_poll_open(rondo_service *service);
void
rondo_service_poll_close(rondo_service *service);
/* rondo_service_poll_forked - in the child: close what no child may keep. */
void
rondo_service_poll_forked(const rondo_service *service);
RONDO_MUST_USE rondo_status
rondo_service_poll_add_locked(rondo_service *service, int fd, uint32_t events,
                              rondo_ready_function ready, void *user);
void
rondo_service_poll_remove_locked(rondo_service *service, int fd);
void
rondo_service_poll_dispatch(rondo_service *service, uint64_t data, uint32_t events);
void
rondo_service_poll_alarms(rondo_service *service);
int
rondo_service_poll_wait_ms(rondo_service *service);

/* datagram.c */
RONDO_MUST_USE rondo_status
rondo_datagram_open(rondo_service *service);
void
rondo_datagram_init(message_kind kind, letter *message);
void
rondo_datagram_sign(const rondo_key *key, letter *message);
bool
rondo_datagram_signed(const rondo_key *key, const letter *message);
/* rondo_datagram_send - 0, or the error number; never blocks. `fd` may be -1. */
int
rondo_datagram_send(const rondo_service *service, const rondo_address *to,
                    const letter *message, int fd);
int
rondo_datagram_answer(const rondo_service *service, const struct sockaddr_un *to,
                      socklen_t to_bytes, const letter *message);
/* rondo_datagram_check - whether bytes from the socket are a message of ours. */
bool
rondo_datagram_check(const void *bytes, size_t nbytes, uint32_t nfds, letter *message);

/* segments.c, arrivals.c; `fd` -1: the descriptor of a message could not be had. */
void
rondo_segment_arrived(rondo_service *service, const letter *message, int fd);
void
rondo_segment_free_arrivals(rondo_service *service);
void
rondo_segment_free_all(rondo_service *service);
/* rondo_segment_place - what points to the segment of this name, or to null. */
segment **
rondo_segment_place(rondo_service *service, const rondo_name *name);

/* watch.c */
void
rondo_watch_call_deaths(rondo_service *service);
void
rondo_watch_free_all(rondo_service *service);
RONDO_MUST_USE rondo_status
rondo_watch_started(uint32_t pid, uint64_t *started);

/* ask.c: a pong has come, a ping is to be answered, answers are to be tried again. */
void
rondo_ask_answered(rondo_service *service, const letter *message,
                   const struct sockaddr_un *from, socklen_t from_bytes);
void
rondo_ask_reply(rondo_service *service, const letter *message,
                const struct sockaddr_un *from, socklen_t from_bytes);
void
rondo_ask_retry(rondo_service *service);

/* datagram.c: the abstract name of a socket. */
socklen_t
rondo_datagram_name(const rondo_name *socket, struct sockaddr_un *name);

#endif /* CONTROL_SERVICE_PARTS_H */
