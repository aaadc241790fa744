/* state_dirs.h - the directories of --checkpoint: DIR/step-S/rank-R; which of them are
 * complete, and which may go. A checkpoint is complete when all files are there that
 * its files name in their part ".ranks". */
#ifndef TRAINER_STATE_DIRS_H
#define TRAINER_STATE_DIRS_H

#include "problem.h"

#include <limits.h>
#include <stdint.h>

#define STATE_RANKS_PART ".ranks"

/* A complete checkpoint. */
typedef struct state_dir {
    bool found;
    uint64_t step;
    uint32_t names; /* Of ranks that have a file in it, */
    uint32_t *name; /* ascending. */
} state_dir;

/* "DIR/step-7" and "rank-3". */
TRAINER_MUST_USE bool
state_dirs_path(const char *directory, uint64_t step, char path[PATH_MAX],
                problem *why);
#define STATE_FILE_NAME_MAX 24u
void
state_dirs_file(uint32_t name, char file[STATE_FILE_NAME_MAX]);

/* Makes DIR, if it is not there. */
TRAINER_MUST_USE bool
state_dirs_create(const char *directory, problem *why);

/* Whether DIR has any checkpoint, complete or not; the step of the last. */
TRAINER_MUST_USE bool
state_dirs_any(const char *directory, bool *found, uint64_t *step, problem *why);

/* The complete one with the most steps; state_dir_free. A file that is damaged is a
 * problem, even if an older checkpoint is whole: nobody is to lose steps without being
 * told. */
TRAINER_MUST_USE bool
state_dirs_newest(const char *directory, state_dir *result, problem *why);
void
state_dir_free(state_dir *d);

/* Removes what is newer than `step`: of a run that went further and was interrupted
 * while it saved. Where none is complete, everything. */
TRAINER_MUST_USE bool
state_dirs_drop_newer(const char *directory, const state_dir *last, problem *why);

/* Removes what is older than the two newest that have a file of each of these ranks. */
void
state_dirs_prune(const char *directory, const uint32_t *name, uint32_t names);

#endif
