/* remote.h - what --on-host does: one host's part of a job launched elsewhere. */
#ifndef RONDO_RUN_REMOTE_H
#define RONDO_RUN_REMOTE_H

/* run_remote - take the order from standard input, run it; the exit code. */
int
run_remote(void);

#endif /* RONDO_RUN_REMOTE_H */
