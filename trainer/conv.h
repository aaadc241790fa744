/* conv.h - a convolution by matrix products, and the largest of each 2 x 2 pixels.
 *
 * An image is height x width x channels floats, the channels of a pixel side by side.
 * Each pixel's 3 x 3 neighbourhood (zeros beyond the rim) becomes a row of
 * K = 9 x channels values; the rows of some images, times the weights K x M, are the
 * convolution with M filters. Then the largest value of each square of 2 x 2 pixels
 * remains, each filter for itself; the last line of an odd side is dropped.
 * The bias and the rectifier come after that (layers.h): they are the same for all four
 * pixels and never turn their order, so this changes nothing but the work.
 */
#ifndef TRAINER_CONV_H
#define TRAINER_CONV_H

#include <stdint.h>

typedef struct image_size {
    uint32_t height;
    uint32_t width;
    uint32_t channels;
} image_size;

typedef struct conv_shape {
    uint32_t n; /* Images. */
    image_size image;
    uint32_t filters; /* M */
} conv_shape;

/* Images go through a few at a time, so that their rows stay in the cache. */
#define CONV_CHUNK 4u
#define CONV_ROOM  9u /* Pixels in a neighbourhood. */

typedef struct conv_scratch {
    float *rows; /* K for each pixel of CONV_CHUNK images. */
    float *full; /* M for each pixel of CONV_CHUNK images. */
} conv_scratch;

image_size
conv_output(image_size image, uint32_t filters);

/* y from x; pick says which of its four pixels each value of y came from. */
void
conv_forward(conv_shape shape, const float *x, const float *w, conv_scratch scratch,
             uint8_t *pick, float *y);
void
conv_backward_weight(conv_shape shape, const float *x, const float *dy,
                     const uint8_t *pick, conv_scratch scratch, float *dw);
void
conv_backward_input(conv_shape shape, const float *dy, const uint8_t *pick,
                    const float *w, conv_scratch scratch, float *dx);

#endif
