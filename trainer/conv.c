/* conv.c - convolution and pooling (see conv.h). */
#include "conv.h"

#include "clones.h"

#include <cblas.h>
#include <stdbool.h>
#include <string.h>

/* Beyond the middle pixel on either side. */
#define REACH 1u

image_size
conv_output(image_size image, uint32_t filters)
{
    return (image_size){
        .height = image.height / 2, .width = image.width / 2, .channels = filters};
}

static uint64_t
pixels_of(image_size image)
{
    return (uint64_t)image.height * image.width;
}

/* --- neighbourhoods -------------------------------------------------------------- */

/* The part of a neighbourhood's line that lies in the image. */
typedef struct line {
    bool outside;
    uint64_t image_at; /* Its first float in the image, */
    uint32_t row_at;   /* and in the row. */
    uint32_t floats;
} line;

/* Line `ky` (0 to 2) of the neighbourhood of pixel (py, px). */
static line
line_at(image_size image, uint32_t py, uint32_t px, uint32_t ky)
{
    const uint32_t y = py + ky; /* REACH more than in the image. */
    if (y < REACH || y - REACH >= image.height) {
        return (line){.outside = true};
    }
    const uint32_t first = px < REACH ? 0 : px - REACH;
    const uint32_t end = px + REACH < image.width ? px + REACH + 1 : image.width;
    const uint32_t skipped = first + REACH - px;
    return (line){.image_at =
                      ((uint64_t)(y - REACH) * image.width + first) * image.channels,
                  .row_at = skipped * image.channels,
                  .floats = (end - first) * image.channels};
}

TRAINER_CLONES static void
image_to_rows(image_size image, const float *restrict x, float *restrict row)
{
    const uint32_t wide = 3 * image.channels;
    for (uint64_t pixel = 0; pixel < pixels_of(image); pixel++) {
        const uint32_t py = (uint32_t)(pixel / image.width);
        const uint32_t px = (uint32_t)(pixel % image.width);
        for (uint32_t ky = 0; ky < 3; ky++, row += wide) {
            const line at = line_at(image, py, px, ky);
            if (at.floats < wide) {
                memset(row, 0, wide * sizeof *row);
            }
            const float *from = x + at.image_at;
            float *to = row + at.row_at;
            for (uint32_t i = 0; i < at.floats; i++) {
                to[i] = from[i];
            }
        }
    }
}

/* The transpose of image_to_rows: what was copied from a place is added up there. */
TRAINER_CLONES static void
rows_to_image(image_size image, const float *restrict row, float *restrict dx)
{
    const uint32_t wide = 3 * image.channels;
    memset(dx, 0, pixels_of(image) * image.channels * sizeof *dx);
    for (uint64_t pixel = 0; pixel < pixels_of(image); pixel++) {
        const uint32_t py = (uint32_t)(pixel / image.width);
        const uint32_t px = (uint32_t)(pixel % image.width);
        for (uint32_t ky = 0; ky < 3; ky++, row += wide) {
            const line at = line_at(image, py, px, ky);
            const float *from = row + at.row_at;
            float *to = dx + at.image_at;
            for (uint32_t i = 0; i < at.floats; i++) {
                to[i] += from[i];
            }
        }
    }
}

/* --- pooling --------------------------------------------------------------------- */

/* The largest of four for each filter, and which it was. A NaN wins: a network that has
 * blown up must show it. */
static inline void
largest_of_four(uint32_t filters, uint32_t width, const float *restrict full,
                uint8_t *restrict pick, float *restrict y)
{
    const float *const below = full + (uint64_t)width * filters;
    for (uint32_t m = 0; m < filters; m++) {
        const float value[4] = {full[m], full[filters + m], below[m],
                                below[filters + m]};
        float best = value[0];
        uint32_t which = 0;
        for (uint32_t i = 1; i < 4; i++) {
            const bool better = (value[i] > best) | (value[i] != value[i]);
            best = better ? value[i] : best;
            which = better ? i : which;
        }
        y[m] = best;
        pick[m] = (uint8_t)which;
    }
}

TRAINER_CLONES static void
pool(image_size image, uint32_t filters, const float *full, uint8_t *pick, float *y)
{
    for (uint32_t py = 0; py < image.height / 2; py++) {
        for (uint32_t px = 0; px < image.width / 2; px++) {
            const uint64_t corner = (uint64_t)2 * py * image.width + 2 * px;
            largest_of_four(filters, image.width, full + corner * filters, pick, y);
            pick += filters;
            y += filters;
        }
    }
}

