/* checkpoint.c - what of a run is saved, when, and how it comes back (see
 * checkpoint.h). */
#include "checkpoint.h"

#include "state_dirs.h"
#include "state_file.h"
#include "state_options.h"
#include "trainer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where training is; everything is 8 bytes, so there is no padding in it. */
typedef struct position {
    uint64_t step;
    uint64_t closed;
    uint64_t images;
    uint64_t ranks; /* That lived. */
    double seconds;
    double wait_seconds;
    double payload_bytes;
    epoch_sums sums;
    gradient_counts gradients;
} position;

static bool
has(const trainer *t, mode_trait trait)
{
    return (t->mode->traits & (uint32_t)trait) != 0;
}

/* One file is for all ranks. */
static bool
is_shared(const trainer *t)
{
    return has(t, MODE_EQUAL) && has(t, MODE_LOCKSTEP);
}

static position
position_of(const trainer *t)
{
    return (position){.step = t->step,
                      .closed = t->closed,
                      .images = t->images,
                      .ranks = t->all->count,
                      .seconds = t->seconds,
                      .wait_seconds = t->wait_seconds,
                      .payload_bytes = t->payload_bytes,
                      .sums = t->sums,
                      .gradients = t->gradients};
}

/* All that the next step depends on. */
static void
list_state(trainer *t, position *where, state_list *list)
{
    optimiser *o = &t->descent;
    const uint64_t bytes = t->net.parameters * sizeof *t->parameter;
    list->count = 0;
    state_add(list, "position", where, sizeof *where);
    state_add(list, "parameters", t->parameter, bytes);
    state_add(list, "optimiser.steps", &o->steps, sizeof o->steps);
    if (o->first != NULL) {
        state_add(list, "optimiser.first", o->first, bytes);
    }
    if (o->second != NULL) {
        state_add(list, "optimiser.second", o->second, bytes);
    }
    if (t->mode->state != NULL) {
        t->mode->state(t, list);
    }
}

/* --- saving ----------------------------------------------------------------------- */

static bool
is_due(const trainer *t)
{
    if (t->o->checkpoint == NULL || has(t, MODE_SERVERS) || t->step == t->saved) {
        return false;
    }
    const uint64_t every =
        t->o->checkpoint_every > 0 ? t->o->checkpoint_every : t->epoch_steps;
    return t->step == t->steps_end || t->step % every == 0;
}

static bool
make_step(const trainer *t, char path[PATH_MAX], problem *why)
{
    if (!state_dirs_path(t->o->checkpoint, t->step, path, why)) {
        return false;
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        return problem_fail(why, "%s: %s", path, strerror(errno));
    }
    return state_directory_sync(t->o->checkpoint, why);
}

/* With what must come first: whose files make it complete, and of what run it is. */
static bool
write_file(trainer *t, const state_list *state, problem *why)
{
    group *g = t->group;
    char path[PATH_MAX];
    char file[STATE_FILE_NAME_MAX];
    char *text = state_options_text(t, why);
    if (text == NULL || !make_step(t, path, why)) {
        free(text);
        return false;
    }
    state_list all = {.count = 0};
    state_add(&all, STATE_RANKS_PART, g->name_of,
              (is_shared(t) ? 1 : t->all->count) * sizeof *g->name_of);
    state_add(&all, STATE_OPTIONS_PART, text, strlen(text));
    for (uint32_t i = 0; i < state->count; i++) {
        const state_part *part = &state->part[i];
        state_add(&all, part->name, part->data, part->bytes);
    }
    state_dirs_file(g->name, file);
    const bool good = state_file_write(path, file, &all, why);
    free(text);
    return good;
}

bool
checkpoint_keep(trainer *t, problem *why)
{
    if (!is_due(t)) {
        return true;
    }
    if (t->mode->settle != NULL && !t->mode->settle(t, why)) {
        return false;
    }
    if (!is_shared(t) || t->all->rank == 0) {
        position where = position_of(t);
        state_list list;
        list_state(t, &where, &list);
        if (!write_file(t, &list, why)) {
            return false;
        }
    }
    t->saved = t->step;
    if (t->all->rank == 0) {
        state_dirs_prune(t->o->checkpoint, t->group->name_of,
                         is_shared(t) ? 1 : t->all->count);
    }
    return true;
}

/* --- going back ------------------------------------------------------------------- */

/* What one rank could not do, none can: all get the first one's sentence. */
static bool
agree(const trainer *t, bool good, problem *why)
{
    problem mine = *why;
    problem *all = calloc(t->all->count, sizeof *all);
    if (all == NULL) {
        return problem_fail(why, "no memory for %u ranks", t->all->count);
    }
    mine.exit_code = good ? EXIT_OK : why->exit_code;
    bool fine = ranks_gather(t->all, &mine, sizeof mine, all, why);
    for (uint32_t rank = 0; fine && rank < t->all->count; rank++) {
        if (all[rank].exit_code != EXIT_OK) {
            *why = all[rank];
            why->known_to_all = true;
            fine = false;
        }
    }
    free(all);
    return fine;
}

/* Rank 0 looks, so that all see the same. */
static bool
look(const trainer *t, state_dir *last, problem *why)
{
    const char *directory = t->o->checkpoint;
    if (!state_dirs_create(directory, why)) {
        return false;
    }
    if (t->o->resume) {
        return state_dirs_newest(directory, last, why) &&
               state_dirs_drop_newer(directory, last, why);
    }
    bool found = false;
    uint64_t step = 0;
    return state_dirs_any(directory, &found, &step, why) &&
           (!found || problem_fail(why,
                                   "--checkpoint %s has states up to step %" PRIu64
                                   "; --resume goes on from there, another directory "
                                   "begins anew",
                                   directory, step));
}

