/* state_dirs.c - the directories of --checkpoint (see state_dirs.h). */
#include "state_dirs.h"

#include "state_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_PREFIX "step-"
#define RANK_PREFIX "rank-"

/* --- names ------------------------------------------------------------------------ */

bool
state_dirs_path(const char *directory, uint64_t step, char path[PATH_MAX], problem *why)
{
    const int length =
        snprintf(path, PATH_MAX, "%s/" STEP_PREFIX "%" PRIu64, directory, step);
    return (length > 0 && length < PATH_MAX) ||
           problem_fail(why, "--checkpoint %s: the name is too long", directory);
}

void
state_dirs_file(uint32_t name, char file[STATE_FILE_NAME_MAX])
{
    (void)snprintf(file, STATE_FILE_NAME_MAX, RANK_PREFIX "%" PRIu32, name);
}

static bool
join(const char *directory, const char *file, char path[PATH_MAX])
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", directory, file);
    return length > 0 && length < PATH_MAX;
}

/* The number behind a prefix, written as we write it. */
static bool
read_name(const char *text, const char *prefix, uint64_t *number)
{
    const size_t length = strlen(prefix);
    char *end = NULL;
    if (strncmp(text, prefix, length) != 0 || text[length] < '0' ||
        text[length] > '9' || (text[length] == '0' && text[length + 1] != '\0')) {
        return false;
    }
    errno = 0;
    *number = strtoull(text + length, &end, 10);
    return errno == 0 && *end == '\0';
}

/* --- looking ---------------------------------------------------------------------- */

typedef struct numbers {
    uint64_t *value; /* Ascending. */
    uint32_t count;
} numbers;

static int
by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool
append(numbers *list, uint64_t value)
{
    if ((list->count & (list->count - 1)) == 0) {
        const size_t room = list->count == 0 ? 1 : 2 * (size_t)list->count;
        uint64_t *more = realloc(list->value, room * sizeof *more);
        if (more == NULL) {
            return false;
        }
        list->value = more;
    }
    list->value[list->count++] = value;
    return true;
}

/* The numbers of entries with that prefix. */
static bool
list_numbers(const char *directory, const char *prefix, numbers *result, problem *why)
{
    DIR *dir = opendir(directory);
    bool good = dir != NULL;
    *result = (numbers){.count = 0};
    if (!good) {
        return problem_fail(why, "--checkpoint %s: %s", directory, strerror(errno));
    }
    struct dirent *entry = NULL;
    while (good && (entry = readdir(dir)) != NULL) {
        uint64_t number = 0;
        if (read_name(entry->d_name, prefix, &number)) {
            good = append(result, number);
        }
    }
    (void)closedir(dir);
    if (!good) {
        return problem_fail(why, "no memory for the names in %s", directory);
    }
    if (result->count > 0) {
        qsort(result->value, result->count, sizeof *result->value, by_value);
    }
    return true;
}

static bool
has_all(const char *path, const uint32_t *name, uint32_t names)
{
    for (uint32_t i = 0; i < names; i++) {
        char file[STATE_FILE_NAME_MAX];
        char whole[PATH_MAX];
        state_dirs_file(name[i], file);
        if (!join(path, file, whole) || access(whole, F_OK) != 0) {
            return false;
        }
    }
    return true;
}

bool
state_dirs_create(const char *directory, problem *why)
{
    struct stat about;
    if (mkdir(directory, 0777) == 0) {
        return true;
    }
    if (errno == EEXIST && stat(directory, &about) == 0 && !S_ISDIR(about.st_mode)) {
        errno = ENOTDIR;
    }
    return errno == EEXIST ||
           problem_fail(why, "--checkpoint %s: %s", directory, strerror(errno));
}

bool
state_dirs_any(const char *directory, bool *found, uint64_t *step, problem *why)
{
    numbers steps;
    const bool good = list_numbers(directory, STEP_PREFIX, &steps, why);
    if (good) {
        *found = steps.count > 0;
        *step = steps.count > 0 ? steps.value[steps.count - 1] : 0;
    }
    free(steps.value);
    return good;
}

