/* calls.h - every collective, and a ring of sends and receives, as data to loop
 * over. */
#ifndef LIB_CALLS_H
#define LIB_CALLS_H

#include <stdint.h>

#include <rondo/rondo.h>

typedef enum call_kind {
    CALL_ALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_ALL_GATHER,
    CALL_BROADCAST,
    CALL_REDUCE,
    CALL_BARRIER,
    CALL_SHIFT, /* send to the next rank, receive from the one before */
    CALLS
} call_kind;

typedef struct call {
    call_kind kind;
    const void *in;
    void *out;
    uint64_t count;
    rondo_dtype dtype;
    rondo_op op;   /* where it is reduced */
    uint32_t root; /* where there is one */
} call;

/* A call in flight. */
typedef struct call_flight {
    rondo_request *request[2];
    uint32_t nrequests;
} call_flight;

/* call_text - "all_reduce". */
const char *
call_text(call_kind kind);

/* call_run - blocking. call_start, call_wait - with requests; call_wait takes them all
 * to their end and returns the first status that is not RONDO_OK. */
RONDO_MUST_USE rondo_status
call_run(rondo_comm *comm, const call *made);
RONDO_MUST_USE rondo_status
call_start(rondo_comm *comm, const call *made, call_flight *flight);
RONDO_MUST_USE rondo_status
call_wait(call_flight *flight);

/* call_in_count, call_out_count - elements of IN and OUT, 0 where it is not used. */
uint64_t
call_in_count(const call *made, uint32_t rank, uint32_t nranks);
uint64_t
call_out_count(const call *made, uint32_t rank, uint32_t nranks);

#endif /* LIB_CALLS_H */
