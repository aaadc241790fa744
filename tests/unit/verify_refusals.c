/* verify_refusals.c - schedules written by hand, each wrong in one way, and the
 * sentence it is refused with; and a few that are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule/schedule.h"
#include "verify/verify.h"

#define RANKS_MAX 4

/* One step a line; what stands in front of it is made up by `read_rank`. */
struct set {
    const char *coll;             /* "all_reduce count 4", "broadcast root 1 count 2" */
    const char *rooms;            /* "scratch 4 wire 0 signals 0" */
    const char *steps[RANKS_MAX]; /* by rank; null: no such rank */
    const char *sentence;         /* part of the refusal; null: right */
};

static rondo_schedule *
read_rank(const struct set *set, uint32_t rank, uint32_t nranks)
{
    char text[4096];
    char kind[32];
    unsigned int root = 0;
    unsigned int count = 0;
    char place[16] = "apart";
    rondo_schedule *schedule = NULL;

    assert_true(sscanf(set->coll, "%31s root %u count %u %15s", kind, &root, &count,
                       place) >= 3);
    (void)snprintf(
        text, sizeof text,
        "schedule %s rank %u of %u root %u count %u segment 0 %s\n%s\n%send\n", kind,
        rank, nranks, root, count, place, set->rooms, set->steps[rank]);
    FILE *const in = fmemopen(text, strlen(text), "r");
    assert_non_null(in);
    if (rondo_schedule_parse(in, &schedule) != RONDO_OK) {
        fail_msg("%s\n%s", rondo_error_text(), text);
    }
    assert_int_equal(fclose(in), 0);
    return schedule;
}

static void
judge(const struct set *set)
{
    rondo_schedule *schedules[RANKS_MAX] = {NULL};
    const rondo_schedule *shown[RANKS_MAX] = {NULL};
    uint32_t nranks = 0;

    while (nranks < RANKS_MAX && set->steps[nranks] != NULL) {
        nranks++;
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        schedules[rank] = read_rank(set, rank, nranks);
        shown[rank] = schedules[rank];
    }
    const rondo_status status = rondo_verify(shown, nranks, NULL);
    if (set->sentence == NULL) {
        if (status != RONDO_OK) {
            fail_msg("%s refused: %s", set->coll, rondo_error_text());
        }
    } else if (status != RONDO_ERR_INTERNAL ||
               strstr(rondo_error_text(), set->sentence) == NULL) {
        fail_msg("wanted \"%s\", got status %d, \"%s\"", set->sentence, (int)status,
                 rondo_error_text());
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        rondo_schedule_destroy(schedules[rank]);
    }
}

static void
judge_all(const struct set *sets, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        judge(&sets[at]);
    }
}

#define JUDGE(sets) judge_all(sets, sizeof(sets) / sizeof((sets)[0]))

