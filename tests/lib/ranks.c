/* ranks.c - starting ranks as processes or threads, and ending them in time. */
#include "lib/ranks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* What a rank writes and the test reads. */
typedef struct rank_record {
    atomic_bool failed;
    atomic_bool returned;
    atomic_bool mark[RANK_MARKS_MAX];
    char text[RANK_TEXT_MAX]; /* of the first failure */
    char note[RANK_TEXT_MAX];
} rank_record;

uint64_t
test_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void
rank_pause(uint64_t ms)
{
    struct timespec span = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    while (nanosleep(&span, &span) != 0 && errno == EINTR) {
    }
}

void *
test_shared(size_t bytes)
{
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        (void)fprintf(stderr, "no shared memory for the test\n");
        exit(1);
    }
    return memory;
}

uint16_t
test_port(int *hold_fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t at_bytes = sizeof at;
    const int on = 1;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    /* A bound socket that allows reuse lets another one bind and listen there, but the
     * kernel no longer hands the port out. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &at_bytes) != 0) {
        (void)fprintf(stderr, "no free port: %s\n", strerror(errno));
        exit(1);
    }
    *hold_fd = fd;
    return ntohs(at.sin_port);
}

/* --- inside a rank ---------------------------------------------------------------- */

bool
rank_expect(rank_self *self, bool fact, const char *format, ...)
{
    va_list arguments;

    if (fact || atomic_load(&self->record->failed)) {
        return fact;
    }
    va_start(arguments, format);
    (void)vsnprintf(self->record->text, RANK_TEXT_MAX, format, arguments);
    va_end(arguments);
    atomic_store(&self->record->failed, true);
    return false;
}

bool
rank_expect_status(rank_self *self, rondo_status got, rondo_status want,
                   const rondo_comm *comm, const char *what)
{
    const char *const text =
        comm != NULL ? rondo_comm_error_text(comm) : rondo_error_text();

    return rank_expect(self, got == want, "%s: got %s, want %s; text: %s", what,
                       rondo_status_name(got), rondo_status_name(want), text);
}

bool
rank_expect_text(rank_self *self, const char *text, const char *part, const char *what)
{
    return rank_expect(self, strstr(text, part) != NULL,
                       "%s: \"%s\" is not in the text \"%s\"", what, part, text);
}

void
rank_note(rank_self *self, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(self->record->note, RANK_TEXT_MAX, format, arguments);
    va_end(arguments);
}

void
rank_mark(rank_self *self, uint32_t mark)
{
    atomic_store(&self->record->mark[mark], true);
}

static bool
reached(rank_record *record, uint32_t mark, uint64_t wait_ms)
{
    const uint64_t until_ms = test_now_ms() + wait_ms;

    while (!atomic_load(&record->mark[mark])) {
        if (test_now_ms() > until_ms) {
            return false;
        }
        rank_pause(1);
    }
    return true;
}

bool
rank_reached(rank_self *self, uint32_t rank, uint32_t mark, uint64_t wait_ms)
{
    return reached(&self->all[rank], mark, wait_ms);
}

bool
stage_reached(const rank_stage *stage, uint32_t rank, uint32_t mark, uint64_t wait_ms)
{
    return reached(&stage->all[rank], mark, wait_ms);
}

bool
rank_meet(rank_self *self, uint32_t mark, uint64_t wait_ms)
{
    rank_mark(self, mark);
    for (uint32_t r = 0; r < self->nranks; r++) {
        if (!rank_expect(self, rank_reached(self, r, mark, wait_ms),
                         "rank %u did not come to point %u", r, mark)) {
            return false;
        }
    }
    return true;
}

rondo_comm_config
rank_config(const rank_self *self)
{
    rondo_comm_config config;

    rondo_comm_config_init(&config);
    if (self->kind == AS_THREADS) {
        config.rank = self->rank;
        config.nranks = self->nranks;
        config.id = self->id;
    }
    return config;
}

bool
rank_join(rank_self *self, uint64_t op_timeout_ms, rondo_comm **comm)
{
    rondo_comm_config config = rank_config(self);

    config.op_timeout_ms = op_timeout_ms;
    rank_note(self, "joining");
    return rank_expect_status(self, rondo_comm_create(&config, comm), RONDO_OK, NULL,
                              "rondo_comm_create");
}

/* --- starting --------------------------------------------------------------------- */

/* RONDO_TEST_HOSTS=2: ranks 0, 2, 4... are on one host, the others on another. */
static uint32_t
hosts_of(uint32_t nranks)
{
    const char *const text = getenv("RONDO_TEST_HOSTS");
    const unsigned long hosts = text == NULL ? 1 : strtoul(text, NULL, 10);

    return hosts < 1 ? 1 : hosts > nranks ? nranks : (uint32_t)hosts;
}

bool
test_over_hosts(void)
{
    return hosts_of(2) > 1;
}

static void
spread_over_hosts(uint32_t rank, uint32_t nranks)
{
    const uint32_t hosts = hosts_of(nranks);
    char value[32];

    if (hosts > 1) {
        (void)snprintf(value, sizeof value, "host%u", rank % hosts);
        (void)setenv("RONDO_HOST_ID", value, 1);
    }
}

/* Threads of one host are in one process. */
static uint32_t
processes_of(const rank_run *run)
{
    return run->kind == AS_THREADS ? hosts_of(run->nranks) : run->nranks;
}

static void
environment_set(const rank_run *run, uint32_t rank, uint16_t port)
{
    char value[64];

    (void)snprintf(value, sizeof value, "%u", rank);
    (void)setenv("RANK", value, 1);
    (void)setenv("LOCAL_RANK", value, 1);
    (void)snprintf(value, sizeof value, "%u", run->nranks);
    (void)setenv("WORLD_SIZE", value, 1);
    (void)snprintf(value, sizeof value, "%u", port);
    (void)setenv("MASTER_PORT", value, 1);
    (void)setenv("MASTER_ADDR", "127.0.0.1", 1);
    (void)snprintf(value, sizeof value, "secret-of-a-test-%d-%u", (int)getppid(), port);
    (void)setenv("RONDO_SECRET", value, 1);
    spread_over_hosts(rank, run->nranks);
}

static void
own_environment_set(const rank_run *run)
{
    for (const char *const *line = run->environment; line != NULL && *line != NULL;
         line++) {
        char name[64];
        const char *const equals = strchr(*line, '=');
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - *line), *line);
        (void)setenv(name, equals + 1, 1);
    }
}

