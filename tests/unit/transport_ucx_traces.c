/*
 * transport_ucx_traces.c - a wire leaves no trace in its process: no descriptor,
 * thread, signal handler, patched function or printed word; and a forked child is left
 * alone.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/leftover.h"
#include "lib/wires.h"

#define PATIENCE_MS 60000
#define CYCLES      300

static wires_board *
board_of_none(void)
{
    return test_shared(sizeof(wires_board));
}

/* --- two wires in one process ----------------------------------------------------- */

/* One of the two; the other is its peer. */
typedef struct half {
    rondo_wire *wire;
    rondo_wire_link *link;
    uint64_t came;
    uint64_t losses;
    void *kept;
} half;

static bool
half_arrived(void *user, const void *header, size_t header_bytes, const void *data,
             size_t bytes, void *parcel)
{
    half *mine = user;

    (void)header;
    (void)header_bytes;
    (void)data;
    (void)bytes;
    mine->came++;
    if (mine->kept != NULL) {
        return false;
    }
    mine->kept = parcel;
    return true;
}

static void
half_lost(void *user, void *link_user, const char *why)
{
    half *mine = user;

    (void)link_user;
    (void)why;
    mine->losses++;
}

static bool
open_half(rank_self *self, const rondo_wire_ops *ops, half *mine)
{
    char why[300] = "";
    const rondo_wire_setup setup = {.devices = "lo",
                                    .transports = "tcp",
                                    .peers = 4,
                                    .arrived = half_arrived,
                                    .lost = half_lost,
                                    .user = mine};

    *mine = (half){0};
    return rank_expect(self, ops->open(&setup, &mine->wire, why, sizeof why) == 0, "%s",
                       why);
}

static bool
link_half(rank_self *self, const rondo_wire_ops *ops, half *mine, half *other)
{
    unsigned char address[RONDO_WIRE_ADDRESS_MAX];
    size_t bytes = sizeof address;
    char why[300] = "";

    return rank_expect(self,
                       ops->address(other->wire, address, &bytes, why, sizeof why) ==
                               0 &&
                           ops->connect(mine->wire, address, bytes, mine, &mine->link,
                                        why, sizeof why) == 0,
                       "%s", why);
}

/* Opened, and in every second cycle linked, with a parcel each way, one of them
 * kept. */
static bool
cycle(rank_self *self, const rondo_wire_ops *ops, uint32_t number)
{
    static const char data[3000];
    half halves[2];

    if (!open_half(self, ops, &halves[0]) || !open_half(self, ops, &halves[1])) {
        return false;
    }
    rondo_wire_parcel parcels[2];
    for (uint32_t k = 0; number % 2 == 1 && k < 2; k++) {
        if (!link_half(self, ops, &halves[k], &halves[1 - k])) {
            return false;
        }
        parcels[k] = (rondo_wire_parcel){
            .header = "ab", .header_bytes = 2, .data = data, .bytes = sizeof data};
        ops->send(halves[k].wire, halves[k].link, &parcels[k]);
    }
    const uint64_t until = test_now_ms() + 5000;
    while (number % 2 == 1 && (halves[0].came == 0 || halves[1].came == 0)) {
        (void)ops->progress(halves[0].wire);
        (void)ops->progress(halves[1].wire);
        if (!rank_expect(self, test_now_ms() < until, "cycle %u: no parcel", number)) {
            return false;
        }
    }
    /* Unflushed, closing waits for a peer that does not answer here. */
    bool flushed = number % 20 == 1 || number % 2 == 0;
    while (!flushed) {
        (void)ops->progress(halves[0].wire);
        (void)ops->progress(halves[1].wire);
        flushed = ops->flushed(halves[0].wire, halves[0].link) &&
                  ops->flushed(halves[1].wire, halves[1].link);
        if (!rank_expect(self, test_now_ms() < until, "cycle %u: no flush", number)) {
            return false;
        }
    }
    if (number % 4 == 3) {
        ops->disconnect(halves[0].wire, halves[0].link);
    }
    ops->close(halves[0].wire);
    ops->close(halves[1].wire);
    return true;
}

static void
cycles(rank_self *self)
{
    const rondo_wire_ops *ops = wires_ops();
    char text[300];

    /* The first ones load what stays loaded. */
    for (uint32_t k = 0; k < 4; k++) {
        if (!cycle(self, ops, k)) {
            return;
        }
    }
    const leftover before = leftover_take();
    const uint64_t kib = leftover_resident_kib();
    for (uint32_t k = 0; k < CYCLES; k++) {
        if (!cycle(self, ops, k)) {
            return;
        }
    }
    (void)rank_expect(self, leftover_same(&before, text, sizeof text), "%s", text);
    const uint64_t more = leftover_resident_kib() - kib;
    (void)rank_expect(self, (int64_t)more < 6000 || getenv("RONDO_SANITIZE")[0] != '\0',
                      "%llu KiB more after %d cycles", (unsigned long long)more,
                      CYCLES);
}

