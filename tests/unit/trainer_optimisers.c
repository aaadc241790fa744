/* trainer_optimisers.c - every optimiser against its formula, written down again here
 * in double; momentum bit for bit. */
#include "trainer/memory.h"
#include "trainer/optimiser.h"
#include "trainer/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define STEPS 12u
#define MOST  200u

static const optimiser_settings settings = {.momentum = 0.9,
                                            .weight_decay = 0.05,
                                            .beta1 = 0.8,
                                            .beta2 = 0.95,
                                            .epsilon = 1e-6,
                                            .trust = 0.5};

/* --- the formulas once more ------------------------------------------------------ */

/* A tensor in double: values, gradients, and two vectors of state. */
typedef struct plain {
    uint32_t count;
    bool bias;
    uint32_t step; /* From 1. */
    double rate;
    double *w;
    const double *g;
    double *a;
    double *b;
} plain;

static double
norm(const double *v, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += v[i] * v[i];
    }
    return sqrt(sum);
}

static void
plain_sgd(const plain *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        t->w[i] -= t->rate * (t->g[i] + settings.weight_decay * t->w[i]);
    }
}

static void
plain_momentum(const plain *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        t->a[i] =
            settings.momentum * t->a[i] + t->g[i] + settings.weight_decay * t->w[i];
        t->w[i] -= t->rate * t->a[i];
    }
}

static void
plain_nesterov(const plain *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const double slope = t->g[i] + settings.weight_decay * t->w[i];
        t->a[i] = settings.momentum * t->a[i] + slope;
        t->w[i] -= t->rate * (slope + settings.momentum * t->a[i]);
    }
}

/* The direction of Adam without decay. */
static double
adam(const plain *t, uint32_t i)
{
    t->a[i] = settings.beta1 * t->a[i] + (1.0 - settings.beta1) * t->g[i];
    t->b[i] = settings.beta2 * t->b[i] + (1.0 - settings.beta2) * t->g[i] * t->g[i];
    const double m = t->a[i] / (1.0 - pow(settings.beta1, t->step));
    const double s = t->b[i] / (1.0 - pow(settings.beta2, t->step));
    return m / (sqrt(s) + settings.epsilon);
}

static void
plain_adamw(const plain *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const double direction = adam(t, i);
        t->w[i] -= t->rate * (direction + settings.weight_decay * t->w[i]);
    }
}

static void
plain_lars(const plain *t)
{
    const double decay = t->bias ? 0.0 : settings.weight_decay;
    const double w = norm(t->w, t->count);
    const double g = norm(t->g, t->count);
    const double local = t->bias || w <= 0.0 || g <= 0.0 ? 1.0 : w / (g + decay * w);
    for (uint32_t i = 0; i < t->count; i++) {
        t->a[i] = settings.momentum * t->a[i] +
                  t->rate * settings.trust * local * (t->g[i] + decay * t->w[i]);
        t->w[i] -= t->a[i];
    }
}

static void
plain_lamb(const plain *t)
{
    double p[MOST];
    for (uint32_t i = 0; i < t->count; i++) {
        p[i] = adam(t, i) + (t->bias ? 0.0 : settings.weight_decay * t->w[i]);
    }
    const double w = norm(t->w, t->count);
    const double length = norm(p, t->count);
    const double ratio = t->bias || w <= 0.0 || length <= 0.0 ? 1.0 : w / length;
    for (uint32_t i = 0; i < t->count; i++) {
        t->w[i] -= t->rate * ratio * p[i];
    }
}

/* --- beside the trainer's -------------------------------------------------------- */

static void (*const formula[])(const plain *t) = {
    [TRAIN_SGD] = plain_sgd,           [TRAIN_MOMENTUM] = plain_momentum,
    [TRAIN_NESTEROV] = plain_nesterov, [TRAIN_ADAMW] = plain_adamw,
    [TRAIN_LARS] = plain_lars,         [TRAIN_LAMB] = plain_lamb,
};
#define KINDS (sizeof formula / sizeof formula[0])

typedef struct doubles {
    double w[MOST];
    double g[MOST];
    double a[MOST];
    double b[MOST];
} doubles;

static void
plain_step(train_optimiser which, const model *net, uint32_t step, double rate,
           doubles *d)
{
    for (uint32_t l = 0; l < net->layers; l++) {
        for (uint32_t bias = 0; bias < 2; bias++) {
            const uint64_t at = bias ? net->bias_at[l] : net->weight_at[l];
            const plain t = {.count = bias ? net->m[l] : net->k[l] * net->m[l],
                             .bias = bias != 0,
                             .step = step,
                             .rate = rate,
                             .w = d->w + at,
                             .g = d->g + at,
                             .a = d->a + at,
                             .b = d->b + at};
            formula[which](&t);
        }
    }
}

