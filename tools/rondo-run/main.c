/* main.c - rondo-run: starts N ranks of a program and minds them. */
#include "fleet.h"
#include "job.h"
#include "options.h"
#include "port.h"
#include "program.h"
#include "remote.h"

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

/* All ranks on this machine. */
static int
run_here(run_options *options)
{
    static char path[PATH_MAX];
    static run_secret secret;
    run_reason reason;
    run_task task = {.options = options,
                     .path = path,
                     .place = {.world = options->nranks,
                               .port = options->port,
                               .master = "127.0.0.1"}};
    int code = run_program_find(options->command[0], path, sizeof(path), &reason);
    if (code == 0 && options->port == 0) {
        code = run_port_reserve(RUN_REACH_THIS_HOST, &task.place.port, &reason);
    }
    if (code != 0) {
        fprintf(stderr, "rondo-run: %s\n", reason.text);
        return code;
    }
    code = run_secret_add(options, &secret);
    return code != 0 ? code : run_job_run(&task);
}

int
main(int argc, char **argv)
{
    static run_options options;
    open_standard_streams();
    const int code = run_options_parse(argc, argv, &options);
    if (code != RUN_GO_ON) {
        return code;
    }
    if (options.on_host) {
        return run_remote();
    }
    return options.hosts != NULL ? run_fleet_run(&options) : run_here(&options);
}
