/*
 * links_parts.h - the functions by which the files of the links call each other. All
 * are for the service thread, unless something else is said.
 */
#ifndef CONTROL_LINKS_PARTS_H
#define CONTROL_LINKS_PARTS_H

#include "control/links_inside.h"

/* links_socket.c: descriptors that a forked child closes at once. Any thread; _locked:
 * the service's lock is held, so that no fork comes between opening and here. */
RONDO_MUST_USE rondo_status
rondo_links_poll_locked(rondo_service *service, int fd, uint32_t events,
                        rondo_ready_function ready, void *user);
RONDO_MUST_USE rondo_status
rondo_links_socket(rondo_service *service, uint16_t family, rondo_ready_function ready,
                   void *user, int *fd);
void
rondo_links_close_fd(rondo_service *service, int *fd);
/* rondo_links_tune - options of a connection that is being made, that was made. */
void
rondo_links_tune_early(int fd);
void
rondo_links_tune(int fd, uint64_t silence_ms);

/* links_place.c */
socklen_t
rondo_links_place(const rondo_endpoint *at, struct sockaddr_storage *place);
bool
rondo_links_endpoint(const struct sockaddr_storage *place, rondo_endpoint *at);
bool
rondo_links_same_address(const rondo_endpoint *one, const rondo_endpoint *other);
/* rondo_links_usable - an address of a family we know, and not link-local. */
bool
rondo_links_usable(const rondo_endpoint *at);
void
rondo_links_address_text(const rondo_endpoint *at, char *text, size_t text_bytes);
/* rondo_links_interface - the name of the interface with this address of ours: among
 * `mine`, or as the system says. */
void
rondo_links_interface(const rondo_endpoint *mine, rondo_endpoint *here);

/* links_port.c */
void
rondo_links_claim(rondo_links *links);
void
rondo_links_guest_ended(rondo_link *link);
void
rondo_links_guest_moved(rondo_link *link);
rondo_links *
rondo_links_find(rondo_service *service, const rondo_name *name, uint32_t rank);
void
rondo_links_home_close(rondo_service *service);
RONDO_MUST_USE rondo_status
rondo_links_home(rondo_service *service, links_home **home);

/* links_line.c: one connection. */
RONDO_MUST_USE rondo_status
rondo_link_make(rondo_service *service, rondo_link **link);
void
rondo_link_free(rondo_link *link);
void
rondo_link_ready(int fd, uint32_t events, void *user);
/* rondo_link_end - to be freed at the next occasion. */
void
rondo_link_end(rondo_link *link, link_end end);
void
rondo_link_send(rondo_link *link, rondo_link_kind kind, const void *body, size_t bytes);
/* rondo_link_raw - bytes that are no frame, of a meeting. */
void
rondo_link_raw(rondo_link *link, const void *bytes, size_t nbytes);
void
rondo_link_bye(rondo_link *link);
bool
rondo_link_flushed(const rondo_link *link);

/* links_greet.c: hello, answer, proof. True: bytes were used up. */
bool
rondo_link_greet(rondo_link *link);
void
rondo_link_say_hello(rondo_link *link);
void
rondo_link_say_answer(rondo_link *link);

/* links_connect.c */
void
rondo_links_connect_begin(rondo_links *links);
void
rondo_links_connect_turn(rondo_links *links, uint64_t now);
void
rondo_links_attempt_ended(rondo_link *link);
void
rondo_links_attempt_won(rondo_link *link);
void
rondo_links_attempts_drop(rondo_links *links);
/* rondo_links_fail - this host cannot be connected: say so. */
void
rondo_links_fail(rondo_links *links, const char *text);

/* links.c, any thread: have the service thread take a turn. */
void
rondo_links_wake(rondo_links *links);

/* links_turn.c */
void
rondo_links_ready(int fd, uint32_t events, void *user);
void
rondo_links_turn(rondo_links *links);
/* rondo_links_changed - wake whoever sleeps in this process: the board has news. */
void
rondo_links_changed(rondo_links *links);
/* rondo_links_up - a link is proven on both sides. */
void
rondo_links_up(rondo_link *link);
void
rondo_links_lost(rondo_link *link);

/* links_news.c */
void
rondo_links_look(rondo_links *links);
void
rondo_links_ask_turn(rondo_links *links, uint64_t now);
/* rondo_links_ask_moment - when the next of these turns is due. */
uint64_t
rondo_links_ask_moment(const rondo_links *links);
void
rondo_links_frame(rondo_link *link, rondo_link_kind kind, const rondo_link_body *body);

/* links_letters.c: datagrams inside a host; a letter came from one of its processes. */
void
rondo_links_letter(rondo_service *service, const letter *message);
void
rondo_links_tell_leader(rondo_links *links, uint64_t now);
void
rondo_links_ask_processes(const rondo_links *links);

/* links_end.c; end_turn is true when the links are gone. */
bool
rondo_links_end_turn(rondo_links *links, uint64_t now);
void
rondo_links_free(rondo_links *links);

#endif /* CONTROL_LINKS_PARTS_H */
