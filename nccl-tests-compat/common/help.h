/* help.h - the --help text of the *_perf programs. */
#ifndef PERF_HELP_H
#define PERF_HELP_H

/* perf_help_print - on stdout. */
void
perf_help_print(const char *program);

#endif /* PERF_HELP_H */
