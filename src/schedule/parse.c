/* parse.c - reads the text form of a schedule; trusts nothing. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "schedule/text.h"
#include "schedule/words.h"

static rondo_status
step_kind(rondo_words *words, rondo_step *step)
{
    const rondo_status status = rondo_words_next(words);

    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t kind = 0; kind <= RONDO_STEP_WAIT; kind++) {
        for (uint32_t final = 0; final < 2; final++) {
            const char *const text =
                rondo_step_text_kind((rondo_step_kind)kind, final == 1);

            if (strcmp(words->word, text) == 0) {
                step->kind = (rondo_step_kind)kind;
                step->final = kind == RONDO_STEP_REDUCE && final == 1;
                return RONDO_OK;
            }
        }
    }
    return rondo_words_refuse(words, "a kind of step expected");
}

static rondo_status
step_operands(rondo_words *words, rondo_step *step)
{
    rondo_status status = RONDO_OK;

    switch (step->kind) {
    case RONDO_STEP_SEND:
        status = rondo_words_slice(words, NULL, &step->a);
        return status == RONDO_OK ? rondo_words_narrow(words, "to", &step->peer)
                                  : status;
    case RONDO_STEP_RECV:
        status = rondo_words_slice(words, NULL, &step->to);
        return status == RONDO_OK ? rondo_words_narrow(words, "from", &step->peer)
                                  : status;
    case RONDO_STEP_SIGNAL:
        return rondo_words_narrow(words, NULL, &step->signal);
    case RONDO_STEP_WAIT:
        status = rondo_words_narrow(words, NULL, &step->signal);
        return status == RONDO_OK ? rondo_words_narrow(words, "of", &step->peer)
                                  : status;
    default:
        status = rondo_words_slice(words, NULL, &step->to);
        if (status == RONDO_OK) {
            status = rondo_words_slice(words, "=", &step->a);
        }
        if (status == RONDO_OK && step->kind == RONDO_STEP_REDUCE) {
            status = rondo_words_slice(words, "op", &step->b);
        }
        return status;
    }
}

static rondo_status
needs(rondo_words *words, rondo_schedule *schedule, rondo_step *step)
{
    rondo_status status = rondo_words_next(words);

    while (status == RONDO_OK && words->word[0] != '\n') {
        uint64_t need = 0;

        status = rondo_words_number(words, UINT64_MAX, &need);
        if (status == RONDO_OK && step->needs > 0 &&
            schedule->needs[schedule->nneeds - 1] >= need) {
            return rondo_words_refuse(words, "needs in rising order expected");
        }
        if (status == RONDO_OK) {
            status = rondo_alloc_grow((void **)&schedule->needs, schedule->nneeds,
                                      &schedule->needs_room, sizeof *schedule->needs);
        }
        if (status == RONDO_OK) {
            schedule->needs[schedule->nneeds++] = need;
            step->needs++;
            status = rondo_words_next(words);
        }
    }
    if (status == RONDO_OK && step->needs == 0) {
        return rondo_words_refuse(words, "a number expected");
    }
    return status;
}

/* What follows the operands, up to the end of the line. */
static rondo_status
step_tail(rondo_words *words, rondo_schedule *schedule, rondo_step *step)
{
    rondo_status status = rondo_words_next(words);

    step->reader = RONDO_NO_STEP;
    step->needs_at = schedule->nneeds;
    if (status == RONDO_OK && strcmp(words->word, "reader") == 0) {
        status = rondo_words_wide(words, NULL, &step->reader);
        if (status == RONDO_OK) {
            status = rondo_words_next(words);
        }
    }
    if (status == RONDO_OK && strcmp(words->word, "needs") == 0) {
        return needs(words, schedule, step);
    }
    if (status == RONDO_OK && words->word[0] != '\n') {
        return rondo_words_refuse(words, "\"needs\" or the end of the line expected");
    }
    return status;
}

static rondo_status
read_step(rondo_words *words, rondo_schedule *schedule)
{
    uint64_t index = 0;
    rondo_step step = {.kind = RONDO_STEP_SEND};
    rondo_status status = rondo_words_number(words, UINT64_MAX, &index);

    if (status == RONDO_OK && index != schedule->nsteps) {
        return rondo_words_refuse(words, "the number of the next step expected");
    }
    if (status == RONDO_OK) {
        status = step_kind(words, &step);
    }
    if (status == RONDO_OK) {
        status = step_operands(words, &step);
    }
    if (status == RONDO_OK) {
        status = step_tail(words, schedule, &step);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_grow((void **)&schedule->steps, schedule->nsteps,
                                  &schedule->steps_room, sizeof *schedule->steps);
    }
    if (status == RONDO_OK) {
        schedule->steps[schedule->nsteps++] = step;
    }
    return status;
}