static bool
share_choice(const trainer *t, state_dir *last, problem *why)
{
    state_dir all = *last;
    if (!ranks_adopt(t->all, 0, &all, sizeof all, why)) {
        return false;
    }
    all.name = last->name; /* A pointer is of no use elsewhere. */
    const uint64_t bytes = all.names * sizeof *all.name;
    if (t->all->rank != 0 && all.found) {
        all.name = malloc(bytes);
    }
    *last = all;
    if (!agree(t,
               !all.found || all.name != NULL ||
                   problem_fail(why, "no memory for the names of ranks"),
               why)) {
        return false;
    }
    return !all.found || ranks_adopt(t->all, 0, all.name, bytes, why);
}

/* From this rank's file: the one of its number, in a way. */
static bool
read_own(trainer *t, const state_dir *last, const state_list *list, problem *why)
{
    char directory[PATH_MAX];
    char file[STATE_FILE_NAME_MAX];
    char path[PATH_MAX + STATE_FILE_NAME_MAX];
    state_file f;
    if (!state_dirs_path(t->o->checkpoint, last->step, directory, why)) {
        return false;
    }
    state_dirs_file(last->name[t->group->name % last->names], file);
    (void)snprintf(path, sizeof path, "%s/%s", directory, file);
    if (!state_file_read(path, &f, why)) {
        return false;
    }
    uint64_t bytes = 0;
    const char *text = state_file_find(&f, STATE_OPTIONS_PART, &bytes);
    bool good = text != NULL ||
                problem_fail(why, "%s: it does not say of what run it is", path);
    good = good && state_options_compare(t, path, text, bytes, why) &&
           state_file_load(&f, path, list, why);
    state_file_free(&f);
    return good;
}

static bool
share_parts(const trainer *t, const state_list *list, problem *why)
{
    bool good = true;
    for (uint32_t i = 0; good && i < list->count; i++) {
        good = ranks_adopt(t->all, 0, list->part[i].data, list->part[i].bytes, why);
    }
    return good;
}

/* Counts that add up over ranks: the file is one of so many alike. */
static void
take_counts(trainer *t, const position *where)
{
    uint64_t *count = (uint64_t *)&t->gradients;
    t->gradients = where->gradients;
    if (!is_shared(t)) {
        return;
    }
    const uint64_t times = t->all->rank == 0 ? where->ranks : 0;
    for (uint32_t i = 0; i < sizeof t->gradients / sizeof *count; i++) {
        count[i] *= times;
    }
}

static bool
fits_end(const trainer *t, uint64_t step, problem *why)
{
    return step <= t->steps_end ||
           problem_fail(why,
                        "--resume: the state is of step %" PRIu64
                        ", and the run ends with step %" PRIu64,
                        step, t->steps_end);
}

/* What the end reports is found out again. */
static void
leave_end_open(trainer *t)
{
    if (t->step == t->steps_end && t->closed == trainer_epochs_over(t)) {
        t->closed--;
    }
}

static bool
go_to(trainer *t, const position *where, problem *why)
{
    if (!fits_end(t, where->step, why)) {
        return false;
    }
    t->step = where->step;
    t->saved = where->step;
    t->closed = where->closed;
    t->epoch = 0; /* Its order is made again. */
    t->images = where->images;
    t->seconds = where->seconds;
    t->wait_seconds = where->wait_seconds;
    t->payload_bytes = where->payload_bytes;
    t->sums = where->sums;
    take_counts(t, where);
    leave_end_open(t);
    return true;
}

/* With servers, whose shards have come back already: a worker has its step from them,
 * and what it has done until then follows from that. */
static bool
follow_servers(trainer *t, problem *why)
{
    const bool worker = t->worker != NO_WORKER;
    if (!agree(t, !worker || fits_end(t, t->step, why), why)) {
        return false;
    }
    if (worker && t->step > 0) {
        t->saved = t->step;
        t->closed = trainer_epochs_over(t);
        leave_end_open(t);
        if (t->own.own == NULL) {
            t->images =
                t->step * sampler_take(&t->order, 0, t->worker, t->workers).count;
        }
    }
    return true;
}

static bool
load(trainer *t, const state_dir *last, problem *why)
{
    position where;
    state_list list;
    list_state(t, &where, &list);
    bool good = (is_shared(t) && t->all->rank != 0) || read_own(t, last, &list, why);
    good = agree(t, good, why) && (!is_shared(t) || share_parts(t, &list, why));
    return good && agree(t, go_to(t, &where, why), why);
}

static void
tell(const trainer *t, const state_dir *last)
{
    if (t->all->rank == 0 && !t->o->quiet && last->found) {
        (void)fprintf(stderr, "rondo-train: going on after step %" PRIu64 " of %s\n",
                      last->step, t->o->checkpoint);
    } else if (t->all->rank == 0 && !t->o->quiet) {
        (void)fprintf(stderr, "rondo-train: %s has no complete state; beginning anew\n",
                      t->o->checkpoint);
    }
}

bool
checkpoint_begin(trainer *t, problem *why)
{
    if (t->o->checkpoint == NULL) {
        return true;
    }
    if (has(t, MODE_SERVERS)) {
        return !t->o->resume || follow_servers(t, why);
    }
    state_dir last = {.found = false};
    bool good = agree(t, t->all->rank != 0 || look(t, &last, why), why) &&
                share_choice(t, &last, why);
    if (good && last.found) {
        good = load(t, &last, why);
    }
    if (good && t->o->resume) {
        tell(t, &last);
    }
    state_dir_free(&last);
    return good;
}
