/* agree.h - what must be the same on all ranks, compared before it can do harm. */
#ifndef TRAINER_AGREE_H
#define TRAINER_AGREE_H

#include "options.h"
#include "problem.h"
#include "ranks.h"

/* Options that shape the run, and the training data. The problem names a rank that
 * differs from rank 0, the option and both values. */
TRAINER_MUST_USE bool
agree_settings(const ranks *all, const options *o, uint64_t data_fingerprint,
               problem *why);

/* The same settings as one number, for a rank that comes when the others run
 * already. */
uint64_t
agree_hash(const options *o, uint64_t data_fingerprint);

/* The hash of each rank's parameters, after step `step`. The problem names the rank. */
TRAINER_MUST_USE bool
agree_parameters(const ranks *all, uint64_t hash, uint64_t step, problem *why);

/* The first rank whose hash is not the one most ranks have (of two equally frequent,
 * the one of the lower rank counts as right); `count` if all are equal. */
uint32_t
agree_odd_rank(const uint64_t *hash, uint32_t count);

#endif