static void
finish_rank(rank_self *self)
{
    atomic_store(&self->record->returned, true);
}

static void *
thread_main(void *argument)
{
    rank_self *const self = argument;
    const rank_function function = *(rank_function *)self->user;

    self->user = ((void **)self->user)[1];
    function(self);
    finish_rank(self);
    return NULL;
}

/* Those of one process. On one host they meet by a unique id; on several, where it
 * could not be handed round, by the environment. */
static void
threads_main(const rank_run *run, uint32_t process, rank_record *all)
{
    const uint32_t step = processes_of(run);
    static rank_self selves[RANKS_MAX];
    static pthread_t threads[RANKS_MAX];
    static rondo_unique_id id;
    void *carried[2] = {NULL, run->user};

    memcpy(&carried[0], &run->function, sizeof carried[0]);
    for (uint32_t r = process; r < run->nranks; r += step) {
        selves[r] = (rank_self){r,       run->nranks, AS_THREADS, step > 1 ? NULL : &id,
                                carried, &all[r],     all};
    }
    if (step == 1 && !rank_expect_status(&selves[0], rondo_unique_id_create(&id),
                                         RONDO_OK, NULL, "rondo_unique_id_create")) {
        return;
    }
    for (uint32_t r = process; r < run->nranks; r += step) {
        if (pthread_create(&threads[r], NULL, thread_main, &selves[r]) != 0) {
            (void)fprintf(stderr, "no thread for rank %u\n", r);
            _exit(1);
        }
    }
    for (uint32_t r = process; r < run->nranks; r += step) {
        (void)pthread_join(threads[r], NULL);
    }
}

/* exit, not _exit: leak checkers look then. */
static void
child_main(const rank_run *run, uint32_t rank, uint16_t port, rank_record *all)
{
    /* The test's handlers would turn a crash into an exit status. */
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        (void)signal(crashes[i], SIG_DFL);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    environment_set(run, rank, port);
    own_environment_set(run);
    if (run->kind == AS_THREADS) {
        threads_main(run, rank, all);
    } else {
        rank_self self = {rank,      run->nranks, AS_PROCESSES, NULL,
                          run->user, &all[rank],  all};
        run->function(&self);
        finish_rank(&self);
    }
    exit(0);
}

/* --- ending ----------------------------------------------------------------------- */

typedef struct child {
    pid_t pid;
    bool ended;
    bool late; /* ended by us */
    int wait_status;
} child;

