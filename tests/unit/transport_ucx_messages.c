/* transport_ucx_messages.c - active messages between hosts: all lengths, listeners that
 * refuse, receivers that are full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rondo/message.h>

#include "base/error.h"
#include "lib/fakehosts.h"
#include "lib/traffic.h"

#define CALLS_MAX 300000
#define MAX       RONDO_MESSAGE_BYTES_MAX

static const uint64_t lengths[][2] = {
    {0, 0},      {0, 1},     {1, 0},      {8, 120},  {8, 121},  {64, 64},  {64, 65},
    {512, 0},    {256, 257}, {0, 4096},   {1, 4096}, {0, 8000}, {8, 8000}, {0, 8001},
    {0, 262144}, {1, 65535}, {20000, 20}, {0, MAX},  {MAX, 0},  {8, 8},    {MAX - 1, 1},
};

#define NLENGTHS (sizeof lengths / sizeof lengths[0])

struct inbox {
    uint64_t arrived;
    uint64_t refuse_every; /* 0: takes all; else each offer of these numbers once */
    uint64_t refused;      /* number of the message refused last, + 1 */
    char why[100];
};

static bool
bytes_are(const void *data, uint64_t seed, uint64_t number, uint64_t bytes)
{
    const unsigned char *const at = data;

    for (uint64_t i = 0; i < bytes; i++) {
        if (at[i] != traffic_byte(seed, number, i)) {
            return false;
        }
    }
    return bytes > 0 || data == NULL;
}

static bool
take(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
     const void *payload, size_t payload_bytes, void *user)
{
    struct inbox *const inbox = user;
    const uint64_t number = inbox->arrived;
    const uint64_t *const want = lengths[number % NLENGTHS];

    if (from != 0 || channel != number % RONDO_MESSAGE_CHANNELS ||
        header_bytes != want[0] || payload_bytes != want[1] ||
        !bytes_are(header, 1, number, header_bytes) ||
        !bytes_are(payload, 2, number, payload_bytes)) {
        (void)snprintf(inbox->why, sizeof inbox->why, "message %llu: %zu and %zu bytes",
                       (unsigned long long)number, header_bytes, payload_bytes);
    }
    if (inbox->refuse_every != 0 && number % inbox->refuse_every == 0 &&
        inbox->refused != number + 1) {
        inbox->refused = number + 1;
        return false;
    }
    inbox->arrived++;
    return true;
}

static unsigned char *
filled(uint64_t seed, uint64_t number, uint64_t bytes)
{
    unsigned char *const data = bytes == 0 ? NULL : malloc(bytes);

    for (uint64_t i = 0; i < bytes; i++) {
        data[i] = traffic_byte(seed, number, i);
    }
    return data;
}

/* What is handed over is freed at once: nobody may look at it after the call. */
static rondo_status
send_number(rondo_transport *from, uint64_t number)
{
    const uint64_t *const bytes = lengths[number % NLENGTHS];
    unsigned char *const header = filled(1, number, bytes[0]);
    unsigned char *const payload = filled(2, number, bytes[1]);
    const rondo_am message = {.channel = (uint32_t)(number % RONDO_MESSAGE_CHANNELS),
                              .header = header,
                              .header_bytes = bytes[0],
                              .payload = payload,
                              .payload_bytes = bytes[1]};
    const rondo_status status = from->ops->am_send(from, 1, &message);

    free(header);
    free(payload);
    assert_true(status >= 0);
    return status;
}

static void
pass(fakehosts *hosts, struct inbox *inbox, uint64_t n)
{
    rondo_transport *const from = hosts->ranks[0];
    rondo_transport *const to = hosts->ranks[1];
    uint64_t sent = 0;
    uint64_t again = 0; /* writing a message takes long: not at every call */

    for (uint64_t calls = 0; inbox->arrived < n; calls++) {
        assert_true(calls < CALLS_MAX);
        if (sent < n && calls >= again) {
            again = calls + 50;
            while (sent < n && send_number(from, sent) == RONDO_OK) {
                sent++;
            }
        }
        assert_int_equal(from->ops->progress(from), RONDO_OK);
        assert_int_equal(to->ops->am_poll(to, 0, take, inbox), RONDO_OK);
        assert_string_equal(inbox->why, "");
    }
    assert_int_equal(sent, n);
}

static const fakewire_plan plans[] = {
    {.seed = 1},
    {.seed = 2, .late_percent = 100, .idle_percent = 30},
    {.seed = 3, .late_percent = 50, .nested_percent = 50, .parcel_bytes = 1000},
    {.seed = 4, .late_percent = 50, .parcel_bytes = 65536},
};

static void
messages_arrive_and_may_be_refused(void **state)
{
    static const uint64_t windows[] = {0, 1, 40000};

    (void)state;
    for (uint64_t k = 0; k < 4 * 3 * 3; k++) {
        struct inbox inbox = {.refuse_every = k / 12};
        fakehosts hosts = {.wire = plans[k % 4],
                           .nwires = 2,
                           .nranks = 2,
                           .window_bytes = windows[k / 4 % 3]};
        fakehosts_make(&hosts);
        pass(&hosts, &inbox, NLENGTHS + 5);
        fakehosts_end(&hosts);
    }
}

/* A receiver that does not poll makes the sender wait; what it holds is bounded. Then
 * nothing is missing. */
static void
a_full_receiver_makes_senders_wait(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 4; k++) {
        struct inbox inbox = {0};
        fakehosts hosts = {.wire = plans[k], .nwires = 2, .nranks = 2};
        uint64_t sent = 0;
        fakehosts_make(&hosts);
        rondo_transport *const from = hosts.ranks[0];
        rondo_transport *const to = hosts.ranks[1];
        for (int busy = 0; busy < 2000; busy++) {
            if (busy % 100 == 0 && send_number(from, sent) == RONDO_OK) {
                busy = 0;
                sent++;
            }
            assert_true(sent < 100);
            assert_int_equal(from->ops->progress(from), RONDO_OK);
            assert_int_equal(to->ops->progress(to), RONDO_OK);
        }
        assert_in_range(fakewire_look(1).kept, 1, 600);
        for (uint64_t calls = 0; inbox.arrived < sent; calls++) {
            assert_true(calls < CALLS_MAX);
            assert_int_equal(from->ops->progress(from), RONDO_OK);
            assert_int_equal(to->ops->am_poll(to, 0, take, &inbox), RONDO_OK);
            assert_string_equal(inbox.why, "");
        }
        fakehosts_end(&hosts);
    }
}

static void
impossible_messages_are_refused(void **state)
{
    static unsigned char data[MAX + 1];
    const rondo_am bad[] = {
        {.channel = RONDO_MESSAGE_CHANNELS},
        {.payload = data, .payload_bytes = MAX + 1},
        {.header = data, .header_bytes = MAX, .payload = data, .payload_bytes = 1},
    };
    struct inbox inbox = {0};
    fakehosts hosts = {.nwires = 2, .nranks = 2};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const from = hosts.ranks[0];
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(from->ops->am_send(from, 1, &bad[i]), RONDO_ERR_ARG);
        assert_true(strlen(rondo_error_text()) > 20);
    }
    pass(&hosts, &inbox, 3);
    fakehosts_end(&hosts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_and_may_be_refused),
        cmocka_unit_test(a_full_receiver_makes_senders_wait),
        cmocka_unit_test(impossible_messages_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
