/* random.h - random numbers by counter: number i of a stream is a function of the seed,
 * the stream and i alone. There is no state to keep, so every rank can draw any number
 * of any stream, and all ranks draw the same. */
#ifndef TRAINER_RANDOM_H
#define TRAINER_RANDOM_H

#include <stdint.h>

/* A stream per use, so that two uses never share numbers. */
typedef enum random_use {
    RANDOM_SHUFFLE = 1,
    RANDOM_WEIGHTS = 2,
    RANDOM_STRAGGLER = 3, /* How long a step takes; index: the worker. */
    RANDOM_PAIRS = 4      /* Whom a rank averages with; index: the rank. */
} random_use;

typedef struct random_stream {
    uint64_t key;
} random_stream;

/* index tells the streams of one use apart: an epoch, a layer. */
random_stream
random_open(uint64_t seed, random_use use, uint32_t index);

uint64_t
random_bits(random_stream stream, uint64_t i);

/* Uniform in 0 .. bound - 1; bound is at least 1. */
uint32_t
random_below(random_stream stream, uint64_t i, uint32_t bound);

/* Standard normal: mean 0, deviation 1. */
float
random_normal(random_stream stream, uint64_t i);

#endif