/* The names of the ranks that belong to it, by the first file that is there. */
static bool
read_ranks(const char *path, uint32_t first, state_dir *d, problem *why)
{
    char file[STATE_FILE_NAME_MAX];
    char whole[PATH_MAX];
    state_file f;
    uint64_t bytes = 0;
    state_dirs_file(first, file);
    if (!join(path, file, whole)) {
        return problem_fail(why, "%s: the name is too long", path);
    }
    if (!state_file_read(whole, &f, why)) {
        return false;
    }
    const void *names = state_file_find(&f, STATE_RANKS_PART, &bytes);
    bool good = names != NULL && bytes > 0 && bytes % sizeof *d->name == 0;
    if (!good) {
        (void)problem_fail(why, "%s: it does not say whose it is", whole);
    } else {
        d->name = malloc(bytes);
        good = d->name != NULL || problem_fail(why, "no memory for %s", whole);
    }
    if (good) {
        memcpy(d->name, names, bytes);
        d->names = (uint32_t)(bytes / sizeof *d->name);
    }
    state_file_free(&f);
    return good;
}

static bool
look_into(const char *directory, uint64_t step, state_dir *result, problem *why)
{
    char path[PATH_MAX];
    numbers files = {.count = 0};
    state_dir d = {.step = step};
    bool good = state_dirs_path(directory, step, path, why) &&
                list_numbers(path, RANK_PREFIX, &files, why);
    if (good && files.count > 0) {
        good = read_ranks(path, (uint32_t)files.value[0], &d, why);
        d.found = good && has_all(path, d.name, d.names);
    }
    free(files.value);
    if (d.found) {
        *result = d;
    } else {
        state_dir_free(&d);
    }
    return good;
}

bool
state_dirs_newest(const char *directory, state_dir *result, problem *why)
{
    numbers steps;
    bool good = list_numbers(directory, STEP_PREFIX, &steps, why);
    *result = (state_dir){.found = false};
    for (uint32_t i = steps.count; good && i-- > 0 && !result->found;) {
        good = look_into(directory, steps.value[i], result, why);
    }
    free(steps.value);
    return good;
}

void
state_dir_free(state_dir *d)
{
    free(d->name);
    *d = (state_dir){.found = false};
}

/* --- removing --------------------------------------------------------------------- */

/* Only what is ours; a directory with other things in it stays. */
static void
remove_step(const char *directory, uint64_t step)
{
    char path[PATH_MAX];
    problem ignored;
    if (!state_dirs_path(directory, step, path, &ignored)) {
        return;
    }
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    struct dirent *entry = NULL;
    while ((entry = readdir(dir)) != NULL) {
        char whole[PATH_MAX];
        if (strncmp(entry->d_name, RANK_PREFIX, strlen(RANK_PREFIX)) == 0 &&
            join(path, entry->d_name, whole)) {
            (void)unlink(whole);
        }
    }
    (void)closedir(dir);
    (void)rmdir(path);
}

bool
state_dirs_drop_newer(const char *directory, const state_dir *last, problem *why)
{
    numbers steps;
    bool good = list_numbers(directory, STEP_PREFIX, &steps, why);
    for (uint32_t i = 0; good && i < steps.count; i++) {
        if (!last->found || steps.value[i] > last->step) {
            remove_step(directory, steps.value[i]);
        }
    }
    free(steps.value);
    return good && state_directory_sync(directory, why);
}

void
state_dirs_prune(const char *directory, const uint32_t *name, uint32_t names)
{
    numbers steps;
    problem ignored;
    uint32_t complete = 0;
    if (!list_numbers(directory, STEP_PREFIX, &steps, &ignored)) {
        free(steps.value);
        return;
    }
    for (uint32_t i = steps.count; i-- > 0;) {
        char path[PATH_MAX];
        if (complete >= 2) {
            remove_step(directory, steps.value[i]);
        } else if (state_dirs_path(directory, steps.value[i], path, &ignored)) {
            complete += has_all(path, name, names);
        }
    }
    free(steps.value);
}
