/* main.c - rondo-train: a small, complete data-parallel trainer. README.md says how to
 * read it. */
#include "clock.h"
#include "data.h"
#include "group.h"
#include "options.h"
#include "problem.h"
#include "trainer.h"
#include "virtual/virtual.h"

#include <cblas.h>
#include <stdio.h>

static bool
train(group *living, const options *o, double began, problem *why)
{
    data_set set;
    if (!data_read(o->data, &set, why)) {
        return false;
    }
    trainer t;
    const bool good =
        trainer_create(living, o, &set, began, &t, why) && trainer_run(&t, why);
    trainer_free(&t);
    data_free(&set);
    return good;
}

/* One line on the standard error. What all ranks know, rank 0 says alone. */
static void
complain(const group *living, const problem *why)
{
    if (why->known_to_all && living->all.rank == 0) {
        (void)fprintf(stderr, "rondo-train: %s\n", why->text);
    } else if (!why->known_to_all) {
        (void)fprintf(stderr, "rondo-train: rank %u: %s\n", living->name, why->text);
    }
}

/* Joins the other ranks, trains, and leaves them so that none waits in vain. */
static int
train_among_ranks(const options *o)
{
    const double began = clock_seconds();
    problem why = {.exit_code = EXIT_FAILED};
    group living;
    if (!group_join(o->door, o->returning, &living, &why)) {
        (void)fprintf(stderr, "rondo-train: %s\n", why.text);
        return why.exit_code;
    }
    /* One thread per rank: it is the ranks that use the cores. */
    openblas_set_num_threads(1);
    if (train(&living, o, began, &why)) {
        group_leave(&living);
        return EXIT_OK;
    }
    complain(&living, &why);
    if (why.known_to_all) {
        group_leave(&living);
    } else {
        group_abandon(&living);
    }
    return why.exit_code;
}

static int
train_in_virtual_time(const options *o)
{
    problem why = {.exit_code = EXIT_FAILED};
    openblas_set_num_threads(1);
    if (virtual_train(o, clock_seconds(), &why)) {
        return EXIT_OK;
    }
    (void)fprintf(stderr, "rondo-train: %s\n", why.text);
    return why.exit_code;
}

static int
act(const options *o)
{
    switch (o->action) {
    case ACTION_HELP:
        options_print_help(stdout);
        return EXIT_OK;
    case ACTION_VERSION:
        (void)printf("rondo-train %s\n", rondo_version_text());
        return EXIT_OK;
    case ACTION_TRAIN:
        return o->virtual_time ? train_in_virtual_time(o) : train_among_ranks(o);
    }
    return EXIT_FAILED;
}

int
main(int argc, char **argv)
{
    problem why;
    options o;
    if (!options_read(argc, argv, &o, &why)) {
        (void)fprintf(stderr, "rondo-train: %s\n", why.text);
        return why.exit_code;
    }
    const int code = act(&o);
    if (code == EXIT_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        (void)fprintf(stderr,
                      "rondo-train: the standard output cannot be written to\n");
        return EXIT_FAILED;
    }
    return code;
}
