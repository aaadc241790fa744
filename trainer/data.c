/* data.c - the data set (see data.h). */
#include "data.h"

#include "clones.h"
#include "hash.h"
#include "idx.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Mean and deviation of Fashion-MNIST's training pixels, as fractions of 255. */
#define PIXEL_MEAN      0.2860
#define PIXEL_DEVIATION 0.3530

/* The gzip'ed file where there is one, else the plain one. */
static bool
find_file(const char *directory, const char *name, char path[PATH_MAX], problem *why)
{
    static const char *const ending[] = {".gz", ""};
    for (uint32_t i = 0; i < 2; i++) {
        const int length =
            snprintf(path, PATH_MAX, "%s/%s%s", directory, name, ending[i]);
        if (length < 0 || length >= PATH_MAX) {
            return problem_fail(why, "--data: the path is too long: %.200s", directory);
        }
        if (access(path, R_OK) == 0) {
            return true;
        }
        if (errno != ENOENT) {
            return problem_fail(why, "%s: %s", path, strerror(errno));
        }
    }
    return problem_fail(why,
                        "no %s.gz and no %s in %s: install dataset-fashion-mnist or "
                        "name the place with --data",
                        name, name, directory);
}

static bool
read_array(const char *directory, const char *name, uint32_t dimensions, idx *array,
           problem *why)
{
    char path[PATH_MAX];
    return find_file(directory, name, path, why) &&
           idx_read(path, dimensions, array, why);
}

static bool
check_labels(const char *name, const idx *labels, uint32_t images, problem *why)
{
    if (labels->size[0] != images) {
        return problem_fail(why, "%s holds %u labels for %u images", name,
                            labels->size[0], images);
    }
    for (uint32_t i = 0; i < images; i++) {
        if (labels->bytes[i] >= DATA_CLASSES) {
            return problem_fail(why, "%s: label %u of image %u, allowed are 0 to %u",
                                name, labels->bytes[i], i, DATA_CLASSES - 1);
        }
    }
    return true;
}

/* prefix is "train" or "t10k". */
static bool
read_part(const char *directory, const char *prefix, data_part *part, problem *why)
{
    char name[64];
    idx images;
    idx labels;
    (void)snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    if (!read_array(directory, name, 3, &images, why)) {
        return false;
    }
    (void)snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    if (!read_array(directory, name, 1, &labels, why)) {
        free(images.bytes);
        return false;
    }
    if (!check_labels(name, &labels, images.size[0], why)) {
        free(images.bytes);
        free(labels.bytes);
        return false;
    }
    *part = (data_part){.images = images.size[0],
                        .height = images.size[1],
                        .width = images.size[2],
                        .pixels = images.size[1] * images.size[2],
                        .pixel = images.bytes,
                        .label = labels.bytes};
    return true;
}

bool
data_read(const char *directory, data_set *set, problem *why)
{
    data_set result = {.train = {0}};
    if (!read_part(directory, "train", &result.train, why) ||
        !read_part(directory, "t10k", &result.test, why)) {
        data_free(&result);
        return false;
    }
    const data_part *train = &result.train;
    const data_part *test = &result.test;
    if (train->height != test->height || train->width != test->width) {
        (void)problem_fail(
            why, "%s: train images of %u x %u pixels, test images of %u x %u",
            directory, train->height, train->width, test->height, test->width);
        data_free(&result);
        return false;
    }
    *set = result;
    return true;
}

void
data_free(data_set *set)
{
    free(set->train.pixel);
    free(set->train.label);
    free(set->test.pixel);
    free(set->test.label);
    *set = (data_set){.train = {0}};
}

static uint64_t
hash_part(const data_part *part)
{
    const uint64_t pixels = (uint64_t)part->images * part->pixels;
    return hash_pair(hash_bytes(part->pixel, pixels),
                     hash_bytes(part->label, part->images));
}

uint64_t
data_fingerprint(const data_set *set)
{
    return hash_pair(hash_part(&set->train), hash_part(&set->test));
}

/* (byte / 255 - mean) / deviation, as one multiplication and one addition: no slower
 * than copying, where a table of the 256 values takes a load for each pixel. */
TRAINER_CLONES static void
normalise(const uint8_t *restrict pixel, uint32_t count, float *restrict x)
{
    const float slope = (float)(1.0 / (255.0 * PIXEL_DEVIATION));
    const float offset = (float)(-PIXEL_MEAN / PIXEL_DEVIATION);
    for (uint32_t p = 0; p < count; p++) {
        x[p] = (float)pixel[p] * slope + offset;
    }
}

/* Image `image` becomes row `row` of the batch. */
static void
put_row(const data_part *part, uint64_t image, uint64_t row, float *x, uint8_t *label)
{
    const uint64_t pixels = part->pixels;
    normalise(part->pixel + image * pixels, part->pixels, x + row * pixels);
    label[row] = part->label[image];
}

void
data_gather(const data_part *part, const uint32_t *index, uint32_t n, float *x,
            uint8_t *label)
{
    for (uint32_t row = 0; row < n; row++) {
        put_row(part, index[row], row, x, label);
    }
}

void
data_slice(const data_part *part, uint32_t first, uint32_t n, float *x, uint8_t *label)
{
    for (uint32_t row = 0; row < n; row++) {
        put_row(part, (uint64_t)first + row, row, x, label);
    }
}
