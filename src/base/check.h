/* check.h - what must hold: asserts for our own invariants, one fact each. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <assert.h>

/* Debug builds only (NDEBUG removes it); the library never aborts in a release. */
#define RONDO_ASSERT(fact) assert(fact)

#endif /* BASE_CHECK_H */
