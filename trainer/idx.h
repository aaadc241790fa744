/* idx.h - reads IDX files, the format of MNIST and Fashion-MNIST, gzip'ed or plain.
 *
 * A file is a big-endian header (a magic number, then one 32-bit size per dimension)
 * and the bytes of the array, last dimension fastest. Everything in the header is
 * checked before it is used, and a file must end exactly where its header says. */
#ifndef TRAINER_IDX_H
#define TRAINER_IDX_H

#include "problem.h"

#include <stdint.h>

#define IDX_DIMENSIONS_MAX 3

typedef struct idx {
    uint32_t dimensions;               /* 1: labels; 3: images, rows, columns. */
    uint32_t size[IDX_DIMENSIONS_MAX]; /* 1 beyond `dimensions`. */
    uint8_t *bytes;                    /* size[0] * size[1] * size[2]; free() them. */
} idx;

/* Reads the array of `dimensions` dimensions (1 or 3) of unsigned bytes at path. */
TRAINER_MUST_USE bool
idx_read(const char *path, uint32_t dimensions, idx *array, problem *why);

#endif