static const struct set values_sets[] = {
    /* The right one: both add in rank order. */
    {"all_reduce root 0 count 2",
     "scratch 2 wire 0 signals 0",
     {"0 send in[0+2] to 1\n1 recv scratch[0+2] from 1\n"
      "2 finish out[0+2] = in[0+2] op scratch[0+2] needs 1\n",
      "0 send in[0+2] to 0\n1 recv scratch[0+2] from 0\n"
      "2 finish out[0+2] = scratch[0+2] op in[0+2] needs 1\n"},
     NULL},
    {"all_reduce root 0 count 2",
     "scratch 2 wire 0 signals 0",
     {"0 send in[0+2] to 1\n1 recv scratch[0+2] from 1\n"
      "2 finish out[0+2] = in[0+2] op scratch[0+2] needs 1\n",
      "0 send in[0+2] to 0\n1 recv scratch[0+2] from 0\n"
      "2 finish out[0+2] = in[0+2] op scratch[0+2] needs 1\n"},
     "rank 1, its end: element 0 of its out is computed in another order"},
    {"all_reduce root 0 count 2",
     "scratch 2 wire 0 signals 0",
     {"0 send in[0+2] to 1\n1 recv scratch[0+2] from 1\n"
      "2 reduce out[0+2] = in[0+2] op scratch[0+2] needs 1\n",
      "0 send in[0+2] to 0\n1 recv scratch[0+2] from 0\n"
      "2 finish out[0+2] = scratch[0+2] op in[0+2] needs 1\n"},
     "rank 0, its end: element 0 of its out was not finished"},
    {"all_reduce root 0 count 2",
     "scratch 2 wire 0 signals 0",
     {"0 send in[0+2] to 1\n1 recv scratch[0+2] from 1\n"
      "2 reduce scratch[0+2] = in[0+2] op scratch[0+2] needs 1\n"
      "3 finish out[0+2] = scratch[0+2] op in[0+2] needs 2\n",
      "0 send in[0+2] to 0\n1 recv scratch[0+2] from 0\n"
      "2 finish out[0+2] = scratch[0+2] op in[0+2] needs 1\n"},
     "rank 0 step 3, finish out[0+2] = scratch[0+2] op in[0+2]: at 0, rank 0 is "
     "added twice"},
    {"all_reduce root 0 count 2",
     "scratch 2 wire 0 signals 0",
     {"0 finish out[0+1] = in[0+1] op in[1+1]\n", ""},
     "rank 0 step 0, finish out[0+1] = in[0+1] op in[1+1]: at 0, element 0 meets "
     "element 1"},
    {"all_reduce root 0 count 2",
     "scratch 2 wire 0 signals 0",
     {"0 copy scratch[0+2] = out[0+2]\n", ""},
     "rank 0 step 0, copy scratch[0+2] = out[0+2]: element 0 of its operand is "
     "undefined"},
    {"all_reduce root 0 count 2",
     "scratch 2 wire 0 signals 0",
     {"0 send in[0+2] to 1\n1 recv scratch[0+2] from 1\n"
      "2 finish out[0+2] = in[0+2] op scratch[0+2] needs 1\n"
      "3 reduce scratch[0+2] = out[0+2] op in[0+2] needs 2\n",
      "0 send in[0+2] to 0\n1 recv scratch[0+2] from 0\n"
      "2 finish out[0+2] = scratch[0+2] op in[0+2] needs 1\n"},
     "rank 0 step 3, reduce scratch[0+2] = out[0+2] op in[0+2]: at 0, adds to a "
     "finished result"},
    {"reduce root 0 count 1",
     "scratch 1 wire 0 signals 0",
     {"0 recv scratch[0+1] from 1\n"
      "1 finish scratch[0+1] = scratch[0+1] op in[0+1] needs 0\n",
      "0 send in[0+1] to 0\n", ""},
     "rank 0 step 1, finish scratch[0+1] = scratch[0+1] op in[0+1]: at 0, finishes "
     "without rank 2"},
    {"all_reduce root 0 count 2",
     "scratch 0 wire 0 signals 0",
     {"0 copy out[0+1] = in[0+1]\n"},
     "rank 0, its end: element 1 of its out is undefined"},
    {"all_gather root 0 count 1",
     "scratch 0 wire 0 signals 0",
     {"0 copy out[0+1] = in[0+1]\n1 recv out[1+1] from 1\n",
      "0 send in[0+1] to 0\n1 copy out[0+1] = in[0+1]\n2 copy out[1+1] = "
      "in[0+1]\n"},
     "rank 1, its end: element 0 of its out is not of the ranks it should be of"},
    {"reduce_scatter root 0 count 1",
     "scratch 1 wire 0 signals 0",
     {"0 send in[1+1] to 1\n1 recv scratch[0+1] from 1\n"
      "2 finish out[0+1] = scratch[0+1] op in[0+1] needs 1\n",
      "0 send in[0+1] to 0\n1 recv scratch[0+1] from 0\n"
      "2 finish out[0+1] = scratch[0+1] op in[1+1] needs 1\n"},
     NULL},
    {"broadcast root 1 count 2",
     "scratch 0 wire 0 signals 0",
     {"0 recv out[0+1] from 1\n1 recv out[1+1] from 1 needs 0\n",
      "0 copy out[0+2] = in[0+2]\n1 send in[1+1] to 0\n"
      "2 send in[0+1] to 0 needs 1\n"},
     "rank 0, its end: element 0 of its out holds another element"},
};

static void
test_values(void **state)
{
    (void)state;
    JUDGE(values_sets);
}

