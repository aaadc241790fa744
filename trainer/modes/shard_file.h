/* shard_file.h - a shard's state in a file of its own, --checkpoint DIR/shard-S: from
 * there another server takes it over, or its own, restarted one. Written beside its
 * place and renamed, so that it is always whole. */
#ifndef TRAINER_MODES_SHARD_FILE_H
#define TRAINER_MODES_SHARD_FILE_H

#include "modes/serving.h"

TRAINER_MUST_USE bool
shard_file_save(const char *directory, uint32_t index, const serving_shard *s,
                problem *why);

/* Into a shard that exists. *found is false where there is no file, which is no
 * failure; a file that is damaged or of another run is. */
TRAINER_MUST_USE bool
shard_file_load(const char *directory, uint32_t index, serving_shard *s, bool *found,
                problem *why);

#endif
