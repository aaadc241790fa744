/* average_graph.c - gossip's graphs and arithmetic: weights, contraction as the
 * spectrum of the weights says, means that stay. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rondo/rondo.h>

#include "lib/model.h"

#define NRANKS_MAX 64
#define GRAPHS     3
#define PI         3.14159265358979323846

static float weights[NRANKS_MAX][NRANKS_MAX];

/* Row `rank` is what that rank adds up in `round`. */
static void
weights_fill(rondo_graph graph, uint32_t nranks, uint64_t round)
{
    memset(weights, 0, sizeof weights);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        rondo_gossip_term terms[NRANKS_MAX];
        uint32_t nterms = 0;

        assert_int_equal(
            rondo_gossip_terms(graph, nranks, rank, round, terms, nranks, &nterms),
            RONDO_OK);
        assert_in_range(nterms, 1, nranks);
        for (uint32_t t = 0; t < nterms; t++) {
            assert_true(t == 0 || terms[t - 1].rank < terms[t].rank);
            assert_true(terms[t].rank < nranks);
            assert_true(terms[t].weight > 0.0F);
            weights[rank][terms[t].rank] = terms[t].weight;
        }
        assert_true(weights[rank][rank] > 0.0F);
    }
}

/* The definition, without arithmetic modulo anything. */
static bool
are_neighbours(rondo_graph graph, uint32_t nranks, uint64_t round, uint32_t a,
               uint32_t b)
{
    uint32_t turns = 0;

    if (graph == RONDO_GRAPH_COMPLETE) {
        return true;
    }
    while ((1U << turns) < nranks) {
        turns++;
    }
    const uint32_t hop =
        graph == RONDO_GRAPH_RING || turns == 0 ? 1 : 1U << round % turns;
    for (uint32_t from = 0; from < nranks; from++) {
        const uint32_t to = (from + hop) % nranks;
        if ((from == a && to == b) || (from == b && to == a)) {
            return true;
        }
    }
    return false;
}

static void
weights_check(rondo_graph graph, uint32_t nranks, uint64_t round)
{
    for (uint32_t a = 0; a < nranks; a++) {
        double row = 0.0;
        double column = 0.0;
        uint32_t others = 0;

        for (uint32_t b = 0; b < nranks; b++) {
            row += (double)weights[a][b];
            column += (double)weights[b][a];
            assert_true(weights[a][b] == weights[b][a]);
            others += a != b && weights[a][b] != 0.0F ? 1 : 0;
            if (a != b) {
                assert_int_equal(weights[a][b] != 0.0F,
                                 are_neighbours(graph, nranks, round, a, b));
            }
        }
        /* Exactly: sums of floats of one size lose nothing in double. */
        assert_true(row == 1.0);
        assert_true(column == 1.0);
        for (uint32_t b = 0; b < nranks; b++) {
            const double share = 1.0 / (double)(others + 1);
            assert_true(weights[a][b] == 0.0F ||
                        fabs((double)weights[a][b] - share) <= 1e-7 * nranks * share);
        }
    }
}

static void
weights_are_symmetric_and_add_up_to_one(void **state)
{
    (void)state;
    for (int graph = 0; graph < GRAPHS; graph++) {
        for (uint32_t nranks = 1; nranks <= NRANKS_MAX; nranks++) {
            for (uint64_t round = 0; round < 14; round++) {
                weights_fill((rondo_graph)graph, nranks, round);
                weights_check((rondo_graph)graph, nranks, round);
            }
        }
    }
}

static void
what_makes_no_sense_is_refused(void **state)
{
    rondo_gossip_term terms[NRANKS_MAX];
    uint32_t nterms = 77;

    (void)state;
    assert_int_equal(rondo_gossip_terms((rondo_graph)3, 4, 0, 0, terms, 4, &nterms),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_gossip_terms((rondo_graph)-1, 4, 0, 0, terms, 4, &nterms),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_gossip_terms(RONDO_GRAPH_RING, 4, 4, 0, terms, 4, &nterms),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_gossip_terms(RONDO_GRAPH_RING, 0, 0, 0, terms, 4, &nterms),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_gossip_terms(RONDO_GRAPH_RING, 4, 0, 0, NULL, 4, &nterms),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_gossip_terms(RONDO_GRAPH_RING, 4, 0, 0, terms, 4, NULL),
                     RONDO_ERR_ARG);
    for (uint32_t room = 0; room < 8; room++) {
        assert_int_equal(
            rondo_gossip_terms(RONDO_GRAPH_COMPLETE, 8, 0, 0, terms, room, &nterms),
            RONDO_ERR_ARG);
        assert_non_null(strstr(rondo_error_text(), "has 8 in round"));
    }
    assert_int_equal(nterms, 77);
}

/* --- contraction ------------------------------------------------------------------ */

/* What a round does to the wave of frequency `wave` over the ranks: weights depend on
 * distance alone, so waves are their eigenvectors. */