static void
test_messages(void **state)
{
    const struct set sets[] = {
        {"broadcast root 0 count 1",
         "scratch 0 wire 0 signals 0",
         {"0 copy out[0+1] = in[0+1]\n1 send in[0+1] to 1\n", ""},
         "rank 0 step 1, send in[0+1] to 1: nobody receives it"},
        /* Each rank sends before it lets the other's message in. */
        {"broadcast root 0 count 1",
         "scratch 2 wire 0 signals 0",
         {"0 copy out[0+1] = in[0+1]\n1 copy scratch[0+1] = in[0+1]\n"
          "2 send scratch[0+1] to 1 needs 1\n3 recv scratch[1+1] from 1 needs 2\n",
          "0 send scratch[0+1] to 0\n1 recv out[0+1] from 0 needs 0\n"},
         "rank 0 step 2, send scratch[0+1] to 1: deadlock: rank 1 step 1, recv "
         "out[0+1] "
         "from 0 never starts"},
        {"broadcast root 0 count 2",
         "scratch 0 wire 0 signals 0",
         {"0 send in[0+2] to 1\n1 copy out[0+2] = in[0+2]\n",
          "0 recv out[0+1] from 0\n"},
         "rank 1 step 0, recv out[0+1] from 0: rank 0 sends 2 elements here"},
        {"broadcast root 0 count 1",
         "scratch 0 wire 0 signals 0",
         {"0 copy out[0+1] = in[0+1]\n", "0 recv out[0+1] from 0\n"},
         "rank 1 step 0, recv out[0+1] from 0: no message is sent for it"},
        {"broadcast root 0 count 2",
         "scratch 0 wire 0 signals 0",
         {"0 send in[0+1] to 1\n1 send in[1+1] to 1\n2 copy out[0+2] = in[0+2]\n",
          "0 recv out[0+1] from 0\n1 recv out[1+1] from 0 needs 0\n"},
         "rank 0 step 1, send in[1+1] to 1: does not wait for the message before it, "
         "rank 0 step 0, send in[0+1] to 1"},
        {"broadcast root 0 count 2",
         "scratch 0 wire 0 signals 0",
         {"0 send in[0+1] to 1\n1 send in[1+1] to 1 needs 0\n2 copy out[0+2] = "
          "in[0+2]\n",
          "0 recv out[0+1] from 0\n1 recv out[1+1] from 0\n"},
         "rank 1 step 1, recv out[1+1] from 0: does not wait for the message before "
         "it"},
        {"broadcast root 0 count 1",
         "scratch 0 wire 1 signals 0",
         {"0 encode wire[0+1] = in[0+1]\n1 send wire[0+1] to 1 needs 0\n"
          "2 copy out[0+1] = in[0+1]\n",
          "0 recv out[0+1] from 0\n"},
         "one side takes the message for encoded bytes"},
        {"barrier root 0 count 0",
         "scratch 1 wire 0 signals 0",
         {"0 send scratch[0+1] to 1\n", "0 recv scratch[0+1] from 0\n"},
         "rank 0, its end: does not know that rank 1 has come"},
        /* Rank 2 sends before it has heard of rank 0. */
        {"barrier root 0 count 0",
         "scratch 3 wire 0 signals 0",
         {"0 send scratch[0+1] to 2\n1 recv scratch[1+1] from 1\n"
          "2 recv scratch[2+1] from 2\n",
          "0 send scratch[0+1] to 0\n1 recv scratch[1+1] from 2\n",
          "0 send scratch[0+1] to 0\n1 send scratch[0+1] to 1\n"
          "2 recv scratch[1+1] from 0\n"},
         "rank 1, its end: does not know that rank 0 has come"},
    };

    (void)state;
    JUDGE(sets);
}

static void
test_own_races(void **state)
{
    const struct set sets[] = {
        /* Read before written. */
        {"all_reduce root 0 count 2",
         "scratch 2 wire 0 signals 0",
         {"0 copy scratch[0+2] = in[0+2]\n1 copy out[0+2] = scratch[0+2]\n"},
         "rank 0 step 1, copy out[0+2] = scratch[0+2]: is not ordered behind rank 0 "
         "step "
         "0, copy scratch[0+2] = in[0+2], at element 0"},
        /* Written before it was read. */
        {"all_reduce root 0 count 2",
         "scratch 2 wire 0 signals 0",
         {"0 copy scratch[0+1] = in[0+1]\n1 copy out[0+1] = scratch[0+1] needs 0\n"
          "2 copy scratch[0+1] = in[1+1] needs 0\n"
          "3 copy out[1+1] = scratch[0+1] needs 2\n"},
         "rank 0 step 2, copy scratch[0+1] = in[1+1]: is not ordered behind rank 0 "
         "step 1"},
        /* Written twice. */
        {"all_reduce root 0 count 2",
         "scratch 0 wire 0 signals 0",
         {"0 copy out[0+2] = in[0+2]\n1 copy out[1+1] = in[1+1]\n"},
         "rank 0 step 1, copy out[1+1] = in[1+1]: is not ordered behind rank 0 step 0, "
         "copy out[0+2] = in[0+2], at element 1"},
        /* The right one: by another step. */
        {"all_reduce root 0 count 2",
         "scratch 3 wire 0 signals 0",
         {"0 copy scratch[0+2] = in[0+2]\n1 copy scratch[2+1] = scratch[0+1] needs 0\n"
          "2 copy out[0+2] = scratch[0+2] needs 1\n"},
         NULL},
    };

    (void)state;
    JUDGE(sets);
}

