/* problem.c - writes the sentence that says why something failed. */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 0))) static void
write_text(problem *why, int exit_code, const char *format, va_list values)
{
    why->exit_code = exit_code;
    why->known_to_all = false;
    /* A sentence that is too long is cut; its beginning says what is wrong. */
    (void)vsnprintf(why->text, sizeof why->text, format, values);
}

bool
problem_fail(problem *why, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    write_text(why, EXIT_FAILED, format, values);
    va_end(values);
    return false;
}

bool
problem_usage(problem *why, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    write_text(why, EXIT_USAGE, format, values);
    va_end(values);
    return false;
}
