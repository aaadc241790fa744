/* main.c - rondo-info: what Rondo finds on this machine and decides from it. */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>

static void
show(const info_found *found, const info_options *options, info_decided *decided)
{
    info_decide(found, options->nranks, decided);
    if (options->host[0] != '\0') {
        info_probe_all(options, decided);
    }
    info_choose(decided);
    if (options->json) {
        (void)info_print_json(found, decided);
    } else {
        info_print(found, decided);
    }
}

int
main(int argc, char **argv)
{
    static info_found found;
    static info_decided decided;
    info_options options;

    int code = info_options_parse(argc, argv, &options);
    if (code != INFO_GO_ON) {
        return code;
    }
    if (options.load != NULL ? !info_load(options.load, &found)
                             : !info_gather(&found)) {
        rondo_machine_free(found.machine);
        return options.load != NULL ? INFO_EXIT_USAGE : INFO_EXIT_MISSING;
    }
    code = 0;
    if (options.dump != NULL && !info_dump(&found, options.dump)) {
        code = INFO_EXIT_USAGE;
    }
    if (code == 0) {
        show(&found, &options, &decided);
        code = decided.nproblems > 0 ? INFO_EXIT_MISSING : 0;
    }
    rondo_machine_free(found.machine);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("rondo-info: the output cannot be written\n", stderr);
        return INFO_EXIT_MISSING;
    }
    return code;
}
