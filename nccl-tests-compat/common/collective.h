/* collective.h - what one *_perf program adds to the common part. */
#ifndef PERF_COLLECTIVE_H
#define PERF_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rondo/rondo.h>

/* Elements that one call handles, and where its data lie when it is in place. */
typedef struct perf_counts {
    uint64_t call; /* the count passed to the call */
    uint64_t send; /* elements of the send buffer */
    uint64_t recv; /* elements of the receive buffer */
    /* In place, rank r reads at r * send_step and writes at r * recv_step of one
     * buffer. */
    uint64_t send_step;
    uint64_t recv_step;
} perf_counts;

/* Everything a call needs; `in` and `out` are all that changes from one to the next. */
typedef struct perf_call {
    rondo_comm *comm;
    const void *in;
    void *out;
    uint64_t count;
    rondo_dtype dtype;
    rondo_op op;
    uint32_t root;
    uint32_t rank;
    uint32_t nranks;
} perf_call;

/* Most requests that one operation needs. */
#define PERF_REQUESTS_PER_CALL 2

/* What a rank must find in its receive buffer. */
typedef enum perf_result {
    PERF_REDUCED,          /* the combination of all ranks' inputs */
    PERF_REDUCED_BLOCK,    /* this rank's block of it */
    PERF_REDUCED_ON_ROOT,  /* on the root; elsewhere nothing may have changed */
    PERF_GATHERED,         /* all ranks' inputs in order */
    PERF_COPY_OF_ROOT,     /* the root's input */
    PERF_COPY_OF_NEIGHBOUR /* the input of the rank before */
} perf_result;

typedef struct perf_collective {
    const char *program; /* "all_reduce_perf" */
    perf_result result;
    bool has_op;
    bool has_root;
    /* The original runs the in-place half of sendrecv but cannot check it: the buffer
     * is sent and received into at once. */
    bool in_place_checked;
    /* Split `count` elements of `width` bytes, the row's size, over the ranks. */
    void (*counts)(uint64_t count, size_t width, uint32_t nranks, perf_counts *counts);
    /* Bytes that count for the algorithm's bandwidth, per byte of the call. */
    double (*algorithm_factor)(uint32_t nranks);
    /* Bus bandwidth per algorithm bandwidth. */
    double (*bus_factor)(uint32_t nranks);
    rondo_status (*run)(const perf_call *call);
    /* The same, started: sets `requests` and how many there are. */
    rondo_status (*start)(const perf_call *call, rondo_request **requests,
                          uint32_t *request_count);
} perf_collective;

/* perf_main - the whole program; returns its exit code. */
int
perf_main(int argc, char **argv, const perf_collective *collective);

/* perf_counts_whole - send and receive `count` elements each. */
void
perf_counts_whole(uint64_t count, size_t width, uint32_t nranks, perf_counts *counts);

/* perf_block - elements of one rank's block: `count` over the ranks, rounded down to
 * 16 bytes as in nccl-tests, so that every block begins aligned. */
uint64_t
perf_block(uint64_t count, size_t width, uint32_t nranks);

/* Factors: 1, the number of ranks n, (n - 1) / n, 2 (n - 1) / n. */
double
perf_factor_one(uint32_t nranks);
/* perf_factor_ranks - n. */
double
perf_factor_ranks(uint32_t nranks);
/* perf_factor_others - (n - 1) / n. */
double
perf_factor_others(uint32_t nranks);
/* perf_factor_twice_others - 2 (n - 1) / n. */
double
perf_factor_twice_others(uint32_t nranks);

#endif /* PERF_COLLECTIVE_H */
