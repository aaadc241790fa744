/* api_comm.c - communicators as such: made in one thread, split, in flight several at
 * once, aborted, counted, under failing allocations; and active messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/troop.h"

/* Start a sum of rank + 1 on every rank, finish all, expect `status` everywhere. */
static void
sum_everywhere(const troop *ranks, rondo_status expected)
{
    const uint32_t n = ranks->nranks;
    rondo_request *requests[TROOP_MAX];
    rondo_status statuses[TROOP_MAX];
    int64_t one[TROOP_MAX];
    int64_t sum[TROOP_MAX];

    for (uint32_t rank = 0; rank < n; rank++) {
        one[rank] = rank + 1;
        const rondo_status status =
            rondo_all_reduce_start(ranks->comm[rank], &one[rank], &sum[rank], 1,
                                   RONDO_INT64, RONDO_SUM, &requests[rank]);

        assert_int_equal(status, expected);
    }
    if (expected != RONDO_OK) {
        return;
    }
    troop_finish(n, requests, statuses);
    for (uint32_t rank = 0; rank < n; rank++) {
        assert_int_equal(statuses[rank], RONDO_OK);
        assert_int_equal(sum[rank], n * (n + 1) / 2);
    }
}

static void
ranks_of_one_thread(void **state)
{
    troop ranks;

    (void)state;
    for (uint32_t nranks = 1; nranks <= TROOP_MAX; nranks++) {
        troop_make(nranks, &ranks);
        sum_everywhere(&ranks, RONDO_OK);
        troop_destroy(&ranks);
    }
}

#define FLIGHTS 40
#define COUNT   5000

/* Several collectives in flight finish, whatever the order in which they are asked. */
static void
many_in_flight(void **state)
{
    static int32_t in[4][FLIGHTS][COUNT];
    static int32_t out[4][FLIGHTS][COUNT];
    static rondo_request *requests[FLIGHTS][4];
    rondo_status statuses[4];
    troop ranks;

    (void)state;
    troop_make(4, &ranks);
    for (uint32_t rank = 0; rank < 4; rank++) {
        for (uint32_t flight = 0; flight < FLIGHTS; flight++) {
            for (uint32_t i = 0; i < COUNT; i++) {
                in[rank][flight][i] = (int32_t)(rank * 7 + flight * 11 + i);
            }
            assert_int_equal(
                rondo_all_reduce_start(ranks.comm[rank], in[rank][flight],
                                       out[rank][flight], flight * COUNT / FLIGHTS,
                                       RONDO_INT32, RONDO_SUM, &requests[flight][rank]),
                RONDO_OK);
        }
    }
    for (uint32_t flight = FLIGHTS; flight-- > 0;) {
        troop_finish(4, requests[flight], statuses);
        for (uint32_t rank = 0; rank < 4; rank++) {
            assert_int_equal(statuses[rank], RONDO_OK);
            for (uint32_t i = 0; i < flight * COUNT / FLIGHTS; i++) {
                assert_int_equal(out[rank][flight][i], 42 + 44 * flight + 4 * i);
            }
        }
    }
    troop_destroy(&ranks);
}

/* A large send and receive in both directions at once, beside a collective. */
static void
pairs_beside_collectives(void **state)
{
    enum { BYTES = 3000001 };
    rondo_request *requests[3][2];
    rondo_status statuses[2];
    int64_t one[2] = {1, 2};
    int64_t sum[2] = {0, 0};
    unsigned char *sent[2];
    unsigned char *heard[2];
    troop ranks;

    (void)state;
    troop_make(2, &ranks);
    for (uint32_t rank = 0; rank < 2; rank++) {
        sent[rank] = malloc(BYTES);
        heard[rank] = calloc(1, BYTES);
        for (uint32_t i = 0; i < BYTES; i++) {
            sent[rank][i] = (unsigned char)(i * 31 + rank);
        }
        rondo_comm *const c = ranks.comm[rank];
        assert_int_equal(rondo_send_start(c, sent[rank], BYTES, RONDO_UINT8, 1 - rank,
                                          &requests[0][rank]),
                         RONDO_OK);
        assert_int_equal(rondo_recv_start(c, heard[rank], BYTES, RONDO_UINT8, 1 - rank,
                                          &requests[1][rank]),
                         RONDO_OK);
        assert_int_equal(rondo_all_reduce_start(c, &one[rank], &sum[rank], 1,
                                                RONDO_INT64, RONDO_SUM,
                                                &requests[2][rank]),
                         RONDO_OK);
    }
    for (uint32_t kind = 3; kind-- > 0;) {
        troop_finish(2, requests[kind], statuses);
        assert_int_equal(statuses[0], RONDO_OK);
        assert_int_equal(statuses[1], RONDO_OK);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(sum[rank], 3);
        assert_memory_equal(heard[rank], sent[1 - rank], BYTES);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        free(heard[rank]);
        free(sent[rank]);
    }
    troop_destroy(&ranks);
}