static double
eigenvalue(rondo_graph graph, uint32_t nranks, uint64_t round, uint32_t wave)
{
    double value = 0.0;

    weights_fill(graph, nranks, round);
    for (uint32_t other = 0; other < nranks; other++) {
        value += (double)weights[0][other] *
                 cos(2.0 * PI * (double)wave * (double)other / (double)nranks);
    }
    return value;
}

static uint64_t
rounds_of_cycle(rondo_graph graph, uint32_t nranks)
{
    uint64_t turns = 1;

    if (graph == RONDO_GRAPH_EXPONENTIAL) {
        for (turns = 1; (UINT64_C(1) << turns) < nranks; turns++) {
        }
    }
    return turns;
}

static double
factor_of(rondo_graph graph, uint32_t nranks, uint32_t wave)
{
    double factor = 1.0;

    for (uint64_t round = 0; round < rounds_of_cycle(graph, nranks); round++) {
        factor *= eigenvalue(graph, nranks, round, wave);
    }
    return fabs(factor);
}

/* The wave that shrinks least over one cycle of rounds. */
static uint32_t
slowest_wave(rondo_graph graph, uint32_t nranks)
{
    uint32_t slowest = 1;

    for (uint32_t wave = 2; wave < nranks; wave++) {
        if (factor_of(graph, nranks, wave) > factor_of(graph, nranks, slowest)) {
            slowest = wave;
        }
    }
    return slowest;
}

#define COUNT 1031

typedef struct crowd {
    uint32_t nranks;
    uint64_t count;
    float *now[NRANKS_MAX];
    float *next[NRANKS_MAX];
} crowd;

static void
crowd_make(crowd *c, uint32_t nranks, uint64_t count, uint64_t seed)
{
    c->nranks = nranks;
    c->count = count;
    for (uint32_t r = 0; r < nranks; r++) {
        c->now[r] = calloc(count, sizeof(float));
        c->next[r] = calloc(count, sizeof(float));
        assert_non_null(c->now[r]);
        assert_non_null(c->next[r]);
        for (uint64_t i = 0; i < count; i++) {
            c->now[r][i] = (float)(model_random(&seed) % 20001) / 10000.0F - 0.5F;
        }
    }
}

static void
crowd_free(crowd *c)
{
    for (uint32_t r = 0; r < c->nranks; r++) {
        free(c->now[r]);
        free(c->next[r]);
    }
}

static void
crowd_round(crowd *c, rondo_graph graph, uint64_t round)
{
    for (uint32_t r = 0; r < c->nranks; r++) {
        rondo_gossip_term terms[NRANKS_MAX];
        const float *vectors[NRANKS_MAX];
        uint32_t nterms = 0;

        assert_int_equal(
            rondo_gossip_terms(graph, c->nranks, r, round, terms, NRANKS_MAX, &nterms),
            RONDO_OK);
        for (uint32_t t = 0; t < nterms; t++) {
            vectors[t] = c->now[terms[t].rank];
        }
        rondo_gossip_mix(terms, nterms, vectors, c->count, c->next[r]);
    }
    for (uint32_t r = 0; r < c->nranks; r++) {
        float *const old = c->now[r];
        c->now[r] = c->next[r];
        c->next[r] = old;
    }
}

static double
crowd_mean(const crowd *c, uint64_t i)
{
    double sum = 0.0;

    for (uint32_t r = 0; r < c->nranks; r++) {
        sum += (double)c->now[r][i];
    }
    return sum / (double)c->nranks;
}

/* How far apart the ranks are: the norm of what they differ from their mean by. */
static double
crowd_distance(const crowd *c)
{
    double sum = 0.0;

    for (uint64_t i = 0; i < c->count; i++) {
        const double mean = crowd_mean(c, i);
        for (uint32_t r = 0; r < c->nranks; r++) {
            const double apart = (double)c->now[r][i] - mean;
            sum += apart * apart;
        }
    }
    return sqrt(sum);
}

static void
crowd_cycle(crowd *c, rondo_graph graph)
{
    for (uint64_t round = 0; round < rounds_of_cycle(graph, c->nranks); round++) {
        crowd_round(c, graph, round);
    }
}

/* From any start, no cycle does worse than the slowest wave. */
static void
bound_check(rondo_graph graph, uint32_t nranks)
{
    const double bound = factor_of(graph, nranks, slowest_wave(graph, nranks));
    crowd c;

    crowd_make(&c, nranks, COUNT, 100 * (uint64_t)graph + nranks);
    const double start = crowd_distance(&c);
    double last = start;
    for (uint32_t cycle = 0; cycle < 60; cycle++) {
        crowd_cycle(&c, graph);
        const double now = crowd_distance(&c);
        assert_true(now <= 1.001 * bound * last + 2e-7 * start);
        last = now;
    }
    crowd_free(&c);
}

/* The slowest wave alone, in every phase: each cycle takes its factor off, as long as
 * fp32 has digits for the difference. */
