/* state_file.c - named parts in a file that is always whole (see state_file.h). */
#include "state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC          "rondo:st" /* Eight characters, without their zero. */
#define CHECKSUM_BYTES 32u

typedef struct file_head {
    char magic[8];
    uint32_t version;
    uint32_t parts;
    uint64_t size;
} file_head;

typedef struct file_entry {
    char name[STATE_NAME_BYTES];
    uint64_t offset; /* From the beginning of the file. */
    uint64_t bytes;
} file_entry;

_Static_assert(sizeof(file_head) == 24 && sizeof(file_entry) == 48,
               "there is no padding, so that files have nothing undefined in them");

void
state_add(state_list *list, const char *name, void *data, uint64_t bytes)
{
    if (list->count < STATE_PARTS_MAX) {
        list->part[list->count] =
            (state_part){.name = name, .data = data, .bytes = bytes};
    }
    list->count++;
}

/* --- writing ---------------------------------------------------------------------- */

/* An open file, and the checksum of what it has got so far. */
typedef struct writer {
    FILE *file;
    crypto_generichash_state sum;
} writer;

static bool
put(writer *w, const void *data, uint64_t bytes)
{
    (void)crypto_generichash_update(&w->sum, data, bytes);
    return bytes == 0 || fwrite(data, bytes, 1, w->file) == 1;
}

static uint64_t
size_of(const state_list *list)
{
    uint64_t size = sizeof(file_head) + list->count * sizeof(file_entry);
    for (uint32_t i = 0; i < list->count; i++) {
        size += list->part[i].bytes;
    }
    return size + CHECKSUM_BYTES;
}

static bool
put_table(writer *w, const state_list *list)
{
    file_head head = {
        .version = STATE_FILE_VERSION, .parts = list->count, .size = size_of(list)};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    bool good = put(w, &head, sizeof head);
    uint64_t offset = sizeof head + list->count * sizeof(file_entry);
    for (uint32_t i = 0; i < list->count && good; i++) {
        const state_part *part = &list->part[i];
        file_entry entry = {.offset = offset, .bytes = part->bytes};
        (void)snprintf(entry.name, sizeof entry.name, "%s", part->name);
        good = put(w, &entry, sizeof entry);
        offset += part->bytes;
    }
    return good;
}

static bool
put_all(writer *w, const state_list *list)
{
    unsigned char sum[CHECKSUM_BYTES];
    (void)crypto_generichash_init(&w->sum, NULL, 0, sizeof sum);
    bool good = put_table(w, list);
    for (uint32_t i = 0; i < list->count && good; i++) {
        good = put(w, list->part[i].data, list->part[i].bytes);
    }
    (void)crypto_generichash_final(&w->sum, sum, sizeof sum);
    return good && fwrite(sum, sizeof sum, 1, w->file) == 1 && fflush(w->file) == 0 &&
           fsync(fileno(w->file)) == 0;
}

static bool
write_beside(const char *path, const state_list *list)
{
    writer w = {.file = fopen(path, "wb")};
    if (w.file == NULL) {
        return false;
    }
    const bool good = put_all(&w, list);
    return fclose(w.file) == 0 && good;
}

bool
state_directory_sync(const char *directory, problem *why)
{
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = fd >= 0 && fsync(fd) == 0;
    const int number = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return good || problem_fail(why, "%s: %s", directory, strerror(number));
}

