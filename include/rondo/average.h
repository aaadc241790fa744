/*
 * rondo/average.h - ranks that train on their own and average parameters: gossip with
 * neighbours, asynchronous gossip in pairs, local steps with an average now and then.
 *
 * Two layers, as in server.h. Graphs, weights and the arithmetic know no communicator,
 * so that the same code averages in a real run and in a simulation of one. The calls
 * with a communicator move parameters and use that arithmetic.
 *
 * Sources: Lian et al., "Can decentralized algorithms outperform centralized
 * algorithms?", 2017 (D-PSGD); Lian et al., "Asynchronous decentralized parallel SGD",
 * 2018 (AD-PSGD); Assran et al., "Stochastic gradient push", 2019 (exponential graph);
 * Stich, "Local SGD converges fast and communicates little", 2018; Lin et al., "Don't
 * use large mini-batches, use local SGD", 2018 (switching to local steps); Douillard et
 * al., "DiLoCo", 2023.
 */
#ifndef RONDO_AVERAGE_H
#define RONDO_AVERAGE_H

#include <rondo/coll.h>
#include <rondo/message.h>

/* Who averages with whom in a round of gossip. */
typedef enum rondo_graph {
    RONDO_GRAPH_RING = 0,        /* both neighbours: 1/3 each; two ranks: 1/2 each */
    RONDO_GRAPH_EXPONENTIAL = 1, /* in round t the ranks at +2^k and -2^k, where k is t
                                  * modulo ceil(log2 n): 1/3 each, 1/2 where they are
                                  * one */
    RONDO_GRAPH_COMPLETE = 2     /* all: 1/n each */
} rondo_graph;

/* One neighbour's part in an average. */
typedef struct rondo_gossip_term {
    uint32_t rank; /* may be the own one */
    float weight;
} rondo_gossip_term;

typedef struct rondo_gossip rondo_gossip; /* D-PSGD on a communicator */
typedef struct rondo_pairs rondo_pairs;   /* AD-PSGD on a communicator */

/* The outer optimiser of DiLoCo: momentum m, rate r, on d = anchor - average:
 * v = m v + d; nesterov: anchor -= r (d + m v), else anchor -= r v. */
typedef struct rondo_outer_config {
    size_t size; /* of this structure, set by the init function */
    float rate;
    float momentum;
    uint32_t nesterov; /* 0 or 1 */
} rondo_outer_config;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * rondo_gossip_terms - what rank `rank` of `nranks` averages in `round`: itself and its
 * neighbours, by rank. The weights of all ranks are symmetric and add up to exactly 1
 * in each row and column: where 1/3 has no exact value, the own weight is what the
 * neighbours' leave of 1.
 *
 * terms   Room for `room` of them; nranks is always enough.
 * RONDO_ERR_ARG  null, no such graph or rank, not enough room (the text says how much)
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_gossip_terms(rondo_graph graph, uint32_t nranks, uint32_t rank, uint64_t round,
                   rondo_gossip_term *terms, uint32_t room, uint32_t *nterms);

/* rondo_gossip_mix - out[i] = sum over the terms, in their order, of weight *
 * vectors[term][i]; each product and sum rounded once, to fp32. `out` may be one of the
 * vectors. */
RONDO_API void
rondo_gossip_mix(const rondo_gossip_term *terms, uint32_t nterms,
                 const float *const *vectors, uint64_t count, float *out);

/*
 * rondo_gossip_create - for vectors of `count` values on `comm`, which it uses but does
 * not own. Local. rondo_gossip_round - one round, collective: `parameters` becomes the
 * weighted mean of the neighbours' and this rank's. Rounds are numbered from 0.
 *
 * RONDO_ERR_ARG, RONDO_ERR_MEMORY; the broken group as in coll.h (`parameters` are then
 * as they were).
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_gossip_create(rondo_comm *comm, rondo_graph graph, uint64_t count,
                    rondo_gossip **gossip);
/* rondo_gossip_round - see rondo_gossip_create. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_gossip_round(rondo_gossip *gossip, float *parameters);
/* rondo_gossip_seek - the next round is number `round`, on all ranks alike: for a run
 * that goes on where another has stopped. Local. */
RONDO_API void
rondo_gossip_seek(rondo_gossip *gossip, uint64_t round);
/* rondo_gossip_destroy - null is allowed; local. */
RONDO_API void
rondo_gossip_destroy(rondo_gossip *gossip);

/*
 * rondo_pairs_create - asynchronous averaging in pairs for vectors of `count` values,
 * by active messages on `channel`. Even ranks ask odd ones and odd ranks only answer,
 * so that no circle of waiting can arise; a pair's average is one step for both.
 * `parameters` is the vector of this rank, borrowed until destroy; it changes inside
 * any call that makes progress on `comm`, piece by piece of at most 64 Ki values, each
 * piece for both ranks alike. Local; needs two ranks or more to do anything. Destroy it
 * before `comm`.
 *
 * rondo_pairs_step - even ranks: average with the rank that `draw` picks (draw modulo
 * the number of odd ranks) and wait for it. Odd ranks: answer what has come.
 * RONDO_ERR_PEER: the communicator is broken as in coll.h; each piece has been averaged
 * on both or on neither, but for one whose answer was lost with the communicator: the
 * odd rank alone may have that. RONDO_ERR_TIMEOUT: the other rank made no progress
 * until the communicator's deadline; the communicator is aborted. RONDO_ERR_MISMATCH:
 * counts differ.
 * rondo_pairs_poll - answer what has come; never blocks. Call it often during a step.
 * rondo_pairs_leave - this rank is done: an odd one answers until all even ranks are
 * done too, an even one waits until all odd ones know; at most the communicator's
 * deadline without any message.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_pairs_create(rondo_comm *comm, uint32_t channel, float *parameters,
                   uint64_t count, rondo_pairs **pairs);
/* rondo_pairs_step - see rondo_pairs_create. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_pairs_step(rondo_pairs *pairs, uint64_t draw);
/* rondo_pairs_poll - see rondo_pairs_create. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_pairs_poll(rondo_pairs *pairs);
/* rondo_pairs_leave - see rondo_pairs_create. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_pairs_leave(rondo_pairs *pairs);
/* rondo_pairs_exchanges - averages this rank has taken part in. */
RONDO_API uint64_t
rondo_pairs_exchanges(const rondo_pairs *pairs);
/* rondo_pairs_destroy - null is allowed; local. */
RONDO_API void
rondo_pairs_destroy(rondo_pairs *pairs);

/*
 * rondo_average - `values` becomes the mean over all ranks, weighted: sum of weight *
 * value / sum of weights. Collective; weights are not negative, and not all 0. With
 * equal weights it is one all-reduce (RONDO_AVG) and has its bits. Where the weight is
 * 0 the values do not matter, even if they are no numbers.
 *
 * RONDO_ERR_ARG on all ranks where the weights are not allowed; otherwise as in coll.h.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_average(rondo_comm *comm, float *values, uint64_t count, double weight);

/* rondo_outer_config_init - rate 0.7, momentum 0.9, nesterov. */
RONDO_API void
rondo_outer_config_init(rondo_outer_config *config);

/* rondo_outer_step - the outer update: `anchor` moves by the average that ranks have
 * come to since, `velocity` is its state (0 at the start). With rate 1 and momentum 0
 * the anchor becomes the average, bit for bit. RONDO_ERR_ARG: null, a value out of
 * range. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_outer_step(const rondo_outer_config *config, const float *average, uint64_t count,
                 float *anchor, float *velocity);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_AVERAGE_H */
