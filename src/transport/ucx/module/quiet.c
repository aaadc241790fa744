/*
 * quiet.c - UCX leaves the process as it was: it prints nothing, and signal
 * dispositions stay. Its messages go into the sentence of the next failure instead.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/ucx/module/wire_state.h"

static char last_message[256];
static bool quiet;

static ucs_log_func_rc_t
keep_message(const char *, unsigned, const char *, ucs_log_level_t,
             const ucs_log_component_config_t *, const char *, va_list)
    __attribute__((format(printf, 6, 0)));

/* Called by UCX for each of its messages, on whatever thread has one. */
static ucs_log_func_rc_t
keep_message(const char *file, unsigned line, const char *function,
             ucs_log_level_t level, const ucs_log_component_config_t *config,
             const char *message, va_list arguments)
{
    (void)file;
    (void)line;
    (void)function;
    (void)config;
    if (level <= UCS_LOG_LEVEL_WARN) {
        (void)vsnprintf(last_message, sizeof(last_message), message, arguments);
    }
    return UCS_LOG_FUNC_RC_STOP;
}

void
rondo_ucx_forget_message(void)
{
    last_message[0] = '\0';
}

void
rondo_ucx_quiet(void)
{
    rondo_ucx_forget_message();
    /* A user who names a level or a file wants UCX's own output. */
    if (quiet || rondo_ucx_user_setting("LOG_LEVEL") != NULL ||
        rondo_ucx_user_setting("LOG_FILE") != NULL) {
        return;
    }
    quiet = true;
    ucs_log_push_handler(keep_message);
}

void
rondo_ucx_sentence(char *why, size_t why_bytes, const char *what, ucs_status_t status)
{
    const bool more = last_message[0] != '\0';
    (void)snprintf(why, why_bytes, "%s%s%s%s%s%s", what == NULL ? "" : what,
                   what == NULL ? "" : ": ", ucs_status_string(status),
                   more ? " (" : "", last_message, more ? ")" : "");
}

static bool
exchange(int number, const unsigned char *wanted, unsigned char *found)
{
    return syscall(SYS_rt_sigaction, number, wanted, found, 8) == 0;
}

void
rondo_ucx_signals_save(rondo_ucx_signals *signals)
{
    memset(signals, 0, sizeof(*signals));
    for (int number = 1; number <= 64; number++) {
        signals->known[number] = exchange(number, NULL, signals->was[number]);
    }
}

void
rondo_ucx_signals_restore(const rondo_ucx_signals *signals)
{
    for (int number = 1; number <= 64; number++) {
        _Alignas(8) unsigned char is[64] = {0};
        if (signals->known[number] && exchange(number, NULL, is) &&
            memcmp(is, signals->was[number], sizeof(is)) != 0) {
            (void)exchange(number, signals->was[number], NULL);
        }
    }
}
