/*
 * races.c - whether any two accesses to one element, one of them a write, are ordered.
 *
 * Within a rank by the needs of its steps, between ranks by what they know of each
 * other. The caller counts: a rank's start is a write to its IN and OUT, and so is its
 * end. Hence entry safety (a peer knows of my start) and exit safety (I know of all a
 * peer does to my memory) are races like others.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "verify/clocks.h"

/* An entry of a list of readers; entries never change, so lists share tails. */
typedef struct reading {
    uint64_t event;
    uint64_t next; /* 1 + index of the next entry; 0: none */
} reading;

/* What was done to one element last. 0 stands for nothing. */
typedef struct history {
    uint64_t writer;  /* 1 + event */
    uint64_t readers; /* 1 + entry: those that have read it since */
} history;

struct races {
    rondo_proof *proof;
    rondo_clocks clocks;
    history *cells[RONDO_PHASES];
    reading *readings;
    uint64_t nreadings;
    uint64_t readings_room;
};

/* One step at some elements of one memory. */
struct access {
    uint64_t event;
    history *cells; /* the first element */
    uint64_t count; /* elements */
    rondo_slice slice;
};

static bool
ordered(const struct races *races, uint64_t early, uint64_t late)
{
    rondo_proof *const proof = races->proof;

    if (proof->events[early].rank == proof->events[late].rank) {
        return rondo_reach_before(proof, early, late);
    }
    return rondo_clocks_know(proof, &races->clocks, late, early);
}

/* The sentence for `early` and `late`, which are not ordered. */
static rondo_status
refuse(const struct races *races, uint64_t early, uint64_t late, uint64_t element)
{
    const rondo_proof *const proof = races->proof;
    const rondo_event *const first = &proof->events[early];
    const rondo_event *const second = &proof->events[late];

    if (second->step == NULL) {
        return rondo_proof_refuse(proof, early,
                                  "may still touch memory of rank %" PRIu32
                                  " when that has returned",
                                  second->rank);
    }
    if (first->step == NULL && first->phase > second->phase) {
        return rondo_proof_refuse(proof, late,
                                  "touches memory of rank %" PRIu32
                                  " when that may have returned",
                                  first->rank);
    }
    if (first->step == NULL) {
        return rondo_proof_refuse(
            proof, late, "does not know that rank %" PRIu32 " has begun", first->rank);
    }
    return rondo_proof_refuse(proof, late,
                              "is not ordered behind %s, at element %" PRIu64,
                              rondo_proof_text(proof, early).text, element);
}

/* Checks `early` (1 + event; 0: nothing) against an access. */
static rondo_status
check(const struct races *races, uint64_t early, const struct access *access,
      uint64_t at)
{
    if (early == 0 || early - 1 == access->event ||
        ordered(races, early - 1, access->event)) {
        return RONDO_OK;
    }
    return refuse(races, early - 1, access->event, access->slice.first + at);
}

/* The step a receive names as its reader, as 1 + event; 0 if it names none. */
static uint64_t
named_reader(const rondo_proof *proof, uint64_t writer)
{
    const rondo_step *const step = writer == 0 ? NULL : proof->events[writer - 1].step;

    if (step == NULL || step->reader == RONDO_NO_STEP) {
        return 0;
    }
    return proof->events[writer - 1].opening + 2 + step->reader;
}

/* What a receive says of its reader must hold, for then the two may be one. */
static rondo_status
check_reader(const struct races *races, uint64_t writer, const struct access *access)
{
    const uint64_t reader = named_reader(races->proof, writer);

    if (reader == 0 || reader - 1 == access->event) {
        return RONDO_OK;
    }
    return rondo_proof_refuse(races->proof, access->event,
                              "reads what is for another step, says %s",
                              rondo_proof_text(races->proof, writer - 1).text);
}

static rondo_status
add_reading(struct races *races, uint64_t event, uint64_t list)
{
    const rondo_status status =
        rondo_alloc_grow((void **)&races->readings, races->nreadings,
                         &races->readings_room, sizeof *races->readings);

    if (status == RONDO_OK) {
        races->readings[races->nreadings++] = (reading){.event = event, .next = list};
    }
    return status;
}

static rondo_status
read_cells(struct races *races, const struct access *access)
{
    history last = {.writer = 0, .readers = UINT64_MAX};
    uint64_t list = 0;
    rondo_status status = RONDO_OK;

    for (uint64_t at = 0; status == RONDO_OK && at < access->count; at++) {
        history *const cell = &access->cells[at];

        if (cell->writer != last.writer) {
            status = check(races, cell->writer, access, at);
            if (status == RONDO_OK) {
                status = check_reader(races, cell->writer, access);
            }
        }
        /* Neighbours with one past share the new entry. */
        if (status == RONDO_OK && cell->readers != last.readers) {
            status = add_reading(races, access->event, cell->readers);
            list = races->nreadings;
        }
        last = *cell;
        cell->readers = list;
    }
    return status;
}

/* Whether the list of readers of `cell` holds what its writer names as reader. */
static bool
was_read(const struct races *races, const history *cell)
{
    const uint64_t reader = named_reader(races->proof, cell->writer);
    uint64_t list = cell->readers;

    while (reader != 0 && list != 0) {
        if (races->readings[list - 1].event == reader - 1) {
            return true;
        }
        list = races->readings[list - 1].next;
    }
    return reader == 0;
}

