/* post.h - one host of a fleet: its frames, its agent's words, its end. */
#ifndef RONDO_RUN_POST_H
#define RONDO_RUN_POST_H

#include "fleet.h"

/* run_post_call - start the agent; 0 or an errno. */
int
run_post_call(run_job *job, uint32_t number, char **words);

/* run_post_put - say something to it. */
void
run_post_put(run_post *post, run_frame_type type, uint32_t rank, uint32_t number,
             const char *text, size_t length);

/* run_post_event - stream 0: to it; 1: from it; 2: the agent's own words. */
void
run_post_event(run_job *job, uint32_t number, uint32_t stream);

/* run_post_end - its agent has ended: take what it left and see what that means. */
void
run_post_end(run_job *job, uint32_t number, const siginfo_t *info);

/* run_post_say_words - what the agent has said, as lines of ours. */
void
run_post_say_words(run_job *job, run_post *post);

/* run_fleet_tell - give a host its order. */
void
run_fleet_tell(run_job *job, uint32_t number);

/* run_fleet_ready - one more host is ready; when all are, their ranks start. */
void
run_fleet_ready(run_job *job, uint32_t number, const run_frame *frame);

#endif /* RONDO_RUN_POST_H */
