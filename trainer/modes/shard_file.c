/* shard_file.c - a shard's state in a file of its own (see shard_file.h). */
#include "modes/shard_file.h"

#include "hash.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAGIC UINT64_C(0x3164726168736f72)

typedef struct file_head {
    uint64_t magic;
    uint64_t seed;
    uint64_t begin;
    uint64_t count;
    uint32_t optimiser;
    uint32_t vectors;
    uint64_t steps; /* Of the optimiser. */
    uint64_t state_bytes;
    uint64_t check; /* Of all that follows, and of this with `check` 0. */
} file_head;

/* The whole file in memory. */
typedef struct file_image {
    file_head head;
    unsigned char *body; /* The shard's state, then the optimiser's vectors. */
    uint64_t bytes;      /* Of body. */
} file_image;

static uint64_t
check_of(const file_image *image)
{
    file_head head = image->head;
    head.check = 0;
    return hash_pair(hash_bytes(&head, sizeof head),
                     hash_bytes(image->body, image->bytes));
}

static file_head
head_of(const serving_shard *s)
{
    file_head head;
    memset(&head, 0, sizeof head);
    head.magic = FILE_MAGIC;
    head.seed = s->t->o->seed;
    head.begin = s->begin;
    head.count = s->count;
    head.optimiser = s->t->o->optimiser;
    head.vectors = s->descent.kind->vectors;
    head.steps = s->descent.steps;
    return head;
}

static uint64_t
vector_bytes(const serving_shard *s)
{
    return s->count * sizeof(float);
}

static bool
name_file(const char *directory, uint32_t index, const char *end, char path[PATH_MAX],
          problem *why)
{
    const int length = snprintf(path, PATH_MAX, "%s/shard-%u%s", directory, index, end);
    return (length > 0 && length < PATH_MAX) ||
           problem_fail(why, "--checkpoint %s: the name is too long", directory);
}

/* --- save ------------------------------------------------------------------------- */

static bool
take_image(const serving_shard *s, file_image *image, problem *why)
{
    image->head = head_of(s);
    image->head.state_bytes = rondo_shard_state_bytes(s->shard);
    image->bytes = image->head.state_bytes + image->head.vectors * vector_bytes(s);
    image->body = malloc(image->bytes);
    if (image->body == NULL) {
        return problem_fail(why, "no memory for a checkpoint of a shard");
    }
    const rondo_status status =
        rondo_shard_state_save(s->shard, image->body, image->head.state_bytes);
    if (status != RONDO_OK) {
        return problem_fail(why, "saving a shard: %s", rondo_error_text());
    }
    unsigned char *end = image->body + image->head.state_bytes;
    if (s->descent.first != NULL) {
        memcpy(end, s->descent.first + s->begin, vector_bytes(s));
        end += vector_bytes(s);
    }
    if (s->descent.second != NULL) {
        memcpy(end, s->descent.second + s->begin, vector_bytes(s));
    }
    image->head.check = check_of(image);
    return true;
}

static bool
write_image(const char *path, const file_image *image)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return false;
    }
    const bool written = fwrite(&image->head, sizeof image->head, 1, file) == 1 &&
                         fwrite(image->body, image->bytes, 1, file) == 1 &&
                         fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && written;
}

bool
shard_file_save(const char *directory, uint32_t index, const serving_shard *s,
                problem *why)
{
    char path[PATH_MAX];
    char beside[PATH_MAX];
    file_image image = {.body = NULL};
    (void)mkdir(directory, 0777); /* If it fails, so does what follows. */
    bool good = name_file(directory, index, "", path, why) &&
                name_file(directory, index, ".new", beside, why) &&
                take_image(s, &image, why);
    if (good && (!write_image(beside, &image) || rename(beside, path) != 0)) {
        good = problem_fail(why, "--checkpoint: %s: %s", path, strerror(errno));
    }
    free(image.body);
    return good;
}

/* --- load ------------------------------------------------------------------------- */

static bool
read_image(FILE *file, file_image *image)
{
    struct stat about;
    if (fstat(fileno(file), &about) != 0 ||
        about.st_size <= (off_t)sizeof image->head ||
        fread(&image->head, sizeof image->head, 1, file) != 1) {
        return false;
    }
    image->bytes = (uint64_t)about.st_size - sizeof image->head;
    image->body = malloc(image->bytes);
    return image->body != NULL && fread(image->body, image->bytes, 1, file) == 1;
}

/* NULL, or what is wrong. */
static const char *
fault_of(const file_image *image, const serving_shard *s)
{
    const file_head want = head_of(s);
    const file_head *head = &image->head;
    if (head->magic != want.magic || head->check != check_of(image)) {
        return "it is damaged, or no file of a shard";
    }
    if (head->seed != want.seed || head->begin != want.begin ||
        head->count != want.count || head->optimiser != want.optimiser ||
        head->vectors != want.vectors ||
        image->bytes != head->state_bytes + head->vectors * vector_bytes(s)) {
        return "it is of a run with another --seed, --optimiser, network or --servers";
    }
    return NULL;
}

static bool
put_image(const file_image *image, serving_shard *s)
{
    const file_head *head = &image->head;
    if (rondo_shard_state_load(s->shard, image->body, head->state_bytes) != RONDO_OK) {
        return false;
    }
    const unsigned char *end = image->body + head->state_bytes;
    if (s->descent.first != NULL) {
        memcpy(s->descent.first + s->begin, end, vector_bytes(s));
        end += vector_bytes(s);
    }
    if (s->descent.second != NULL) {
        memcpy(s->descent.second + s->begin, end, vector_bytes(s));
    }
    s->descent.steps = head->steps;
    return true;
}

bool
shard_file_load(const char *directory, uint32_t index, serving_shard *s, bool *found,
                problem *why)
{
    char path[PATH_MAX];
    if (!name_file(directory, index, "", path, why)) {
        return false;
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL && errno == ENOENT) {
        *found = false;
        return true;
    }
    if (file == NULL) {
        return problem_fail(why, "--checkpoint: %s: %s", path, strerror(errno));
    }
    file_image image = {.body = NULL};
    const char *fault = "it cannot be read, or is cut off";
    if (read_image(file, &image)) {
        fault = fault_of(&image, s);
    }
    if (fault == NULL && !put_image(&image, s)) {
        fault = rondo_error_text();
    }
    free(image.body);
    (void)fclose(file);
    *found = true;
    return fault == NULL || problem_fail(why, "--checkpoint: %s: %s", path, fault);
}
