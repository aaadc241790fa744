/*
 * rondo/status.h - the outcome of every call, and what it means for the communicator.
 *
 * There is one status type. 0 is done, 1 is "not yet", everything below zero is an
 * error of one of three groups:
 *
 *   argument  the call was refused; the communicator is as good as before
 *   broken    the communicator has failed on all ranks; only abort and destroy, both
 *             local and quick, and shrink are left; buffers of calls in flight are
 *             undefined
 *   system    the machine refused something (memory, a descriptor, a socket); said
 *             before anything was started unless the text says otherwise
 *
 * The sentence that belongs to an error is had from rondo_comm_error_text (per
 * communicator) or rondo_error_text (per thread, where no communicator exists yet).
 */
#ifndef RONDO_STATUS_H
#define RONDO_STATUS_H

#include <rondo/version.h>

/* One row each: name, value, short text. Values never change. */
#define RONDO_STATUS_ROWS(ROW)                                          \
    ROW(OK, 0, "done")                                                  \
    ROW(BUSY, 1, "not finished yet")                                    \
    ROW(ERR_ARG, -1, "an argument is not allowed")                      \
    ROW(ERR_UNSUPPORTED, -2, "this combination is not supported")       \
    ROW(ERR_STATE, -3, "the call does not fit the state of the object") \
    ROW(ERR_PEER, -20, "a peer died or left")                           \
    ROW(ERR_TIMEOUT, -21, "a deadline passed")                          \
    ROW(ERR_MISMATCH, -22, "ranks made different calls")                \
    ROW(ERR_ABORTED, -23, "the communicator was aborted")               \
    ROW(ERR_WIRE, -24, "a message was not what it should be")           \
    ROW(ERR_SYSTEM, -40, "the system refused a request")                \
    ROW(ERR_MEMORY, -41, "memory could not be had")                     \
    ROW(ERR_START, -42, "the job could not be started")                 \
    ROW(ERR_FORKED, -43, "the handle belongs to the parent process")    \
    ROW(ERR_INTERNAL, -44, "an invariant of the library does not hold")

typedef enum rondo_status {
#define RONDO_STATUS_ENUM(name, value, text) RONDO_##name = (value),
    RONDO_STATUS_ROWS(RONDO_STATUS_ENUM)
#undef RONDO_STATUS_ENUM
} rondo_status;

/* What an error means for the communicator it came from. */
typedef enum rondo_status_group {
    RONDO_GROUP_NONE = 0,     /* RONDO_OK and RONDO_BUSY */
    RONDO_GROUP_ARGUMENT = 1, /* refused; the communicator is still good */
    RONDO_GROUP_BROKEN = 2,   /* it can only be aborted, shrunk, destroyed */
    RONDO_GROUP_SYSTEM = 3    /* the machine refused; see the text */
} rondo_status_group;

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_status_name - "RONDO_ERR_PEER"; "RONDO_UNKNOWN" for a foreign value. */
RONDO_API const char *
rondo_status_name(rondo_status status);

/* rondo_status_text - the short text of the row; never null. */
RONDO_API const char *
rondo_status_text(rondo_status status);

/* rondo_status_group_of - the group of `status`; a foreign value is SYSTEM. */
RONDO_API rondo_status_group
rondo_status_group_of(rondo_status status);

/*
 * rondo_error_text - the last error sentence of the calling thread, "" if none.
 *
 * For calls that have no communicator to ask. The text stays valid until the next
 * failing call of this thread; copy it to keep it.
 */
RONDO_API const char *
rondo_error_text(void);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_STATUS_H */
