/*
 * state.h - what a gradient synchroniser is made of, for the files of this room.
 *
 * Parameters are kept in the order of adding. A bucket is a run of them, `first` to
 * `first + nparams - 1`; bucket 0 is the run at the end, since backward fills the last
 * layers first. Buckets follow from counts and configuration alone, so all ranks plan
 * the same; whether a bucket's gradients lie one behind the other in memory is each
 * rank's own affair.
 */
#ifndef SYNC_STATE_H
#define SYNC_STATE_H

#include <stdbool.h>

#include <rondo/sync.h>

#include "base/error.h"

/* Longest part of a name that goes into a sentence. */
#define RONDO_SYNC_NAME_SHOWN 48

/* Words each rank shows the others when layouts are compared. */
#define RONDO_SYNC_LAYOUT_WORDS 7

typedef struct rondo_sync_param {
    char *name;
    float *grad;
    uint64_t count;
    uint32_t bucket; /* set at commit */
    bool ready;      /* in this step */
} rondo_sync_param;

typedef struct rondo_sync_bucket {
    uint32_t first; /* parameter */
    uint32_t nparams;
    uint64_t count;         /* elements of all of them */
    float *data;            /* the gradients themselves, or where they are packed */
    float *gathered;        /* canonical: nranks * count elements; null otherwise */
    bool packed;            /* data is a copy */
    uint32_t unready;       /* parameters still missing in this step */
    rondo_request *request; /* null unless in flight */
} rondo_sync_bucket;

typedef enum rondo_sync_phase {
    RONDO_SYNC_ADDING,  /* before commit */
    RONDO_SYNC_IDLE,    /* between steps */
    RONDO_SYNC_STEPPING /* between step_begin and step_wait */
} rondo_sync_phase;

struct rondo_sync {
    rondo_comm *comm; /* not ours */
    uint32_t rank;
    uint32_t nranks;
    rondo_sync_config config;
    rondo_sync_phase phase;
    rondo_status broken; /* RONDO_OK, or what broke the communicator in a step */

    rondo_sync_param *params;
    uint64_t nparams;
    uint64_t params_room;
    rondo_sync_bucket *buckets; /* in the order of the plan */
    uint32_t nbuckets;
    float *memory; /* of packed buckets and of gathering; null if none is needed */

    uint64_t *compared; /* layout words of all ranks; had at create */

    uint64_t step;           /* steps finished */
    uint32_t started;        /* buckets started in this step, in plan order */
    uint32_t finished;       /* buckets finished in this step, in plan order */
    uint64_t payload_bytes;  /* of this step */
    uint64_t first_start_ns; /* when its first bucket started */
    uint64_t last_end_ns;    /* when its last one ended */
    char text[RONDO_ERROR_TEXT_MAX];
};

/* rondo_sync_fail - write the sentence for the synchroniser and for this thread, and
 * hand `status` back. rondo_sync_keep - the thread's sentence becomes the
 * synchroniser's. */
rondo_status
rondo_sync_fail(rondo_sync *sync, rondo_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
rondo_status
rondo_sync_keep(rondo_sync *sync, rondo_status status);

/*
 * rondo_sync_plan - group the parameters into buckets. Local, and alike on all ranks.
 *
 * RONDO_ERR_ARG     two gradients overlap in memory
 * RONDO_ERR_MEMORY  no room for the buckets or for packing
 */
RONDO_MUST_USE rondo_status
rondo_sync_plan(rondo_sync *sync);

/* rondo_sync_unplan - give back what the plan took; parameters stay. */
void
rondo_sync_unplan(rondo_sync *sync);

/* rondo_sync_pack, rondo_sync_unpack - a packed bucket's gradients into its memory and
 * back. */
void
rondo_sync_pack(const rondo_sync *sync, const rondo_sync_bucket *bucket);
void
rondo_sync_unpack(const rondo_sync *sync, const rondo_sync_bucket *bucket);

/* rondo_sync_tree_mean - the mean of `nranks` vectors lying one behind the other in
 * `gathered` (destroyed), summed as ((0 + 1) + (2 + 3)) + ...; nranks: a power of 2. */
void
rondo_sync_tree_mean(float *gathered, uint32_t nranks, uint64_t count, float *mean);

/*
 * rondo_sync_compare - exchange and compare the layout with all ranks; collective.
 * `planned` is how planning went here; all ranks fail if it failed on any.
 */
RONDO_MUST_USE rondo_status
rondo_sync_compare(rondo_sync *sync, rondo_status planned);

/* rondo_sync_drain - end whatever is in flight before its memory goes away. */
void
rondo_sync_drain(rondo_sync *sync);

#endif /* SYNC_STATE_H */
