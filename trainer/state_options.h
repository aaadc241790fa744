/* state_options.h - what a run must have in common with the one whose state it takes:
 * its options, but for those that say how far it goes and what it tells; the images of
 * a step; the data. */
#ifndef TRAINER_STATE_OPTIONS_H
#define TRAINER_STATE_OPTIONS_H

#include "trainer.h"

#define STATE_OPTIONS_PART ".options"

/* A line "NAME VALUE" for each; NULL where there is no memory. For free(). */
char *
state_options_text(const trainer *t, problem *why);

/* The problem names the file, the first option that differs, and both values. */
TRAINER_MUST_USE bool
state_options_compare(const trainer *t, const char *path, const char *text,
                      uint64_t bytes, problem *why);

#endif
