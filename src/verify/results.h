/* results.h - values, and whether those a collective leaves are right. */
#ifndef VERIFY_RESULTS_H
#define VERIFY_RESULTS_H

#include "verify/bags.h"
#include "verify/proof.h"

/* How a value was made. Elements that lie side by side mostly share one. */
typedef struct rondo_recipe {
    uint64_t bag;        /* whose contributions are in it, each once */
    uint64_t hash;       /* of the whole computation, operand order included */
    uint64_t code;       /* encoded: by which encoding, from 1; 0: not encoded */
    uint64_t code_count; /* encoded: elements of the code */
    uint32_t encodings;  /* most that any contribution in it went through */
    uint32_t roundings;  /* the same, of reductions */
    bool finished;       /* a finishing reduction made it */
} rondo_recipe;

/* For rondo_value.recipe: nothing was ever written here. */
#define RONDO_UNDEFINED 0

/* What one element of some memory holds. */
typedef struct rondo_value {
    uint64_t element; /* which element of the vector its contributions are of */
    uint32_t recipe;  /* index in the table of recipes */
    uint32_t code_at; /* encoded: its place in the code */
} rondo_value;

/* The last sum that was formed: neighbours mostly want the same. */
typedef struct rondo_sum {
    uint32_t a, b, recipe;
    bool final;
} rondo_sum;

typedef struct rondo_values {
    const rondo_proof *proof;
    rondo_bags bags;
    rondo_value *cells[RONDO_PHASES];
    uint64_t *expected[RONDO_PHASES]; /* of results all ranks get: the hash of the
                                       * first rank that had it; 0: none yet */
    rondo_recipe *recipes;            /* the first is for what is undefined */
    uint64_t nrecipes;
    uint64_t recipes_room;
    rondo_sum last;
    uint64_t codes;         /* encodings made */
    uint64_t uniform_hash;  /* of the first result there was; 0: none yet */
    rondo_verdict *verdict; /* encodings, roundings, uniform: found here */
} rondo_values;

/* rondo_results_check - what the collective in front of `mark` leaves on its rank. */
RONDO_MUST_USE rondo_status
rondo_results_check(rondo_values *values, uint64_t mark);

#endif /* VERIFY_RESULTS_H */