static void
nothing_is_left_behind(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, cycles, board_of_none(), PATIENCE_MS);
}

/* --- signals and memory functions ------------------------------------------------- */

/* The beginning of functions that UCX would patch. */
static const char *const patched[] = {"mmap", "munmap", "mremap",  "malloc", "free",
                                      "brk",  "sbrk",   "madvise", "shmat",  "shmdt"};
#define PATCHED (sizeof patched / sizeof patched[0])

typedef struct code {
    unsigned char bytes[PATCHED][16];
} code;

static code
look_at_code(rank_self *self)
{
    code seen = {0};

    for (size_t k = 0; k < PATCHED; k++) {
        const void *function = dlsym(RTLD_DEFAULT, patched[k]);
        if (rank_expect(self, function != NULL, "no %s", patched[k])) {
            memcpy(seen.bytes[k], function, sizeof seen.bytes[k]);
        }
    }
    return seen;
}

static void
nothing_happened(int event, void *what, void *user)
{
    (void)event;
    (void)what;
    (void)user;
}

/* What UCX's RDMA memory domains do, and no domain of this test: ask to be told of
 * mappings that come and go (VM_MAPPED and VM_UNMAPPED), for which UCX patches. */
static void
ask_for_events(rank_self *self)
{
    typedef int (*set_function)(int, int, void (*)(int, void *, void *), void *);
    void *library = dlopen("libucm.so.0", RTLD_NOW | RTLD_NOLOAD);
    set_function set = NULL;

    if (rank_expect(self, library != NULL, "no libucm")) {
        *(void **)&set = dlsym(library, "ucm_set_event_handler");
        (void)rank_expect(self,
                          set != NULL &&
                              (signed char)set(3 << 16, 0, nothing_happened, NULL) < 0,
                          "UCX follows mappings");
        (void)dlclose(library);
    }
}

static void
handlers(rank_self *self)
{
    static struct sigaction before[65];
    const rondo_wire_ops *ops = wires_ops();
    const code code_before = look_at_code(self);

    for (int number = 1; number <= 64; number++) {
        (void)sigaction(number, NULL, &before[number]);
    }
    for (uint32_t k = 0; k < 4; k++) {
        if (!cycle(self, ops, k)) {
            return;
        }
        for (int number = 1; number <= 64; number++) {
            struct sigaction now;
            (void)rank_expect(self,
                              sigaction(number, NULL, &now) != 0 ||
                                  (now.sa_sigaction == before[number].sa_sigaction &&
                                   now.sa_flags == before[number].sa_flags),
                              "the handler of signal %d changed", number);
        }
    }
    ask_for_events(self);
    const code code_after = look_at_code(self);
    (void)rank_expect(self, memcmp(&code_before, &code_after, sizeof code_after) == 0,
                      "a function of the C library was patched");
}

static void
handlers_and_functions_stay(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, handlers, board_of_none(), PATIENCE_MS);
}

/* --- output ----------------------------------------------------------------------- */

/* Everything that makes UCX speak: devices that are not there, an address that is none,
 * a peer that is gone. */
static void
provoke(rank_self *self)
{
    const rondo_wire_ops *ops = wires_ops();
    rondo_wire_setup setup = {.devices = "none0",
                              .transports = "tcp",
                              .peers = 2,
                              .arrived = half_arrived,
                              .lost = half_lost};
    rondo_wire *wire = NULL;
    char why[300] = "";

    (void)rank_expect(self, ops->open(&setup, &wire, why, sizeof why) == -1,
                      "a device that is not there was opened");
    (void)rank_expect_text(self, why, "none0", "the reason names the device");
    setup.devices = "lo";
    setup.transports = "nonsense";
    (void)rank_expect(self, ops->open(&setup, &wire, why, sizeof why) == -1,
                      "a transport that is not there was opened");
    half mine;
    half other;
    if (!open_half(self, ops, &mine) || !open_half(self, ops, &other) ||
        !link_half(self, ops, &mine, &other)) {
        return;
    }
    rondo_wire_parcel parcel = {.header = "ab", .header_bytes = 2};
    ops->send(mine.wire, mine.link, &parcel);
    for (uint32_t k = 0; k < 1000; k++) {
        (void)ops->progress(mine.wire);
        (void)ops->progress(other.wire);
    }
    ops->close(other.wire);
    const uint64_t until = test_now_ms() + 3000;
    while (mine.losses == 0 && test_now_ms() < until) {
        (void)ops->progress(mine.wire);
        ops->send(mine.wire, mine.link, &parcel);
    }
    (void)rank_expect(self, mine.losses == 1, "lost %llu times",
                      (unsigned long long)mine.losses);
    ops->close(mine.wire);
}

