/* ranks.c - one rank that runs every collective, checks each element, and says as JSON
 * which way the bytes went. Started by matrix.py; alone it is a job of one rank. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rondo/rondo.h>

/* Behind each result: it must stay as it was. */
#define GUARD_BYTES 64
#define GUARD       0xa5

/* Elements whose way is measured: enough that a few kilobytes of talk do not matter. */
#define WIRE_COUNT 1000003u

typedef struct rank_test {
    rondo_comm *comm;
    uint32_t rank;
    uint32_t nranks;
    rondo_dtype dtype;
    uint64_t count;
    uint32_t root;
    unsigned char *in;
    unsigned char *out;
    uint64_t checks;
    uint64_t wrong;
    char first[192]; /* what was wrong first */
} rank_test;

/* --- values: sums of small integers are exact in both types ----------------------- */

static size_t
width(const rank_test *t)
{
    return t->dtype == RONDO_BF16 ? 2 : 4;
}

static uint32_t
bf16_of(uint32_t integer)
{
    const float value = (float)integer;
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 16;
}

/* Element `i` of the input of `rank`. */
static uint32_t
value_of(const rank_test *t, uint32_t rank, uint64_t i)
{
    if (t->dtype == RONDO_BF16) {
        return bf16_of((rank + 3 * (uint32_t)(i % 8)) % 8);
    }
    return rank * 2654435761u + (uint32_t)i * 40503u + 17u;
}

static uint32_t
sum_of(const rank_test *t, uint64_t i)
{
    uint32_t sum = 0;

    for (uint32_t rank = 0; rank < t->nranks; rank++) {
        sum += t->dtype == RONDO_BF16 ? (rank + 3 * (uint32_t)(i % 8)) % 8
                                      : value_of(t, rank, i);
    }
    return t->dtype == RONDO_BF16 ? bf16_of(sum) : sum;
}

static void
fill(rank_test *t, uint64_t elements)
{
    for (uint64_t i = 0; i < elements; i++) {
        const uint32_t value = value_of(t, t->rank, i);
        memcpy(t->in + i * width(t), &value, width(t));
    }
}

/* --- the collectives -------------------------------------------------------------- */

static rondo_status
all_reduce(rank_test *t)
{
    return rondo_all_reduce(t->comm, t->in, t->out, t->count, t->dtype, RONDO_SUM);
}

static rondo_status
reduce_scatter(rank_test *t)
{
    return rondo_reduce_scatter(t->comm, t->in, t->out, t->count, t->dtype, RONDO_SUM);
}

static rondo_status
all_gather(rank_test *t)
{
    return rondo_all_gather(t->comm, t->in, t->out, t->count, t->dtype);
}

static rondo_status
broadcast(rank_test *t)
{
    return rondo_broadcast(t->comm, t->in, t->out, t->count, t->dtype, t->root);
}

static rondo_status
reduce(rank_test *t)
{
    return rondo_reduce(t->comm, t->in, t->out, t->count, t->dtype, RONDO_SUM, t->root);
}

/* To the next rank, from the one before. */
static rondo_status
shift(rank_test *t)
{
    const uint32_t next = (t->rank + 1) % t->nranks;
    const uint32_t before = (t->rank + t->nranks - 1) % t->nranks;
    rondo_request *request = NULL;

    rondo_status status =
        rondo_send_start(t->comm, t->in, t->count, t->dtype, next, &request);
    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_recv(t->comm, t->out, t->count, t->dtype, before);
    const rondo_status sent = rondo_request_wait(request, RONDO_WAIT_FOREVER);
    return status != RONDO_OK ? status : sent;
}

static uint32_t
want_sum(const rank_test *t, uint64_t i)
{
    return sum_of(t, i);
}

static uint32_t
want_my_sum(const rank_test *t, uint64_t i)
{
    return sum_of(t, t->rank * t->count + i);
}

static uint32_t
want_block(const rank_test *t, uint64_t i)
{
    return value_of(t, (uint32_t)(i / t->count), i % t->count);
}

