/* shard_file.c - a shard's state in a file of its own (see shard_file.h). */
#include "modes/shard_file.h"

#include "state_dirs.h"
#include "state_file.h"
#include "state_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHARD_PART     "shard"
#define SHARD_NAME_MAX 24u

static void
name_file(uint32_t index, char name[SHARD_NAME_MAX])
{
    (void)snprintf(name, SHARD_NAME_MAX, "shard-%u", index);
}

/* All but the shard itself: what it is of, and the optimiser's part. */
static void
list_optimiser(serving_shard *s, state_list *list)
{
    optimiser *o = &s->descent;
    const uint64_t bytes = s->count * sizeof(float);
    state_add(list, "optimiser.steps", &o->steps, sizeof o->steps);
    if (o->first != NULL) {
        state_add(list, "optimiser.first", o->first + s->begin, bytes);
    }
    if (o->second != NULL) {
        state_add(list, "optimiser.second", o->second + s->begin, bytes);
    }
}

bool
shard_file_save(const char *directory, uint32_t index, const serving_shard *s,
                problem *why)
{
    char name[SHARD_NAME_MAX];
    state_list list = {.count = 0};
    serving_shard own = *s; /* The list is for both ways. */
    const uint64_t bytes = rondo_shard_state_bytes(s->shard);
    char *text = state_options_text(s->t, why);
    void *state = malloc(bytes);
    bool good = text != NULL && state_dirs_create(directory, why);
    if (good && state == NULL) {
        good = problem_fail(why, "no memory for the state of a shard");
    }
    if (good && rondo_shard_state_save(s->shard, state, bytes) != RONDO_OK) {
        good = problem_fail(why, "saving a shard: %s", rondo_error_text());
    }
    if (good) {
        name_file(index, name);
        state_add(&list, STATE_OPTIONS_PART, text, strlen(text));
        state_add(&list, SHARD_PART, state, bytes);
        list_optimiser(&own, &list);
        good = state_file_write(directory, name, &list, why);
    }
    free(state);
    free(text);
    return good;
}

/* False where the name is too long. */
static bool
path_of(const char *directory, uint32_t index, char path[PATH_MAX])
{
    char name[SHARD_NAME_MAX];
    name_file(index, name);
    const int length = snprintf(path, PATH_MAX, "%s/%s", directory, name);
    return length > 0 && length < PATH_MAX;
}

bool
shard_file_exists(const char *directory, uint32_t index)
{
    char path[PATH_MAX];
    return path_of(directory, index, path) && access(path, F_OK) == 0;
}

/* The parts of a file that is whole and of this run. */
static bool
take_parts(const state_file *f, const char *path, serving_shard *s, problem *why)
{
    uint64_t bytes = 0;
    const void *state = state_file_find(f, SHARD_PART, &bytes);
    if (state == NULL) {
        return problem_fail(why, "%s: has no part \"" SHARD_PART "\"", path);
    }
    if (rondo_shard_state_load(s->shard, state, bytes) != RONDO_OK) {
        return problem_fail(why, "%s: %s", path, rondo_error_text());
    }
    state_list list = {.count = 0};
    list_optimiser(s, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        const state_part *part = &list.part[i];
        const void *there = state_file_find(f, part->name, &bytes);
        if (there == NULL || bytes != part->bytes) {
            return problem_fail(why, "%s: has no part \"%s\" of %llu bytes", path,
                                part->name, (unsigned long long)part->bytes);
        }
        memcpy(part->data, there, bytes);
    }
    return true;
}

bool
shard_file_load(const char *directory, uint32_t index, serving_shard *s, problem *why)
{
    char path[PATH_MAX];
    state_file f;
    if (!path_of(directory, index, path)) {
        return problem_fail(why, "--checkpoint %s: the name is too long", directory);
    }
    if (!state_file_read(path, &f, why)) {
        return false;
    }
    uint64_t bytes = 0;
    const char *text = state_file_find(&f, STATE_OPTIONS_PART, &bytes);
    const bool good =
        (text != NULL ||
         problem_fail(why, "%s: it does not say of what run it is", path)) &&
        state_options_compare(s->t, path, text, bytes, why) &&
        take_parts(&f, path, s, why);
    state_file_free(&f);
    return good;
}
