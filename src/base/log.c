/* log.c - log lines: level from RONDO_LOG, destination from rondo_log_set. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static rondo_log_function destination;
static void *destination_user;

static rondo_log_level
level_wanted(void)
{
    const char *const word = rondo_config_text(RONDO_CONFIG_LOG);

    if (strcmp(word, "error") == 0) {
        return RONDO_LOG_ERROR;
    }
    if (strcmp(word, "info") == 0) {
        return RONDO_LOG_INFO;
    }
    return strcmp(word, "debug") == 0 ? RONDO_LOG_DEBUG : RONDO_LOG_WARN;
}

static const char *
level_text(rondo_log_level level)
{
    static const char *const texts[] = {"error", "warning", "info", "debug"};

    return texts[level];
}

void
rondo_log_set(rondo_log_function log, void *user)
{
    (void)pthread_mutex_lock(&guard);
    destination = log;
    destination_user = user;
    (void)pthread_mutex_unlock(&guard);
}

void
rondo_log(rondo_log_level level, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    if (level > level_wanted()) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);

    (void)pthread_mutex_lock(&guard);
    const rondo_log_function log = destination;
    void *const user = destination_user;
    (void)pthread_mutex_unlock(&guard);
    if (log != NULL) {
        log(level, line, user);
        return;
    }
    (void)fprintf(stderr, "rondo %s: %s\n", level_text(level), line);
}
