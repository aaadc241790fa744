/* deps.c - which steps must wait for which, read off overlapping slices. */
#include "schedule/deps.h"

#include "base/alloc.h"
#include "base/check.h"
#include "schedule/ranges.h"

/* Own memories, by rondo_buffer. */
#define OWN_MEMORIES 4

/* In rondo_step.reader while the schedule is built: more than one step reads it. */
#define SHARED (RONDO_NO_STEP - 1)

/* An entry of a list of readers. Entries never change, so lists share tails. */
typedef struct reading {
    uint64_t step;
    uint64_t next; /* 1 + index of the next entry; 0: none */
} reading;

/* What is known of an earlier step while a newer one is looked at. */
typedef struct mark {
    uint64_t candidate; /* 1 + the newest step it was found for */
    uint64_t implied;   /* 1 + the newest step another candidate implies it for */
    bool needed;        /* some later step needs it */
} mark;

/* What is known of one peer. */
typedef struct peer {
    rondo_ranges memory; /* its IN and OUT, tracked as one memory */
    uint64_t sent;       /* 1 + the last send to it */
    uint64_t received;   /* 1 + the last receive from it */
} peer;

struct rondo_deps {
    rondo_coll coll;
    rondo_ranges own[OWN_MEMORIES];
    uint64_t fence;         /* 1 + the last wait */
    uint64_t signal;        /* 1 + the last signal */
    reading *readings;      /* of all lists */
    uint64_t nreadings;     /* entries in readings */
    uint64_t readings_room; /* entries that fit */
    mark *marks;            /* by step */
    uint64_t nmarks;        /* entries in marks */
    uint64_t marks_room;    /* entries that fit */
    uint64_t *found;        /* candidates for the newest step */
    uint64_t nfound;        /* entries in found */
    uint64_t found_room;    /* entries that fit */
    peer peers[];           /* by rank */
};

