/* trainer_gradient.c - the gradient against finite differences of a loss written down
 * again here, plainly and in double; and the tree of --canonical. */
#include "trainer/gradient.h"
#include "trainer/memory.h"
#include "trainer/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES 24u
#define WIDEST  1024u

/* A network, images for it, and parameters. */
typedef struct bench {
    model net;
    data_part images;
    uint32_t index[SAMPLES];
    float *parameter;
    double *exact; /* The same parameters, to be moved a little. */
    float *gradient;
    tape t;
} bench;

static model
perceptron(uint32_t inputs, uint32_t hidden_count, const uint32_t *hidden,
           uint32_t outputs)
{
    model net = model_begin(inputs);
    for (uint32_t i = 0; i < hidden_count; i++) {
        model_add_linear(&net, hidden[i]);
    }
    model_add_linear(&net, outputs);
    return net;
}

static void
bench_open(bench *b, uint32_t pixels, uint32_t hidden_count, const uint32_t *hidden,
           uint32_t outputs)
{
    problem why;
    *b = (bench){.net = perceptron(pixels, hidden_count, hidden, outputs)};
    const random_stream stream = random_open(pixels + hidden_count, RANDOM_SHUFFLE, 0);
    b->images = (data_part){.images = SAMPLES, .pixels = pixels};
    b->images.pixel = malloc((size_t)SAMPLES * pixels);
    b->images.label = malloc(SAMPLES);
    assert_non_null(b->images.pixel);
    assert_non_null(b->images.label);
    for (uint32_t i = 0; i < SAMPLES * pixels; i++) {
        b->images.pixel[i] = (uint8_t)random_below(stream, i, 256);
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        b->index[i] = (i * 5 + 3) % SAMPLES;
        b->images.label[i] = (uint8_t)(i % outputs);
    }
    const uint64_t count = b->net.parameters;
    b->parameter = memory_floats(count, &why);
    b->gradient = memory_floats(count + 1, &why);
    b->exact = calloc(count, sizeof *b->exact);
    assert_non_null(b->parameter);
    assert_non_null(b->gradient);
    assert_non_null(b->exact);
    model_initialise(&b->net, 11, b->parameter);
    for (uint64_t i = 0; i < count; i++) {
        /* Biases start at 0; here they take part. */
        if (b->parameter[i] == 0.0f) {
            b->parameter[i] = 0.1f * random_normal(stream, 1000000 + i);
        }
        b->exact[i] = (double)b->parameter[i];
    }
    assert_true(tape_create(&b->net, SAMPLES, &b->t, &why));
}

static void
bench_close(bench *b)
{
    tape_free(&b->t);
    free(b->exact);
    memory_free(b->gradient);
    memory_free(b->parameter);
    free(b->images.label);
    free(b->images.pixel);
}

static gradient_of
of_bench(bench *b, float scale)
{
    return (gradient_of){.net = &b->net,
                         .parameter = b->parameter,
                         .images = &b->images,
                         .scale = scale,
                         .t = &b->t};
}

/* --- the loss once more ---------------------------------------------------------- */

static double
sample_loss(const bench *b, uint32_t image)
{
    double in[WIDEST];
    double out[WIDEST];
    float x[WIDEST];
    uint8_t label;
    data_gather(&b->images, &image, 1, x, &label);
    for (uint32_t i = 0; i < b->net.width[0]; i++) {
        in[i] = (double)x[i];
    }
    for (uint32_t l = 0; l < b->net.layers; l++) {
        const uint32_t outputs = b->net.width[l + 1];
        for (uint32_t o = 0; o < outputs; o++) {
            double sum = b->exact[b->net.bias_at[l] + o];
            for (uint32_t i = 0; i < b->net.width[l]; i++) {
                sum +=
                    in[i] * b->exact[b->net.weight_at[l] + (uint64_t)i * outputs + o];
            }
            out[o] = l + 1 < b->net.layers ? fmax(sum, 0.0) : sum;
        }
        memcpy(in, out, outputs * sizeof *in);
    }
    double sum = 0.0;
    for (uint32_t o = 0; o < b->net.width[b->net.layers]; o++) {
        sum += exp(in[o]);
    }
    return log(sum) - in[label];
}

static double
mean_loss(const bench *b, uint32_t samples)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < samples; i++) {
        sum += sample_loss(b, b->index[i]);
    }
    return sum / samples;
}

/* --- against finite differences -------------------------------------------------- */