/* A reader that a receive names is believed by the executor, so it must be true. */
static void
test_readers(void **state)
{
    const struct set sets[] = {
        {"broadcast root 1 count 2",
         "scratch 2 wire 0 signals 0",
         {"0 recv scratch[0+2] from 1 reader 1\n1 copy out[0+2] = scratch[0+2] needs "
          "0\n",
          "0 copy out[0+2] = in[0+2]\n1 send in[0+2] to 0\n"},
         NULL},
        {"broadcast root 1 count 2",
         "scratch 2 wire 0 signals 0",
         {"0 recv scratch[0+2] from 1 reader 2\n1 copy out[0+1] = scratch[0+1] needs "
          "0\n"
          "2 copy out[0+2] = scratch[0+2] needs 1\n",
          "0 copy out[0+2] = in[0+2]\n1 send in[0+2] to 0\n"},
         "rank 0 step 1, copy out[0+1] = scratch[0+1]: reads what is for another step"},
        {"broadcast root 1 count 2",
         "scratch 2 wire 0 signals 0",
         {"0 recv scratch[0+2] from 1 reader 1\n1 copy out[0+1] = scratch[0+1] needs "
          "0\n"
          "2 copy out[1+1] = scratch[1+1] needs 0\n",
          "0 copy out[0+2] = in[0+2]\n1 send in[0+2] to 0\n"},
         "rank 0 step 0, recv scratch[0+2] from 1: rank 0 step 1, copy out[0+1] = "
         "scratch[0+1] does not read just that"},
        {"broadcast root 1 count 2",
         "scratch 2 wire 0 signals 0",
         {"0 recv scratch[0+2] from 1 reader 2\n"
          "1 recv scratch[1+1] from 1 needs 0\n"
          "2 copy out[0+2] = scratch[0+2] needs 1\n",
          "0 copy out[0+2] = in[0+2]\n1 send in[0+2] to 0\n2 send in[1+1] to 0 needs "
          "1\n"},
         "rank 0 step 1, recv scratch[1+1] from 1: writes over what has not been read "
         "yet, of rank 0 step 0"},
    };

    (void)state;
    JUDGE(sets);
}

/* Two ranks, in one pass over mapped memory; rank 1 has no element of its own. */
#define IDLE "0 signal 1\n1 wait 1 of 0\n2 signal 2 needs 0 1\n3 wait 2 of 0 needs 1\n"

