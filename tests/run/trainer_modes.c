/* trainer_modes.c - parameters after a run, number by number: modes that must come to
 * the same, and uneven data against one process that follows the same rule. */
/* ctest: timeout=120 */
#include "lib/ranks.h"
#include "trainer/clock.h"
#include "trainer/random.h"
#include "trainer/trainer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define IMAGES      330u
#define SIDE        6u
#define FLOATS_MAX  4000u
#define WORDS_MAX   40
#define DEADLINE_MS 30000u

/* --- a data set ------------------------------------------------------------------- */

static uint8_t pixels[IMAGES * SIDE * SIDE];
static uint8_t labels[IMAGES];

/* Ten classes: a bright row or column on noise. */
static data_set
make_data(void)
{
    const random_stream stream = random_open(99, RANDOM_SHUFFLE, 1);
    for (uint32_t i = 0; i < IMAGES; i++) {
        uint8_t *image = pixels + (size_t)i * SIDE * SIDE;
        const uint32_t label = random_below(stream, i, 10);
        labels[i] = (uint8_t)label;
        for (uint32_t p = 0; p < SIDE * SIDE; p++) {
            const uint64_t bits = random_bits(stream, 1000 + (uint64_t)i * 64 + p);
            const uint32_t line = label < 5 ? p / SIDE : p % SIDE + 5;
            image[p] = (uint8_t)(bits % 150 + (line == label ? 100 : 0));
        }
    }
    const data_part part = {.images = IMAGES,
                            .height = SIDE,
                            .width = SIDE,
                            .pixels = SIDE * SIDE,
                            .pixel = pixels,
                            .label = labels};
    return (data_set){.train = part, .test = part};
}

/* --- a run on this rank ----------------------------------------------------------- */

typedef struct outcome {
    uint64_t count;
    uint64_t steps;
    double payload;
    float parameter[FLOATS_MAX];
} outcome;

static bool
read_options(const char *line, options *o, problem *why)
{
    static char text[1024]; /* Options point into it. */
    static char *word[WORDS_MAX];
    int count = 0;
    word[count++] = text;
    (void)snprintf(text, sizeof text, "x %s", line);
    for (char *at = strchr(text, ' '); at != NULL; at = strchr(at, ' ')) {
        *at++ = '\0';
        word[count++] = at;
    }
    return options_read(count, word, o, why);
}

static bool
train(const ranks *all, const char *line, outcome *result, problem *why)
{
    uint32_t same[RANKS_MAX];
    for (uint32_t i = 0; i < all->count; i++) {
        same[i] = i;
    }
    group living = {.all = *all,
                    .name = all->rank,
                    .names = all->count,
                    .name_of = same,
                    .rank_of = same};
    options o;
    trainer t = {.group = NULL};
    const data_set set = make_data();
    if (!read_options(line, &o, why)) {
        return false;
    }
    const bool good = trainer_create(&living, &o, &set, clock_seconds(), &t, why) &&
                      trainer_run(&t, why);
    if (good) {
        result->count = t.net.parameters;
        result->steps = t.step;
        result->payload = t.payload_bytes;
        memcpy(result->parameter, t.parameter, t.net.parameters * sizeof(float));
    }
    trainer_free(&t);
    return good;
}

static double
largest_difference(const outcome *a, const outcome *b)
{
    double largest = 0.0;
    for (uint64_t i = 0; i < a->count; i++) {
        largest = fmax(largest, fabs((double)a->parameter[i] - b->parameter[i]));
    }
    return largest;
}

/* --- modes that come to the same -------------------------------------------------- */

typedef struct pair {
    const char *first;
    const char *second;
    double within;
    double payload; /* The second's, as a part of the first's. */
} pair;

#define COMMON \
    "--quiet --hidden 20,16 --batch 10 --epochs 2 --steps 16 --lr 0.1 --log-every 0 "
#define SGD COMMON "--optimiser sgd "

