/* main.c - rondo-run: starts N ranks of a program on this machine and minds them. */
#include "job.h"
#include "options.h"
#include "port.h"
#include "program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* With one of the three closed, a pipe of ours would take its number. */
static void
open_standard_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
        }
    }
}

int
main(int argc, char **argv)
{
    static run_options options;
    static char path[PATH_MAX];
    open_standard_streams();
    int code = run_options_parse(argc, argv, &options);
    if (code != RUN_GO_ON) {
        return code;
    }
    code = run_program_find(options.command[0], path, sizeof(path));
    if (code != 0) {
        return code;
    }
    uint32_t port = options.port;
    if (port == 0) {
        code = run_port_reserve(&port);
        if (code != 0) {
            return code;
        }
    }
    return run_job_run(&options, path, port);
}