bool
state_file_write(const char *directory, const char *name, const state_list *list,
                 problem *why)
{
    char path[PATH_MAX];
    char beside[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    const int more = snprintf(beside, sizeof beside, "%s/%s.new", directory, name);
    if (length < 0 || more < 0 || more >= PATH_MAX) {
        return problem_fail(why, "%s: the name is too long", directory);
    }
    if (list->count > STATE_PARTS_MAX) {
        return problem_fail(why, "%s: %u parts, and there is room for %u", path,
                            list->count, STATE_PARTS_MAX);
    }
    if (!write_beside(beside, list) || rename(beside, path) != 0) {
        const int number = errno;
        (void)unlink(beside);
        return problem_fail(why, "%s: %s", path, strerror(number));
    }
    return state_directory_sync(directory, why);
}

/* --- reading ---------------------------------------------------------------------- */

/* errno says what is wrong; ENOMEM where there is no memory for it. */
static bool
read_bytes(const char *path, state_file *f)
{
    errno = 0;
    FILE *file = fopen(path, "rb");
    struct stat about;
    bool good = file != NULL && fstat(fileno(file), &about) == 0;
    if (good && !S_ISREG(about.st_mode)) {
        errno = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
        good = false;
    }
    if (good) {
        f->size = (uint64_t)about.st_size;
        f->bytes = malloc(f->size + 1); /* One more: an empty file is no failure. */
        good = f->bytes != NULL && fread(f->bytes, 1, f->size + 1, file) == f->size &&
               ferror(file) == 0;
    }
    const int number = errno;
    if (file != NULL) {
        (void)fclose(file);
    }
    errno = number;
    return good;
}

static file_head
head_of(const state_file *f)
{
    file_head head;
    memcpy(&head, f->bytes, sizeof head);
    return head;
}

static file_entry
entry_of(const state_file *f, uint32_t part)
{
    file_entry entry;
    memcpy(&entry, f->bytes + sizeof(file_head) + part * sizeof entry, sizeof entry);
    return entry;
}

static bool
check_head(const state_file *f, const char *path, problem *why)
{
    if (f->size < sizeof(file_head)) {
        return problem_fail(why, "%s: no state, or cut off: it has %" PRIu64 " bytes",
                            path, f->size);
    }
    const file_head head = head_of(f);
    if (memcmp(head.magic, MAGIC, sizeof head.magic) != 0) {
        return problem_fail(why, "%s: no state of this program, by its first bytes",
                            path);
    }
    if (head.version != STATE_FILE_VERSION) {
        return problem_fail(why, "%s: of version %u; this program knows version %u",
                            path, head.version, STATE_FILE_VERSION);
    }
    if (f->size != head.size) {
        return problem_fail(why,
                            "%s: damaged: it has %" PRIu64 " bytes and should have "
                            "%" PRIu64,
                            path, f->size, head.size);
    }
    return true;
}

static bool
check_sum(const state_file *f, const char *path, problem *why)
{
    unsigned char sum[CHECKSUM_BYTES];
    if (f->size < sizeof(file_head) + sizeof sum) {
        return problem_fail(why, "%s: damaged: too short for a checksum", path);
    }
    const uint64_t bytes = f->size - sizeof sum;
    (void)crypto_generichash(sum, sizeof sum, f->bytes, bytes, NULL, 0);
    return memcmp(sum, f->bytes + bytes, sizeof sum) == 0 ||
           problem_fail(why, "%s: damaged: its checksum does not fit", path);
}

/* Also of a file whose checksum fits: another program may have written it. */
static bool
check_table(const state_file *f, const char *path, problem *why)
{
    const uint64_t end = f->size - CHECKSUM_BYTES;
    const uint32_t parts = head_of(f).parts;
    uint64_t offset = sizeof(file_head) + (uint64_t)parts * sizeof(file_entry);
    bool good = parts <= STATE_PARTS_MAX && offset <= end;
    for (uint32_t i = 0; i < parts && good; i++) {
        const file_entry entry = entry_of(f, i);
        good = memchr(entry.name, '\0', sizeof entry.name) != NULL &&
               entry.offset == offset && entry.bytes <= end - offset;
        offset += good ? entry.bytes : 0;
    }
    return (good && offset == end) ||
           problem_fail(why, "%s: damaged: its parts do not fit", path);
}

bool
state_file_read(const char *path, state_file *result, problem *why)
{
    state_file f = {.bytes = NULL};
    if (!read_bytes(path, &f)) {
        const int number = errno;
        state_file_free(&f);
        return problem_fail(why, "%s: %s", path,
                            number != 0 ? strerror(number) : "cannot be read");
    }
    if (!check_head(&f, path, why) || !check_sum(&f, path, why) ||
        !check_table(&f, path, why)) {
        state_file_free(&f);
        return false;
    }
    f.parts = head_of(&f).parts;
    *result = f;
    return true;
}

void
state_file_free(state_file *f)
{
    free(f->bytes);
    *f = (state_file){.bytes = NULL};
}

const void *
state_file_find(const state_file *f, const char *name, uint64_t *bytes)
{
    for (uint32_t i = 0; i < f->parts; i++) {
        const file_entry entry = entry_of(f, i);
        if (strcmp(entry.name, name) == 0) {
            *bytes = entry.bytes;
            return f->bytes + entry.offset;
        }
    }
    return NULL;
}

static bool
wants(const state_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->part[i].name, name) == 0) {
            return true;
        }
    }
    return name[0] == '.';
}

static bool
check_parts(const state_file *f, const char *path, const state_list *list, problem *why)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const state_part *part = &list->part[i];
        uint64_t bytes = 0;
        if (state_file_find(f, part->name, &bytes) == NULL) {
            return problem_fail(why, "%s: has no part \"%s\", which this run needs",
                                path, part->name);
        }
        if (bytes != part->bytes) {
            return problem_fail(why,
                                "%s: part \"%s\" has %" PRIu64 " bytes, and this run "
                                "needs %" PRIu64,
                                path, part->name, bytes, part->bytes);
        }
    }
    for (uint32_t i = 0; i < f->parts; i++) {
        const file_entry entry = entry_of(f, i);
        if (!wants(list, entry.name)) {
            return problem_fail(why, "%s: has a part \"%s\", which this run has not",
                                path, entry.name);
        }
    }
    return true;
}

bool
state_file_load(const state_file *f, const char *path, const state_list *list,
                problem *why)
{
    if (!check_parts(f, path, list, why)) {
        return false;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        uint64_t bytes = 0;
        const void *data = state_file_find(f, list->part[i].name, &bytes);
        if (bytes > 0) {
            memcpy(list->part[i].data, data, bytes);
        }
    }
    return true;
}