rondo_status
rondo_deps_create(const rondo_coll *coll, rondo_deps **deps)
{
    void *memory = NULL;
    const rondo_status status =
        rondo_alloc_zero(sizeof(rondo_deps) + coll->nranks * sizeof(peer), &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_deps *const made = memory;
    made->coll = *coll;
    *deps = made;
    return RONDO_OK;
}

void
rondo_deps_destroy(rondo_deps *deps)
{
    if (deps == NULL) {
        return;
    }
    for (uint32_t buffer = 0; buffer < OWN_MEMORIES; buffer++) {
        rondo_ranges_clear(&deps->own[buffer]);
    }
    for (uint32_t rank = 0; rank < deps->coll.nranks; rank++) {
        rondo_ranges_clear(&deps->peers[rank].memory);
    }
    rondo_free(deps->readings);
    rondo_free(deps->marks);
    rondo_free(deps->found);
    rondo_free(deps);
}

/* Notes that the newest step needs `earlier` (1 + its index; 0: nobody). */
static rondo_status
find(rondo_deps *deps, uint64_t earlier)
{
    const uint64_t newest = deps->nmarks;

    /* A step that reads what it writes meets itself among the readers. */
    if (earlier == 0 || earlier == newest ||
        deps->marks[earlier - 1].candidate == newest) {
        return RONDO_OK;
    }
    const rondo_status status = rondo_alloc_grow(
        (void **)&deps->found, deps->nfound, &deps->found_room, sizeof *deps->found);
    if (status != RONDO_OK) {
        return status;
    }
    deps->marks[earlier - 1].candidate = newest;
    deps->found[deps->nfound++] = earlier - 1;
    return RONDO_OK;
}

/* The memory a slice lies in; `*slice` is moved to where that memory counts from. */
static rondo_ranges *
memory_of(rondo_deps *deps, rondo_slice *slice)
{
    if (slice->owner == RONDO_OWN) {
        return &deps->own[slice->buffer];
    }
    /* A peer may be in place, which only it knows. So its IN and OUT are one memory,
     * laid out as in place lays them out. */
    const uint64_t ahead = slice->owner * deps->coll.count;
    if (deps->coll.kind == RONDO_COLL_ALL_GATHER && slice->buffer == RONDO_BUF_IN) {
        slice->first += ahead;
    }
    if (deps->coll.kind == RONDO_COLL_REDUCE_SCATTER &&
        slice->buffer == RONDO_BUF_OUT) {
        slice->first += ahead;
    }
    return &deps->peers[slice->owner].memory;
}

/* Lets a range begin at both ends of `slice`, and says where the first one is. */
static rondo_status
cut_out(rondo_ranges *memory, rondo_slice slice, rondo_ranges_place *place)
{
    const rondo_status status =
        rondo_ranges_cut(memory, slice.first + slice.count, place);

    return status == RONDO_OK ? rondo_ranges_cut(memory, slice.first, place) : status;
}

/* Keeps rondo_step.reader of step `writer` (0: nobody) up to date: `newest` reads
 * `slice`; `alone` if the writer's elements are all of it. */
static void
note_reader(rondo_step *steps, uint64_t writer, rondo_slice slice, bool alone,
            uint64_t newest)
{
    if (writer == 0) {
        return;
    }
    rondo_step *const step = &steps[writer - 1];
    const bool first = step->reader == RONDO_NO_STEP;
    const bool same = step->to.first == slice.first && step->to.count == slice.count;
    step->reader = first && same && alone ? newest : SHARED;
}

/* Adds `newest` to the readers of the ranges from `place` up to `end`. */
static rondo_status
add_reader(rondo_deps *deps, const rondo_ranges *memory, rondo_ranges_place place,
           uint64_t end, uint64_t newest)
{
    uint64_t old_list = RONDO_NO_STEP;
    rondo_range *range = rondo_ranges_at(memory, place);

    while (range != NULL && range->first < end) {
        /* Neighbours with one history get one new entry between them. */
        if (range->readers != old_list) {
            const rondo_status status =
                rondo_alloc_grow((void **)&deps->readings, deps->nreadings,
                                 &deps->readings_room, sizeof *deps->readings);
            if (status != RONDO_OK) {
                return status;
            }
            old_list = range->readers;
            deps->readings[deps->nreadings++] =
                (reading){.step = newest, .next = old_list};
        }
        range->readers = deps->nreadings;
        place = rondo_ranges_next(memory, place);
        range = rondo_ranges_at(memory, place);
    }
    return RONDO_OK;
}

static rondo_status
read_slice(rondo_deps *deps, rondo_step *steps, rondo_slice slice, uint64_t newest)
{
    if (slice.count == 0) {
        return RONDO_OK;
    }
    rondo_ranges *const memory = memory_of(deps, &slice);
    const uint64_t end = slice.first + slice.count;
    rondo_ranges_place first;
    rondo_status status = cut_out(memory, slice, &first);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_ranges_place place = first;
    const rondo_range *range = rondo_ranges_at(memory, place);
    while (range != NULL && range->first < end) {
        const uint64_t writer = range->writer;

        status = find(deps, writer);
        if (status != RONDO_OK) {
            return status;
        }
        place = rondo_ranges_next(memory, place);
        const rondo_range *const next = rondo_ranges_at(memory, place);
        const bool last = next == NULL || next->first >= end;
        note_reader(steps, writer, slice, last && range->first == slice.first, newest);
        range = next;
    }
    return add_reader(deps, memory, first, end, newest);
}

static rondo_status
find_readers(rondo_deps *deps, uint64_t list)
{
    rondo_status status = RONDO_OK;

    while (status == RONDO_OK && list != 0) {
        const reading *const entry = &deps->readings[list - 1];

        status = find(deps, entry->step + 1);
        list = entry->next;
    }
    return status;
}

static rondo_status
write_slice(rondo_deps *deps, rondo_slice slice, uint64_t newest)
{
    if (slice.count == 0) {
        return RONDO_OK;
    }
    rondo_ranges *const memory = memory_of(deps, &slice);
    const uint64_t end = slice.first + slice.count;
    rondo_ranges_place first;
    rondo_status status = cut_out(memory, slice, &first);
    uint64_t list = 0;
    rondo_ranges_place place = first;
    while (status == RONDO_OK) {
        const rondo_range *const range = rondo_ranges_at(memory, place);

        if (range == NULL || range->first >= end) {
            break;
        }
        /* Who has read since then has waited for the writer. */
        if (range->readers == 0) {
            status = find(deps, range->writer);
        } else if (range->readers != list) {
            list = range->readers;
            status = find_readers(deps, list);
        }
        place = rondo_ranges_next(memory, place);
    }
    if (status != RONDO_OK) {
        return status;
    }
    rondo_ranges_join(memory, first, end);
    *rondo_ranges_at(memory, first) =
        (rondo_range){.first = slice.first, .writer = newest + 1};
    return RONDO_OK;
}

/* For a signal, which says that everything before it is done. */
static rondo_status
find_all(rondo_deps *deps, uint64_t newest)
{
    rondo_status status = RONDO_OK;

    /* Whatever lies before the last signal, that signal has waited for. */
    for (uint64_t step = deps->signal == 0 ? 0 : deps->signal - 1;
         status == RONDO_OK && step < newest; step++) {
        status = deps->marks[step].needed ? RONDO_OK : find(deps, step + 1);
    }
    deps->signal = newest + 1;
    return status;
}

/* What the kind of a step asks for, beside its slices. */
static rondo_status
find_by_kind(rondo_deps *deps, const rondo_step *step, uint64_t newest)
{
    uint64_t before = 0;

    switch (step->kind) {
    case RONDO_STEP_SEND:
        before = deps->peers[step->peer].sent;
        deps->peers[step->peer].sent = newest + 1;
        return find(deps, before);
    case RONDO_STEP_RECV:
        before = deps->peers[step->peer].received;
        deps->peers[step->peer].received = newest + 1;
        return find(deps, before);
    case RONDO_STEP_SIGNAL:
        return find_all(deps, newest);
    default:
        return RONDO_OK;
    }
}

/* A wait holds back all that follows, the next wait too. What is found already and lies
 * behind the last wait has waited for it. */
static rondo_status
find_fence(rondo_deps *deps, const rondo_step *step, uint64_t newest)
{
    const uint64_t fence = deps->fence;

    if (step->kind == RONDO_STEP_WAIT) {
        deps->fence = newest + 1;
    }
    for (uint64_t at = 0; at < deps->nfound; at++) {
        if (deps->found[at] >= fence) {
            return RONDO_OK;
        }
    }
    return find(deps, fence);
}

/* Marks what the candidates themselves need: to need a candidate is enough. */
static void
mark_implied(rondo_deps *deps, const rondo_schedule *schedule)
{
    for (uint64_t at = 0; at < deps->nfound; at++) {
        const rondo_step *const step = &schedule->steps[deps->found[at]];

        for (uint64_t need = 0; need < step->needs; need++) {
            deps->marks[schedule->needs[step->needs_at + need]].implied = deps->nmarks;
        }
    }
}

/* Appends one need of `step`, keeping them ascending. */
static rondo_status
append_need(rondo_schedule *schedule, rondo_step *step, uint64_t earlier)
{
    const rondo_status status =
        rondo_alloc_grow((void **)&schedule->needs, schedule->nneeds,
                         &schedule->needs_room, sizeof *schedule->needs);

    if (status != RONDO_OK) {
        return status;
    }
    uint64_t at = schedule->nneeds++;
    while (at > step->needs_at && schedule->needs[at - 1] > earlier) {
        schedule->needs[at] = schedule->needs[at - 1];
        at--;
    }
    schedule->needs[at] = earlier;
    step->needs++;
    return RONDO_OK;
}

static rondo_status
append_needs(rondo_deps *deps, rondo_schedule *schedule, rondo_step *step)
{
    rondo_status status = RONDO_OK;

    step->needs_at = schedule->nneeds;
    step->needs = 0;
    mark_implied(deps, schedule);
    for (uint64_t at = 0; status == RONDO_OK && at < deps->nfound; at++) {
        const uint64_t earlier = deps->found[at];

        if (deps->marks[earlier].implied != deps->nmarks) {
            deps->marks[earlier].needed = true;
            status = append_need(schedule, step, earlier);
        }
    }
    return status;
}

rondo_status
rondo_deps_add(rondo_deps *deps, rondo_schedule *schedule, uint64_t index)
{
    rondo_step *const step = &schedule->steps[index];
    rondo_status status = rondo_alloc_grow((void **)&deps->marks, deps->nmarks,
                                           &deps->marks_room, sizeof *deps->marks);

    RONDO_ASSERT(index == deps->nmarks);
    if (status != RONDO_OK) {
        return status;
    }
    deps->marks[deps->nmarks++] = (mark){0};
    deps->nfound = 0;
    step->reader = RONDO_NO_STEP;
    status = find_by_kind(deps, step, index);
    if (status == RONDO_OK) {
        status = read_slice(deps, schedule->steps, step->a, index);
    }
    if (status == RONDO_OK) {
        status = read_slice(deps, schedule->steps, step->b, index);
    }
    if (status == RONDO_OK) {
        status = write_slice(deps, step->to, index);
    }
    if (status == RONDO_OK) {
        status = find_fence(deps, step, index);
    }
    return status == RONDO_OK ? append_needs(deps, schedule, step) : status;
}
