/* bootstrap_meeting.c - ranks meet, or are told who is missing, wrong or gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bootstrap/server_inside.h"
#include "lib/meet.h"
#include "lib/peers.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SUCCESSIVE 200
#define PATIENCE   600
#else
#define SUCCESSIVE 2000
#define PATIENCE   200
#endif

static meet_rank ranks[MEET_RANKS_MAX];

static uint32_t alone; /* threads without a service */

/* Descriptors once the server of an earlier meeting has ended as well. */
static uint32_t
descriptors_at_rest(void)
{
    for (uint32_t i = 0; i < 10000 && threads_alive() != alone; i++) {
        (void)usleep(1000);
    }
    assert_int_equal(threads_alive(), alone);
    return descriptors_open();
}

static void
any_number_of_ranks(void **state)
{
    const uint32_t cards[] = {0, 1, 100, RONDO_CARD_BYTES_MAX};

    (void)state;
    for (uint32_t n = 1; n <= 17; n++) {
        for (uint32_t c = 0; c < 4; c++) {
            meet_init(n, meet_at, c % 2 == 0 ? 7 : 0, 20000, ranks);
            for (uint32_t rank = 0; rank < n; rank++) {
                ranks[rank].card_bytes = cards[c];
            }
            meet_all(n, ranks);
            assert_true(meet_succeeded(n, ranks));
        }
    }
}

static void
sixty_four_ranks(void **state)
{
    (void)state;
    meet_init(64, meet_at, 7, 20000, ranks);
    const uint64_t start = rondo_now_ns();
    meet_all(64, ranks);
    assert_true(meet_succeeded(64, ranks));
    assert_true(rondo_now_ns() - start < MEET_PROMPT_NS);
}

/* Whoever comes first or last, and however late. */
static void
in_any_order(void **state)
{
    (void)state;
    for (uint32_t last = 0; last < 4; last++) {
        meet_init(4, meet_at, 7, 20000, ranks);
        for (uint32_t rank = 0; rank < 4; rank++) {
            ranks[rank].delay_ms = rank == last ? 300 : rank * 10;
        }
        meet_all(4, ranks);
        assert_true(meet_succeeded(4, ranks));
    }
}

static void *
meet_often(void *user)
{
    meet_rank *const self = user;
    const rondo_meeting meeting = self->meeting;

    for (uint32_t round = 0; round < SUCCESSIVE; round++) {
        const rondo_name before = self->name;
        rondo_rendezvous *rendezvous = NULL;
        rondo_cards cards;
        self->meeting.deadline_ns = rondo_deadline_ns(20000);
        self->status = rondo_rendezvous_start(NULL, &self->meeting, &round,
                                              sizeof round, &rendezvous);
        while (self->status == RONDO_OK || self->status == RONDO_BUSY) {
            self->status = rondo_rendezvous_poll(rendezvous, &cards);
            if (self->status != RONDO_BUSY) {
                break;
            }
            rondo_rendezvous_wait(rendezvous, RONDO_NS_PER_S);
        }
        if (self->status != RONDO_OK) {
            (void)snprintf(self->text, sizeof self->text, "round %u: %.400s", round,
                           rondo_error_text());
            rondo_rendezvous_destroy(rendezvous);
            return NULL;
        }
        /* Cards of the same round, or two meetings were mixed up. */
        self->right = memcmp(&before, &cards.name, sizeof before) != 0;
        for (uint32_t rank = 0; rank < meeting.nranks; rank++) {
            self->right = self->right && memcmp(cards.cards + rank * sizeof round,
                                                &round, sizeof round) == 0;
        }
        self->name = cards.name;
        self->key = cards.key;
        rondo_rendezvous_destroy(rendezvous);
        if (!self->right) {
            return NULL;
        }
    }
    return NULL;
}

static void
one_after_another_at_one_port(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 3; n++) {
        meet_init(n, meet_at, 7, 20000, ranks);
        const uint32_t descriptors = descriptors_at_rest();
        for (uint32_t rank = 0; rank < n; rank++) {
            assert_int_equal(
                pthread_create(&ranks[rank].thread, NULL, meet_often, &ranks[rank]), 0);
        }
        for (uint32_t rank = 0; rank < n; rank++) {
            meet_join(&ranks[rank]);
        }
        assert_true(meet_succeeded(n, ranks));
        assert_int_equal(descriptors_at_rest(), descriptors);
    }
}

