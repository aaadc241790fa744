/* main.c - rondo-train: a small, complete data-parallel trainer. README.md says how to
 * read it. */
#include "clock.h"
#include "data.h"
#include "options.h"
#include "problem.h"
#include "ranks.h"
#include "trainer.h"

#include <cblas.h>
#include <stdio.h>

static bool
train(const ranks *all, const options *o, double began, problem *why)
{
    data_set set;
    if (!data_read(o->data, &set, why)) {
        return false;
    }
    trainer t;
    const bool good =
        trainer_create(all, o, &set, began, &t, why) && trainer_run(&t, why);
    trainer_free(&t);
    data_free(&set);
    return good;
}

/* One line on the standard error. What all ranks know, rank 0 says alone. */
static void
complain(const ranks *all, const problem *why)
{
    if (why->known_to_all && all->rank == 0) {
        (void)fprintf(stderr, "rondo-train: %s\n", why->text);
    } else if (!why->known_to_all) {
        (void)fprintf(stderr, "rondo-train: rank %u: %s\n", all->rank, why->text);
    }
}

/* Joins the other ranks, trains, and leaves them so that none waits in vain. */
static int
train_among_ranks(const options *o)
{
    const double began = clock_seconds();
    problem why = {.exit_code = EXIT_FAILED};
    ranks all;
    if (!ranks_join(&all, &why)) {
        (void)fprintf(stderr, "rondo-train: %s\n", why.text);
        return why.exit_code;
    }
    /* One thread per rank: it is the ranks that use the cores. */
    openblas_set_num_threads(1);
    if (train(&all, o, began, &why)) {
        ranks_leave(&all);
        return EXIT_OK;
    }
    complain(&all, &why);
    if (why.known_to_all) {
        ranks_leave(&all);
    } else {
        ranks_abandon(&all);
    }
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
        return train_among_ranks(o);
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
