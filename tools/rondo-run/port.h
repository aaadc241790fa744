/* port.h - a free port for rank 0 to listen on, and the address of its host. */
#ifndef RONDO_RUN_PORT_H
#define RONDO_RUN_PORT_H

#include "options.h"

/* Who must be able to connect. */
typedef enum run_reach { RUN_REACH_THIS_HOST, RUN_REACH_ALL_HOSTS } run_reach;

/*
 * run_port_reserve - a port nobody uses, of 127.0.0.1 or of all addresses, kept for
 * this job.
 *
 * The socket behind it stays bound, never listening, until rondo-run ends: nobody is
 * given the port meanwhile, and rank 0 can still bind it and listen, provided that it
 * sets SO_REUSEADDR as servers do. So there is no moment at which the port is free for
 * a stranger.
 *
 * Returns 0 or RUN_EXIT_FAILURE, and the sentence to say.
 */
int
run_port_reserve(run_reach reach, uint32_t *port, run_reason *reason);

/*
 * run_address_find - the address of the host `name` as this one sees it, as text.
 *
 * Returns 0 or RUN_EXIT_FAILURE, and the sentence to say: also when `name` stands for
 * this machine alone (127.0.1.1), which others would take for themselves.
 */
int
run_address_find(const char *name, char *text, size_t text_size, run_reason *reason);

#endif /* RONDO_RUN_PORT_H */
