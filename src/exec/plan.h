/* plan.h - what a plan is made of: compile.c fills it, run.c runs it. */
#ifndef EXEC_PLAN_H
#define EXEC_PLAN_H

#include "exec/exec.h"
#include "exec/kernels.h"
#include "exec/ready.h"

/* No step; and, in rondo_plan.unmet, a step that is done. */
#define RONDO_PLAN_NONE UINT32_MAX
#define RONDO_PLAN_DONE UINT32_MAX

/* The memories of a plan: three of its own, then IN and OUT of each rank if peers'
 * memory is used at all. */
#define RONDO_PLAN_OWN_MEMORIES 3

/* The slices of a step. */
enum { RONDO_PLAN_TO, RONDO_PLAN_A, RONDO_PLAN_B, RONDO_PLAN_SLICES };

/* One step: a cache line. Its successors end where those of the next step begin. */
typedef struct rondo_plan_step {
    uint64_t count;                     /* elements; signal and wait: which signal */
    uint64_t first[RONDO_PLAN_SLICES];  /* element at which each slice begins */
    uint32_t memory[RONDO_PLAN_SLICES]; /* and in which memory */
    uint32_t successors_at;             /* in rondo_plan.successors */
    uint32_t reader;                    /* recv: may be fused with it, or none */
    uint32_t peer;                      /* send, recv, wait */
    uint32_t channel;                   /* send, recv, wait: in rondo_plan.channels */
    uint8_t kind;                       /* of rondo_step_kind */
    uint8_t final;                      /* of rondo_kernel_place */
    uint8_t reader_left;                /* recv: it is the left operand of its reader */
} rondo_plan_step;

_Static_assert(sizeof(rondo_plan_step) == 64, "a step is a cache line");

/* One direction to one peer, or the one place where signals are waited for. Steps that
 * share a channel follow one another, so one of them at most is active. */
typedef struct rondo_plan_channel {
    rondo_transport *route;
    rondo_outgoing message; /* send */
    uint64_t bytes;         /* recv: of the message */
    uint64_t done_bytes;    /* recv: how much has arrived */
    uintptr_t to;           /* recv: where it goes */
    uintptr_t other;        /* recv, fused: the reduction's other operand */
    rondo_kernel kernel;    /* recv: null where it is copied */
    uint32_t peer;
    uint32_t step; /* the active one */
    bool fused;    /* recv: its reader is done with it */
} rondo_plan_channel;

struct rondo_plan {
    /* What a poll touches. */
    rondo_status status;     /* RONDO_BUSY while a run is under way */
    uint32_t nactive;        /* entries in active */
    uint64_t unfinished;     /* steps */
    int64_t budget_bytes;    /* of this poll */
    uint64_t moves;          /* polls that moved anything, but for the last ones */
    bool again;              /* this poll can do more at once */
    uint8_t shift;           /* log2 of an element's bytes */
    uint32_t current;        /* the computing step that is half done, or none */
    uint64_t current_done;   /* its elements */
    uint32_t failed;         /* the step that met an error, or none */
    uint64_t token_found;    /* see rondo_standing */
    rondo_kernel kernels[2]; /* by rondo_kernel_place */
    rondo_ready ready;       /* computing steps whose needs are met */
    rondo_binding binding;

    /* What the schedule became; all of it lies behind this structure. */
    rondo_plan_step *steps; /* nsteps + 1 */
    uint32_t *unmet;        /* by step: needs that are not met yet */
    uint32_t *active;       /* channels that have an active step */
    uint32_t *successors;
    uint32_t *needs; /* by step: what unmet begins with */
    uint32_t *roots; /* steps that need nobody */
    rondo_plan_channel *channels;
    uintptr_t *memories;   /* where each begins */
    uint64_t *ready_words; /* of ready */
    uint64_t nready_words;
    uint64_t nsteps;
    uint32_t nroots;
    uint32_t nchannels;
    uint32_t nmemories;
    uint32_t nranks;
    uint32_t rank;

    /* What a start must know. */
    uint64_t count_max;     /* the furthest element of any memory */
    uint64_t scratch_count; /* elements */
    bool uses_in;
    bool uses_out;
    bool reduces;
    bool waits;
    bool bound; /* to the two below: kernels, shift and scratch are theirs */
    rondo_dtype bound_dtype;
    rondo_op bound_op;
    void *scratch; /* null until it is needed */
    uint64_t scratch_bytes;
    uint64_t block_bytes; /* of the plan itself */
};

/* rondo_plan_check - RONDO_ERR_UNSUPPORTED; RONDO_ERR_ARG: the text names the step. */
RONDO_MUST_USE rondo_status
rondo_plan_check(const rondo_schedule *schedule);

/* rondo_plan_compile - check, and prepare; the schedule is not changed. */
RONDO_MUST_USE rondo_status
rondo_plan_compile(const rondo_schedule *schedule, rondo_plan **plan);

/* rondo_plan_bind - all of rondo_plan_start but the start. */
RONDO_MUST_USE rondo_status
rondo_plan_bind(rondo_plan *plan, const rondo_binding *binding);

#endif /* EXEC_PLAN_H */
