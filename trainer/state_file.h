/* state_file.h - one file of state: named parts and a checksum, always whole.
 *
 *   head        8 bytes "rondo:st", version (4 bytes), parts (4), size of the file (8)
 *   for each    name (32 bytes, the rest 0), offset (8), bytes (8)
 *   the parts   one behind the other
 *   checksum    32 bytes: BLAKE2b of all before
 *
 * Numbers as in memory, little-endian. A file is written beside its place, synchronised
 * and renamed, and the directory synchronised: whoever finds it finds all of it. */
#ifndef TRAINER_STATE_FILE_H
#define TRAINER_STATE_FILE_H

#include "checkpoint.h"

#define STATE_FILE_VERSION 1u
#define STATE_NAME_BYTES   32u

/* A file that has been read and found whole. */
typedef struct state_file {
    unsigned char *bytes;
    uint64_t size;
    uint32_t parts;
} state_file;

/* directory/name, from the parts of the list. */
TRAINER_MUST_USE bool
state_file_write(const char *directory, const char *name, const state_list *list,
                 problem *why);

/* Damaged, cut off, of a later version, no such file at all: a problem that names it
 * and the fault. */
TRAINER_MUST_USE bool
state_file_read(const char *path, state_file *result, problem *why);
void
state_file_free(state_file *f);

/* A part by name; NULL where there is none. */
const void *
state_file_find(const state_file *f, const char *name, uint64_t *bytes);

/* All parts of the list to where they belong, or none: each must be there, as long as
 * the list says, and the file must have no others but those whose name begins with a
 * dot. `path` is for the problem. */
TRAINER_MUST_USE bool
state_file_load(const state_file *f, const char *path, const state_list *list,
                problem *why);

/* What has been created, renamed or removed in it stays so. */
TRAINER_MUST_USE bool
state_directory_sync(const char *directory, problem *why);

#endif
