/* exitcode.h - exit codes of the programs, as nccl-tests numbers them. */
#ifndef PERF_EXITCODE_H
#define PERF_EXITCODE_H

enum {
    PERF_EXIT_OK = 0,
    PERF_EXIT_INTERNAL = 1,    /* the program or the library is wrong */
    PERF_EXIT_SYSTEM = 2,      /* memory, a file, a thread; CUDA there */
    PERF_EXIT_LIBRARY = 3,     /* a call of the library failed; NCCL there */
    PERF_EXIT_TIMEOUT = 4,     /* -T, or a deadline of the library */
    PERF_EXIT_UNSUPPORTED = 5, /* known there, not here */
    PERF_EXIT_USAGE = 6,
    PERF_EXIT_WRONG = 7, /* wrong results, or less than NCCL_TESTS_MIN_BW */
    PERF_EXIT_SIZES = 255
};

/* perf_options_parse found something to do. */
#define PERF_GO_ON (-1)

#endif /* PERF_EXITCODE_H */
