/* log.h - one line at a time to the host application's callback or to stderr. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <rondo/comm.h>

/* rondo_log - a line without newline; dropped when `level` is above RONDO_LOG. */
void
rondo_log(rondo_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* BASE_LOG_H */
