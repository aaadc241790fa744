/* forced.c - reads RONDO_ALGO: "all_reduce=levels:tree+ring,broadcast=tree". */
#include "tune/tune.h"

#include <string.h>

#include "base/error.h"

#define LIST_MAX 256

/* A part of the text, which is not ended by a null. */
struct part {
    const char *text;
    size_t length;
};

static bool
reads(struct part part, const char *text)
{
    return strlen(text) == part.length && strncmp(part.text, text, part.length) == 0;
}

/* What stands before the first `mark`; the rest, null if there is no mark, behind. */
static struct part
split(const char *text, char mark, const char **rest)
{
    const char *const found = strchr(text, mark);

    *rest = found == NULL ? NULL : found + 1;
    return (struct part){text, found == NULL ? strlen(text) : (size_t)(found - text)};
}

/* Puts "ring, tree" behind what is there. */
static void
add_name(char *list, const char *name)
{
    (void)strncat(list, list[0] == '\0' ? "" : ", ", LIST_MAX - strlen(list) - 1);
    (void)strncat(list, name, LIST_MAX - strlen(list) - 1);
}

static rondo_status
refuse_algo(const char *word, rondo_coll_kind kind)
{
    char list[LIST_MAX] = "";

    for (uint32_t i = 0; i < rondo_algo_count(); i++) {
        if (rondo_algo_at(i)->kind == kind) {
            add_name(list, rondo_algo_at(i)->shape);
        }
    }
    return rondo_error(RONDO_ERR_ARG, "RONDO_ALGO asks for \"%s\"; %s has %s", word,
                       rondo_coll_text(kind), list);
}

static rondo_status
refuse_shapes(const char *word)
{
    char list[LIST_MAX] = "";

    for (uint32_t shape = 0; shape < RONDO_SHAPES; shape++) {
        add_name(list, rondo_shape_text((rondo_shape)shape));
    }
    return rondo_error(RONDO_ERR_ARG,
                       "RONDO_ALGO asks for \"%s\"; levels:INNER+OUTER has %s for both",
                       word, list);
}

/* A name of a shape; false if it is none. */
static bool
read_shape(struct part part, rondo_shape *shape)
{
    for (uint32_t number = 0; number < RONDO_SHAPES; number++) {
        if (reads(part, rondo_shape_text((rondo_shape)number))) {
            *shape = (rondo_shape)number;
            return true;
        }
    }
    return false;
}

/* "INNER+OUTER". */
static rondo_status
force_shapes(const char *word, const char *shapes, rondo_tune_forced *forced)
{
    const char *outer = NULL;
    const struct part inner = split(shapes, '+', &outer);

    if (outer == NULL || !read_shape(inner, &forced->inner) ||
        !read_shape((struct part){outer, strlen(outer)}, &forced->outer)) {
        return refuse_shapes(word);
    }
    forced->shapes = true;
    return RONDO_OK;
}

/* "ring" or "levels:tree+ring", for `kind`; `word` is all of it, for the sentence. */
static rondo_status
force_algo(const char *word, rondo_coll_kind kind, const char *wish,
           rondo_tune_forced *forced)
{
    const char *shapes = NULL;
    const struct part name = split(wish, ':', &shapes);

    for (uint32_t i = 0; i < rondo_algo_count(); i++) {
        if (rondo_algo_at(i)->kind != kind || !reads(name, rondo_algo_at(i)->shape)) {
            continue;
        }
        forced->algo[kind] = i;
        if (shapes == NULL) {
            return RONDO_OK;
        }
        return i == RONDO_ALGO_all_reduce_levels ? force_shapes(word, shapes, forced)
                                                 : refuse_algo(word, kind);
    }
    return refuse_algo(word, kind);
}

static rondo_status
force_one(const char *word, rondo_tune_forced *forced)
{
    const char *wish = NULL;
    const struct part collective = split(word, '=', &wish);

    if (wish == NULL) {
        return rondo_error(RONDO_ERR_ARG,
                           "RONDO_ALGO has \"%s\"; allowed is collective=algorithm",
                           word);
    }
    for (uint32_t kind = 0; kind < RONDO_COLLS; kind++) {
        if (reads(collective, rondo_coll_text((rondo_coll_kind)kind))) {
            return force_algo(word, (rondo_coll_kind)kind, wish, forced);
        }
    }
    return rondo_error(RONDO_ERR_ARG, "RONDO_ALGO names no collective in \"%s\"", word);
}

rondo_status
rondo_tune_forced_parse(const char *text, rondo_tune_forced *forced)
{
    char words[256];
    char *rest = NULL;
    rondo_tune_forced read = {.shapes = false};

    if (strlen(text) >= sizeof words) {
        return rondo_error(RONDO_ERR_ARG, "RONDO_ALGO is longer than %zu characters",
                           sizeof words - 1);
    }
    memcpy(words, text, strlen(text) + 1);
    for (uint32_t kind = 0; kind < RONDO_COLLS; kind++) {
        read.algo[kind] = RONDO_TUNE_FREE;
    }
    for (char *word = strtok_r(words, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        const rondo_status status = force_one(word, &read);

        if (status != RONDO_OK) {
            return status;
        }
    }
    *forced = read;
    return RONDO_OK;
}