static uint32_t
want_root(const rank_test *t, uint64_t i)
{
    return value_of(t, t->root, i);
}

static uint32_t
want_before(const rank_test *t, uint64_t i)
{
    return value_of(t, (t->rank + t->nranks - 1) % t->nranks, i);
}

typedef struct rank_call {
    const char *name;
    rondo_status (*run)(rank_test *t);
    uint32_t (*want)(const rank_test *t, uint64_t i);
    bool many_in;  /* nranks * count elements go in */
    bool many_out; /* and come out */
    bool rooted;
    bool at_root; /* only the root gets a result */
} rank_call;

static const rank_call calls[] = {
    {"all_reduce", all_reduce, want_sum, false, false, false, false},
    {"reduce_scatter", reduce_scatter, want_my_sum, true, false, false, false},
    {"all_gather", all_gather, want_block, false, true, false, false},
    {"broadcast", broadcast, want_root, false, false, true, false},
    {"reduce", reduce, want_sum, false, false, true, true},
    {"shift", shift, want_before, false, false, false, false},
};

#define CALLS (sizeof calls / sizeof calls[0])

/* --- exact ------------------------------------------------------------------------ */

static void
note_wrong(rank_test *t, const rank_call *call, const char *what, uint64_t at)
{
    if (t->wrong++ == 0) {
        snprintf(t->first, sizeof t->first,
                 "%s of %" PRIu64 " elements of %zu bytes, root %u: %s at %" PRIu64,
                 call->name, t->count, width(t), t->root, what, at);
    }
}

static void
check(rank_test *t, const rank_call *call)
{
    const bool gets = !call->at_root || t->rank == t->root;
    const uint64_t elements = gets ? t->count * (call->many_out ? t->nranks : 1) : 0;

    for (uint64_t i = 0; i < elements; i++) {
        const uint32_t want = call->want(t, i);
        uint32_t got = 0;
        memcpy(&got, t->out + i * width(t), width(t));
        if (got != want) {
            note_wrong(t, call, "wrong element", i);
            break;
        }
    }
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (t->out[elements * width(t) + i] != GUARD) {
            note_wrong(t, call, "written past the end", i);
            break;
        }
    }
    t->checks++;
}

/* False: the communicator is broken; said. */
static bool
run_one(rank_test *t, const rank_call *call)
{
    const uint64_t out_elements = t->count * (call->many_out ? t->nranks : 1);

    fill(t, t->count * (call->many_in ? t->nranks : 1));
    memset(t->out, GUARD, out_elements * width(t) + GUARD_BYTES);
    const rondo_status status = call->run(t);
    if (status != RONDO_OK) {
        fprintf(stderr, "rank %u: %s of %" PRIu64 " elements: %s: %s\n", t->rank,
                call->name, t->count, rondo_status_text(status),
                rondo_comm_error_text(t->comm));
        return false;
    }
    check(t, call);
    return true;
}

static bool
run_all(rank_test *t)
{
    const uint64_t n = t->nranks;
    const uint64_t counts[] = {0, 1, n - 1, n, n + 1, 4099, 1000003};
    static const rondo_dtype types[] = {RONDO_INT32, RONDO_BF16};

    for (size_t i = 0; i < CALLS * 2 * 7; i++) {
        const rank_call *call = &calls[i % CALLS];
        if (n == 1 && call->run == shift) {
            continue;
        }
        t->dtype = types[i / CALLS % 2];
        t->count = counts[i / CALLS / 2];
        t->root = call->rooted ? (uint32_t)(i % n) : 0;
        if (!run_one(t, call)) {
            return false;
        }
    }
    return rondo_barrier(t->comm) == RONDO_OK;
}

/* --- which way -------------------------------------------------------------------- */

typedef struct rank_way {
    uint64_t sent;
    uint64_t shm;
    uint64_t net;
    uint64_t transmitted; /* by the host's interface; known to one rank of each host */
    uint64_t received;
    uint64_t loopback;
} rank_way;

