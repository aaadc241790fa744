/* failing.c - one rank that waits for something to go wrong and says as JSON lines what
 * it was told, and when. Started by troubles.py; alone it is a job of one rank.
 *
 *     hosts_failing MODE COUNT ODD FLAG
 *
 * COUNT elements; ODD is the rank that behaves differently; FLAG is a file whose coming
 * is waited for. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rondo/rondo.h>

typedef struct rank_test {
    const char *mode;
    uint64_t count;
    uint32_t odd;
    const char *flag;
    rondo_comm *comm;
    uint32_t rank;
    uint32_t nranks;
    int32_t *in;
    int32_t *out;
} rank_test;

static uint64_t
now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
pause_ms(long ms)
{
    const struct timespec span = {ms / 1000, ms % 1000 * 1000000};

    (void)nanosleep(&span, NULL);
}

/* One line; sentences hold no quotes. */
static void
say(const rank_test *t, const char *what, rondo_status status, uint64_t took_ms)
{
    printf("{\"rank\":%u,\"pid\":%d,\"what\":\"%s\",\"status\":\"%s\",\"at\":%" PRIu64
           ",\"took\":%" PRIu64 ",\"text\":\"%s\"}\n",
           t->rank, (int)getpid(), what, rondo_status_name(status), now_ms(), took_ms,
           status == RONDO_OK ? "" : rondo_error_text());
    (void)fflush(stdout);
}

static bool
flag_is(const rank_test *t, const char *suffix)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s%s", t->flag, suffix);
    return access(path, F_OK) == 0;
}

static void
await_flag(const rank_test *t, const char *suffix)
{
    while (!flag_is(t, suffix)) {
        pause_ms(5);
    }
}

/* An all-reduce whose every element is checked; RONDO_ERR_STATE: wrong. */
static rondo_status
reduce(rank_test *t, uint32_t round)
{
    const uint32_t n = t->nranks;

    for (uint64_t i = 0; i < t->count; i++) {
        t->in[i] = (int32_t)(t->rank + round + i % 1000);
    }
    const rondo_status status =
        rondo_all_reduce(t->comm, t->in, t->out, t->count, RONDO_INT32, RONDO_SUM);
    for (uint64_t i = 0; status == RONDO_OK && i < t->count; i++) {
        if (t->out[i] != (int32_t)(n * (round + i % 1000) + n * (n - 1) / 2)) {
            return RONDO_ERR_STATE;
        }
    }
    return status;
}

static rondo_status
reduce_until(rank_test *t, const char *suffix)
{
    rondo_status status = RONDO_OK;
    int32_t going = 1;

    for (uint32_t round = 0; status == RONDO_OK && going != 0; round++) {
        status = reduce(t, round);
        /* All see the flag in the same round. */
        const int32_t mine = suffix != NULL && flag_is(t, suffix) ? 0 : 1;
        if (status == RONDO_OK && suffix != NULL) {
            status =
                rondo_all_reduce(t->comm, &mine, &going, 1, RONDO_INT32, RONDO_MIN);
        }
    }
    return status;
}

/* One call that differs from that of the others in what the mode says. */
static rondo_status
differ(rank_test *t)
{
    const bool odd = t->rank == t->odd;
    const bool by_count = strcmp(t->mode, "count") == 0;
    const bool by_type = strcmp(t->mode, "type") == 0;
    const bool by_op = strcmp(t->mode, "op") == 0;

    const rondo_status status =
        odd && strcmp(t->mode, "call") == 0
            ? rondo_broadcast(t->comm, t->in, t->out, t->count, RONDO_INT32, 0)
            : rondo_all_reduce(t->comm, t->in, t->out,
                               odd && by_count ? t->count - 1 : t->count,
                               odd && by_type ? RONDO_FP32 : RONDO_INT32,
                               odd && by_op ? RONDO_MAX : RONDO_SUM);
    return status == RONDO_OK ? rondo_barrier(t->comm) : status;
}

/* Until something is wrong; what the odd rank does is in its mode. */
static rondo_status
run(rank_test *t)
{
    if (strcmp(t->mode, "reduce") == 0) {
        return reduce_until(t, NULL);
    }
    if (strcmp(t->mode, "steady") == 0) {
        return reduce_until(t, ".end");
    }
    if (strcmp(t->mode, "idle") == 0) {
        await_flag(t, "");
        return rondo_barrier(t->comm);
    }
    if (strcmp(t->mode, "barrier") == 0) {
        if (t->rank == t->odd) {
            await_flag(t, "");
        }
        return rondo_barrier(t->comm);
    }
    if (strcmp(t->mode, "leave") == 0) {
        return t->rank == t->odd ? RONDO_OK : reduce_until(t, NULL);
    }
    return differ(t);
}

static bool
create(rank_test *t)
{
    const uint64_t begin_ms = now_ms();
    const rondo_status status = rondo_comm_create(NULL, &t->comm);

    if (status == RONDO_OK) {
        t->rank = rondo_comm_rank(t->comm);
        t->nranks = rondo_comm_nranks(t->comm);
    }
    say(t, "created", status, now_ms() - begin_ms);
    return status == RONDO_OK;
}

static void
destroy(rank_test *t)
{
    const uint64_t begin_ms = now_ms();

    rondo_comm_destroy(t->comm);
    t->comm = NULL;
    say(t, "destroyed", RONDO_OK, now_ms() - begin_ms);
}

static void
go(rank_test *t)
{
    rondo_status status = reduce(t, 0);

    if (status == RONDO_OK) {
        status = rondo_barrier(t->comm);
    }
    say(t, "begun", status, 0);
    /* A rank that is ahead of the others would break their last call. */
    pause_ms(150);
    const uint64_t begin_ms = now_ms();
    status = run(t);
    say(t, "ended", status, now_ms() - begin_ms);
    destroy(t);
}

int
main(int argc, char **argv)
{
    static rank_test t = {.mode = "count", .count = 1000, .odd = 7, .flag = "/none"};

    if (argc == 5) {
        t.mode = argv[1];
        t.count = strtoull(argv[2], NULL, 10);
        t.odd = (uint32_t)strtoul(argv[3], NULL, 10);
        t.flag = argv[4];
    }
    t.in = calloc(t.count, sizeof *t.in);
    t.out = calloc(t.count, sizeof *t.out);
    if (t.in == NULL || t.out == NULL || !create(&t)) {
        return 1;
    }
    go(&t);
    /* Whoever wants it sees a second life. */
    if (flag_is(&t, ".twice")) {
        await_flag(&t, ".again");
        if (!create(&t)) {
            return 1;
        }
        say(&t, "again", reduce(&t, 3), 0);
        destroy(&t);
    }
    free(t.in);
    free(t.out);
    return 0;
}
