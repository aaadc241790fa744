/* bootstrap_hosts.c - ranks on several hosts, which are network namespaces here: names
 * and addresses of both families, those that lead nowhere, and links that are cut. */
/* ctest: timeout=240 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/address.h"
#include "lib/meet.h"
#include "lib/spaces.h"

#define PORT 29500

static meet_rank ranks[MEET_RANKS_MAX];
static spaces hosts;

static void
need_hosts(uint32_t count, spaces_families families)
{
    if (!spaces_open(count, families, &hosts)) {
        (void)fprintf(stderr, "network namespaces cannot be made here\n");
        skip();
    }
}

static int
close_hosts(void **state)
{
    (void)state;
    if (hosts.count > 0) {
        spaces_close(&hosts);
    }
    hosts.count = 0;
    return 0;
}

/* Rank r on host r modulo their number, all on their way to `place`. */
static void
prepare(uint32_t nranks, const char *place, uint64_t timeout_ms)
{
    meet_init(nranks, PORT, 7, timeout_ms, ranks);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        ranks[rank].space = hosts.fds[rank % hosts.count];
        (void)snprintf(ranks[rank].meeting.host, sizeof ranks[rank].meeting.host, "%s",
                       place);
    }
}

static void
expect_success(uint32_t nranks, const char *what)
{
    meet_all(nranks, ranks);
    if (!meet_succeeded(nranks, ranks)) {
        fail_msg("%s", what);
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        assert_true(ranks[rank].took_ns < MEET_PROMPT_NS);
    }
}

/* Only this rank goes; what it is told has all the parts, up to null. */
static void
expect_failure(uint32_t rank, rondo_status status, const char *const *parts)
{
    meet_start(&ranks[rank]);
    meet_join(&ranks[rank]);
    assert_int_equal(ranks[rank].status, status);
    for (uint32_t i = 0; parts[i] != NULL; i++) {
        if (strstr(ranks[rank].text, parts[i]) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", parts[i], ranks[rank].text);
        }
    }
}

static void
both_families(void **state)
{
    const char *const places[] = {"10.77.0.1", "fd77::1", "fe80::77:1%e0"};

    (void)state;
    need_hosts(3, SPACES_BOTH);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t n = 2; n <= 7; n++) {
            prepare(n, places[i], 20000);
            expect_success(n, places[i]);
        }
    }
}

static void
six_alone(void **state)
{
    const char *const places[] = {"fd77::1", "fe80::77:1%e0", "node0"};

    (void)state;
    need_hosts(3, SPACES_SIX);
    for (uint32_t i = 0; i < 3; i++) {
        prepare(5, places[i], 20000);
        for (uint32_t rank = 0; rank < 5; rank++) {
            /* The second address leads nowhere from such hosts. */
            ranks[rank].hosts = "::1 localhost\nfd77::1 node0\n10.77.0.1 node0\n";
        }
        expect_success(5, places[i]);
    }
}

static void
four_alone(void **state)
{
    const char *const there[] = {"fd77::1", "cannot be reached from this host",
                                 "which has no IPv6 address", NULL};
    const char *const here[] = {"fd77::1 is no address of this host",
                                "which has no IPv6 address", "MASTER_ADDR", NULL};

    (void)state;
    need_hosts(2, SPACES_FOUR);
    prepare(2, "node0", 20000);
    ranks[0].hosts = ranks[1].hosts = "fd77::1 node0\n10.77.0.1 node0\n";
    expect_success(2, "a name of both families");
    prepare(2, "fd77::1", 60000);
    expect_failure(0, RONDO_ERR_SYSTEM, here);
    expect_failure(1, RONDO_ERR_START, there);
    assert_true(ranks[1].took_ns > 4 * RONDO_NS_PER_S);
    assert_true(ranks[1].took_ns < 20 * RONDO_NS_PER_S);
}

/* Names with addresses that swallow everything, in both orders; nobody waits for
 * them. */
