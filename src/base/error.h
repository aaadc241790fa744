/* error.h - the sentence of the last error of a thread; the first to notice writes
 * it. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <rondo/status.h>

#define RONDO_ERROR_TEXT_MAX 768

/* rondo_error - write the sentence for this thread and hand `status` back. */
rondo_status
rondo_error(rondo_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* rondo_error_errno - the same with ": <text of error number>" behind it. */
rondo_status
rondo_error_errno(rondo_status status, int number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* BASE_ERROR_H */