/* The transpose of pool: the gradient goes to the pixel that was picked. */
TRAINER_CLONES static void
unpool(image_size image, uint32_t filters, const float *dy, const uint8_t *pick,
       float *full)
{
    memset(full, 0, pixels_of(image) * filters * sizeof *full);
    for (uint32_t py = 0; py < image.height / 2; py++) {
        for (uint32_t px = 0; px < image.width / 2; px++) {
            const uint64_t corner = (uint64_t)2 * py * image.width + 2 * px;
            float *left = full + corner * filters;
            float *below = left + (uint64_t)image.width * filters;
            for (uint32_t m = 0; m < filters; m++) {
                left[m] = pick[m] == 0 ? dy[m] : 0.0f;
                left[filters + m] = pick[m] == 1 ? dy[m] : 0.0f;
                below[m] = pick[m] == 2 ? dy[m] : 0.0f;
                below[filters + m] = pick[m] == 3 ? dy[m] : 0.0f;
            }
            pick += filters;
            dy += filters;
        }
    }
}

/* --- chunk by chunk -------------------------------------------------------------- */

/* Some images, and where theirs begins in each array. */
typedef struct chunk {
    uint32_t images;
    int pixels;        /* Of all its images: rows of the products. */
    int k;             /* K */
    int m;             /* M */
    uint64_t image_at; /* In x. */
    uint64_t value_at; /* In y and pick. */
    uint64_t row_floats;
    uint64_t full_floats; /* Of one image, as the next two. */
    uint64_t image_floats;
    uint64_t values;
} chunk;

static chunk
chunk_from(conv_shape shape, uint32_t first)
{
    const image_size image = shape.image;
    const image_size out = conv_output(image, shape.filters);
    const uint32_t left = shape.n - first;
    const uint32_t images = left < CONV_CHUNK ? left : CONV_CHUNK;
    chunk c = {.images = images,
               .pixels = (int)(images * pixels_of(image)),
               .k = (int)(CONV_ROOM * image.channels),
               .m = (int)shape.filters,
               .row_floats = pixels_of(image) * CONV_ROOM * image.channels,
               .full_floats = pixels_of(image) * shape.filters,
               .image_floats = pixels_of(image) * image.channels,
               .values = pixels_of(out) * shape.filters};
    c.image_at = first * c.image_floats;
    c.value_at = first * c.values;
    return c;
}

static void
all_rows(conv_shape shape, const chunk *c, const float *x, float *rows)
{
    for (uint32_t i = 0; i < c->images; i++) {
        image_to_rows(shape.image, x + c->image_at + i * c->image_floats,
                      rows + i * c->row_floats);
    }
}

static void
all_unpooled(conv_shape shape, const chunk *c, const float *dy, const uint8_t *pick,
             float *full)
{
    for (uint32_t i = 0; i < c->images; i++) {
        const uint64_t at = c->value_at + i * c->values;
        unpool(shape.image, shape.filters, dy + at, pick + at,
               full + i * c->full_floats);
    }
}

void
conv_forward(conv_shape shape, const float *x, const float *w, conv_scratch scratch,
             uint8_t *pick, float *y)
{
    for (uint32_t first = 0; first < shape.n; first += CONV_CHUNK) {
        const chunk c = chunk_from(shape, first);
        all_rows(shape, &c, x, scratch.rows);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, c.pixels, c.m, c.k, 1.0f,
                    scratch.rows, c.k, w, c.m, 0.0f, scratch.full, c.m);
        for (uint32_t i = 0; i < c.images; i++) {
            const uint64_t at = c.value_at + i * c.values;
            pool(shape.image, shape.filters, scratch.full + i * c.full_floats,
                 pick + at, y + at);
        }
    }
}

void
conv_backward_weight(conv_shape shape, const float *x, const float *dy,
                     const uint8_t *pick, conv_scratch scratch, float *dw)
{
    for (uint32_t first = 0; first < shape.n; first += CONV_CHUNK) {
        const chunk c = chunk_from(shape, first);
        all_rows(shape, &c, x, scratch.rows);
        all_unpooled(shape, &c, dy, pick, scratch.full);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, c.k, c.m, c.pixels, 1.0f,
                    scratch.rows, c.k, scratch.full, c.m, first == 0 ? 0.0f : 1.0f, dw,
                    c.m);
    }
}

void
conv_backward_input(conv_shape shape, const float *dy, const uint8_t *pick,
                    const float *w, conv_scratch scratch, float *dx)
{
    for (uint32_t first = 0; first < shape.n; first += CONV_CHUNK) {
        const chunk c = chunk_from(shape, first);
        all_unpooled(shape, &c, dy, pick, scratch.full);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, c.pixels, c.k, c.m, 1.0f,
                    scratch.full, c.m, w, c.m, 0.0f, scratch.rows, c.k);
        for (uint32_t i = 0; i < c.images; i++) {
            rows_to_image(shape.image, scratch.rows + i * c.row_floats,
                          dx + c.image_at + i * c.image_floats);
        }
    }
}
