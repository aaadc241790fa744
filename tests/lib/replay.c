/* replay.c - seeds and what becomes of them, the same in every run. */
#include "lib/replay.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
replay_insist(int fact, const char *what)
{
    if (!fact) {
        (void)fprintf(stderr, "fuzz: broken promise: %s\n", what);
        abort();
    }
}

static uint64_t
draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* One change: a bit, a byte, a word of an edge value, a cut, a repeat, a gap. */
static size_t
change(uint8_t *data, size_t bytes, uint64_t *state)
{
    static const uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 1024};
    const size_t at = bytes == 0 ? 0 : draw(state) % bytes;
    const size_t span = bytes == 0 ? 0 : draw(state) % (bytes - at);

    if (bytes == 0) {
        data[0] = (uint8_t)draw(state);
        return 1;
    }
    switch (draw(state) % 6) {
    case 0:
        data[at] ^= (uint8_t)(1U << draw(state) % 8);
        return bytes;
    case 1:
        data[at] = (uint8_t)draw(state);
        return bytes;
    case 2:
        if (at + 4 <= bytes) {
            memcpy(data + at, &edges[draw(state) % 7], 4);
        }
        return bytes;
    case 3:
        return at;
    case 4:
        if (bytes + span <= REPLAY_BYTES_MAX) {
            memmove(data + at + span, data + at, bytes - at);
            return bytes + span;
        }
        return bytes;
    default:
        memmove(data + at, data + at + span, bytes - at - span);
        return bytes - span;
    }
}

/* On its own memory, so that a sanitizer sees a read behind its end. */
static void
run(const uint8_t *data, size_t bytes)
{
    uint8_t *const copy = malloc(bytes == 0 ? 1 : bytes);

    replay_insist(copy != NULL, "memory");
    memcpy(copy, data, bytes);
    (void)LLVMFuzzerTestOneInput(copy, bytes);
    free(copy);
}

static size_t
read_file(const char *path, uint8_t *data)
{
    FILE *const file = fopen(path, "re");

    replay_insist(file != NULL, path);
    const size_t bytes = fread(data, 1, REPLAY_BYTES_MAX, file);
    (void)fclose(file);
    return bytes;
}

/* What a fuzzer has found, kept beside the targets; how many files. */
static uint32_t
replay_corpus(void)
{
    static uint8_t data[REPLAY_BYTES_MAX];
    const char *const source = getenv("RONDO_SOURCE");
    const char *const name = strchr(program_invocation_short_name, '_');
    char folder_path[512];
    char path[1024];
    uint32_t count = 0;

    if (source == NULL || name == NULL) {
        return 0;
    }
    (void)snprintf(folder_path, sizeof folder_path, "%s/tests/fuzz/corpus/%s", source,
                   name + 1);
    DIR *const folder = opendir(folder_path);
    if (folder == NULL) {
        return 0;
    }
    for (struct dirent *at = readdir(folder); at != NULL; at = readdir(folder)) {
        if (at->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, "%s/%s", folder_path, at->d_name);
            run(data, read_file(path, data));
            count++;
        }
    }
    (void)closedir(folder);
    return count;
}

int
LLVMFuzzerInitialize(int *count, char ***words)
{
    static uint8_t seed[REPLAY_BYTES_MAX];
    const char *const folder = getenv("RONDO_FUZZ_SEEDS");
    uint32_t number = 0;

    (void)count;
    (void)words;
    if (folder == NULL) {
        return 0;
    }
    for (size_t bytes = replay_seed(0, seed); bytes > 0;
         bytes = replay_seed(++number, seed)) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/seed-%u", folder, number);
        FILE *const file = fopen(path, "we");
        replay_insist(file != NULL && fwrite(seed, 1, bytes, file) == bytes &&
                          fclose(file) == 0,
                      "a seed is written");
    }
    return 0;
}

int
replay_all(uint32_t changes)
{
    static uint8_t seed[REPLAY_BYTES_MAX];
    static uint8_t data[REPLAY_BYTES_MAX];
    uint64_t state = 1;
    uint32_t number = 0;

    const uint32_t found = replay_corpus();
    for (size_t bytes = replay_seed(0, seed); bytes > 0;
         bytes = replay_seed(++number, seed)) {
        run(seed, bytes);
        for (uint32_t i = 0; i < changes; i++) {
            size_t left = bytes;
            memcpy(data, seed, bytes);
            for (uint64_t k = draw(&state) % 4; k < 4; k++) {
                left = change(data, left, &state);
            }
            run(data, left);
        }
    }
    (void)fprintf(stderr, "%u of the corpus, %u seeds with %u changes each\n", found,
                  number, changes);
    return number > 0 ? 0 : 1;
}