/* /proc/self/net/dev: "  eth0: rx-bytes and 7 more, tx-bytes and 7 more". */
static void
read_interfaces(rank_way *way)
{
    char line[512];
    FILE *file = fopen("/proc/self/net/dev", "re");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char name[32];
        uint64_t rx = 0;
        uint64_t tx = 0;
        if (sscanf(line, " %31[^:]: %" SCNu64 " %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
                   name, &rx, &tx) != 3) {
            continue;
        }
        if (strcmp(name, "eth0") == 0) {
            way->transmitted = tx;
            way->received = rx;
        } else if (strcmp(name, "lo") == 0) {
            way->loopback = tx;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static bool
look(const rank_test *t, rank_way *way)
{
    rondo_comm_counters counters = {.size = sizeof counters};

    /* Twice: nobody goes on before everybody has looked. */
    if (rondo_barrier(t->comm) != RONDO_OK ||
        rondo_comm_counters_get(t->comm, &counters) != RONDO_OK) {
        return false;
    }
    *way = (rank_way){.sent = counters.sent_bytes,
                      .shm = counters.shm_sent_bytes,
                      .net = counters.net_sent_bytes};
    read_interfaces(way);
    return rondo_barrier(t->comm) == RONDO_OK;
}

static bool
measure(rank_test *t)
{
    t->dtype = RONDO_INT32;
    t->root = 0;
    /* The last one needs a neighbour. */
    const size_t n = t->nranks > 1 ? CALLS : CALLS - 1;
    for (size_t i = 0; i < n; i++) {
        const bool many = calls[i].many_in || calls[i].many_out;
        rank_way before;
        rank_way after;
        t->count = many ? WIRE_COUNT / t->nranks : WIRE_COUNT;
        if (!look(t, &before) || !run_one(t, &calls[i]) || !look(t, &after)) {
            return false;
        }
        printf("%s{\"name\":\"%s\",\"bytes\":%" PRIu64 ",\"sent\":%" PRIu64
               ",\"shm\":%" PRIu64 ",\"net\":%" PRIu64 ",\"transmitted\":%" PRIu64
               ",\"received\":%" PRIu64 ",\"loopback\":%" PRIu64 "}",
               i > 0 ? "," : "", calls[i].name, t->count * width(t),
               after.sent - before.sent, after.shm - before.shm, after.net - before.net,
               after.transmitted - before.transmitted, after.received - before.received,
               after.loopback - before.loopback);
    }
    return true;
}

/* --- one rank --------------------------------------------------------------------- */

static uint64_t
number_from(const char *variable)
{
    const char *text = getenv(variable);

    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static bool
prepare(rank_test *t)
{
    const rondo_status status = rondo_comm_create(NULL, &t->comm);

    if (status != RONDO_OK) {
        fprintf(stderr, "no communicator: %s: %s\n", rondo_status_text(status),
                rondo_error_text());
        return false;
    }
    t->rank = rondo_comm_rank(t->comm);
    t->nranks = rondo_comm_nranks(t->comm);
    const size_t bytes = (size_t)t->nranks * WIRE_COUNT * 4 + GUARD_BYTES;
    t->in = malloc(bytes);
    t->out = malloc(bytes);
    return t->in != NULL && t->out != NULL;
}

int
main(void)
{
    static rank_test t;
    rondo_comm_counters counters = {.size = sizeof counters};

    if (!prepare(&t) || !run_all(&t)) {
        return 1;
    }
    printf("{\"rank\":%u,\"local\":%" PRIu64 ",\"group\":%" PRIu64 ",\"ways\":[",
           t.rank, number_from("LOCAL_RANK"), number_from("GROUP_RANK"));
    const bool measured = measure(&t);
    if (rondo_comm_counters_get(t.comm, &counters) != RONDO_OK) {
        return 1;
    }
    printf("],\"hosts\":%" PRIu64 ",\"checks\":%" PRIu64 ",\"wrong\":%" PRIu64
           ",\"first\":\"%s\"}\n",
           counters.hosts, t.checks, t.wrong, t.first);
    rondo_comm_destroy(t.comm);
    free(t.in);
    free(t.out);
    return measured && t.wrong == 0 ? 0 : 1;
}
