/* words_levels.c - reads where the ranks are; trusts nothing. */
#include <string.h>

#include "base/alloc.h"
#include "schedule/words.h"

/* A number for each rank, as far as read. */
struct row {
    uint32_t *numbers;
    uint64_t used;
    uint64_t room;
};

static rondo_status
read_shape(rondo_words *words, rondo_shape *shape)
{
    const rondo_status status = rondo_words_next(words);
    uint32_t found = 0;

    if (status != RONDO_OK) {
        return status;
    }
    while (found < RONDO_SHAPES &&
           strcmp(words->word, rondo_shape_text((rondo_shape)found)) != 0) {
        found++;
    }
    if (found == RONDO_SHAPES) {
        return rondo_words_refuse(words, "a shape expected");
    }
    *shape = (rondo_shape)found;
    return RONDO_OK;
}

/* One number for each of `nranks` ranks; room is taken as they come. */
static rondo_status
read_row(rondo_words *words, uint32_t nranks, struct row *row)
{
    rondo_status status = RONDO_OK;

    while (status == RONDO_OK && row->used < nranks) {
        uint32_t number = 0;

        status = rondo_words_narrow(words, NULL, &number);
        if (status == RONDO_OK) {
            status = rondo_alloc_grow((void **)&row->numbers, row->used, &row->room,
                                      sizeof *row->numbers);
        }
        if (status == RONDO_OK) {
            row->numbers[row->used++] = number;
        }
    }
    return status == RONDO_OK ? rondo_words_next(words) : status;
}

static rondo_status
read_rows(rondo_words *words, rondo_coll *coll, struct row *hosts, struct row *parts)
{
    rondo_status status = rondo_words_expect(words, "hosts");
    const rondo_levels *levels = NULL;

    if (status == RONDO_OK) {
        status = read_row(words, coll->nranks, hosts);
    }
    if (status == RONDO_OK && strcmp(words->word, "parts") == 0) {
        status = read_row(words, coll->nranks, parts);
    }
    if (status == RONDO_OK && words->word[0] != '\n') {
        return rondo_words_refuse(words, "end of line expected");
    }
    if (status == RONDO_OK) {
        status =
            rondo_levels_create(coll->nranks, hosts->numbers, parts->numbers, &levels);
    }
    if (status == RONDO_OK) {
        coll->levels = levels;
    }
    return status;
}

rondo_status
rondo_words_levels(rondo_words *words, rondo_coll *coll)
{
    struct row hosts = {.numbers = NULL};
    struct row parts = {.numbers = NULL};
    rondo_status status = read_shape(words, &coll->inner);

    if (status == RONDO_OK) {
        status = read_shape(words, &coll->outer);
    }
    if (status == RONDO_OK) {
        status = read_rows(words, coll, &hosts, &parts);
    }
    rondo_free(hosts.numbers);
    rondo_free(parts.numbers);
    return status;
}
