/* gang_parts.h - what a gang is made of, for the files that make and judge it. */
#ifndef LIB_GANG_PARTS_H
#define LIB_GANG_PARTS_H

#include "lib/gang.h"
#include "transport/loopback/loopback.h"

/* What untouched memory looks like. */
#define GANG_PATTERN 0xA5

/* A buffer between guards, at an odd address now and then. */
struct fenced {
    unsigned char *block;
    unsigned char *data;
    uint64_t bytes;
    uint64_t block_bytes;
};

struct member {
    rondo_coll coll;
    rondo_plan *plan;
    rondo_transport *transport;
    rondo_transport *fault; /* owned; null: none */
    rondo_transport **routes;
    struct fenced in;
    struct fenced out;
    void *input; /* what IN was filled with */
    rondo_status status;
};

struct gang {
    gang_job job;
    uint64_t width;
    uint64_t runs;
    uint64_t random;
    rondo_status error; /* of the rank that failed first */
    rondo_loopback *world;
    const void **peer_in;
    void **peer_out;
    struct member members[];
};

#endif /* LIB_GANG_PARTS_H */