/* Waits for all children; those that are left at the deadline are ended. */
static void
children_await(child *children, uint32_t nchildren, uint64_t until_ms)
{
    uint32_t left = nchildren;

    while (left > 0) {
        for (uint32_t c = 0; c < nchildren; c++) {
            child *const one = &children[c];
            if (!one->ended && waitpid(one->pid, &one->wait_status, WNOHANG) != 0) {
                one->ended = true;
                left--;
            }
        }
        if (left > 0 && test_now_ms() > until_ms) {
            for (uint32_t c = 0; c < nchildren; c++) {
                if (!children[c].ended && !children[c].late) {
                    children[c].late = true;
                    (void)kill(children[c].pid, SIGKILL);
                }
            }
        }
        rank_pause(left > 0 ? 1 : 0);
    }
}

static void
outcome_set(const child *from, const rank_record *record, rank_outcome *outcome)
{
    const bool exited = WIFEXITED(from->wait_status);
    const bool killed = WIFSIGNALED(from->wait_status) &&
                        WTERMSIG(from->wait_status) == SIGKILL && !from->late;

    outcome->end = RANK_FAILED;
    if (atomic_load(&record->failed)) {
        (void)snprintf(outcome->text, RANK_TEXT_MAX, "%s", record->text);
    } else if (from->late && !atomic_load(&record->returned)) {
        outcome->end = RANK_HUNG;
        (void)snprintf(outcome->text, RANK_TEXT_MAX, "hung at: %.500s", record->note);
    } else if (from->late) {
        (void)snprintf(outcome->text, RANK_TEXT_MAX, "returned; process did not end");
    } else if (killed) {
        outcome->end = RANK_KILLED;
        (void)snprintf(outcome->text, RANK_TEXT_MAX, "killed at: %.500s", record->note);
    } else if (!exited || WEXITSTATUS(from->wait_status) != 0) {
        (void)snprintf(outcome->text, RANK_TEXT_MAX, "%s %d at: %.500s",
                       exited ? "exit status" : "signal",
                       exited ? WEXITSTATUS(from->wait_status)
                              : WTERMSIG(from->wait_status),
                       record->note);
    } else if (!atomic_load(&record->returned)) {
        (void)snprintf(outcome->text, RANK_TEXT_MAX, "exited early at: %.500s",
                       record->note);
    } else {
        outcome->end = RANK_RETURNED;
        outcome->text[0] = '\0';
    }
}

void
ranks_run(const rank_run *run, rank_report *report)
{
    child children[RANKS_MAX] = {0};
    rank_stage stage = {.nranks = run->nranks};
    const size_t bytes = run->nranks * sizeof(rank_record);
    const uint32_t nchildren = processes_of(run);
    const uint64_t until_ms = test_now_ms() + run->deadline_ms;
    int hold_fd = -1;
    const uint16_t port = test_port(&hold_fd);

    stage.all = test_shared(bytes);
    (void)fflush(NULL);
    for (uint32_t c = 0; c < nchildren; c++) {
        children[c].pid = fork();
        if (children[c].pid == 0) {
            (void)close(hold_fd);
            child_main(run, c, port, stage.all);
        }
        if (children[c].pid < 0) {
            (void)fprintf(stderr, "no process for rank %u: %s\n", c, strerror(errno));
            exit(1);
        }
    }
    for (uint32_t r = 0; r < run->nranks; r++) {
        stage.pid[r] = children[r % nchildren].pid;
    }
    if (run->director != NULL) {
        run->director(&stage, run->user);
    }
    children_await(children, nchildren, until_ms);
    (void)close(hold_fd);
    report->nranks = run->nranks;
    for (uint32_t r = 0; r < run->nranks; r++) {
        outcome_set(&children[r % nchildren], &stage.all[r], &report->outcome[r]);
    }
    (void)munmap(stage.all, bytes);
}

void
ranks_expect(const rank_report *report, rank_end end, uint32_t exception)
{
    static const char *const words[] = {"returned", "was killed", "failed", "hung"};
    bool good = true;

    for (uint32_t r = 0; r < report->nranks; r++) {
        const rank_outcome *const outcome = &report->outcome[r];
        const rank_end want = r == exception ? RANK_KILLED : end;
        if (outcome->end != want) {
            print_error("rank %u of %u %s: %s\n", r, report->nranks,
                        words[outcome->end], outcome->text);
            good = false;
        }
    }
    if (!good) {
        fail_msg("%u ranks did not end as they should", report->nranks);
    }
}

void
run_ranks(uint32_t nranks, rank_kind kind, rank_function function, void *user,
          uint64_t deadline_ms)
{
    static rank_report report;
    const rank_run run = {.nranks = nranks,
                          .kind = kind,
                          .function = function,
                          .user = user,
                          .deadline_ms = deadline_ms};

    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
}