static pair pairs[] = {
    /* A mean of updated parameters is an update by the mean. */
    {SGD "--mode sync", SGD "--mode local --local-steps 1", 1e-6, 1.0},
    {SGD "--mode sync", SGD "--mode local --local-steps 4 --local-from 1000", 0.0, 1.0},
    {SGD "--mode sync", SGD "--mode local --local-steps 1 --local-from 7", 1e-6, 1.0},
    {COMMON "--mode local --local-steps 1", COMMON "--mode local --local-steps 4",
     INFINITY, 1.0 / 4},
    {COMMON "--mode sync", COMMON "--mode local --local-steps 16", INFINITY, 1.0 / 16},
    {COMMON "--mode sync", COMMON "--mode diloco --local-steps 8", INFINITY, 1.0 / 8},
    /* Then the anchor becomes the mean, bit for bit. */
    {COMMON "--mode local --local-steps 4",
     COMMON "--optimiser momentum --mode diloco --local-steps 4 --outer-lr 1 "
            "--outer-momentum 0",
     0.0, 1.0},
    {COMMON "--optimiser adamw --mode local --local-steps 5",
     COMMON "--mode diloco --local-steps 5 --lr 0.1 --outer-lr 1 --outer-momentum 0",
     0.0, 1.0},
    /* Everybody's mean after each step is what sync has, up to where gradients are
     * taken; at the first step they are equal. */
    {SGD "--mode sync --steps 1", SGD "--mode gossip --graph complete --steps 1", 1e-6,
     -1.0},
};

static void
compare_as_rank(rank_self *self)
{
    const pair *p = self->user;
    static outcome first;
    static outcome second;
    problem why = {.text = ""};
    ranks all = {.rank = self->rank, .count = self->nranks};
    if (!rank_join(self, DEADLINE_MS, &all.comm)) {
        return;
    }
    if (!train(&all, p->first, &first, &why) ||
        !train(&all, p->second, &second, &why)) {
        rank_expect(self, false, "%s", why.text);
    } else {
        const double apart = largest_difference(&first, &second);
        rank_expect(self, apart <= p->within, "'%s' and '%s' are %g apart", p->first,
                    p->second, apart);
        rank_expect(self,
                    p->payload < 0.0 || second.payload == p->payload * first.payload,
                    "'%s' sends %g bytes, '%s' %g", p->first, first.payload, p->second,
                    second.payload);
    }
    ranks_leave(&all);
}

static void
test_modes_that_come_to_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (uint32_t count = 1; count <= 4; count++) {
            run_ranks(count, AS_PROCESSES, compare_as_rank, &pairs[i], DEADLINE_MS);
        }
    }
}

/* --- uneven data ------------------------------------------------------------------ */

#define UNEVEN_BATCH  10u
#define UNEVEN_EPOCHS 20u

typedef struct shares {
    uint32_t ranks;
    uint32_t images[4];
    uint32_t steps; /* Of all epochs. */
} shares;

static shares uneven[] = {
    {2, {100, 110}, 220},      {3, {100, 0, 110}, 220}, {3, {0, 15, 95}, 200},
    {4, {1, 150, 7, 90}, 300}, {1, {33}, 80},           {2, {0, 12}, 40},
};

/* One rank's images of an epoch: its part of the deal, shuffled. */
static void
shuffle(const uint32_t *dealt, uint32_t count, uint32_t epoch, uint32_t *order)
{
    const random_stream stream = random_open(1, RANDOM_SHUFFLE, epoch);
    memcpy(order, dealt, count * sizeof *order);
    for (uint32_t last = count; last-- > 1;) {
        const uint32_t chosen = random_below(stream, last, last + 1);
        const uint32_t image = order[chosen];
        order[chosen] = order[last];
        order[last] = image;
    }
}

/* Step `step` of an epoch: the images of all ranks that still have some. */
static uint32_t
union_of(const shares *s, const uint32_t *order, uint32_t step, uint32_t *images)
{
    uint32_t count = 0;
    uint32_t first = 0;
    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        for (uint32_t i = 0; i < UNEVEN_BATCH; i++) {
            const uint32_t place = step * UNEVEN_BATCH + i;
            if (place < s->images[rank]) {
                images[count++] = order[first + place];
            }
        }
        first += s->images[rank];
    }
    return count;
}

