/* status.h - how all workers are doing, told to the rank that draws by active
 * messages, for the display. A message is dropped where it would have to wait. */
#ifndef TRAINER_STATUS_H
#define TRAINER_STATUS_H

#include "ranks.h"

#include <stddef.h>

#define STATUS_CHANNEL 13u

/* What a worker says of itself; all sums are since its start. */
typedef struct status_report {
    uint32_t worker;
    uint32_t finished; /* 1: it makes no more steps. */
    uint64_t step;
    uint64_t version; /* Of the parameters it computes from. */
    double staleness; /* Of its last gradient; negative: not known. */
    uint64_t images;
    double seconds; /* In its training loop. */
    double compute; /* Of these, as are the next two. */
    double communicate;
    double wait;
    double loss;
} status_report;

typedef struct status_worker {
    bool known; /* Has told something. */
    bool gone;  /* Has died. */
    status_report last;
    status_report middle; /* The `before` to come. */
    status_report before; /* For rates: of a second or so before. */
} status_worker;

typedef struct status_board {
    const ranks *all; /* Whom comm was taken from. */
    rondo_comm *comm; /* NULL: nobody is told. */
    uint32_t rank;
    uint32_t drawer;       /* Rank in comm: whom all tell. */
    double next;           /* When this rank tells again. */
    uint32_t workers;      /* Workers have numbers below this. */
    status_worker *worker; /* On every rank: any may be the lowest one day. */
    uint64_t images;       /* What status_images said last. */
    uint64_t dropped;      /* Messages, of this rank. */
} status_board;

TRAINER_MUST_USE bool
status_create(uint32_t workers, status_board *result, problem *why);
/* Also undoes status_bind, if `all` still has that communicator. */
void
status_free(status_board *s);

/* From now on with all->comm, whose rank `drawer` is told. *s and *all must stay where
 * they are; the former communicator may be gone already. */
TRAINER_MUST_USE bool
status_bind(status_board *s, const ranks *all, uint32_t drawer, problem *why);

/* This worker's own, as often as one likes: it is told at most twice a second. */
void
status_tell(status_board *s, const status_report *r);

void
status_gone(status_board *s, uint32_t worker);
void
status_back(status_board *s, uint32_t worker);

/* Images of all workers so far, as one that has done `images` in `seconds` may guess:
 * the others at the pace they told of, else at its own. Never less than the last
 * time. */
uint64_t
status_images(status_board *s, uint32_t worker, uint64_t images, double seconds);

/* What a worker does in a second, and where its time goes, lately. */
typedef struct status_rates {
    double images_second;
    double compute; /* Shares of its time, 0 to 1. */
    double communicate;
    double wait;
} status_rates;

status_rates
status_rates_of(const status_worker *w);

typedef struct status_size {
    uint32_t rows;
    uint32_t columns;
} status_size;

/* A heading and a line for each worker, at most `size.rows` lines, none longer than
 * size.columns; where there are more workers, those furthest behind, and how many are
 * left out. Lines are ended by '\n'. Returns their number; `text` is ended by 0. */
uint32_t
status_write(const status_board *s, status_size size, char *text, size_t bytes);

#endif
