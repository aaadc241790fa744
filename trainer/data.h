/* data.h - the data set: images as bytes, labels, and batches of normalised floats. */
#ifndef TRAINER_DATA_H
#define TRAINER_DATA_H

#include "problem.h"

#include <stdint.h>

#define DATA_DEFAULT_DIR "/usr/share/datasets/fashion-mnist"
#define DATA_CLASSES     10u

typedef struct data_part {
    uint32_t images; /* How many. */
    uint32_t height; /* Of an image, in pixels. */
    uint32_t width;
    uint32_t pixels; /* height x width */
    uint8_t *pixel;  /* images x pixels */
    uint8_t *label;  /* images, each below DATA_CLASSES */
} data_part;

typedef struct data_set {
    data_part train;
    data_part test;
} data_set;

/* Reads the four files of directory; each may be gzip'ed (name ends in .gz) or
 * plain. */
TRAINER_MUST_USE bool
data_read(const char *directory, data_set *set, problem *why);
void
data_free(data_set *set);

/* Says whether two ranks read the same data. */
uint64_t
data_fingerprint(const data_set *set);

/* Rows index[0 .. n-1] of part, normalised, to x (n x pixels), and their labels. */
void
data_gather(const data_part *part, const uint32_t *index, uint32_t n, float *x,
            uint8_t *label);

/* The same for n consecutive images from first. */
void
data_slice(const data_part *part, uint32_t first, uint32_t n, float *x, uint8_t *label);

#endif