static rondo_status
read_kind(rondo_words *words, rondo_coll *coll)
{
    rondo_status status = rondo_words_expect(words, "schedule");
    uint32_t kind = 0;

    if (status == RONDO_OK) {
        status = rondo_words_next(words);
    }
    if (status != RONDO_OK) {
        return status;
    }
    while (kind < RONDO_COLLS &&
           strcmp(words->word, rondo_coll_text((rondo_coll_kind)kind)) != 0) {
        kind++;
    }
    if (kind == RONDO_COLLS) {
        return rondo_words_refuse(words, "a collective expected");
    }
    coll->kind = (rondo_coll_kind)kind;
    return RONDO_OK;
}

/* The first line. */
static rondo_status
read_coll(rondo_words *words, rondo_coll *coll)
{
    rondo_status status = read_kind(words, coll);

    if (status == RONDO_OK) {
        status = rondo_words_narrow(words, "rank", &coll->rank);
    }
    if (status == RONDO_OK) {
        status = rondo_words_narrow(words, "of", &coll->nranks);
    }
    if (status == RONDO_OK) {
        status = rondo_words_narrow(words, "root", &coll->root);
    }
    if (status == RONDO_OK) {
        status = rondo_words_wide(words, "count", &coll->count);
    }
    if (status == RONDO_OK) {
        status = rondo_words_wide(words, "segment", &coll->segment);
    }
    if (status == RONDO_OK) {
        status = rondo_words_next(words);
    }
    if (status != RONDO_OK) {
        return status;
    }
    coll->in_place = strcmp(words->word, "in_place") == 0;
    if (!coll->in_place && strcmp(words->word, "apart") != 0) {
        return rondo_words_refuse(words, "\"apart\" or \"in_place\" expected");
    }
    return rondo_words_expect(words, "\n");
}

/* "scratch 4 wire 0 signals 0", of which the first word is read. */
static rondo_status
read_rooms(rondo_words *words, rondo_schedule *schedule)
{
    if (strcmp(words->word, "scratch") != 0) {
        return rondo_words_refuse(words, "\"scratch\" expected");
    }
    rondo_status status = rondo_words_wide(words, NULL, &schedule->scratch_count);

    if (status == RONDO_OK) {
        status = rondo_words_wide(words, "wire", &schedule->wire_count);
    }
    if (status == RONDO_OK) {
        status = rondo_words_narrow(words, "signals", &schedule->signals);
    }
    return status == RONDO_OK ? rondo_words_expect(words, "\n") : status;
}

/* Well formed, now that all steps are known. Steps begin on the third line, behind
 * levels on the fourth. */
static rondo_status
check_steps(const rondo_schedule *schedule)
{
    const uint64_t first = schedule->coll.levels == NULL ? 3 : 4;

    for (uint64_t index = 0; index < schedule->nsteps; index++) {
        const char *const fault = rondo_step_fault(schedule, index);

        if (fault != NULL) {
            return rondo_error(RONDO_ERR_ARG, "line %" PRIu64 ": %s", index + first,
                               fault);
        }
    }
    return RONDO_OK;
}

static rondo_status
read_steps(rondo_words *words, rondo_schedule *schedule)
{
    rondo_status status = rondo_words_next(words);

    if (status == RONDO_OK && strcmp(words->word, "levels") == 0) {
        status = rondo_words_levels(words, &schedule->coll);
        schedule->own_levels = schedule->coll.levels;
        if (status == RONDO_OK) {
            status = rondo_words_next(words);
        }
    }
    if (status == RONDO_OK) {
        status = read_rooms(words, schedule);
    }
    while (status == RONDO_OK) {
        status = rondo_words_next(words);
        if (status != RONDO_OK) {
            return status;
        }
        if (strcmp(words->word, "end") == 0) {
            status = rondo_words_expect(words, "\n");
            return status == RONDO_OK ? check_steps(schedule) : status;
        }
        status = read_step(words, schedule);
    }
    return status;
}

rondo_status
rondo_schedule_parse(FILE *in, rondo_schedule **schedule)
{
    rondo_words words = {.in = in, .line = 1};
    rondo_coll coll = {.kind = RONDO_COLL_ALL_REDUCE};
    rondo_schedule *made = NULL;
    rondo_status status = read_coll(&words, &coll);

    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_schedule_bare(&coll, &made);
    if (status != RONDO_OK) {
        return status;
    }
    status = read_steps(&words, made);
    if (status != RONDO_OK) {
        rondo_schedule_destroy(made);
        return status;
    }
    *schedule = made;
    return RONDO_OK;
}