/* What a single process comes to that makes one step with the images of all. `t` has
 * been made for one rank; its network, optimiser and buffers serve. */
static void
follow_the_rule(trainer *t, const shares *s, outcome *result)
{
    uint32_t order[IMAGES];
    uint32_t dealt[IMAGES];
    float gradient[FLOATS_MAX + 1];
    const uint32_t steps = s->steps / UNEVEN_EPOCHS;
    sampler_start_epoch(&t->order, 0);
    memcpy(dealt, t->order.order, sizeof dealt);
    t->rate.steps = s->steps;
    for (uint32_t step = 0; step < s->steps; step++) {
        const uint32_t epoch = step / steps + 1;
        uint32_t first = 0;
        for (uint32_t rank = 0; rank < s->ranks; rank++) {
            shuffle(dealt + first, s->images[rank], epoch, order + first);
            first += s->images[rank];
        }
        uint32_t images[IMAGES];
        const sampler_part all = {.index = images,
                                  .count = union_of(s, order, step % steps, images)};
        const gradient_of of = {.net = &t->net,
                                .parameter = t->parameter,
                                .images = &t->set->train,
                                .scale = 1.0f / (float)all.count,
                                .t = &t->t};
        gradient_direct(&of, all, gradient, (layer_done){.call = NULL});
        optimiser_step(&t->descent, (float)rate_at(&t->rate, step), gradient,
                       t->parameter);
    }
    result->count = t->net.parameters;
    memcpy(result->parameter, t->parameter, t->net.parameters * sizeof(float));
}

/* A communicator of this process alone. */
static bool
compute_alone(const shares *s, outcome *result, problem *why)
{
    rondo_comm_config config;
    rondo_comm_config_init(&config);
    config.rank = 0;
    config.nranks = 1;
    ranks me = {.count = 1};
    uint32_t zero = 0;
    options o;
    trainer t = {.group = NULL};
    const data_set set = make_data();
    if (rondo_comm_create(&config, &me.comm) != RONDO_OK ||
        !read_options(COMMON "--epochs 20", &o, why)) {
        return false;
    }
    group living = {.all = me, .names = 1, .name_of = &zero, .rank_of = &zero};
    const bool good = trainer_create(&living, &o, &set, clock_seconds(), &t, why);
    if (good) {
        follow_the_rule(&t, s, result);
    }
    trainer_free(&t);
    rondo_comm_destroy(me.comm);
    return good;
}

static void
uneven_as_rank(rank_self *self)
{
    const shares *s = self->user;
    static outcome together;
    static outcome alone;
    problem why = {.text = ""};
    ranks all = {.rank = self->rank, .count = self->nranks};
    char line[256];
    (void)snprintf(
        line, sizeof line,
        "--quiet --hidden 20,16 --batch %u --epochs %u --lr 0.1 --log-every 0 "
        "--hash-every 1 --own-images %u",
        UNEVEN_BATCH, UNEVEN_EPOCHS, s->images[self->rank]);
    if (!rank_join(self, DEADLINE_MS, &all.comm)) {
        return;
    }
    const bool good = train(&all, line, &together, &why);
    ranks_leave(&all);
    if (!good || !compute_alone(s, &alone, &why)) {
        rank_expect(self, false, "%s", why.text);
        return;
    }
    rank_expect(self, together.steps == s->steps, "%llu steps",
                (unsigned long long)together.steps);
    const double apart = largest_difference(&together, &alone);
    rank_expect(self, apart < 2e-4, "one process comes to values %g apart", apart);
}

static void
test_uneven_data_follow_the_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof uneven / sizeof uneven[0]; i++) {
        run_ranks(uneven[i].ranks, AS_PROCESSES, uneven_as_rank, &uneven[i],
                  DEADLINE_MS);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes_that_come_to_the_same),
        cmocka_unit_test(test_uneven_data_follow_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
