/* versions.h - parameters as workers have pulled them. Workers that pulled the same
 * version share one copy, which goes when none of them needs it any more: so hundreds
 * of workers fit into memory. */
#ifndef TRAINER_VIRTUAL_VERSIONS_H
#define TRAINER_VIRTUAL_VERSIONS_H

#include "problem.h"

#include <stdint.h>

typedef struct version_copy {
    uint64_t version;
    uint32_t users;
    float *parameter;
    struct version_copy *next; /* While it is spare. */
} version_copy;

typedef struct versions {
    uint64_t count;       /* Values of a copy. */
    version_copy *newest; /* NULL: nobody uses it any more. */
    version_copy *spare;
    uint32_t copies; /* In use and spare. */
} versions;

versions
versions_of(uint64_t count);
/* After every copy has been dropped. */
void
versions_free(versions *v);

/* For one more user; NULL: no memory. Of two calls with the same version the parameters
 * are the same. */
version_copy *
versions_take(versions *v, uint64_t version, const float *parameter, problem *why);

/* NULL is allowed. */
void
versions_drop(versions *v, version_copy *copy);

#endif
