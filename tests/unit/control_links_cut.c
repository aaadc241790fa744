/* control_links_cut.c - a path between two hosts that is cut: both sides say so, by the
 * name of the host. Hosts are network namespaces, which only root can make.
 * ctest: timeout=200 label=slow */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>

#include "base/clock.h"
#include "lib/linked.h"

static int home = -1;
static int spaces[2] = {-1, -1};

static void
enter(int space)
{
    assert_int_equal(setns(space, CLONE_NEWNET), 0);
}

static bool
run(const char *command)
{
    return system(command) == 0;
}

static int
new_space(void)
{
    assert_int_equal(unshare(CLONE_NEWNET), 0);
    const int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(run("ip link set lo up"));
    return fd;
}

static int
set_up(void **state)
{
    (void)state;
    home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return home >= 0 ? 0 : -1;
}

/* Two spaces with a cable between them; they go when the last process in them does. */
static void
lay_cable(linked *cast, const char *family)
{
    char command[256];

    enter(spaces[0]);
    (void)snprintf(command, sizeof command,
                   "ip link add cable type veth peer name cable netns %d",
                   cast->ranks[cast->nranks - 1].pid);
    assert_true(run(command));
    for (uint32_t i = 0; i < 2; i++) {
        enter(spaces[i]);
        (void)snprintf(command, sizeof command,
                       family[0] == '6' ? "ip addr add fd00:7::%u/64 dev cable nodad"
                                        : "ip addr add 10.77.0.%u/24 dev cable",
                       i + 1);
        assert_true(run(command));
        assert_true(run("ip link set cable up"));
    }
    enter(home);
}

static void
open_hosts(const char *family, linked *cast)
{
    static const uint32_t shape[] = {2, 2, 0};

    linked_init(shape, cast);
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        const unsigned char last = (unsigned char)(cast->stage->host_of[rank] + 1);
        cast->stage->mine[rank][0] =
            family[0] == '6' ? (rondo_endpoint){.family = 6,
                                                .address = {0xfd, 0, 0, 7, [15] = last},
                                                .interface = "cable"}
                             : (rondo_endpoint){.family = 4,
                                                .address = {10, 77, 0, last},
                                                .interface = "cable"};
    }
    for (uint32_t host = 0; host < 2; host++) {
        spaces[host] = new_space();
        linked_start(cast, 2 * host);
        linked_start(cast, 2 * host + 1);
    }
    lay_cable(cast, family);
    linked_do_all(cast, 'p');
    linked_do_all(cast, 'o');
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        if (cast->stage->status[rank] != RONDO_OK) {
            print_error("rank %u: %s\n", rank, cast->stage->text[rank]);
        }
        assert_int_equal(cast->stage->status[rank], RONDO_OK);
        assert_string_equal(cast->stage->text[rank], "cable");
    }
    linked_do_all(cast, 'j');
}

static void
close_hosts(linked *cast)
{
    enter(home);
    assert_true(linked_end(cast));
    (void)close(spaces[0]);
    (void)close(spaces[1]);
}

static bool
both_broken(linked *cast, uint32_t unused)
{
    (void)unused;
    return rondo_board_broken(&cast->boards[0]) && rondo_board_broken(&cast->boards[1]);
}

static void
assert_cut(linked *cast, const char *family)
{
    for (uint32_t host = 0; host < 2; host++) {
        rondo_breakage why;
        char want[200];
        const uint32_t other = 1 - host;
        (void)snprintf(
            want, sizeof want,
            "no answer from node%u (%s%u), rank %u's host, for 6 s: the path "
            "is cut or the host is down",
            other, family[0] == '6' ? "fd00:7::" : "10.77.0.", other + 1, 2 * other);
        assert_true(rondo_board_breakage(&cast->boards[host], &why));
        assert_string_equal(why.text, want);
        assert_int_equal(why.status, RONDO_ERR_PEER);
        assert_int_equal(why.culprit, 2 * other);
    }
}

/* At either end, with and without something on its way. */
static void
link_goes_down(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const char *const family = i % 2 == 0 ? "4" : "6";
        linked cast;
        open_hosts(family, &cast);
        (void)usleep(300000);
        if (i >= 2) {
            linked_order(&cast, 1, 'a');
            linked_order(&cast, 3, 'a');
        }
        enter(spaces[i % 2 == (i / 2)]);
        assert_true(run("ip link set cable down"));
        const uint64_t start = rondo_now_ns();
        if (i >= 2) {
            linked_done(&cast, 1);
            linked_done(&cast, 3);
            (void)usleep(50000);
            linked_do(&cast, 1, 'a');
            linked_do(&cast, 3, 'a');
        }
        assert_true(linked_until(&cast, both_broken, 0, 9000));
        const uint64_t took = rondo_now_ns() - start;
        assert_in_range(took, 4 * RONDO_NS_PER_S, 8 * RONDO_NS_PER_S);
        assert_cut(&cast, family);
        close_hosts(&cast);
    }
}

/* Down for less than that: nothing has happened. */
static void
link_comes_back(void **state)
{
    linked cast;

    (void)state;
    open_hosts("4", &cast);
    enter(spaces[1]);
    assert_true(run("ip link set cable down"));
    linked_do(&cast, 1, 'a');
    linked_do(&cast, 3, 'a');
    (void)sleep(2);
    assert_true(run("ip link set cable up"));
    (void)sleep(7);
    assert_false(rondo_board_broken(&cast.boards[0]));
    assert_false(rondo_board_broken(&cast.boards[1]));
    close_hosts(&cast);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_goes_down),
        cmocka_unit_test(link_comes_back),
    };

    if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0 || !run("ip link set lo up")) {
        (void)fprintf(stderr, "skipped: no network namespaces, or no ip, here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, set_up, NULL);
}