static void
slowest_check(rondo_graph graph, uint32_t nranks)
{
    const uint32_t wave = slowest_wave(graph, nranks);
    const double expected = factor_of(graph, nranks, wave);
    uint32_t cycles = 0;
    crowd c;

    crowd_make(&c, nranks, COUNT, 1);
    for (uint32_t r = 0; r < nranks; r++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            c.now[r][i] =
                (float)cos(2.0 * PI * ((double)wave * r / nranks + (double)i / COUNT));
        }
    }
    const double start = crowd_distance(&c);
    double now = start;
    while (now * expected > 1e-5 * start) {
        crowd_cycle(&c, graph);
        now = crowd_distance(&c);
        cycles++;
        assert_true(cycles < 4000);
    }
    if (cycles == 0) {
        /* Nothing may be left of it. */
        crowd_cycle(&c, graph);
        assert_true(crowd_distance(&c) <= 1e-5 * start);
    } else if (fabs(pow(now / start, 1.0 / cycles) - expected) > 0.02 * expected) {
        fail_msg("graph %d, %u ranks: %.5f per cycle, not %.5f", (int)graph, nranks,
                 pow(now / start, 1.0 / cycles), expected);
    }
    crowd_free(&c);
}

static void
distance_shrinks_by_the_second_eigenvalue(void **state)
{
    (void)state;
    /* Numbers from outside, so that the spectrum computed here is the right one. */
    assert_true(fabs(factor_of(RONDO_GRAPH_RING, 8, 1) - 0.8047) < 1e-4);
    assert_true(fabs(factor_of(RONDO_GRAPH_RING, 16, 1) - 0.9493) < 1e-4);
    assert_true(fabs(factor_of(RONDO_GRAPH_EXPONENTIAL, 8, 4) - 1.0 / 3.0) < 1e-4);
    assert_int_equal(slowest_wave(RONDO_GRAPH_EXPONENTIAL, 8), 4);
    for (uint32_t nranks = 2; nranks <= 16; nranks++) {
        for (int graph = 0; graph < GRAPHS; graph++) {
            bound_check((rondo_graph)graph, nranks);
            slowest_check((rondo_graph)graph, nranks);
        }
    }
}

static void
the_mean_stays(void **state)
{
    (void)state;
    for (int graph = 0; graph < GRAPHS; graph++) {
        for (uint32_t nranks = 1; nranks <= 16; nranks++) {
            crowd c;
            double before[64];

            crowd_make(&c, nranks, 64, nranks);
            for (uint64_t i = 0; i < 64; i++) {
                before[i] = crowd_mean(&c, i);
            }
            for (uint64_t round = 0; round < 200; round++) {
                crowd_round(&c, (rondo_graph)graph, round);
            }
            double drift = 0.0;
            for (uint64_t i = 0; i < 64; i++) {
                drift += crowd_mean(&c, i) - before[i];
            }
            assert_true(fabs(drift / 64) <= 1e-6);
            crowd_free(&c);
        }
    }
}

/* --- arithmetic ------------------------------------------------------------------- */

static void
mixing_rounds_each_product_and_sum_once(void **state)
{
    static const uint64_t lengths[] = {0, 1, 3, 1023, 1024, 1025, 4099};
    uint64_t seed = 5;
    crowd c;

    (void)state;
    crowd_make(&c, 7, 4099, 9);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (uint32_t nterms = 1; nterms <= 7; nterms++) {
            rondo_gossip_term terms[7];
            const float *vectors[7];
            float *const out = c.next[0];

            for (uint32_t t = 0; t < nterms; t++) {
                terms[t] = (rondo_gossip_term){t, (float)(model_random(&seed) % 1000) /
                                                      1000.0F};
                vectors[t] = c.now[t];
            }
            memset(out, 0x7f, 4099 * sizeof *out);
            rondo_gossip_mix(terms, nterms, vectors, lengths[l], out);
            for (uint64_t i = 0; i < lengths[l]; i++) {
                volatile float sum = terms[0].weight * c.now[0][i];
                for (uint32_t t = 1; t < nterms; t++) {
                    volatile const float product = terms[t].weight * c.now[t][i];
                    sum = sum + product;
                }
                assert_true(out[i] == sum);
            }
            for (uint64_t i = lengths[l]; i < 4099; i++) {
                assert_memory_equal(&out[i], "\x7f\x7f\x7f\x7f", 4);
            }
        }
    }
    crowd_free(&c);
}

static void
the_result_may_replace_a_vector(void **state)
{
    (void)state;
    for (uint32_t place = 0; place < 5; place++) {
        rondo_gossip_term terms[5];
        const float *vectors[5];
        crowd c;

        crowd_make(&c, 5, 2500, place);
        for (uint32_t t = 0; t < 5; t++) {
            terms[t] = (rondo_gossip_term){t, 0.2F};
            vectors[t] = c.now[t];
        }
        rondo_gossip_mix(terms, 5, vectors, 2500, c.next[0]);
        rondo_gossip_mix(terms, 5, vectors, 2500, c.now[place]);
        assert_memory_equal(c.now[place], c.next[0], 2500 * sizeof(float));
        crowd_free(&c);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_symmetric_and_add_up_to_one),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(distance_shrinks_by_the_second_eigenvalue),
        cmocka_unit_test(the_mean_stays),
        cmocka_unit_test(mixing_rounds_each_product_and_sum_once),
        cmocka_unit_test(the_result_may_replace_a_vector),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
