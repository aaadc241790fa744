/* error.c - error sentences per thread. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[RONDO_ERROR_TEXT_MAX];

rondo_status
rondo_error(rondo_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return status;
}

rondo_status
rondo_error_errno(rondo_status status, int number, const char *format, ...)
{
    char reason[128];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, ": %s",
                   strerror_r(number, reason, sizeof reason));
    return status;
}

const char *
rondo_error_text(void)
{
    return text;
}
