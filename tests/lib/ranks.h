/*
 * ranks.h - the one way tests start several ranks: as processes, or as threads of one
 * process. Either way the ranks live in children of the test, so that a rank that hangs
 * is ended at the deadline and named, and what a rank leaves behind can be looked for.
 *
 * A rank's function says what it expects with rank_expect; the first expectation that
 * does not hold is carried to the test with its text. The test itself must not have
 * called the library before (its children would have forked handles).
 *
 * With RONDO_TEST_HOSTS=2 in the environment (`hosts` in a file's ctest line) ranks are
 * spread over that many hosts, by RONDO_HOST_ID: they share no memory and talk through
 * UCX over loopback. Threads then are in one process per host.
 */
#ifndef LIB_RANKS_H
#define LIB_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <rondo/rondo.h>

#define RANKS_MAX      64
#define RANK_TEXT_MAX  640
#define RANK_MARKS_MAX 8

typedef enum rank_kind { AS_PROCESSES, AS_THREADS } rank_kind;

/* A rank, seen from inside. */
typedef struct rank_self {
    uint32_t rank;
    uint32_t nranks;
    rank_kind kind;
    const rondo_unique_id *id; /* how threads of one host meet; or null */
    void *user;
    struct rank_record *record; /* seen by the test as well */
    struct rank_record *all;    /* those of all ranks */
} rank_self;

typedef void (*rank_function)(rank_self *self);

/* The ranks, seen from the test, while they run. */
typedef struct rank_stage {
    uint32_t nranks;
    pid_t pid[RANKS_MAX]; /* threads: the same for all */
    struct rank_record *all;
} rank_stage;

/* Runs in the test while the ranks run: kills, stops, continues. */
typedef void (*rank_director)(const rank_stage *stage, void *user);

/* How a rank ended. */
typedef enum rank_end {
    RANK_RETURNED, /* its function came back and its process exited with 0 */
    RANK_KILLED,   /* by SIGKILL, not for the deadline */
    RANK_FAILED,   /* an expectation, another exit status, another signal */
    RANK_HUNG      /* ended at the deadline */
} rank_end;

typedef struct rank_outcome {
    rank_end end;
    char text[RANK_TEXT_MAX];
} rank_outcome;

typedef struct rank_report {
    uint32_t nranks;
    rank_outcome outcome[RANKS_MAX];
} rank_report;

/* run_ranks - run `function` on `nranks` ranks; true if all of them returned. Otherwise
 * the cmocka test fails, naming every rank that did not and why. */
void
run_ranks(uint32_t nranks, rank_kind kind, rank_function function, void *user,
          uint64_t deadline_ms);

/* Everything there is to say about a run; zero is a good default. */
typedef struct rank_run {
    uint32_t nranks;
    rank_kind kind;
    rank_function function;
    void *user; /* of function and director; children see a copy, unless shared */
    uint64_t deadline_ms;
    rank_director director;         /* null: nobody meddles */
    const char *const *environment; /* "NAME=value" for every rank; null ends it */
} rank_run;

/* ranks_run - the same, and a report in place of a failure. */
void
ranks_run(const rank_run *run, rank_report *report);

/* ranks_expect - the cmocka test fails unless every rank ended with `end`, but for
 * `exception` (RANKS_MAX: none), which must have been killed. */
void
ranks_expect(const rank_report *report, rank_end end, uint32_t exception);

/* rank_expect - note the first fact that does not hold, with its text. Returns
 * `fact`. */
bool
rank_expect(rank_self *self, bool fact, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* rank_expect_status - the same for a status; the text of `comm` (may be null) or of
 * the thread comes with it. */
bool
rank_expect_status(rank_self *self, rondo_status got, rondo_status want,
                   const rondo_comm *comm, const char *what);

/* rank_expect_text - `text` contains `part`. */
bool
rank_expect_text(rank_self *self, const char *text, const char *part, const char *what);

/* rank_note - what this rank is doing; shown if it hangs. */
void
rank_note(rank_self *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* rank_mark - tell the test and the other ranks that point `mark` has been reached;
 * rank_reached, stage_reached - wait for it; false after `wait_ms`. */
void
rank_mark(rank_self *self, uint32_t mark);
bool
rank_reached(rank_self *self, uint32_t rank, uint32_t mark, uint64_t wait_ms);
bool
stage_reached(const rank_stage *stage, uint32_t rank, uint32_t mark, uint64_t wait_ms);

/* rank_meet - all living ranks wait for each other without the library: everyone marks
 * `mark` and waits for the marks of the others. */
bool
rank_meet(rank_self *self, uint32_t mark, uint64_t wait_ms);

/* rank_config - a configuration by which this rank meets the others. */
rondo_comm_config
rank_config(const rank_self *self);

/* rank_join - make the communicator of all ranks; false (and noted) if that fails. */
bool
rank_join(rank_self *self, uint64_t op_timeout_ms, rondo_comm **comm);

/* rank_pause - sleep. test_now_ms - monotonic milliseconds. */
void
rank_pause(uint64_t ms);
uint64_t
test_now_ms(void);

/* test_shared - zeroed memory that children and test share; the test's for its life. */
void *
test_shared(size_t bytes);

/* test_over_hosts - whether ranks are spread over several: NAME.hosts tests what hosts
 * change, and leaves out the rest. */
bool
test_over_hosts(void);

/* test_port - a free TCP port of loopback; `hold_fd` keeps it from being given out to
 * others, without listening (close it at the end). */
uint16_t
test_port(int *hold_fd);

#endif /* LIB_RANKS_H */