static void
check_formula(train_optimiser which, uint32_t inputs, uint32_t outputs)
{
    problem why;
    optimiser o;
    doubles d = {{0.0}, {0.0}, {0.0}, {0.0}};
    float parameter[MOST] = {0.0f};
    float gradient[MOST] = {0.0f};
    model net = model_begin(inputs);
    model_add_linear(&net, 3);
    model_add_linear(&net, outputs);
    assert_true(net.parameters <= MOST);
    const random_stream stream = random_open(inputs, RANDOM_WEIGHTS, outputs);
    /* Biases are 0 at the start, as in a run: norms of 0 are met. The first weights
     * have a gradient of 0 in the first step. */
    model_initialise(&net, 3, parameter);
    for (uint32_t i = 0; i < net.parameters; i++) {
        d.w[i] = (double)parameter[i];
    }
    assert_true(optimiser_create(which, &net, &settings, &o, &why));
    for (uint32_t step = 1; step <= STEPS; step++) {
        const float rate = 0.1f / (float)step;
        for (uint32_t i = 0; i < net.parameters; i++) {
            const bool still = step == 1 && i < net.bias_at[0];
            gradient[i] = still ? 0.0f : random_normal(stream, step * 1000 + i);
            d.g[i] = (double)gradient[i];
        }
        optimiser_step(&o, rate, gradient, parameter);
        plain_step(which, &net, step, (double)rate, &d);
        for (uint32_t i = 0; i < net.parameters; i++) {
            const double apart = fabs(d.w[i] - (double)parameter[i]);
            if (!(apart < 2e-5 * fmax(1.0, fabs(d.w[i])))) {
                fail_msg("%s: step %u, parameter %u is %.9g, formula %.9g",
                         optimiser_words[which], step, i, (double)parameter[i], d.w[i]);
            }
        }
    }
    optimiser_free(&o);
}

static void
test_every_optimiser_follows_its_formula(void **state)
{
    (void)state;
    uint32_t kinds = 0;
    while (optimiser_words[kinds] != NULL) {
        kinds++;
    }
    assert_int_equal(kinds, KINDS);
    for (uint32_t which = 0; which < KINDS; which++) {
        for (uint32_t inputs = 1; inputs <= 33; inputs++) {
            for (uint32_t outputs = 1; outputs <= 10; outputs += 3) {
                check_formula((train_optimiser)which, inputs, outputs);
            }
        }
    }
}

static void
test_momentum_bit_for_bit(void **state)
{
    (void)state;
    for (uint32_t inputs = 1; inputs < 67; inputs++) {
        problem why;
        optimiser o;
        float gradient[MOST];
        float parameter[MOST];
        float expected[MOST];
        float velocity[MOST] = {0.0f};
        model net = model_begin(inputs);
        model_add_linear(&net, 2);
        const uint32_t count = (uint32_t)net.parameters;
        assert_true(optimiser_create(TRAIN_MOMENTUM, &net, &settings, &o, &why));
        for (uint32_t i = 0; i < count; i++) {
            parameter[i] = expected[i] = 1.0f / (float)(i + 1);
        }
        for (uint32_t step = 0; step < 5; step++) {
            const float rate = 0.1f / (float)(step + 1);
            for (uint32_t i = 0; i < count; i++) {
                gradient[i] = sinf((float)(i * 13 + step));
                /* Each operation rounded by itself. */
                const volatile float decay = 0.05f * expected[i];
                const volatile float slope = gradient[i] + decay;
                const volatile float kept = 0.9f * velocity[i];
                velocity[i] = kept + slope;
                const volatile float move = rate * velocity[i];
                expected[i] = expected[i] - move;
            }
            optimiser_step(&o, rate, gradient, parameter);
            assert_memory_equal(parameter, expected, count * sizeof *parameter);
        }
        optimiser_free(&o);
    }
}

static void
test_norm_of_every_length(void **state)
{
    (void)state;
    float vector[MOST];
    double exact = 0.0;
    for (uint32_t i = 0; i < MOST; i++) {
        vector[i] = (float)i - 70.5f;
        assert_true(fabs(optimiser_norm(vector, i) - sqrt(exact)) < 1e-9);
        exact += (double)vector[i] * (double)vector[i];
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_optimiser_follows_its_formula),
        cmocka_unit_test(test_momentum_bit_for_bit),
        cmocka_unit_test(test_norm_of_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
