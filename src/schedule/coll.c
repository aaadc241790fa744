/* coll.c - what the collectives are called, and how large their buffers are. */
#include "schedule/coll.h"

const char *
rondo_coll_text(rondo_coll_kind kind)
{
    switch (kind) {
#define RONDO_COLL_CASE(name, text) \
    case RONDO_COLL_##name:         \
        return #text;
        RONDO_COLL_ROWS(RONDO_COLL_CASE)
#undef RONDO_COLL_CASE
    default:
        return "?";
    }
}

const char *
rondo_shape_text(rondo_shape shape)
{
    switch (shape) {
#define RONDO_SHAPE_CASE(name, text) \
    case RONDO_SHAPE_##name:         \
        return #text;
        RONDO_SHAPE_ROWS(RONDO_SHAPE_CASE)
#undef RONDO_SHAPE_CASE
    default:
        return "?";
    }
}

uint64_t
rondo_coll_in_count(const rondo_coll *coll)
{
    switch (coll->kind) {
    case RONDO_COLL_REDUCE_SCATTER:
        return coll->nranks * coll->count;
    case RONDO_COLL_BROADCAST:
        return coll->rank == coll->root ? coll->count : 0;
    case RONDO_COLL_BARRIER:
        return 0;
    default:
        return coll->count;
    }
}

uint64_t
rondo_coll_out_count(const rondo_coll *coll)
{
    switch (coll->kind) {
    case RONDO_COLL_ALL_GATHER:
        return coll->nranks * coll->count;
    case RONDO_COLL_REDUCE:
        return coll->rank == coll->root ? coll->count : 0;
    case RONDO_COLL_BARRIER:
        return 0;
    default:
        return coll->count;
    }
}
