/* control_links_meeting.c - how leaders and hub find each other: late ones, addresses
 * that do not work, no way at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "lib/linked.h"

static const uint32_t pair[] = {1, 1, 0};
static const uint32_t three[] = {1, 2, 1, 0};

static void
assert_all_open(linked *cast)
{
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        if (cast->stage->status[rank] != RONDO_OK) {
            print_error("rank %u: %s\n", rank, cast->stage->text[rank]);
        }
        assert_int_equal(cast->stage->status[rank], RONDO_OK);
    }
}

/* Leaders come to a process that listens but does not know the communicator yet, for
 * shorter and for longer than it keeps them. */
static void
hub_comes_late(void **state)
{
    (void)state;
    for (uint32_t late_ms = 0; late_ms <= 2500; late_ms = late_ms * 5 + 20) {
        linked cast;
        linked_init(three, &cast);
        linked_start_all(&cast);
        for (uint32_t rank = 1; rank < cast.nranks; rank++) {
            linked_order(&cast, rank, 'o');
        }
        (void)usleep(late_ms * 1000);
        linked_order(&cast, 0, 'o');
        for (uint32_t rank = 0; rank < cast.nranks; rank++) {
            linked_done(&cast, rank);
        }
        assert_all_open(&cast);
        assert_in_range(cast.stage->took_ns[0], 0, 2 * RONDO_NS_PER_S);
        assert_true(linked_end(&cast));
    }
}

/* A port nobody listens at, bound so that nobody else gets it. */
static uint16_t
dead_port(int *fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*fd >= 0);
    assert_int_equal(bind(*fd, (const struct sockaddr *)&at, bytes), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&at, &bytes), 0);
    return ntohs(at.sin_port);
}

static void
hub_that_never_listens(void **state)
{
    linked cast;
    int fd = -1;

    (void)state;
    linked_init(three, &cast);
    for (uint32_t rank = 0; rank < cast.nranks; rank++) {
        linked_start(&cast, rank);
        cast.stage->start_ms[rank] = 700;
    }
    cast.stage->mine[0][0].port = dead_port(&fd);
    for (uint32_t rank = 1; rank < cast.nranks; rank++) {
        linked_order(&cast, rank, 'o');
    }
    for (uint32_t rank = 1; rank < cast.nranks; rank++) {
        char want[192];
        linked_done(&cast, rank);
        assert_int_equal(cast.stage->status[rank], RONDO_ERR_START);
        assert_in_range(cast.stage->took_ns[rank], 600 * RONDO_NS_PER_MS,
                        3 * RONDO_NS_PER_S);
        (void)snprintf(want, sizeof want,
                       "rank %u on node%u could not reach the process of rank 0 on "
                       "node0: if%u 127.0.0.1 to 127.0.0.1 port %u: Connection refused",
                       rank == 3 ? 3 : 1, cast.stage->host_of[rank],
                       cast.stage->host_of[rank], cast.stage->mine[0][0].port);
        assert_string_equal(cast.stage->text[rank], want);
        assert_true(rondo_board_broken(linked_board(&cast, rank)));
    }
    (void)close(fd);
    assert_true(linked_end(&cast));
}

/* The hub is there, one leader is not: the hub names it, and whoever is connected
 * learns of it. */
static void
leader_that_never_comes(void **state)
{
    linked cast;

    (void)state;
    linked_init(three, &cast);
    cast.stage->start_ms[0] = 700;
    linked_start_all(&cast);
    linked_order(&cast, 0, 'o');
    linked_order(&cast, 1, 'o');
    linked_done(&cast, 1);
    assert_int_equal(cast.stage->status[1], RONDO_OK);
    linked_done(&cast, 0);
    assert_int_equal(cast.stage->status[0], RONDO_ERR_START);
    assert_string_equal(
        cast.stage->text[0],
        "no connection has come to rank 0 on node0 from node2 (rank 3)");
    (void)usleep(200000);
    rondo_breakage why;
    assert_true(rondo_board_breakage(linked_board(&cast, 1), &why));
    assert_string_equal(why.text, cast.stage->text[0]);
    assert_int_equal(why.status, RONDO_ERR_START);
    assert_true(linked_end(&cast));
}

static void
another_key(void **state)
{
    linked cast;

    (void)state;
    linked_init(three, &cast);
    cast.stage->keys[3].bytes[5] ^= 1;
    cast.stage->start_ms[0] = 1500;
    cast.stage->start_ms[3] = 1000;
    linked_start_all(&cast);
    linked_do_all(&cast, 'o');
    assert_int_equal(cast.stage->status[1], RONDO_OK);
    assert_int_equal(cast.stage->status[2], RONDO_OK);
    assert_int_equal(cast.stage->status[0], RONDO_ERR_START);
    assert_int_equal(cast.stage->status[3], RONDO_ERR_START);
    assert_non_null(strstr(cast.stage->text[3], "closed the connection"));
    assert_true(linked_end(&cast));
}