typedef struct widths {
    uint32_t pixels;
    uint32_t hidden_count;
    uint32_t hidden[MODEL_HIDDEN_MAX];
    uint32_t outputs;
} widths;

static void
check_each_parameter(const widths *w, uint32_t samples)
{
    const double step = 1e-6;
    bench b;
    bench_open(&b, w->pixels, w->hidden_count, w->hidden, w->outputs);
    const gradient_of of = of_bench(&b, 1.0f / (float)samples);
    gradient_direct(&of, (sampler_part){.index = b.index, .count = samples}, b.gradient,
                    (layer_done){.call = NULL});
    assert_true(fabs((double)b.gradient[b.net.parameters] - mean_loss(&b, samples)) <
                1e-6);
    for (uint64_t i = 0; i < b.net.parameters; i++) {
        const double middle = b.exact[i];
        b.exact[i] = middle + step;
        const double above = mean_loss(&b, samples);
        b.exact[i] = middle - step;
        const double below = mean_loss(&b, samples);
        b.exact[i] = middle;
        const double slope = (above - below) / (2.0 * step);
        if (fabs(slope - (double)b.gradient[i]) > 2e-6 * fmax(1.0, fabs(slope))) {
            fail_msg("%u layers, %u samples: parameter %llu: %.9g, differences %.9g",
                     b.net.layers, samples, (unsigned long long)i,
                     (double)b.gradient[i], slope);
        }
    }
    bench_close(&b);
}

static void
test_small_networks_parameter_by_parameter(void **state)
{
    (void)state;
    static const widths row[] = {
        {1, 0, {0}, 2},
        {6, 0, {0}, 10},
        {5, 1, {1}, 3},
        {9, 1, {7}, 10},
        {4, 2, {8, 3}, 5},
        {11, 3, {5, 9, 4}, 10},
        {3, 8, {4, 5, 6, 7, 7, 6, 5, 4}, 4},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        for (uint32_t samples = 1; samples <= SAMPLES; samples += 7) {
            check_each_parameter(&row[i], samples);
        }
    }
}

/* Too many parameters to move one by one: all at once, along random directions. */
static void
test_the_real_network_along_directions(void **state)
{
    (void)state;
    static const uint32_t hidden[] = {256, 128};
    const double step = 1e-6;
    bench b;
    bench_open(&b, 784, 2, hidden, 10);
    const gradient_of of = of_bench(&b, 1.0f / SAMPLES);
    gradient_direct(&of, (sampler_part){.index = b.index, .count = SAMPLES}, b.gradient,
                    (layer_done){.call = NULL});
    for (uint32_t direction = 0; direction < 4; direction++) {
        const random_stream stream = random_open(5, RANDOM_WEIGHTS, direction);
        double expected = 0.0;
        double loss[2];
        for (uint32_t side = 0; side < 2; side++) {
            for (uint64_t i = 0; i < b.net.parameters; i++) {
                const double move = (double)random_normal(stream, i) * 0.01;
                expected += side == 0 ? move * (double)b.gradient[i] : 0.0;
                b.exact[i] = (double)b.parameter[i] + (side == 0 ? step : -step) * move;
            }
            loss[side] = mean_loss(&b, SAMPLES);
        }
        const double slope = (loss[0] - loss[1]) / (2.0 * step);
        assert_true(fabs(slope - expected) < 1e-5 * fmax(1.0, fabs(slope)));
    }
    bench_close(&b);
}

/* --- order of layers ------------------------------------------------------------- */

typedef struct order {
    const bench *b;
    uint32_t calls;
    uint32_t layer[MODEL_LAYERS_MAX];
    float seen[MODEL_LAYERS_MAX]; /* A sum that shows a later change. */
} order;

static float
layer_sum(const bench *b, uint32_t layer)
{
    float sum = 0.0f;
    const uint64_t end = b->net.bias_at[layer] + b->net.width[layer + 1];
    for (uint64_t i = b->net.weight_at[layer]; i < end; i++) {
        sum += fabsf(b->gradient[i]);
    }
    return sum;
}

static void
note_layer(void *user, uint32_t layer)
{
    order *o = user;
    o->seen[o->calls] = layer_sum(o->b, layer);
    o->layer[o->calls++] = layer;
}

