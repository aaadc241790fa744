/* shard_file.h - a shard's state in a file of its own, --checkpoint DIR/shard-S (see
 * state_file.h): from there another server takes it over, or its own, restarted one. */
#ifndef TRAINER_MODES_SHARD_FILE_H
#define TRAINER_MODES_SHARD_FILE_H

#include "modes/serving.h"

TRAINER_MUST_USE bool
shard_file_save(const char *directory, uint32_t index, const serving_shard *s,
                problem *why);

/* Whether there is one. */
TRAINER_MUST_USE bool
shard_file_exists(const char *directory, uint32_t index);

/* Into a shard that exists. A file that is damaged or of another run is a problem. */
TRAINER_MUST_USE bool
shard_file_load(const char *directory, uint32_t index, serving_shard *s, problem *why);

#endif