static void
dead_addresses(void **state)
{
    const char *const lines[] = {
        "10.77.0.99 node0\n10.77.0.1 node0\n",
        "fd77::99 node0\n10.77.0.1 node0\n",
        "10.77.0.99 node0\nfd77::1 node0\n",
        "10.77.0.98 node0\n10.77.0.99 node0\nfd77::99 node0\nfd77::1 node0\n",
    };

    (void)state;
    need_hosts(2, SPACES_BOTH);
    for (uint32_t host = 0; host < 2; host++) {
        spaces_ip(host, "neigh add 10.77.0.99 lladdr 02:00:00:00:00:99 dev e0");
        spaces_ip(host, "neigh add fd77::99 lladdr 02:00:00:00:00:99 dev e0");
        spaces_ip(host, "neigh add 10.77.0.98 lladdr 02:00:00:00:00:98 dev e0");
    }
    for (uint32_t i = 0; i < 4; i++) {
        prepare(2, "node0", 20000);
        ranks[0].hosts = ranks[1].hosts = lines[i];
        expect_success(2, lines[i]);
    }
    const char *const alone[] = {"nobody answers at 10.77.0.99:29500", "timed out",
                                 NULL};
    prepare(2, "10.77.0.99", 1500);
    expect_failure(1, RONDO_ERR_START, alone);
    /* Nobody has it: known after three seconds. */
    const char *const nobody[] = {"nobody answers at 10.77.0.50:29500",
                                  "No route to host", NULL};
    prepare(2, "10.77.0.50", 5500);
    expect_failure(1, RONDO_ERR_START, nobody);
}

/* Each host has its own idea of the name of rank 0's host. */
static void
debians_trap(void **state)
{
    (void)state;
    need_hosts(2, SPACES_BOTH);
    prepare(2, "node0", 1500);
    ranks[0].hosts = "127.0.0.1 localhost\n127.0.1.1 node0\n";
    ranks[1].hosts = "127.0.0.1 localhost\n10.77.0.1 node0\nfd77::1 node0\n";
    meet_all(2, ranks);
    const char *const parts[] = {"waiting for rank 1 of 2",
                                 "node0 is 127.0.1.1 on this host (",
                                 "which other hosts cannot reach"};
    for (uint32_t i = 0; i < 3; i++) {
        assert_non_null(strstr(ranks[0].text, parts[i]));
    }
    assert_int_equal(ranks[1].status, RONDO_ERR_START);
    assert_non_null(strstr(ranks[1].text, "nobody answers at node0:29500"));
    assert_non_null(strstr(ranks[1].text, "10.77.0.1: Connection refused"));
    assert_non_null(strstr(ranks[1].text, "fd77::1: Connection refused"));
    /* And the other way round: it means itself. */
    prepare(2, "node0", 300);
    ranks[1].hosts = "127.0.1.1 node0\n";
    const char *const itself[] = {"nobody answers at node0:29500", "127.0.1.1",
                                  "always means the own host", NULL};
    expect_failure(1, RONDO_ERR_START, itself);
    /* On one host it is no trouble. */
    prepare(2, "node0", 20000);
    ranks[0].hosts = ranks[1].hosts = "127.0.1.1 node0\n";
    ranks[1].space = ranks[0].space;
    expect_success(2, "one host");
}

static void
not_of_this_host(void **state)
{
    const char *const address[] = {"10.77.0.1 is no address of this host (",
                                   "rank 0 belongs where MASTER_ADDR points to", NULL};
    const char *const name[] = {
        "node0 is 10.77.0.1, which is no address of this host (", NULL};

    (void)state;
    need_hosts(2, SPACES_BOTH);
    prepare(2, "10.77.0.1", 20000);
    ranks[0].space = hosts.fds[1];
    expect_failure(0, RONDO_ERR_SYSTEM, address);
    prepare(2, "node0", 20000);
    ranks[0].space = hosts.fds[1];
    ranks[0].hosts = "10.77.0.1 node0\n";
    expect_failure(0, RONDO_ERR_SYSTEM, name);
    const char *const half[] = {"fe80::77:1", "link-local", "interface", NULL};
    prepare(2, "fe80::77:1", 20000);
    expect_failure(1, RONDO_ERR_START, half);
}

