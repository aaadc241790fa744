/* rondo/version.h - which Rondo this is, at compile time and at run time. */
#ifndef RONDO_VERSION_H
#define RONDO_VERSION_H

#include <stdint.h>

#define RONDO_VERSION_MAJOR 0
#define RONDO_VERSION_MINOR 1
#define RONDO_VERSION_PATCH 0

/* One number to compare: 1.2.3 is 10203. */
#define RONDO_VERSION \
    (RONDO_VERSION_MAJOR * 10000 + RONDO_VERSION_MINOR * 100 + RONDO_VERSION_PATCH)

#if defined(__GNUC__)
#define RONDO_API      __attribute__((visibility("default")))
#define RONDO_MUST_USE __attribute__((warn_unused_result))
#else
#define RONDO_API
#define RONDO_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_version - RONDO_VERSION of the library that is loaded. Never fails. */
RONDO_API uint32_t
rondo_version(void);

/* rondo_version_text - the same as "0.1.0"; static memory, never null. */
RONDO_API const char *
rondo_version_text(void);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_VERSION_H */