static void
abort_reaches_all(void **state)
{
    troop ranks;

    (void)state;
    troop_make(3, &ranks);
    sum_everywhere(&ranks, RONDO_OK);
    assert_int_equal(rondo_comm_abort(ranks.comm[2]), RONDO_OK);
    assert_int_equal(rondo_comm_abort(ranks.comm[2]), RONDO_OK);
    sum_everywhere(&ranks, RONDO_ERR_ABORTED);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(rondo_comm_state(ranks.comm[rank]), RONDO_ERR_ABORTED);
        assert_non_null(strstr(rondo_comm_error_text(ranks.comm[rank]),
                               "rank 2 aborted the communicator"));
    }
    troop_destroy(&ranks);
}

static void
counters_count(void **state)
{
    rondo_comm_counters counters = {.size = sizeof counters};
    troop ranks;

    (void)state;
    troop_make(2, &ranks);
    for (uint32_t round = 0; round < 5; round++) {
        sum_everywhere(&ranks, RONDO_OK);
    }
    assert_int_equal(rondo_comm_counters_get(ranks.comm[0], &counters), RONDO_OK);
    assert_int_equal(counters.operations, 5);
    assert_int_equal(counters.sent_bytes, 5 * sizeof(int64_t));
    assert_int_equal(counters.received_bytes, 5 * sizeof(int64_t));
    assert_int_equal(counters.shm_sent_bytes, counters.sent_bytes);
    assert_int_equal(counters.schedules_built, 1);
    troop_destroy(&ranks);
}

/* After the first round a collective allocates nothing. */
static void
steady_state_allocates_nothing(void **state)
{
    troop ranks;

    (void)state;
    troop_make(3, &ranks);
    sum_everywhere(&ranks, RONDO_OK);
    const uint64_t before = rondo_alloc_count();
    for (uint32_t round = 0; round < 100; round++) {
        sum_everywhere(&ranks, RONDO_OK);
    }
    assert_int_equal(rondo_alloc_count(), before);
    troop_destroy(&ranks);
}

/* Fail the k-th allocation of a creation, for k = 1, 2, ... until none is reached. */
static void
creation_survives_any_failing_allocation(void **state)
{
    bool reached = true;
    troop ranks;

    (void)state;
    for (uint64_t nth = 1; reached; nth++) {
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status = troop_try(2, 1000, &ranks);
        reached = rondo_alloc_fail_after(0);
        if (status == RONDO_OK) {
            sum_everywhere(&ranks, RONDO_OK);
            troop_destroy(&ranks);
            continue;
        }
        if (!reached || rondo_status_group_of(status) == RONDO_GROUP_ARGUMENT) {
            fail_msg("allocation %llu: %s, %s", (unsigned long long)nth,
                     rondo_status_name(status), rondo_error_text());
        }
    }
}

typedef struct inbox {
    uint32_t messages;
    uint64_t bytes;
    uint32_t wrong;
} inbox;

static void
take(uint32_t from, const void *header, size_t header_bytes, const void *payload,
     size_t payload_bytes, void *user)
{
    inbox *const box = user;
    const unsigned char *const bytes = payload;
    uint32_t number = 0;

    memcpy(&number, header, sizeof number);
    box->wrong += header_bytes != sizeof number || number != box->messages || from != 1;
    for (size_t i = 0; i < payload_bytes; i++) {
        box->wrong += bytes[i] != (unsigned char)(number + i);
    }
    box->messages++;
    box->bytes += payload_bytes;
}

/* Messages of all lengths arrive once and in order; a full receiver makes senders wait
 * and loses nothing; what nobody listens for waits. */