/* Several addresses, of which few work: the first is unreachable from here, one is of a
 * family the other side does not have. */
static void
addresses_that_do_not_work(void **state)
{
    linked cast;
    int fd = -1;

    (void)state;
    linked_init(pair, &cast);
    linked_start_all(&cast);
    linked_stage *const stage = cast.stage;
    const rondo_endpoint good = stage->mine[0][0];
    stage->mine[0][0].port = dead_port(&fd);
    stage->mine[0][1] = (rondo_endpoint){
        .family = 6, .port = 9, .address = {0xfe, 0x80}, .interface = "local6"};
    stage->mine[0][2] = (rondo_endpoint){
        .family = 4, .port = 9, .address = {240, 0, 0, 1}, .interface = "nowhere"};
    stage->mine[0][3] = good;
    stage->mine[1][2] = stage->mine[1][0];
    stage->mine[1][0] =
        (rondo_endpoint){.family = 4, .address = {240, 0, 0, 2}, .interface = "gone"};
    linked_do_all(&cast, 'o');
    assert_all_open(&cast);
    assert_string_equal(stage->text[0], "if0");
    assert_string_equal(stage->text[1], "if1");
    (void)close(fd);
    assert_true(linked_end(&cast));
}

static void
no_family_in_common(void **state)
{
    linked cast;

    (void)state;
    linked_init(pair, &cast);
    linked_start_all(&cast);
    cast.stage->mine[1][0] = (rondo_endpoint){.family = 6, .address = {[15] = 1}};
    linked_do(&cast, 1, 'o');
    assert_int_equal(cast.stage->status[1], RONDO_ERR_START);
    assert_in_range(cast.stage->took_ns[1], 0, 2 * RONDO_NS_PER_S);
    assert_non_null(strstr(cast.stage->text[1], "no addresses of one family"));
    assert_true(linked_end(&cast));
}

static void
over_ipv6(void **state)
{
    linked cast;

    (void)state;
    linked_init(three, &cast);
    for (uint32_t rank = 0; rank < cast.nranks; rank++) {
        rondo_endpoint *const at = &cast.stage->mine[rank][0];
        at->family = 6;
        memset(at->address, 0, sizeof at->address);
        at->address[15] = 1;
    }
    linked_start_all(&cast);
    linked_do_all(&cast, 'o');
    assert_all_open(&cast);
    cast.stage->about[2] = 0;
    linked_do(&cast, 2, 'h');
    assert_string_equal(cast.stage->text[2], "node0 (::1)");
    assert_true(linked_end(&cast));
}

/* Who does not know its own addresses asks the system. */
static void
blind_ranks(void **state)
{
    linked cast;

    (void)state;
    linked_init(three, &cast);
    cast.stage->blind = true;
    linked_start_all(&cast);
    linked_do_all(&cast, 'o');
    assert_all_open(&cast);
    for (uint32_t rank = 0; rank < cast.nranks; rank++) {
        assert_string_equal(cast.stage->text[rank], "lo");
    }
    assert_true(linked_end(&cast));
}

/* All ranks learn what address each host was reached at. */
static void
hosts_are_named(void **state)
{
    linked cast;

    (void)state;
    linked_init(three, &cast);
    linked_start_all(&cast);
    linked_do_all(&cast, 'o');
    assert_all_open(&cast);
    (void)usleep(300000);
    for (uint32_t rank = 0; rank < cast.nranks; rank++) {
        for (uint32_t about = 0; about < cast.nranks; about++) {
            char want[64];
            const uint32_t host = cast.stage->host_of[about];
            (void)snprintf(want, sizeof want, "node%u (127.0.0.1)", host);
            cast.stage->about[rank] = about;
            linked_do(&cast, rank, 'h');
            /* Its own host it knows by name only, unless it was told. */
            want[host == cast.stage->host_of[rank] ? 5 : strlen(want)] = '\0';
            assert_memory_equal(cast.stage->text[rank], want, strlen(want));
        }
    }
    assert_true(linked_end(&cast));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hub_comes_late),
        cmocka_unit_test(hub_that_never_listens),
        cmocka_unit_test(leader_that_never_comes),
        cmocka_unit_test(another_key),
        cmocka_unit_test(addresses_that_do_not_work),
        cmocka_unit_test(no_family_in_common),
        cmocka_unit_test(over_ipv6),
        cmocka_unit_test(blind_ranks),
        cmocka_unit_test(hosts_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
