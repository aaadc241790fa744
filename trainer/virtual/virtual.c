/* virtual.c - a virtual run from its options to its last record (see virtual.h). */
#include "virtual/virtual.h"

#include "virtual/world.h"

#include <stdlib.h>

/* With --virtual-timing there is no data: the sizes of Fashion-MNIST. */
static const data_set no_data = {
    .train = {.images = 60000, .height = 28, .width = 28, .pixels = 784},
    .test = {.images = 10000, .height = 28, .width = 28, .pixels = 784}};

/* What makes no sense in virtual time. A run with ranks is another thing, and whoever
 * started one did not mean this. */
static bool
check_options(const options *o, problem *why)
{
    static const char *const names[] = {"RANK", "WORLD_SIZE"};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (getenv(names[i]) != NULL) {
            return problem_usage(why,
                                 "--virtual with %s in the environment: one process "
                                 "plays all workers, start it without a launcher",
                                 names[i]);
        }
    }
    if (o->straggler == NULL) {
        return problem_usage(why, "--virtual without --straggler: that says how long a "
                                  "step takes");
    }
    if (options_given(o, "--servers")) {
        return problem_usage(why,
                             "--virtual with --servers: there is one, and it costs "
                             "no time");
    }
    return o->mode != TRAIN_NONE ||
           problem_usage(why, "--virtual with --mode none: workers that exchange "
                              "nothing are not worth playing");
}

static bool
run(world *w, problem *why)
{
    switch (w->t->o->mode) {
    case TRAIN_BACKUP:
    case TRAIN_ASYNC:
    case TRAIN_SSP:
        return world_run_server(w, why);
    case TRAIN_GOSSIP:
        return world_run_neighbours(w, why);
    case TRAIN_AD_GOSSIP:
        return world_run_pairs(w, why);
    default:
        return world_run_barrier(w, why);
    }
}

/* Whether each worker has parameters of its own. */
static bool
apart(const options *o)
{
    return o->mode == TRAIN_GOSSIP || o->mode == TRAIN_AD_GOSSIP ||
           o->mode == TRAIN_LOCAL || o->mode == TRAIN_DILOCO;
}

static bool
play(trainer *t, problem *why)
{
    world w;
    bool good = world_create(t, apart(t->o), &w, why);
    if (good) {
        progress_start(&t->progress);
        good = run(&w, why) && world_finish(&w, why);
    }
    world_free(&w);
    return good;
}

static bool
prepare(trainer *t, ranks *all, problem *why)
{
    const options *o = t->o;
    batch_plan plan;
    if (!trainer_plan(o, (uint32_t)(o->workers + o->servers), &plan, why)) {
        return false;
    }
    all->count = plan.workers;
    const uint64_t fingerprint = o->virtual_timing_only ? 0 : data_fingerprint(t->set);
    if (!trainer_prepare(t, &plan, fingerprint, why)) {
        return false;
    }
    if (o->virtual_timing_only && o->steps > 0) {
        t->steps_end = o->steps; /* There are no images to run out of. */
    }
    model_initialise(&t->net, o->seed, t->parameter);
    t->progress = progress_create(&t->run, NULL, true);
    t->trace = trace_open(o->trace, o->trace_steps, &(trace_owner){.leads = true});
    return metrics_open(o->metrics, &t->metrics, why) &&
           metrics_run(&t->metrics, &t->run, why);
}

static bool
train(const options *o, const data_set *set, double began, problem *why)
{
    static const mode_kind no_mode = {.help = "in virtual time"};
    ranks all = {.count = 1};
    trainer t = {.all = &all,
                 .o = o,
                 .set = set,
                 .began = began,
                 .mode = &no_mode,
                 .reports = true};
    const bool good = prepare(&t, &all, why) && play(&t, why);
    trainer_free(&t);
    return good;
}

bool
virtual_train(const options *o, double began, problem *why)
{
    if (!check_options(o, why)) {
        return false;
    }
    if (o->virtual_timing_only) {
        return train(o, &no_data, began, why);
    }
    data_set set;
    if (!data_read(o->data, &set, why)) {
        return false;
    }
    const bool good = train(o, &set, began, why);
    data_free(&set);
    return good;
}