/* Every set of missing ranks of 5, but rank 0: all others name it. */
static void
missing_ranks_are_named(void **state)
{
    (void)state;
    for (uint32_t missing = 2; missing < 32; missing += 2) {
        char want[64];
        void *present[5];
        char where[64];
        meet_init(5, meet_at, 7, PATIENCE, ranks);
        for (uint32_t rank = 0; rank < 5; rank++) {
            present[rank] = (missing >> rank & 1) == 0 ? ranks : NULL;
            if (present[rank] != NULL) {
                meet_start(&ranks[rank]);
            }
        }
        rondo_waiting_text(present, 5, want, sizeof want);
        (void)snprintf(where, sizeof where, "127.0.0.1:%u", meet_at);
        for (uint32_t rank = 0; rank < 5; rank++) {
            if (present[rank] == NULL) {
                continue;
            }
            meet_expect(ranks, rank, rank + 1, want, where);
            assert_non_null(strstr(ranks[rank].text, "waiting for"));
        }
    }
}

static void
lists_are_short(void **state)
{
    static void *present[1000];
    const struct {
        uint32_t nranks;
        const char *missing; /* ranges */
        const char *want;
    } rows[] = {
        {8, "3 5", "ranks 3, 5 of 8"},
        {2, "1", "rank 1 of 2"},
        {8, "0 1 2 3 4 5 6 7", "ranks 0-7 of 8"},
        {16, "3 5 6 7 8 9", "ranks 3, 5-9 of 16"},
        {9, "2 3 7 8", "ranks 2, 3, 7, 8 of 9"},
        {100, "1 3 5 7 9 11 13 15 17 19 20 21",
         "ranks 1, 3, 5, 7, 9, 11, 13, 15, ... (12 in all) of 100"},
        {1000, "999", "rank 999 of 1000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        for (uint32_t rank = 0; rank < rows[i].nranks; rank++) {
            present[rank] = present;
        }
        for (const char *at = rows[i].missing; at != NULL;
             at = strchr(at, ' ') == NULL ? NULL : strchr(at, ' ') + 1) {
            present[strtoul(at, NULL, 10)] = NULL;
        }
        rondo_waiting_text(present, rows[i].nranks, text, sizeof text);
        assert_string_equal(text, rows[i].want);
        for (size_t room = 1; room < sizeof text; room++) {
            char cut[128];
            memset(cut, 'x', sizeof cut);
            rondo_waiting_text(present, rows[i].nranks, cut, room);
            assert_true(strlen(cut) < room);
            assert_memory_equal(cut, text, strlen(cut));
        }
    }
}

static void
nobody_serves(void **state)
{
    char where[64];

    (void)state;
    meet_init(3, meet_at, 7, 200, ranks);
    meet_start(&ranks[1]);
    meet_start(&ranks[2]);
    (void)snprintf(where, sizeof where, "nobody answers at 127.0.0.1:%u", meet_at);
    for (uint32_t rank = 1; rank < 3; rank++) {
        meet_join(&ranks[rank]);
        assert_int_equal(ranks[rank].status, RONDO_ERR_START);
        assert_non_null(strstr(ranks[rank].text, where));
        assert_true(ranks[rank].took_ns < MEET_PROMPT_NS);
    }
}

/* Where the kernel has two local ports to give, a rank that knocks at one of them gets
 * that very one, and is connected to itself. */
static int
knock_at_ourselves(void)
{
    struct ifreq loopback = {.ifr_name = "lo"};

    if (unshare(CLONE_NEWNET) != 0) {
        return 77;
    }
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    loopback.ifr_flags = IFF_UP;
    FILE *const range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "we");
    if (range == NULL || ioctl(fd, SIOCSIFFLAGS, &loopback) != 0 ||
        fprintf(range, "40000 40001\n") < 0 || fclose(range) != 0) {
        return 77;
    }
    meet_init(2, 40000, 7, 1500, ranks);
    meet_start(&ranks[1]);
    meet_join(&ranks[1]);
    return strstr(ranks[1].text, "nobody answers at 127.0.0.1:40000") != NULL ? 0 : 1;
}