static const struct set mapped_sets[] = {
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 2",
     {"0 signal 1\n1 wait 1 of 1\n2 finish out[0+1] = in[0+1] op 1:in[0+1] needs "
      "1\n"
      "3 copy 1:out[0+1] = out[0+1] needs 2\n4 signal 2 needs 0 3\n"
      "5 wait 2 of 1 needs 1\n",
      IDLE},
     NULL},
    /* Entry: rank 0 reads before rank 1 has come. */
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 2",
     {"0 signal 1\n1 finish out[0+1] = in[0+1] op 1:in[0+1]\n"
      "2 copy 1:out[0+1] = out[0+1] needs 1\n3 signal 2 needs 0 2\n",
      IDLE},
     "rank 0 step 1, finish out[0+1] = in[0+1] op 1:in[0+1]: does not know that "
     "rank "
     "1 has begun"},
    /* Exit: rank 1 leaves without waiting. */
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 2",
     {"0 signal 1\n1 wait 1 of 1\n2 finish out[0+1] = in[0+1] op 1:in[0+1] needs "
      "1\n"
      "3 copy 1:out[0+1] = out[0+1] needs 2\n4 signal 2 needs 0 3\n"
      "5 wait 2 of 1 needs 1\n",
      "0 signal 1\n1 wait 1 of 0\n2 signal 2 needs 0 1\n"},
     "of rank 1 when that"},
    /* The signal does not wait for the copy. */
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 2",
     {"0 signal 1\n1 wait 1 of 1\n2 finish out[0+1] = in[0+1] op 1:in[0+1] needs "
      "1\n"
      "3 copy 1:out[0+1] = out[0+1] needs 2\n4 signal 2 needs 0 2\n"
      "5 wait 2 of 1 needs 1\n",
      IDLE},
     "rank 0 step 4, signal 2: does not wait for all steps before it"},
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 2",
     {"0 signal 1\n1 wait 1 of 1\n2 finish out[0+1] = in[0+1] op 1:in[0+1]\n"
      "3 copy 1:out[0+1] = out[0+1] needs 2\n4 signal 2 needs 0 1 3\n"
      "5 wait 2 of 1 needs 1\n",
      IDLE},
     "rank 0 step 2, finish out[0+1] = in[0+1] op 1:in[0+1]: does not wait for the "
     "wait before it"},
    /* Rank 1 touches its own memory while rank 0 may. */
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 2",
     {"0 signal 1\n1 wait 1 of 1\n2 finish out[0+1] = in[0+1] op 1:in[0+1] needs "
      "1\n"
      "3 copy 1:out[0+1] = out[0+1] needs 2\n4 signal 2 needs 0 3\n"
      "5 wait 2 of 1 needs 1\n",
      "0 signal 1\n1 copy out[0+1] = in[0+1]\n2 wait 1 of 0\n3 signal 2 needs 0 1 "
      "2\n"
      "4 wait 2 of 0 needs 2\n"},
     "is not ordered behind"},
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 1",
     {"0 wait 2 of 1\n1 signal 1 needs 0\n", "0 signal 1\n1 wait 1 of 0\n"},
     "rank 0 step 0, wait 2 of 1: that signal is never given"},
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 1",
     {"0 wait 1 of 1\n1 signal 1 needs 0\n", "0 wait 1 of 0\n1 signal 1 needs 0\n"},
     "deadlock: the signal is never given"},
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 2",
     {"0 signal 2\n1 signal 1 needs 0\n", "0 signal 1\n1 signal 2 needs 0\n"},
     "rank 0 step 0, signal 2: is signal 1 of this collective"},
    {"all_reduce root 0 count 1",
     "scratch 0 wire 0 signals 2",
     {"0 signal 1\n", "0 signal 1\n1 signal 2 needs 0\n"},
     "rank 0 gives 1 signals, not 2"},
};

static void
test_mapped(void **state)
{
    (void)state;
    JUDGE(mapped_sets);
}

/* In place the peer's IN is its OUT, and its result may not be written over an operand
 * that is still to be read. */
static void
test_mapped_in_place(void **state)
{
    const struct set sets[] = {
        {"all_reduce root 0 count 1 in_place",
         "scratch 0 wire 0 signals 2",
         {"0 signal 1\n1 wait 1 of 1\n2 copy 1:out[0+1] = out[0+1] needs 1\n"
          "3 finish out[0+1] = out[0+1] op 1:in[0+1] needs 2\n4 signal 2 needs 0 3\n"
          "5 wait 2 of 1 needs 1\n",
          "0 signal 1\n1 wait 1 of 0\n2 signal 2 needs 0 1\n3 wait 2 of 0 needs 1\n"},
         "rank 0 step 3, finish out[0+1] = out[0+1] op 1:in[0+1]: at 0, rank 0 is "
         "added "
         "twice"},
    };

    (void)state;
    JUDGE(sets);
}