static void
test_layers_are_told_last_first_and_complete(void **state)
{
    (void)state;
    static const uint32_t hidden[] = {6, 5, 4};
    for (uint32_t count = 0; count <= 3; count++) {
        bench b;
        bench_open(&b, 8, count, hidden, 3);
        memset(b.gradient, 0x7f, (b.net.parameters + 1) * sizeof *b.gradient);
        order o = {.b = &b};
        const gradient_of of = of_bench(&b, 0.5f);
        gradient_direct(&of, (sampler_part){.index = b.index, .count = 3}, b.gradient,
                        (layer_done){.call = note_layer, .user = &o});
        assert_int_equal(o.calls, count + 1);
        for (uint32_t i = 0; i < o.calls; i++) {
            assert_int_equal(o.layer[i], count - i);
            assert_true(o.seen[i] == layer_sum(&b, o.layer[i]));
        }
        bench_close(&b);
    }
}

/* --- the tree -------------------------------------------------------------------- */

#define RANKS_MAX 8u

/* What `ranks` ranks make of the samples: each its branch, then pairs upwards. */
static void
across_ranks(bench *b, uint32_t pieces, uint32_t piece, uint32_t ranks, float *sum)
{
    problem why;
    const uint64_t count = b->net.parameters + 1;
    const uint32_t each = pieces / ranks * piece;
    gradient_tree tree;
    float *branch[RANKS_MAX];
    assert_true(gradient_tree_create(&b->net, pieces / ranks, piece, &tree, &why));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        branch[rank] = memory_floats(count, &why);
        assert_non_null(branch[rank]);
        const gradient_of of = of_bench(b, 1.0f / SAMPLES);
        gradient_by_tree(&tree, &of,
                         (sampler_part){.index = b->index + rank * each, .count = each},
                         branch[rank]);
    }
    for (uint32_t apart = 1; apart < ranks; apart *= 2) {
        for (uint32_t rank = 0; rank < ranks; rank += 2 * apart) {
            for (uint64_t i = 0; i < count; i++) {
                branch[rank][i] += branch[rank + apart][i];
            }
        }
    }
    memcpy(sum, branch[0], count * sizeof *sum);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        memory_free(branch[rank]);
    }
    gradient_tree_free(&tree);
}

static void
check_tree(bench *b, uint32_t pieces, uint32_t piece, float *whole, float *parts)
{
    const uint64_t count = b->net.parameters + 1;
    const gradient_of of = of_bench(b, 1.0f / SAMPLES);
    across_ranks(b, pieces, piece, 1, whole);
    gradient_direct(&of, (sampler_part){.index = b->index, .count = pieces * piece},
                    b->gradient, (layer_done){.call = NULL});
    for (uint64_t i = 0; i < count; i++) {
        assert_true(fabsf(whole[i] - b->gradient[i]) < 2e-6f);
    }
    for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks *= 2) {
        if (pieces % ranks == 0) {
            across_ranks(b, pieces, piece, ranks, parts);
            assert_memory_equal(whole, parts, count * sizeof *whole);
        }
    }
}

static void
test_branches_on_ranks_give_the_bits_of_the_whole_tree(void **state)
{
    (void)state;
    static const uint32_t hidden[] = {13, 6};
    problem why;
    bench b;
    bench_open(&b, 17, 2, hidden, 10);
    const uint64_t count = b.net.parameters + 1;
    float *whole = memory_floats(count, &why);
    float *parts = memory_floats(count, &why);
    assert_non_null(whole);
    assert_non_null(parts);
    for (uint32_t piece = 1; piece <= 3; piece++) {
        for (uint32_t pieces = 1; pieces * piece <= SAMPLES; pieces++) {
            check_tree(&b, pieces, piece, whole, parts);
        }
    }
    memory_free(parts);
    memory_free(whole);
    bench_close(&b);
}

static void
test_multiply_reaches_every_element(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, 7, 0, NULL, 3);
    for (uint64_t i = 0; i <= b.net.parameters; i++) {
        b.gradient[i] = (float)i + 0.25f;
    }
    gradient_multiply(&b.net, 4.0f, b.gradient);
    for (uint64_t i = 0; i <= b.net.parameters; i++) {
        assert_true(b.gradient[i] == 4.0f * ((float)i + 0.25f));
    }
    bench_close(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_networks_parameter_by_parameter),
        cmocka_unit_test(test_the_real_network_along_directions),
        cmocka_unit_test(test_layers_are_told_last_first_and_complete),
        cmocka_unit_test(test_branches_on_ranks_give_the_bits_of_the_whole_tree),
        cmocka_unit_test(test_multiply_reaches_every_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