static void
messages_arrive(void **state)
{
    static unsigned char payload[RONDO_MESSAGE_BYTES_MAX];
    const uint64_t deadline_ns = rondo_now_ns() + 30 * RONDO_NS_PER_S;
    uint32_t busy = 0;
    uint32_t sent = 0;
    bool listening = false;
    inbox box = {0};
    troop ranks;

    (void)state;
    troop_make(2, &ranks);
    while (box.messages < 300) {
        const size_t bytes = sent * 3491 % 100000 * (sent % 7 == 0 ? 10 : 1);

        for (size_t i = 0; i < bytes; i++) {
            payload[i] = (unsigned char)(sent + i);
        }
        if (sent < 300) {
            const rondo_status status = rondo_message_send(ranks.comm[1], 0, 5, &sent,
                                                           sizeof sent, payload, bytes);
            assert_true(status == RONDO_OK || status == RONDO_BUSY);
            sent += status == RONDO_OK ? 1 : 0;
            busy += status == RONDO_BUSY ? 1 : 0;
        }
        assert_int_equal(rondo_comm_progress(ranks.comm[1]), RONDO_OK);
        /* Nobody listens until the sender has had to wait. */
        if (busy == 1000 && !listening) {
            listening = true;
            assert_int_equal(box.messages, 0);
            assert_int_equal(rondo_message_handler_set(ranks.comm[0], 5, take, &box),
                             RONDO_OK);
        }
        assert_int_equal(rondo_comm_progress(ranks.comm[0]), RONDO_OK);
        assert_true(rondo_now_ns() < deadline_ns);
    }
    assert_int_equal(box.wrong, 0);
    assert_int_equal(box.messages, sent);
    troop_destroy(&ranks);
}

/* A message longer than the ring leaves bit by bit, in the sender's progress alone. */
static void
long_messages_leave_by_themselves(void **state)
{
    static unsigned char payload[RONDO_MESSAGE_BYTES_MAX - sizeof(uint32_t)];
    const uint64_t deadline_ns = rondo_now_ns() + 30 * RONDO_NS_PER_S;
    const uint32_t number = 0;
    inbox box = {0};
    troop ranks;

    (void)state;
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (unsigned char)i;
    }
    assert_int_equal(setenv("RONDO_CHUNK", "64", 1), 0);
    troop_make(2, &ranks);
    assert_int_equal(unsetenv("RONDO_CHUNK"), 0);
    assert_int_equal(rondo_message_handler_set(ranks.comm[0], 3, take, &box), RONDO_OK);
    assert_int_equal(rondo_message_send(ranks.comm[1], 0, 3, &number, sizeof number,
                                        payload, sizeof payload),
                     RONDO_OK);
    while (box.messages == 0) {
        assert_int_equal(rondo_comm_progress(ranks.comm[0]), RONDO_OK);
        assert_int_equal(rondo_comm_progress(ranks.comm[1]), RONDO_OK);
        assert_true(rondo_now_ns() < deadline_ns);
    }
    assert_int_equal(box.wrong, 0);
    assert_int_equal(box.bytes, sizeof payload);
    troop_destroy(&ranks);
}

static void
the_deadline_is_known(void **state)
{
    troop ranks;

    (void)state;
    troop_make(1, &ranks);
    const uint64_t before = rondo_comm_timeout(ranks.comm[0]);
    assert_true(before > 0);
    assert_int_equal(rondo_comm_timeout_set(ranks.comm[0], 1234), RONDO_OK);
    assert_int_equal(rondo_comm_timeout(ranks.comm[0]), 1234);
    assert_int_equal(rondo_comm_timeout_set(ranks.comm[0], 0), RONDO_OK);
    assert_int_equal(rondo_comm_timeout(ranks.comm[0]), before);
    assert_int_equal(rondo_comm_timeout(NULL), 0);
    troop_destroy(&ranks);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_thread),
        cmocka_unit_test(many_in_flight),
        cmocka_unit_test(pairs_beside_collectives),
        cmocka_unit_test(abort_reaches_all),
        cmocka_unit_test(counters_count),
        cmocka_unit_test(the_deadline_is_known),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(creation_survives_any_failing_allocation),
        cmocka_unit_test(messages_arrive),
        cmocka_unit_test(long_messages_leave_by_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