static void
silent(rank_self *self)
{
    char name[] = "/tmp/rondo-output-XXXXXX";
    const int file = mkstemp(name);
    const int out = dup(1);
    const int err = dup(2);

    if (!rank_expect(self, file >= 0 && out >= 0 && err >= 0, "no file")) {
        return;
    }
    (void)unlink(name);
    (void)dup2(file, 1);
    (void)dup2(file, 2);
    provoke(self);
    (void)fflush(NULL);
    (void)dup2(out, 1);
    (void)dup2(err, 2);
    char said[200] = "";
    const ssize_t bytes = pread(file, said, sizeof said - 1, 0);
    (void)rank_expect(self, bytes == 0, "it printed: %s", said);
    (void)close(file);
}

static void
nothing_is_printed(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, silent, board_of_none(), PATIENCE_MS);
}

/* --- the user's own settings ------------------------------------------------------ */

static void
users_choice(rank_self *self)
{
    half mine;

    /* "none0" cannot work; the user's device is taken instead of ours, or this
     * opens. */
    (void)setenv("UCX_NET_DEVICES", "none0", 1);
    const rondo_wire_ops *ops = wires_ops();
    const rondo_wire_setup setup = {.devices = "lo",
                                    .transports = "tcp",
                                    .peers = 2,
                                    .arrived = half_arrived,
                                    .lost = half_lost};
    char why[300] = "";
    (void)rank_expect(self, ops->open(&setup, &mine.wire, why, sizeof why) == -1,
                      "UCX_NET_DEVICES was not looked at");
    (void)unsetenv("UCX_NET_DEVICES");
    (void)setenv("UCX_TCP_RX_SEG_SIZE", "32K", 1);
    if (!open_half(self, ops, &mine)) {
        return;
    }
    const size_t bytes = ops->parcel_bytes(mine.wire);
    (void)rank_expect(self, bytes > 30000 && bytes < 32768 && bytes % 64 == 0,
                      "parcels have %zu bytes with segments of 32 KiB", bytes);
    (void)rank_expect(self, ops->map(mine.wire, &mine, sizeof mine) == NULL,
                      "TCP gains nothing by registered memory");
    ops->close(mine.wire);
}

static void
a_users_settings_stay(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, users_choice, board_of_none(), PATIENCE_MS);
}

/* --- fork ------------------------------------------------------------------------- */

/* A child can neither use nor disturb its parent's wire, nor open one of its own beside
 * it; once the parent's are closed, it can. */
static int
in_child(const rondo_wire_ops *ops, half *mine, bool may_open)
{
    half own = {0};
    char why[300] = "";
    const rondo_wire_setup setup = {.devices = "lo",
                                    .transports = "tcp",
                                    .peers = 2,
                                    .arrived = half_arrived,
                                    .lost = half_lost,
                                    .user = &own};

    (void)alarm(20);
    if (mine != NULL) {
        ops->close(mine->wire);
    }
    if ((ops->open(&setup, &own.wire, why, sizeof why) == 0) != may_open) {
        return 1;
    }
    if (may_open) {
        ops->close(own.wire);
        return 0;
    }
    return strstr(why, "forked") == NULL ? 2 : 0;
}

static bool
child_is_fine(const rondo_wire_ops *ops, half *mine, bool may_open)
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0) {
        _exit(in_child(ops, mine, may_open));
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void
forks(rank_self *self)
{
    const rondo_wire_ops *ops = wires_ops();
    rondo_wire_parcel parcel = {.header = "ab", .header_bytes = 2};
    half halves[2];

    if (!open_half(self, ops, &halves[0]) || !open_half(self, ops, &halves[1]) ||
        !link_half(self, ops, &halves[0], &halves[1])) {
        return;
    }
    (void)rank_expect(self, child_is_fine(ops, &halves[0], false),
                      "a child with a wire of its parent's");
    ops->send(halves[0].wire, halves[0].link, &parcel);
    const uint64_t until = test_now_ms() + 5000;
    while (halves[1].came == 0 && test_now_ms() < until) {
        (void)ops->progress(halves[0].wire);
        (void)ops->progress(halves[1].wire);
    }
    (void)rank_expect(self, halves[1].came == 1, "the child broke its parent's wire");
    ops->close(halves[0].wire);
    ops->close(halves[1].wire);
    (void)rank_expect(self, child_is_fine(ops, NULL, true),
                      "a child of a process that has closed its wires");
}

static void
a_child_is_left_alone(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, forks, board_of_none(), PATIENCE_MS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(handlers_and_functions_stay),
        cmocka_unit_test(nothing_is_printed),
        cmocka_unit_test(a_users_settings_stay),
        cmocka_unit_test(a_child_is_left_alone),
    };

    if (wires_ops() == NULL) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