static void
test_codes(void **state)
{
    const struct set sets[] = {
        {"broadcast root 0 count 2",
         "scratch 0 wire 2 signals 0",
         {"0 encode wire[0+2] = in[0+2]\n1 send wire[0+2] to 1 needs 0\n"
          "2 decode out[0+2] = wire[0+2] needs 0\n",
          "0 recv wire[0+2] from 0\n1 decode out[0+2] = wire[0+2] needs 0\n"},
         NULL},
        /* A code is no vector: half of it is nothing. */
        {"broadcast root 0 count 2",
         "scratch 0 wire 2 signals 0",
         {"0 encode wire[0+2] = in[0+2]\n1 send wire[0+2] to 1 needs 0\n"
          "2 copy out[0+2] = in[0+2]\n",
          "0 recv wire[0+2] from 0\n1 decode out[0+1] = wire[0+1] needs 0\n"
          "2 decode out[1+1] = wire[1+1] needs 0\n"},
         "rank 1 step 1, decode out[0+1] = wire[0+1]: element 0 is not where its code "
         "has "
         "it"},
        {"broadcast root 0 count 2",
         "scratch 0 wire 2 signals 0",
         {"0 encode wire[0+1] = in[0+1]\n1 encode wire[1+1] = in[1+1]\n"
          "2 send wire[0+2] to 1 needs 0 1\n3 copy out[0+2] = in[0+2]\n",
          "0 recv wire[0+2] from 0\n1 decode out[0+2] = wire[0+2] needs 0\n"},
         "rank 0 step 2, send wire[0+2] to 1: element 0 is not where its code has it"},
    };

    (void)state;
    JUDGE(sets);
}

/* How often a contribution was encoded is what an error bound needs. */
static void
test_encodings(void **state)
{
    const struct set set = {
        "all_reduce root 0 count 1",
        "scratch 2 wire 2 signals 0",
        {"0 encode wire[0+1] = in[0+1]\n1 send wire[0+1] to 1 needs 0\n"
         "2 recv wire[1+1] from 1\n3 decode out[0+1] = wire[1+1] needs 2\n",
         "0 recv wire[0+1] from 0\n1 decode scratch[0+1] = wire[0+1] needs 0\n"
         "2 finish scratch[1+1] = scratch[0+1] op in[0+1] needs 1\n"
         "3 encode wire[1+1] = scratch[1+1] needs 2\n"
         "4 send wire[1+1] to 0 needs 3\n5 decode out[0+1] = wire[1+1] needs 3\n"},
        NULL};
    rondo_schedule *const schedules[] = {read_rank(&set, 0, 2), read_rank(&set, 1, 2)};
    const rondo_schedule *const shown[] = {schedules[0], schedules[1]};
    rondo_verdict verdict;

    (void)state;
    if (rondo_verify(shown, 2, &verdict) != RONDO_OK) {
        fail_msg("%s", rondo_error_text());
    }
    assert_int_equal(verdict.encodings_max, 2);
    assert_int_equal(verdict.turns, 2);
    assert_int_equal(verdict.sent_total, 2);
    rondo_schedule_destroy(schedules[0]);
    rondo_schedule_destroy(schedules[1]);
}

/* Schedules of different collectives, of another rank, none at all. */
static void
test_sets(void **state)
{
    const struct set one = {
        "all_reduce root 0 count 1", "scratch 0 wire 0 signals 0", {"", ""}, NULL};
    const struct set other = {
        "all_reduce root 0 count 2", "scratch 0 wire 0 signals 0", {"", ""}, NULL};
    rondo_schedule *const made[] = {read_rank(&one, 0, 2), read_rank(&other, 1, 2),
                                    read_rank(&one, 1, 2)};
    const rondo_schedule *const differ[] = {made[0], made[1]};
    const rondo_schedule *const twice[] = {made[0], made[0]};

    (void)state;
    assert_int_equal(rondo_verify(differ, 2, NULL), RONDO_ERR_INTERNAL);
    assert_non_null(strstr(rondo_error_text(), "rank 1: its schedule is for another"));
    assert_int_equal(rondo_verify(twice, 2, NULL), RONDO_ERR_INTERNAL);
    assert_int_equal(rondo_verify(differ, 1, NULL), RONDO_ERR_INTERNAL);
    assert_int_equal(rondo_verify(differ, 0, NULL), RONDO_ERR_ARG);
    assert_int_equal(rondo_verify_pair(differ, differ, 0), RONDO_ERR_ARG);
    for (size_t at = 0; at < 3; at++) {
        rondo_schedule_destroy(made[at]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),    cmocka_unit_test(test_messages),
        cmocka_unit_test(test_own_races), cmocka_unit_test(test_readers),
        cmocka_unit_test(test_mapped),    cmocka_unit_test(test_mapped_in_place),
        cmocka_unit_test(test_codes),     cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