static void
connected_to_ourselves(void **state)
{
    int how = 0;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* Forks from a process with threads. */
#endif
    const pid_t child = fork();
    if (child == 0) {
        _exit(knock_at_ourselves());
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    if (WIFEXITED(how) && WEXITSTATUS(how) == 77) {
        skip();
    }
    assert_int_equal(how, 0);
}

/* The server's deadline is far, a rank's is near: it still hears who is missing. */
static void
each_rank_has_its_deadline(void **state)
{
    (void)state;
    meet_init(4, meet_at, 7, 20000, ranks);
    ranks[2].timeout_ms = 1000;
    ranks[2].after_joined[0] = &ranks[0];
    ranks[2].after_joined[1] = &ranks[1];
    for (uint32_t rank = 0; rank < 3; rank++) {
        meet_start(&ranks[rank]);
    }
    meet_expect(ranks, 0, 3, "waiting for rank 3 of 4", "");
}

/* Any rank that gives up is named to all others at once, rank 0 as well. */
static void
giving_up_ends_it_for_all(void **state)
{
    (void)state;
    for (uint32_t quitter = 0; quitter < 3; quitter++) {
        char want[32];
        meet_init(4, meet_at, 7, 20000, ranks);
        ranks[quitter].leaves_after[0] = &ranks[(quitter + 1) % 3];
        ranks[quitter].leaves_after[1] = &ranks[(quitter + 2) % 3];
        for (uint32_t rank = 0; rank < 3; rank++) {
            meet_start(&ranks[rank]);
        }
        (void)snprintf(want, sizeof want, "rank %u (process %d) gave up", quitter,
                       (int)getpid());
        for (uint32_t rank = 0; rank < 3; rank++) {
            meet_join(&ranks[rank]);
            assert_int_equal(ranks[rank].status,
                             rank == quitter ? RONDO_BUSY : RONDO_ERR_START);
            assert_true(rank == quitter || strstr(ranks[rank].text, want) != NULL);
            assert_true(ranks[rank].took_ns < MEET_PROMPT_NS);
        }
    }
}

/* After a failure the port is free and the next meeting works. */
static void
again_after_a_failure(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 10; round++) {
        meet_init(3, meet_at, 7, 60, ranks);
        for (uint32_t rank = 0; rank < 2; rank++) {
            meet_start(&ranks[rank]);
        }
        meet_expect(ranks, 0, 2, "127.0.0.1", "");
        /* Where ranks had not even joined the meeting point ends a moment later. */
        (void)descriptors_at_rest();
        meet_init(3, meet_at, 7, 20000, ranks);
        meet_all(3, ranks);
        assert_true(meet_succeeded(3, ranks));
    }
}

static bool
has_six(void)
{
    const struct sockaddr_in6 at = {.sin6_family = AF_INET6,
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound =
        fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    return bound;
}

static void
names_and_addresses(void **state)
{
    const char *const hosts[] = {"127.0.0.1", "localhost", "127.3.2.1", "::1"};

    (void)state;
    for (uint32_t i = 0; i < (has_six() ? 4 : 3); i++) {
        meet_init(3, meet_at, 0, 20000, ranks);
        for (uint32_t rank = 0; rank < 3; rank++) {
            (void)snprintf(ranks[rank].meeting.host, sizeof ranks[rank].meeting.host,
                           "%s", hosts[i]);
        }
        meet_all(3, ranks);
        assert_true(meet_succeeded(3, ranks));
    }
    meet_init(2, meet_at, 7, 20000, ranks);
    (void)snprintf(ranks[0].meeting.host, sizeof ranks[0].meeting.host,
                   "no-such-name.invalid");
    meet_start(&ranks[0]);
    meet_join(&ranks[0]);
    assert_int_equal(ranks[0].status, RONDO_ERR_START);
    assert_non_null(strstr(ranks[0].text, "no-such-name.invalid"));
}

/* Whichever allocation fails, in a rank or in the server: no rank hangs, all that fail
 * say so, and nothing is left behind. */
static void
every_allocation_may_fail(void **state)
{
    uint64_t failures = 0;

    (void)state;
    const uint32_t descriptors = descriptors_at_rest();
    for (uint64_t nth = 1;; nth++) {
        meet_init(2, meet_at, 7, 200, ranks);
        (void)rondo_alloc_fail_after(nth);
        meet_all(2, ranks);
        const bool hit = rondo_alloc_fail_after(0);
        for (uint32_t rank = 0; rank < 2; rank++) {
            const rondo_status status = ranks[rank].status;
            assert_true(status <= 0);
            assert_true(status == RONDO_OK || strlen(ranks[rank].text) > 0);
            assert_true(ranks[rank].took_ns < MEET_PROMPT_NS);
        }
        assert_int_equal(descriptors_at_rest(), descriptors);
        if (!hit) {
            break;
        }
        failures++;
    }
    assert_true(failures > 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_number_of_ranks, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(sixty_four_ranks, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(in_any_order, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(one_after_another_at_one_port, meet_begin,
                                        meet_finish),
        cmocka_unit_test_setup_teardown(missing_ranks_are_named, meet_begin,
                                        meet_finish),
        cmocka_unit_test(lists_are_short),
        cmocka_unit_test_setup_teardown(nobody_serves, meet_begin, meet_finish),
        cmocka_unit_test(connected_to_ourselves),
        cmocka_unit_test_setup_teardown(each_rank_has_its_deadline, meet_begin,
                                        meet_finish),
        cmocka_unit_test_setup_teardown(giving_up_ends_it_for_all, meet_begin,
                                        meet_finish),
        cmocka_unit_test_setup_teardown(again_after_a_failure, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(names_and_addresses, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, meet_begin,
                                        meet_finish),
    };

    /* A sanitizer starts a thread of its own with the first one. */
    meet_init(1, 1, 0, 0, ranks);
    meet_all(1, ranks);
    alone = threads_alive();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
