/* text.c - a schedule as text, one line a step. */
#include "schedule/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"

const char *
rondo_step_text_kind(rondo_step_kind kind, bool final)
{
    switch (kind) {
    case RONDO_STEP_SEND:
        return "send";
    case RONDO_STEP_RECV:
        return "recv";
    case RONDO_STEP_COPY:
        return "copy";
    case RONDO_STEP_REDUCE:
        return final ? "finish" : "reduce";
    case RONDO_STEP_ENCODE:
        return "encode";
    case RONDO_STEP_DECODE:
        return "decode";
    case RONDO_STEP_SIGNAL:
        return "signal";
    case RONDO_STEP_WAIT:
        return "wait";
    default:
        return "?";
    }
}

const char *
rondo_buffer_text(rondo_buffer buffer)
{
    static const char *const texts[] = {"in", "out", "scratch", "wire"};

    return (uint32_t)buffer < 4 ? texts[buffer] : "?";
}

/* Puts " in[0+4]", or " 2:in[0+4]" for what rank 2 owns, behind the text. */
static void
add_slice(rondo_step_words *words, const char *before, rondo_slice slice)
{
    const size_t used = strlen(words->text);
    char *const end = words->text + used;
    const size_t room = sizeof words->text - used;

    if (slice.owner == RONDO_OWN) {
        (void)snprintf(end, room, "%s%s[%" PRIu64 "+%" PRIu64 "]", before,
                       rondo_buffer_text(slice.buffer), slice.first, slice.count);
    } else {
        (void)snprintf(end, room, "%s%" PRIu32 ":%s[%" PRIu64 "+%" PRIu64 "]", before,
                       slice.owner, rondo_buffer_text(slice.buffer), slice.first,
                       slice.count);
    }
}

static void
add_number(rondo_step_words *words, const char *before, uint32_t number)
{
    const size_t used = strlen(words->text);

    (void)snprintf(words->text + used, sizeof words->text - used, "%s%" PRIu32, before,
                   number);
}

rondo_step_words
rondo_step_text(const rondo_step *step)
{
    rondo_step_words words = {""};

    (void)snprintf(words.text, sizeof words.text, "%s",
                   rondo_step_text_kind(step->kind, step->final));
    switch (step->kind) {
    case RONDO_STEP_SEND:
        add_slice(&words, " ", step->a);
        add_number(&words, " to ", step->peer);
        break;
    case RONDO_STEP_RECV:
        add_slice(&words, " ", step->to);
        add_number(&words, " from ", step->peer);
        break;
    case RONDO_STEP_SIGNAL:
        add_number(&words, " ", step->signal);
        break;
    case RONDO_STEP_WAIT:
        add_number(&words, " ", step->signal);
        add_number(&words, " of ", step->peer);
        break;
    default:
        add_slice(&words, " ", step->to);
        add_slice(&words, " = ", step->a);
        if (step->kind == RONDO_STEP_REDUCE) {
            add_slice(&words, " op ", step->b);
        }
        break;
    }
    return words;
}

static void
print_step(const rondo_schedule *schedule, uint64_t index, FILE *out)
{
    const rondo_step *const step = &schedule->steps[index];
    const rondo_step_words words = rondo_step_text(step);

    fprintf(out, "%" PRIu64 " %s", index, words.text);
    if (step->reader != RONDO_NO_STEP) {
        fprintf(out, " reader %" PRIu64, step->reader);
    }
    for (uint64_t need = 0; need < step->needs; need++) {
        fprintf(out, "%s%" PRIu64, need == 0 ? " needs " : " ",
                schedule->needs[step->needs_at + need]);
    }
    fputc('\n', out);
}

/* Where the ranks are, in a line of its own; flat collectives have none. */
static void
print_levels(const rondo_coll *coll, FILE *out)
{
    const rondo_levels *const levels = coll->levels;

    if (levels == NULL) {
        return;
    }
    fprintf(out, "levels %s %s hosts", rondo_shape_text(coll->inner),
            rondo_shape_text(coll->outer));
    for (uint32_t at = 1; at < levels->depth; at++) {
        fputs(at == 1 ? "" : " parts", out);
        for (uint32_t rank = 0; rank < levels->nranks; rank++) {
            fprintf(out, " %" PRIu32, levels->at[at].group_of[rank]);
        }
    }
    fputc('\n', out);
}

rondo_status
rondo_schedule_print(const rondo_schedule *schedule, FILE *out)
{
    const rondo_coll *const coll = &schedule->coll;

    fprintf(out,
            "schedule %s rank %" PRIu32 " of %" PRIu32 " root %" PRIu32
            " count %" PRIu64 " segment %" PRIu64 " %s\n",
            rondo_coll_text(coll->kind), coll->rank, coll->nranks, coll->root,
            coll->count, coll->segment, coll->in_place ? "in_place" : "apart");
    print_levels(coll, out);
    fprintf(out, "scratch %" PRIu64 " wire %" PRIu64 " signals %" PRIu32 "\n",
            schedule->scratch_count, schedule->wire_count, schedule->signals);
    for (uint64_t index = 0; index < schedule->nsteps; index++) {
        print_step(schedule, index, out);
    }
    fputs("end\n", out);
    if (fflush(out) != 0 || ferror(out)) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno, "writing a schedule");
    }
    return RONDO_OK;
}
