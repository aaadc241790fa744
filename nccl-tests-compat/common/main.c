/* main.c - the common main function of the *_perf programs. */
#include "common/collective.h"
#include "common/exitcode.h"
#include "common/job.h"
#include "common/options.h"

#include <stdio.h>

int
perf_main(int argc, char **argv, const perf_collective *collective)
{
    static perf_options options;
    /* Whoever watches a pipe sees each row when it is there. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    const int code = perf_options_parse(argc, argv, collective->program, &options);
    return code != PERF_GO_ON ? code : perf_job_run(&options, collective, argc, argv);
}
