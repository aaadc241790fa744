/* bootstrap_refused.c - meetings that cannot be: ranks that do not fit, taken ports,
 * other secrets, places that may not be served. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/meet.h"

static meet_rank ranks[MEET_RANKS_MAX];

/* With a secret all are of one job: what does not fit ends it for all, both sides
 * named. */
static void
what_does_not_fit_is_named(void **state)
{
    (void)state;
    meet_init(3, meet_at, 7, 20000, ranks);
    ranks[2].meeting.nranks = 4;
    ranks[2].after_joined[0] = &ranks[0];
    ranks[2].after_joined[1] = &ranks[1];
    for (uint32_t rank = 0; rank < 3; rank++) {
        meet_start(&ranks[rank]);
    }
    meet_expect(ranks, 0, 3, "rank 2 ", "expects 4 ranks");
    assert_non_null(strstr(ranks[0].text, "of 3"));

    meet_init(3, meet_at, 7, 20000, ranks);
    ranks[2].card_bytes = 101;
    ranks[2].after_joined[0] = &ranks[0];
    ranks[2].after_joined[1] = &ranks[1];
    for (uint32_t rank = 0; rank < 3; rank++) {
        meet_start(&ranks[rank]);
    }
    meet_expect(ranks, 0, 3, "101 bytes", "one of 100");

    meet_init(4, meet_at, 7, 20000, ranks);
    ranks[2].meeting.rank = 1;
    ranks[2].after_joined[0] = &ranks[0];
    ranks[2].after_joined[1] = &ranks[1];
    for (uint32_t rank = 0; rank < 3; rank++) {
        meet_start(&ranks[rank]);
    }
    meet_expect(ranks, 0, 3, "rank 1 came twice", "process ");
}

/* Without one they may be of another job: it alone is refused, the meeting goes on. */
static void
strangers_do_not_disturb(void **state)
{
    (void)state;
    for (uint32_t what = 0; what < 3; what++) {
        meet_init(3, meet_at, 0, 20000, ranks);
        ranks[3] = ranks[1];
        ranks[3].after_joined[0] = &ranks[1];
        ranks[2].after_ended = &ranks[3];
        switch (what) {
        case 0:
            ranks[3].meeting.nranks = 2;
            break;
        case 1:
            ranks[3].card_bytes = 5;
            ranks[3].meeting.rank = 2;
            break;
        default:
            break; /* a second rank 1 */
        }
        meet_all(4, ranks);
        assert_true(meet_succeeded(3, ranks));
        assert_int_equal(ranks[3].status, RONDO_ERR_START);
        assert_true(strlen(ranks[3].text) > 0);
    }
    /* And not when the stranger is the first to come. */
    meet_init(3, meet_at, 0, 20000, ranks);
    ranks[3] = ranks[1];
    ranks[1].after_ended = ranks[2].after_ended = &ranks[3];
    ranks[3].meeting.nranks = 7;
    ranks[3].card_bytes = 9;
    meet_all(4, ranks);
    assert_true(meet_succeeded(3, ranks));
    assert_non_null(strstr(ranks[3].text, "expects 7 ranks"));
}

static void
another_secret(void **state)
{
    (void)state;
    for (uint32_t none = 0; none < 3; none++) {
        meet_init(2, meet_at, none == 1 ? 0 : 7, 20000, ranks);
        ranks[0].timeout_ms = 500;
        memset(&ranks[1].meeting.secret, none == 2 ? 0 : 9,
               sizeof ranks[1].meeting.secret);
        meet_all(2, ranks);
        for (uint32_t rank = 0; rank < 2; rank++) {
            assert_int_equal(ranks[rank].status, RONDO_ERR_START);
            assert_non_null(strstr(ranks[rank].text, "another secret"));
        }
        assert_non_null(strstr(ranks[1].text, "RONDO_SECRET"));
        assert_non_null(strstr(ranks[0].text, "waiting for rank 1 of 2"));
        assert_true(ranks[1].took_ns < MEET_PROMPT_NS);
    }
}

/* S13: somebody listens there already; a second job at the port of a first. */
static void
the_port_is_taken(void **state)
{
    char where[64];

    (void)state;
    (void)snprintf(where, sizeof where, "127.0.0.1:%u", meet_at);
    assert_int_equal(listen(meet_at_fd, 5), 0);
    meet_init(1, meet_at, 7, 20000, ranks);
    ranks[0].meeting.nranks = 2;
    meet_all(1, ranks);
    assert_int_equal(ranks[0].status, RONDO_ERR_SYSTEM);
    assert_false(ranks[0].opened);
    assert_non_null(strstr(ranks[0].text, where));
    assert_non_null(strstr(ranks[0].text, "Address already in use"));
    assert_true(ranks[0].took_ns < MEET_PROMPT_NS);

    meet_anew();
    meet_init(3, meet_at, 7, 20000, ranks);
    ranks[2].after_ended = &ranks[4];
    meet_init(2, meet_at, 9, 20000, ranks + 3);
    ranks[3].after_joined[0] = ranks[4].after_joined[0] = &ranks[1];
    meet_all(5, ranks);
    assert_true(meet_succeeded(3, ranks));
    assert_int_equal(ranks[3].status, RONDO_ERR_SYSTEM);
    assert_non_null(strstr(ranks[3].text, "Address already in use"));
    assert_int_equal(ranks[4].status, RONDO_ERR_START);
    assert_non_null(strstr(ranks[4].text, "another secret"));
}

static void
not_without_a_secret(void **state)
{
    const char *const hosts[] = {"0.0.0.0", "::", "192.0.2.1", "8.8.8.8"};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t rank = 0; rank < 2; rank++) {
            meet_init(2, 40000, 0, 100, ranks);
            (void)snprintf(ranks[rank].meeting.host, sizeof ranks[rank].meeting.host,
                           "%s", hosts[i]);
            meet_start(&ranks[rank]);
            meet_join(&ranks[rank]);
            assert_int_equal(ranks[rank].status, RONDO_ERR_ARG);
            assert_non_null(strstr(ranks[rank].text, "RONDO_SECRET"));
            assert_non_null(strstr(ranks[rank].text, hosts[i]));
        }
    }
}

static void
impossible_meetings(void **state)
{
    const struct {
        uint32_t rank, nranks, card_bytes;
    } rows[] = {
        {0, 0, 0}, {2, 2, 0}, {0, 2, RONDO_CARD_BYTES_MAX + 1}, {0, UINT32_MAX, 100}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        meet_init(1, 40000, 7, 100, ranks);
        ranks[0].meeting.rank = rows[i].rank;
        ranks[0].meeting.nranks = rows[i].nranks;
        ranks[0].card_bytes = rows[i].card_bytes;
        meet_all(1, ranks);
        assert_int_equal(ranks[0].status, RONDO_ERR_ARG);
    }
    rondo_rendezvous_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_named, meet_begin,
                                        meet_finish),
        cmocka_unit_test_setup_teardown(strangers_do_not_disturb, meet_begin,
                                        meet_finish),
        cmocka_unit_test_setup_teardown(another_secret, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(the_port_is_taken, meet_begin, meet_finish),
        cmocka_unit_test(not_without_a_secret),
        cmocka_unit_test(impossible_meetings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
