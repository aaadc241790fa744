/* port.h - a free port for rank 0 to listen on. */
#ifndef RONDO_RUN_PORT_H
#define RONDO_RUN_PORT_H

#include <stdint.h>

/*
 * run_port_reserve - a port of 127.0.0.1 nobody uses, kept for this job.
 *
 * The socket behind it stays bound, never listening, until rondo-run ends: nobody is
 * given the port meanwhile, and rank 0 can still bind it and listen, provided that it
 * sets SO_REUSEADDR as servers do. So there is no moment at which the port is free for
 * a stranger.
 *
 * Returns 0 or RUN_EXIT_FAILURE (said already).
 */
int
run_port_reserve(uint32_t *port);

#endif /* RONDO_RUN_PORT_H */