/* No way there: known soon when it stays so, no trouble when it changes. */
static void
no_route(void **state)
{
    const char *const none[] = {"10.99.0.1:29500", "cannot be reached from this host",
                                "Network is unreachable", NULL};
    const char *const refused[] = {"10.98.0.1:29500",
                                   "cannot be reached from this host",
                                   "No route to host", NULL};
    const char *const brief[] = {"nobody answers at 10.99.0.1:29500",
                                 "Network is unreachable", NULL};

    (void)state;
    need_hosts(2, SPACES_BOTH);
    prepare(2, "10.99.0.1", 60000);
    expect_failure(1, RONDO_ERR_START, none);
    assert_true(ranks[1].took_ns < 20 * RONDO_NS_PER_S);
    spaces_ip(1, "route add unreachable 10.98.0.0/16");
    prepare(2, "10.98.0.1", 60000);
    expect_failure(1, RONDO_ERR_START, refused);
    assert_true(ranks[1].took_ns < 20 * RONDO_NS_PER_S);
    prepare(2, "10.99.0.1", 300);
    expect_failure(1, RONDO_ERR_START, brief);

    spaces_ip(0, "addr add 10.99.0.1/32 dev lo");
    prepare(2, "10.99.0.1", 20000);
    meet_start(&ranks[0]);
    meet_start(&ranks[1]);
    (void)usleep(500000);
    spaces_ip(1, "route add 10.99.0.0/16 via 10.77.0.1");
    meet_join(&ranks[0]);
    meet_join(&ranks[1]);
    assert_true(meet_succeeded(2, ranks));
}

/* Whether somebody listens at the address of host 0, seen from a host. */
static bool
listens(const char *address, uint32_t host)
{
    rondo_places places;
    bool connected = false;
    const int own = space_own();

    space_enter(hosts.fds[host], NULL);
    if (rondo_places_find(address, PORT, &places) == RONDO_OK) {
        const int fd =
            socket(places.at[0].address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        connected = connect(fd, (const struct sockaddr *)&places.at[0].address,
                            places.at[0].bytes) == 0;
        (void)close(fd);
    }
    space_enter(own, NULL);
    (void)close(own);
    return connected;
}

/* It listens where it was told to, and nowhere else. */
static void
nowhere_else(void **state)
{
    const char *const addresses[] = {"127.0.0.1", "::1", "10.77.0.1", "fd77::1",
                                     "fe80::77:1%e0"};
    const struct {
        const char *place;
        const char *lines;
        bool want[5];
    } rows[] = {{"127.0.0.1", NULL, {true}},
                {"::1", NULL, {false, true}},
                {"localhost", "127.0.0.1 localhost\n::1 localhost\n", {true, true}},
                {"10.77.0.1", NULL, {false, false, true}},
                {"fd77::1", NULL, {false, false, false, true}},
                {"fe80::77:1%e0", NULL, {false, false, false, false, true}},
                {"node0",
                 "10.77.0.1 node0\nfd77::1 node0\n10.77.0.9 node0\n",
                 {false, false, true, true}}};

    (void)state;
    need_hosts(2, SPACES_BOTH);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare(2, rows[i].place, 20000);
        ranks[0].hosts = ranks[1].hosts = rows[i].lines;
        ranks[1].space = ranks[0].space;
        meet_start(&ranks[0]);
        while (!ranks[0].joined && !ranks[0].ended) {
            (void)usleep(1000);
        }
        for (uint32_t k = 0; k < 5; k++) {
            if (listens(addresses[k], 0) != rows[i].want[k]) {
                fail_msg("%s, asked at %s", rows[i].place, addresses[k]);
            }
        }
        meet_start(&ranks[1]);
        meet_join(&ranks[0]);
        meet_join(&ranks[1]);
        assert_true(meet_succeeded(2, ranks));
    }
}

/* A host that has joined and is then cut off is named to the others, and knows it. */
static void
a_cable_is_cut(void **state)
{
    (void)state;
    need_hosts(3, SPACES_BOTH);
    (void)setenv("RONDO_LINK_SILENCE", "2", 1);
    for (uint32_t gone = 0; gone < 2; gone++) {
        prepare(4, "10.77.0.1", 60000);
        for (uint32_t rank = 0; rank < 3; rank++) {
            meet_start(&ranks[rank]);
        }
        for (uint32_t rank = 0; rank < 3; rank++) {
            while (!ranks[rank].joined) {
                (void)usleep(1000);
            }
        }
        spaces_link(gone, false);
        const uint64_t start = rondo_now_ns();
        for (uint32_t rank = 0; rank < 3; rank++) {
            meet_join(&ranks[rank]);
            assert_int_equal(ranks[rank].status, RONDO_ERR_START);
            assert_non_null(strstr(ranks[rank].text, "could no longer be reached"));
        }
        assert_non_null(strstr(ranks[2].text, gone == 0 ? "(rank 0)" : "rank 1 ("));
        assert_true(rondo_now_ns() - start < 10 * RONDO_NS_PER_S);
        spaces_link(gone, true);
    }
    (void)unsetenv("RONDO_LINK_SILENCE");
}