static rondo_status
check_write(const struct races *races, const history *cell, const struct access *access,
            uint64_t at)
{
    rondo_status status = check(races, cell->writer, access, at);

    for (uint64_t list = cell->readers; status == RONDO_OK && list != 0;) {
        const reading *const entry = &races->readings[list - 1];

        status = check(races, entry->event + 1, access, at);
        list = entry->next;
    }
    if (status == RONDO_OK && !was_read(races, cell)) {
        return rondo_proof_refuse(
            races->proof, access->event,
            "writes over what has not been read yet, of %s",
            rondo_proof_text(races->proof, cell->writer - 1).text);
    }
    return status;
}

static rondo_status
write_cells(const struct races *races, const struct access *access)
{
    history last = {.writer = 0, .readers = 0};
    rondo_status status = RONDO_OK;

    for (uint64_t at = 0; status == RONDO_OK && at < access->count; at++) {
        history *const cell = &access->cells[at];

        if (cell->writer != last.writer || cell->readers != last.readers) {
            last = *cell;
            status = check_write(races, cell, access, at);
        }
        *cell = (history){.writer = access->event + 1};
    }
    return status;
}

static struct access
access_of(const struct races *races, uint64_t event, rondo_slice slice)
{
    const rondo_event *const found = &races->proof->events[event];
    history *const cells = races->cells[found->phase];

    return (struct access){.event = event,
                           .cells =
                               &cells[rondo_proof_cell(races->proof, found, slice)],
                           .count = slice.count,
                           .slice = slice};
}

/* A receive that names a reader: that one must read exactly what is received. */
static rondo_status
check_named(const struct races *races, uint64_t event)
{
    const uint64_t reader = named_reader(races->proof, event + 1);

    if (reader == 0) {
        return RONDO_OK;
    }
    const rondo_slice to = races->proof->events[event].step->to;
    const rondo_step *const step = races->proof->events[reader - 1].step;
    const bool as_a = step->a.buffer == to.buffer && step->a.owner == RONDO_OWN &&
                      step->a.first == to.first && step->a.count == to.count;
    const bool as_b = step->b.buffer == to.buffer && step->b.owner == RONDO_OWN &&
                      step->b.first == to.first && step->b.count == to.count;

    if (as_a == as_b) {
        return rondo_proof_refuse(races->proof, event, "%s does not read just that",
                                  rondo_proof_text(races->proof, reader - 1).text);
    }
    return RONDO_OK;
}

static rondo_status
run_step(struct races *races, uint64_t event)
{
    const rondo_step *const step = races->proof->events[event].step;
    const rondo_slice operands[] = {step->a, step->b};
    rondo_status status = check_named(races, event);

    for (uint32_t operand = 0; status == RONDO_OK && operand < 2; operand++) {
        if (operands[operand].count > 0) {
            const struct access access = access_of(races, event, operands[operand]);

            status = read_cells(races, &access);
        }
    }
    if (status == RONDO_OK && step->to.count > 0) {
        const struct access access = access_of(races, event, step->to);

        status = write_cells(races, &access);
    }
    return status;
}

/* The caller of `mark`'s rank does as it likes with what it gave to `phase`. */
static rondo_status
touch(const struct races *races, uint64_t mark, uint32_t phase)
{
    const rondo_layout *const layout =
        &races->proof->layouts[phase][races->proof->events[mark].rank];
    const struct access access = {.event = mark,
                                  .cells = &races->cells[phase][layout->first],
                                  .count = layout->count};

    return write_cells(races, &access);
}

static rondo_status
run_mark(const struct races *races, uint64_t mark)
{
    const uint32_t phase = races->proof->events[mark].phase;
    rondo_status status = phase == 0 ? RONDO_OK : touch(races, mark, phase - 1);

    if (status == RONDO_OK && phase < races->proof->phases) {
        status = touch(races, mark, phase);
    }
    return status;
}

/* A barrier: when any rank leaves, all have come. */
static rondo_status
check_barrier(const struct races *races, uint64_t mark)
{
    const rondo_proof *const proof = races->proof;
    const rondo_event *const found = &proof->events[mark];

    if (found->phase == 0 ||
        proof->schedules[found->phase - 1][0]->coll.kind != RONDO_COLL_BARRIER) {
        return RONDO_OK;
    }
    for (uint32_t rank = 0; rank < proof->nranks; rank++) {
        uint64_t start = proof->first_event[rank];

        if (found->phase == RONDO_PHASES) {
            start += proof->schedules[0][rank]->nsteps + 1;
        }
        if (rank != found->rank &&
            !rondo_clocks_know(proof, &races->clocks, mark, start)) {
            return rondo_proof_refuse(
                proof, mark, "does not know that rank %" PRIu32 " has come", rank);
        }
    }
    return RONDO_OK;
}

static rondo_status
take(struct races *races)
{
    rondo_status status = RONDO_OK;

    for (uint32_t phase = 0; status == RONDO_OK && phase < races->proof->phases;
         phase++) {
        status = rondo_proof_take(races->proof->cells[phase], sizeof(history),
                                  (void **)&races->cells[phase]);
    }
    return status == RONDO_OK ? rondo_clocks_make(races->proof, &races->clocks)
                              : status;
}

rondo_status
rondo_races_check(rondo_proof *proof)
{
    struct races races = {.proof = proof};
    rondo_status status = take(&races);

    for (uint64_t at = 0; status == RONDO_OK && at < proof->nevents; at++) {
        const uint64_t event = proof->order[at];

        if (proof->events[event].step != NULL) {
            status = run_step(&races, event);
        } else {
            status = run_mark(&races, event);
        }
        if (status == RONDO_OK && proof->events[event].step == NULL) {
            status = check_barrier(&races, event);
        }
    }
    for (uint32_t phase = 0; phase < RONDO_PHASES; phase++) {
        rondo_free(races.cells[phase]);
    }
    rondo_free(races.readings);
    rondo_clocks_clear(&races.clocks);
    return status;
}
