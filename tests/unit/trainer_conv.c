/* trainer_conv.c - networks with convolutions: their gradient against finite
 * differences of a loss written down again here, plainly and in double; and gradients
 * in passes. */
#include "trainer/gradient.h"
#include "trainer/memory.h"
#include "trainer/models.h"
#include "trainer/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES 11u /* Not a multiple of CONV_CHUNK. */
#define WIDEST  4096u
#define CLASSES 10u

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

static void
bench_open(bench *b, const model *net, image_size image)
{
    problem why;
    const uint32_t pixels = image.height * image.width;
    *b = (bench){.net = *net};
    const random_stream stream = random_open(pixels, RANDOM_SHUFFLE, net->layers);
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
        b->images.label[i] = (uint8_t)(i % CLASSES);
    }
    const uint64_t count = net->parameters;
    b->parameter = memory_floats(count, &why);
    b->gradient = memory_floats(count + 1, &why);
    b->exact = calloc(count, sizeof *b->exact);
    assert_non_null(b->parameter);
    assert_non_null(b->gradient);
    assert_non_null(b->exact);
    model_initialise(net, 11, b->parameter);
    for (uint64_t i = 0; i < count; i++) {
        /* Biases start at 0; here they take part. */
        if (b->parameter[i] == 0.0f) {
            b->parameter[i] = 0.1f * random_normal(stream, 1000000 + i);
        }
        b->exact[i] = (double)b->parameter[i];
    }
    assert_true(tape_create(net, SAMPLES, &b->t, &why));
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
of_bench(bench *b, uint32_t samples)
{
    return (gradient_of){.net = &b->net,
                         .parameter = b->parameter,
                         .images = &b->images,
                         .scale = 1.0f / (float)samples,
                         .t = &b->t};
}

/* --- the loss once more ---------------------------------------------------------- */

/* Filter m at a pixel, by the definition: a sum over its neighbours in the image. */
static double
filtered(const bench *b, uint32_t l, const double *in, uint32_t y, uint32_t x,
         uint32_t m)
{
    const image_size image = b->net.image[l];
    const double *w = b->exact + b->net.weight_at[l];
    double sum = b->exact[b->net.bias_at[l] + m];
    for (uint32_t i = 0; i < CONV_ROOM * image.channels; i++) {
        const uint32_t c = i % image.channels;
        const int64_t at_y = (int64_t)y + i / image.channels / 3 - 1;
        const int64_t at_x = (int64_t)x + i / image.channels % 3 - 1;
        if (at_y >= 0 && at_y < image.height && at_x >= 0 && at_x < image.width) {
            sum += in[(at_y * image.width + at_x) * image.channels + c] *
                   w[i * b->net.m[l] + m];
        }
    }
    return sum;
}

static void
convolution(const bench *b, uint32_t l, const double *in, double *out)
{
    const uint32_t wide = b->net.image[l].width / 2;
    const uint32_t filters = b->net.m[l];
    for (uint32_t i = 0; i < b->net.width[l + 1]; i++) {
        const uint32_t m = i % filters;
        const uint32_t y = i / filters / wide * 2;
        const uint32_t x = i / filters % wide * 2;
        const double top =
            fmax(filtered(b, l, in, y, x, m), filtered(b, l, in, y, x + 1, m));
        const double below =
            fmax(filtered(b, l, in, y + 1, x, m), filtered(b, l, in, y + 1, x + 1, m));
        out[i] = fmax(fmax(top, below), 0.0);
    }
}

static void
linear(const bench *b, uint32_t l, const double *in, double *out)
{
    const uint32_t outputs = b->net.m[l];
    for (uint32_t o = 0; o < outputs; o++) {
        double sum = b->exact[b->net.bias_at[l] + o];
        for (uint32_t i = 0; i < b->net.k[l]; i++) {
            sum += in[i] * b->exact[b->net.weight_at[l] + (uint64_t)i * outputs + o];
        }
        out[o] = l + 1 < b->net.layers ? fmax(sum, 0.0) : sum;
    }
}