/* An id made on host 0 with this RONDO_INTERFACE; false: there is none. */
static bool
make_id(const char *interface, rondo_unique_id *id)
{
    const int own = space_own();

    space_enter(hosts.fds[0], NULL);
    (void)setenv("RONDO_INTERFACE", interface, 1);
    const rondo_status status = rondo_meeting_open_id(20000, id);
    (void)unsetenv("RONDO_INTERFACE");
    space_enter(own, NULL);
    (void)close(own);
    return status == RONDO_OK;
}

/* Ranks of all hosts come by the id, or of host 0 alone. */
static void
come_by_id(const rondo_unique_id *id, const char *host, bool all)
{
    meet_init(4, 0, 0, 0, ranks);
    for (uint32_t rank = 0; rank < 4; rank++) {
        const rondo_comm_config config = {.size = sizeof config,
                                          .rank = rank,
                                          .nranks = 4,
                                          .id = id,
                                          .start_timeout_ms = 20000};
        assert_int_equal(rondo_meeting_from_config(&config, &ranks[rank].meeting),
                         RONDO_OK);
        assert_string_equal(ranks[rank].meeting.host, host);
        ranks[rank].space = hosts.fds[all ? rank % hosts.count : 0];
    }
    expect_success(4, host);
}

static void
ids_between_hosts(void **state)
{
    const struct {
        const char *interface;
        const char *four; /* hosts with both families; null: none */
        const char *six;  /* hosts with IPv6 alone */
        bool far;         /* reached from other hosts */
    } rows[] = {
        {"auto", "127.0.0.1", "::1", false},
        {"e0", "10.77.0.1", "fd77::1", true},
        {"e*", "10.77.0.1", "fd77::1", true},
        {"*", "10.77.0.1", "fd77::1", true},
        {"^lo", "10.77.0.1", "fd77::1", true},
        {"lo", "127.0.0.1", "::1", false},
        {"fd77::/64,e0", "fd77::1", "fd77::1", true},
        {"10.77.0.0/16", "10.77.0.1", NULL, true},
        {"10.77.0.0/16,fd00::/8", "10.77.0.1", "fd77::1", true},
        {"e0,^10.0.0.0/8", "fd77::1", "fd77::1", true},
        {"10.77.0.2", NULL, NULL, true},
        {"^e0,^lo", NULL, NULL, true},
    };
    rondo_unique_id id;

    (void)state;
    for (spaces_families families = SPACES_BOTH; families <= SPACES_SIX;
         families += 2) {
        need_hosts(3, families);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const char *const host =
                families == SPACES_SIX ? rows[i].six : rows[i].four;
            if (make_id(rows[i].interface, &id) != (host != NULL)) {
                fail_msg("%s: %s", rows[i].interface, rondo_error_text());
            }
            if (host != NULL) {
                come_by_id(&id, host, rows[i].far);
            }
        }
        (void)close_hosts(NULL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(both_families, close_hosts),
        cmocka_unit_test_teardown(six_alone, close_hosts),
        cmocka_unit_test_teardown(four_alone, close_hosts),
        cmocka_unit_test_teardown(dead_addresses, close_hosts),
        cmocka_unit_test_teardown(debians_trap, close_hosts),
        cmocka_unit_test_teardown(not_of_this_host, close_hosts),
        cmocka_unit_test_teardown(no_route, close_hosts),
        cmocka_unit_test_teardown(nowhere_else, close_hosts),
        cmocka_unit_test_teardown(a_cable_is_cut, close_hosts),
        cmocka_unit_test_teardown(ids_between_hosts, close_hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