static double
sample_loss(const bench *b, uint32_t image)
{
    static double in[WIDEST];
    static double out[WIDEST];
    static float x[WIDEST];
    uint8_t label;
    data_gather(&b->images, &image, 1, x, &label);
    for (uint32_t i = 0; i < b->net.width[0]; i++) {
        in[i] = (double)x[i];
    }
    for (uint32_t l = 0; l < b->net.layers; l++) {
        if (b->net.image[l].channels > 0) {
            convolution(b, l, in, out);
        } else {
            linear(b, l, in, out);
        }
        memcpy(in, out, b->net.width[l + 1] * sizeof *in);
    }
    double sum = 0.0;
    for (uint32_t o = 0; o < CLASSES; o++) {
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

static void
check_each_parameter(const model *net, image_size image, uint32_t samples)
{
    const double step = 1e-6;
    bench b;
    bench_open(&b, net, image);
    const gradient_of of = of_bench(&b, samples);
    gradient_direct(&of, (sampler_part){.index = b.index, .count = samples}, b.gradient,
                    (layer_done){.call = NULL});
    assert_true(fabs((double)b.gradient[net->parameters] - mean_loss(&b, samples)) <
                2e-6);
    for (uint64_t i = 0; i < net->parameters; i++) {
        const double middle = b.exact[i];
        b.exact[i] = middle + step;
        const double above = mean_loss(&b, samples);
        b.exact[i] = middle - step;
        const double below = mean_loss(&b, samples);
        b.exact[i] = middle;
        const double slope = (above - below) / (2.0 * step);
        if (fabs(slope - (double)b.gradient[i]) > 5e-6 * fmax(1.0, fabs(slope))) {
            fail_msg("%u x %u, %u samples: parameter %llu: %.9g, differences %.9g",
                     image.height, image.width, samples, (unsigned long long)i,
                     (double)b.gradient[i], slope);
        }
    }
    bench_close(&b);
}

static void
test_small_networks_parameter_by_parameter(void **state)
{
    (void)state;
    for (uint32_t height = 2; height <= 7; height++) {
        for (uint32_t width = 2; width <= 7; width += 1 + height % 2) {
            const image_size image = {height, width, 1};
            model net = model_begin(height * width);
            const image_size out = model_add_convolution(&net, image, 3);
            if (out.height >= 2 && out.width >= 2) {
                (void)model_add_convolution(&net, out, 5);
                model_add_linear(&net, 4);
            }
            model_add_linear(&net, CLASSES);
            for (uint32_t samples = 1; samples <= SAMPLES; samples += 5) {
                check_each_parameter(&net, image, samples);
            }
        }
    }
}

static model
real_network(image_size image)
{
    const model_kind *kind = model_kind_of(TRAIN_CNN);
    const model_request ask = {.image = image,
                               .outputs = CLASSES,
                               .hidden_count = (uint32_t)kind->hidden_count,
                               .hidden = kind->hidden};
    model net;
    problem why;
    assert_true(kind->shape(&ask, &net, &why));
    return net;
}

/* Too many parameters to move one by one: all at once, along random directions. */
static void
test_the_real_network_along_directions(void **state)
{
    (void)state;
    const uint32_t samples = 5;
    const double step = 1e-6;
    const image_size image = {28, 28, 1};
    const model net = real_network(image);
    bench b;
    bench_open(&b, &net, image);
    const gradient_of of = of_bench(&b, samples);
    gradient_direct(&of, (sampler_part){.index = b.index, .count = samples}, b.gradient,
                    (layer_done){.call = NULL});
    for (uint32_t direction = 0; direction < 3; direction++) {
        const random_stream stream = random_open(5, RANDOM_WEIGHTS, direction);
        double expected = 0.0;
        double loss[2];
        for (uint32_t side = 0; side < 2; side++) {
            for (uint64_t i = 0; i < net.parameters; i++) {
                const double move = (double)random_normal(stream, i) * 0.01;
                expected += side == 0 ? move * (double)b.gradient[i] : 0.0;
                b.exact[i] = (double)b.parameter[i] + (side == 0 ? step : -step) * move;
            }
            loss[side] = mean_loss(&b, samples);
        }
        const double slope = (loss[0] - loss[1]) / (2.0 * step);
        assert_true(fabs(slope - expected) < 2e-5 * fmax(1.0, fabs(slope)));
    }
    bench_close(&b);
}

static void
test_images_too_small_for_the_pooling_are_refused(void **state)
{
    (void)state;
    for (uint32_t side = 1; side < 8; side++) {
        const model_request ask = {.image = {side, 8 - side, 1}, .outputs = CLASSES};
        model net;
        problem why;
        const bool good = model_kind_of(TRAIN_CNN)->shape(&ask, &net, &why);
        assert_int_equal(good, side == 4);
        assert_true(good || strstr(why.text, "smaller than the 4 x 4") != NULL);
    }
}

/* Whichever pixel of an image is not a number, the loss says so. */
static void
test_what_is_not_a_number_stays_one(void **state)
{
    (void)state;
    const image_size image = {4, 4, 1};
    for (uint32_t pixel = 0; pixel < 16; pixel++) {
        float x[16] = {0.0f};
        float w[CONV_ROOM];
        float rows[16 * CONV_ROOM * CONV_CHUNK];
        float full[16 * CONV_CHUNK];
        uint8_t pick[4];
        float y[4];
        for (uint32_t i = 0; i < CONV_ROOM; i++) {
            w[i] = i == CONV_ROOM / 2 ? 1.0f : 0.0f;
        }
        x[pixel] = NAN;
        conv_forward((conv_shape){.n = 1, .image = image, .filters = 1}, x, w,
                     (conv_scratch){.rows = rows, .full = full}, pick, y);
        for (uint32_t square = 0; square < 4; square++) {
            /* It reaches the square through any of the square's neighbours. */
            const uint32_t top = square / 2 * 2;
            const uint32_t left = square % 2 * 2;
            const bool near = pixel / 4 + 1 >= top && pixel / 4 <= top + 2 &&
                              pixel % 4 + 1 >= left && pixel % 4 <= left + 2;
            assert_int_equal(isnan(y[square]) != 0, near);
        }
    }
}

/* --- in passes ------------------------------------------------------------------- */

typedef struct order {
    const bench *b;
    uint32_t calls;
    float seen[MODEL_LAYERS_MAX]; /* A value that shows a later change. */
} order;

static void
note_layer(void *user, uint32_t layer)
{
    order *o = user;
    assert_int_equal(layer, o->b->net.layers - 1 - o->calls);
    o->seen[o->calls++] = o->b->gradient[o->b->net.bias_at[layer]];
}

static void
test_passes_add_up_to_the_gradient_in_one_go(void **state)
{
    (void)state;
    const image_size image = {8, 8, 1};
    const model net = real_network(image);
    problem why;
    bench b;
    bench_open(&b, &net, image);
    const gradient_of of = of_bench(&b, SAMPLES);
    const sampler_part all = {.index = b.index, .count = SAMPLES};
    float *whole = memory_floats(net.parameters + 1, &why);
    assert_non_null(whole);
    gradient_direct(&of, all, whole, (layer_done){.call = NULL});
    for (uint32_t passes = 1; passes <= SAMPLES; passes++) {
        gradient_passes p;
        order o = {.b = &b};
        assert_true(gradient_passes_create(&net, passes, &p, &why));
        /* Twice: nothing is left over from the step before. */
        for (uint32_t step = 0; step < 2; step++) {
            o.calls = 0;
            gradient_in_passes(&p, &of, all, b.gradient,
                               (layer_done){.call = note_layer, .user = &o});
            assert_int_equal(o.calls, net.layers);
            for (uint64_t i = 0; i <= net.parameters; i++) {
                assert_true(fabsf(whole[i] - b.gradient[i]) < 2e-6f);
            }
            for (uint32_t l = 0; l < net.layers; l++) {
                const float now = b.gradient[net.bias_at[l]];
                assert_true(o.seen[net.layers - 1 - l] == now);
            }
        }
        gradient_passes_free(&p);
    }
    memory_free(whole);
    bench_close(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_networks_parameter_by_parameter),
        cmocka_unit_test(test_the_real_network_along_directions),
        cmocka_unit_test(test_images_too_small_for_the_pooling_are_refused),
        cmocka_unit_test(test_what_is_not_a_number_stays_one),
        cmocka_unit_test(test_passes_add_up_to_the_gradient_in_one_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
