/* transport_messages.c - active messages over loopback, shared memory and fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <rondo/message.h>

#include "base/alloc.h"
#include "base/error.h"
#include "lib/traffic.h"
#include "transport/fault/fault.h"
#include "transport/loopback/loopback.h"
#include "transport/shm/shm.h"

#define POLLS_MAX 200000

/* What carries the messages from rank 0 to rank 1 and back. */
enum carrier {
    LOOPBACK,
    LOOPBACK_UNBUFFERED,
    SHM_TINY,
    SHM_DEFAULT,
    FAULT_OVER_SHM,
    CARRIERS
};

struct pair {
    rondo_transport *side[2];
    rondo_loopback *world;
    void *memory;
    uint64_t memory_bytes;
    uint64_t chunk_bytes;
};

static void
pair_over_shm(struct pair *pair, const rondo_shm_layout *layout)
{
    static const uint32_t ranks[] = {0, 1};

    pair->chunk_bytes = layout->chunk_bytes;
    pair->memory_bytes = rondo_shm_bytes(layout);
    pair->memory = mmap(NULL, pair->memory_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(pair->memory, MAP_FAILED);
    for (uint32_t me = 0; me < 2; me++) {
        const rondo_shm_setup setup = {*layout, pair->memory, me, 2, ranks};
        assert_int_equal(rondo_shm_create(&setup, &pair->side[me]), RONDO_OK);
    }
}

static void
pair_over_loopback(struct pair *pair, bool unbuffered)
{
    const rondo_loopback_config config = {.nranks = 2,
                                          .seed = 11,
                                          .busy_percent = 40,
                                          .piece_bytes = 2000,
                                          .unbuffered = unbuffered};

    pair->chunk_bytes = 1024;
    assert_int_equal(rondo_loopback_create(&config, &pair->world), RONDO_OK);
    pair->side[0] = rondo_loopback_at(pair->world, 0);
    pair->side[1] = rondo_loopback_at(pair->world, 1);
}

static void
pair_make(struct pair *pair, enum carrier carrier)
{
    const rondo_shm_layout tiny = {
        .nlocal = 2, .slots = 2, .cells = 4, .chunk_bytes = 128};
    const rondo_shm_layout usual = rondo_shm_layout_default(2, 0);

    memset(pair, 0, sizeof *pair);
    if (carrier == LOOPBACK || carrier == LOOPBACK_UNBUFFERED) {
        pair_over_loopback(pair, carrier == LOOPBACK_UNBUFFERED);
        return;
    }
    pair_over_shm(pair, carrier == SHM_DEFAULT ? &usual : &tiny);
    for (uint32_t me = 0; carrier == FAULT_OVER_SHM && me < 2; me++) {
        const rondo_fault_plan plan = {.seed = me,
                                       .delay_percent = 30,
                                       .delay_calls = 3,
                                       .kill_peer = RONDO_FAULT_NOBODY};
        assert_int_equal(rondo_fault_create(&plan, pair->side[me], 2, &pair->side[me]),
                         RONDO_OK);
    }
}

static void
pair_end(struct pair *pair)
{
    for (uint32_t me = 0; me < 2; me++) {
        pair->side[me]->ops->destroy(pair->side[me]);
    }
    rondo_loopback_destroy(pair->world);
    if (pair->memory != NULL) {
        (void)munmap(pair->memory, pair->memory_bytes);
    }
}

/* --- what is sent and what arrives ------------------------------------------------ */

/* Lengths of header and payload of message k. */
struct lengths {
    const uint64_t (*list)[2];
    uint64_t n;
};

/* The receiving side: checks message after message. */
struct inbox {
    struct lengths lengths;
    uint64_t arrived;
    uint64_t refuse_every; /* 0: takes all; else each offer of these numbers once */
    uint64_t refused_at;   /* number of the message refused last, + 1 */
    char why[200];
};

static uint32_t
channel_of(uint64_t number)
{
    return (uint32_t)(number % RONDO_MESSAGE_CHANNELS);
}

static bool
bytes_are(const void *data, uint64_t seed, uint64_t number, uint64_t bytes)
{
    const unsigned char *const at = data;

    if (bytes == 0) {
        return data == NULL;
    }
    for (uint64_t i = 0; i < bytes; i++) {
        if (at[i] != traffic_byte(seed, number, i)) {
            return false;
        }
    }
    return true;
}

static bool
take(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
     const void *payload, size_t payload_bytes, void *user)
{
    struct inbox *const inbox = user;
    const uint64_t number = inbox->arrived;
    const uint64_t *const want = inbox->lengths.list[number % inbox->lengths.n];
    const bool good = from == 0 && channel == channel_of(number) &&
                      header_bytes == want[0] && payload_bytes == want[1] &&
                      bytes_are(header, 1, number, header_bytes) &&
                      bytes_are(payload, 2, number, payload_bytes);

    if (!good && inbox->why[0] == '\0') {
        (void)snprintf(inbox->why, sizeof inbox->why,
                       "message %llu: channel %u, %zu and %zu bytes",
                       (unsigned long long)number, channel, header_bytes,
                       payload_bytes);
    }
    if (inbox->refuse_every != 0 && number % inbox->refuse_every == 0 &&
        inbox->refused_at != number + 1) {
        inbox->refused_at = number + 1;
        return false;
    }
    inbox->arrived++;
    return true;
}

/* The message being sent: kept while RONDO_BUSY, gone once it is taken. */
struct letter {
    uint64_t number;
    unsigned char *header; /* each of exactly its size, so that overruns are found */
    unsigned char *payload;
    rondo_am message;
};

static unsigned char *
filled(uint64_t seed, uint64_t number, uint64_t bytes)
{
    unsigned char *const data = bytes == 0 ? NULL : malloc(bytes);

    for (uint64_t i = 0; i < bytes; i++) {
        data[i] = traffic_byte(seed, number, i);
    }
    return data;
}

static void
letter_end(struct letter *letter)
{
    free(letter->header);
    free(letter->payload);
    *letter = (struct letter){0};
}

/* Send message `number`; the letter is written if it is another one. */
static rondo_status
send_number(rondo_transport *transport, const struct lengths *lengths,
            struct letter *letter, uint64_t number)
{
    const uint64_t *const bytes = lengths->list[number % lengths->n];

    if (letter->number != number + 1) {
        letter_end(letter);
        letter->number = number + 1;
        letter->header = filled(1, number, bytes[0]);
        letter->payload = filled(2, number, bytes[1]);
        letter->message = (rondo_am){.channel = channel_of(number),
                                     .header = letter->header,
                                     .header_bytes = bytes[0],
                                     .payload = letter->payload,
                                     .payload_bytes = bytes[1]};
    }
    const rondo_status status = transport->ops->am_send(transport, 1, &letter->message);
    if (status == RONDO_OK) {
        letter_end(letter);
    }
    return status;
}

static void
poll_inbox(struct pair *pair, struct inbox *inbox)
{
    rondo_transport *const to = pair->side[1];

    assert_int_equal(to->ops->am_poll(to, 0, take, inbox), RONDO_OK);
    if (inbox->why[0] != '\0') {
        fail_msg("%s", inbox->why);
    }
}

/* Send `n` messages, as the receiver takes them. */
static void
pass(struct pair *pair, struct inbox *inbox, uint64_t n)
{
    rondo_transport *const from = pair->side[0];
    struct letter letter = {0};
    uint64_t sent = 0;

    for (uint64_t polls = 0; inbox->arrived < n; polls++) {
        assert_true(polls < POLLS_MAX);
        if (sent < n) {
            const rondo_status status =
                send_number(from, &inbox->lengths, &letter, sent);
            assert_true(status >= 0);
            sent += status == RONDO_OK;
        }
        assert_int_equal(from->ops->progress(from), RONDO_OK);
        poll_inbox(pair, inbox);
    }
    assert_int_equal(inbox->arrived, n);
    assert_int_equal(sent, n);
}

#define MAX RONDO_MESSAGE_BYTES_MAX

static const uint64_t all_lengths[][2] = {
    {0, 0},       {0, 1},         {1, 0},         {1, 1},      {8, 31},    {8, 32},
    {8, 33},      {40, 0},        {0, 40},        {41, 0},     {0, 41},    {64, 64},
    {100, 28},    {100, 29},      {255, 256},     {256, 256},  {256, 257}, {512, 0},
    {0, 513},     {1000, 24},     {1000, 25},     {1, 4096},   {4096, 1},  {0, 32768},
    {8, 32760},   {8, 32761},     {20000, 20000}, {0, 300000}, {0, MAX},   {MAX, 0},
    {MAX - 1, 1}, {16, MAX - 16},
};

#define NLENGTHS (sizeof all_lengths / sizeof all_lengths[0])

static void
messages_of_all_lengths_arrive(void **state)
{
    (void)state;
    for (enum carrier carrier = 0; carrier < CARRIERS; carrier++) {
        struct pair pair;
        struct inbox inbox = {.lengths = {all_lengths, NLENGTHS}};
        pair_make(&pair, carrier);
        pass(&pair, &inbox, 2 * NLENGTHS);
        pair_end(&pair);
    }
}

/* A message nobody takes stays at the head, and nothing overtakes it. */
static void
what_is_not_taken_is_offered_again(void **state)
{
    (void)state;
    for (enum carrier carrier = 0; carrier < CARRIERS; carrier++) {
        for (uint64_t every = 1; every <= 3; every++) {
            struct pair pair;
            struct inbox inbox = {.lengths = {all_lengths, NLENGTHS},
                                  .refuse_every = every};
            pair_make(&pair, carrier);
            pass(&pair, &inbox, NLENGTHS);
            pair_end(&pair);
        }
    }
}

/* A receiver that does not poll makes the sender wait; then nothing is missing. */
static void
a_full_receiver_makes_senders_wait(void **state)
{
    static const uint64_t lengths[][2] = {{8, 10}, {0, 1000}, {100, 20000}};

    (void)state;
    for (enum carrier carrier = 0; carrier < CARRIERS; carrier++) {
        struct pair pair;
        struct inbox inbox = {.lengths = {lengths, 3}};
        struct letter letter = {0};
        pair_make(&pair, carrier);
        rondo_transport *const from = pair.side[0];
        uint64_t sent = 0;
        uint64_t busy = 0;
        const uint64_t before = rondo_alloc_count();
        while (busy < 100) {
            const rondo_status status =
                send_number(from, &inbox.lengths, &letter, sent);
            assert_true(status >= 0);
            sent += status == RONDO_OK;
            busy += status == RONDO_BUSY;
            assert_true(sent < 1000);
            assert_int_equal(from->ops->progress(from), RONDO_OK);
        }
        /* Bounded: a buffer or two, whatever was tried. (Loopback's queue is heap.) */
        if (pair.world == NULL) {
            assert_true(rondo_alloc_count() - before <= 4);
        }
        assert_true(sent > 0);
        for (uint64_t polls = 0; inbox.arrived < sent; polls++) {
            assert_true(polls < POLLS_MAX);
            assert_int_equal(from->ops->progress(from), RONDO_OK);
            poll_inbox(&pair, &inbox);
        }
        assert_int_equal(inbox.arrived, sent);
        letter_end(&letter);
        pair_end(&pair);
    }
}

static void
impossible_messages_are_refused(void **state)
{
    static unsigned char data[MAX + 1];
    const rondo_am bad[] = {
        {.channel = RONDO_MESSAGE_CHANNELS},
        {.channel = UINT32_MAX},
        {.header = data, .header_bytes = MAX + 1},
        {.payload = data, .payload_bytes = MAX + 1},
        {.header = data, .header_bytes = MAX, .payload = data, .payload_bytes = 1},
        {.header = data, .header_bytes = 1, .payload = data, .payload_bytes = SIZE_MAX},
        {.header = data, .header_bytes = SIZE_MAX, .payload = data, .payload_bytes = 2},
    };

    (void)state;
    for (enum carrier carrier = 0; carrier < FAULT_OVER_SHM; carrier++) {
        struct pair pair;
        struct inbox inbox = {.lengths = {all_lengths, NLENGTHS}};
        pair_make(&pair, carrier);
        rondo_transport *const from = pair.side[0];
        for (uint64_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            assert_int_equal(from->ops->am_send(from, 1, &bad[i]), RONDO_ERR_ARG);
            assert_true(strlen(rondo_error_text()) > 20);
        }
        pass(&pair, &inbox, 5);
        pair_end(&pair);
    }
}

/* --- handlers that do more -------------------------------------------------------- */

struct answering {
    struct pair *pair;
    uint64_t asked;
    uint64_t answered;
    uint64_t nested;
};

static bool
count_answer(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
             const void *payload, size_t payload_bytes, void *user)
{
    struct answering *const answering = user;

    assert_int_equal(from, 1);
    assert_int_equal(channel, 5);
    assert_int_equal(header_bytes, sizeof(uint64_t));
    assert_memory_equal(header, &answering->answered, sizeof(uint64_t));
    assert_null(payload);
    assert_int_equal(payload_bytes, 0);
    answering->answered++;
    return true;
}

/* Answers from inside; polls from inside, which does nothing. */
static bool
answer(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
       const void *payload, size_t payload_bytes, void *user)
{
    struct answering *const answering = user;
    rondo_transport *const me = answering->pair->side[1];
    const rondo_am reply = {
        .channel = 5, .header = &answering->asked, .header_bytes = sizeof(uint64_t)};

    (void)channel;
    (void)header;
    (void)header_bytes;
    (void)payload;
    (void)payload_bytes;
    const uint64_t before = answering->asked;
    assert_int_equal(me->ops->am_poll(me, from, answer, user), RONDO_OK);
    assert_int_equal(answering->asked, before);
    if (me->ops->am_send(me, from, &reply) != RONDO_OK) {
        return false; /* no room: ask me again */
    }
    answering->asked++;
    return true;
}

static void
handlers_may_send(void **state)
{
    (void)state;
    for (enum carrier carrier = 0; carrier < CARRIERS; carrier++) {
        struct pair pair;
        struct lengths lengths = {all_lengths, NLENGTHS - 6};
        struct answering answering = {.pair = &pair};
        struct letter letter = {0};
        const uint64_t n = lengths.n * 2;
        pair_make(&pair, carrier);
        rondo_transport *const a = pair.side[0];
        rondo_transport *const b = pair.side[1];
        uint64_t sent = 0;
        for (uint64_t polls = 0; answering.answered < n; polls++) {
            assert_true(polls < POLLS_MAX);
            sent += sent < n && send_number(a, &lengths, &letter, sent) == RONDO_OK;
            assert_int_equal(a->ops->progress(a), RONDO_OK);
            assert_int_equal(b->ops->progress(b), RONDO_OK);
            assert_int_equal(b->ops->am_poll(b, 0, answer, &answering), RONDO_OK);
            assert_int_equal(a->ops->am_poll(a, 1, count_answer, &answering), RONDO_OK);
        }
        assert_int_equal(answering.asked, n);
        pair_end(&pair);
    }
}

/* --- what an enemy may send ------------------------------------------------------- */

/* The description as it is on the wire: mark, channel, header, payload. */
static uint64_t
token_of(uint64_t mark, uint64_t channel, uint64_t header, uint64_t payload)
{
    return mark << 48 | channel << 42 | header << 21 | payload;
}

#define MARK UINT64_C(0xa3e5)

struct forged {
    uint64_t token;
    uint64_t bytes;
};

static void
malformed_messages_are_refused(void **state)
{
    static unsigned char data[10000];
    const struct forged forged[] = {
        {0, 8},
        {UINT64_MAX, 8},
        {token_of(MARK + 1, 0, 0, 8), 8},
        {token_of(MARK, RONDO_MESSAGE_CHANNELS, 0, 8), 8},
        {token_of(MARK, 63, 0, 8), 8},
        {token_of(MARK, 0, 0, 9), 8},
        {token_of(MARK, 0, 0, 7), 8},
        {token_of(MARK, 0, 9, 0), 8},
        {token_of(MARK, 0, 0, 0), 8},
        {token_of(MARK, 0, 0, 8), 0},
        {token_of(MARK, 0, MAX, 1), 8},
        {token_of(MARK, 0, 1, MAX), 5000},
        {token_of(MARK, 0, 2 * MAX - 1, 2 * MAX - 1), 5000},
        {token_of(MARK, 0, 0, 10), 5000},
        {token_of(MARK, 0, 0, 4999), 5000},
        {token_of(MARK, 0, 0, 5001), 5000},
        {token_of(MARK, 0, 0, 128), 5000},
        {token_of(MARK, 0, 0, MAX), 5000},
    };

    (void)state;
    for (uint64_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        struct pair pair;
        struct inbox inbox = {.lengths = {all_lengths, NLENGTHS}};
        rondo_outgoing raw = {
            .data = data, .bytes = forged[i].bytes, .token = forged[i].token};
        rondo_status sent = RONDO_BUSY;
        rondo_status polled = RONDO_OK;
        pair_make(&pair, SHM_TINY);
        rondo_transport *const from = pair.side[0];
        rondo_transport *const to = pair.side[1];
        for (int polls = 0; polled == RONDO_OK && polls < 1000; polls++) {
            if (sent == RONDO_BUSY) {
                sent = from->ops->send(from, 1, RONDO_LANE_MESSAGE, &raw);
            }
            polled = to->ops->am_poll(to, 0, take, &inbox);
        }
        assert_int_equal(polled, RONDO_ERR_WIRE);
        assert_non_null(strstr(rondo_error_text(), "rank 0"));
        assert_int_equal(inbox.arrived, 0);
        pair_end(&pair);
    }
}

/* Pieces of two messages in one: a sender that gives up half-way and begins again. */
static void
a_message_that_changes_half_way_is_refused(void **state)
{
    static unsigned char data[1000];
    struct pair pair;
    struct inbox inbox = {.lengths = {all_lengths, NLENGTHS}};
    rondo_outgoing raw = {
        .data = data, .bytes = sizeof data, .token = token_of(MARK, 0, 0, 1000)};

    (void)state;
    pair_make(&pair, SHM_TINY);
    rondo_transport *const from = pair.side[0];
    rondo_transport *const to = pair.side[1];
    assert_int_equal(from->ops->send(from, 1, RONDO_LANE_MESSAGE, &raw), RONDO_BUSY);
    assert_int_equal(to->ops->am_poll(to, 0, take, &inbox), RONDO_OK);
    raw.token = token_of(MARK, 1, 0, 1000);
    (void)from->ops->send(from, 1, RONDO_LANE_MESSAGE, &raw);
    assert_int_equal(to->ops->am_poll(to, 0, take, &inbox), RONDO_ERR_WIRE);
    pair_end(&pair);
}

/* --- memory ----------------------------------------------------------------------- */

/* Each allocation on the way refused once: the call says so, and nothing is lost. */
static void
any_refused_allocation_is_survived(void **state)
{
    static const uint64_t lengths[][2] = {{8, 10}, {0, 600}, {0, 5000}, {0, 200000}};

    (void)state;
    for (enum carrier carrier = 0; carrier < CARRIERS; carrier++) {
        uint64_t refused = 1;
        for (uint64_t nth = 1; refused > 0; nth++) {
            struct pair pair;
            struct inbox inbox = {.lengths = {lengths, 4}};
            struct letter letter = {0};
            uint64_t sent = 0;
            refused = 0;
            pair_make(&pair, carrier);
            rondo_transport *const from = pair.side[0];
            rondo_transport *const to = pair.side[1];
            (void)rondo_alloc_fail_after(nth);
            for (uint64_t polls = 0; inbox.arrived < 8; polls++) {
                assert_true(polls < POLLS_MAX);
                const rondo_status status =
                    sent < 8 ? send_number(from, &inbox.lengths, &letter, sent)
                             : RONDO_BUSY;
                const rondo_status moved = from->ops->progress(from);
                const rondo_status polled = to->ops->am_poll(to, 0, take, &inbox);
                sent += status == RONDO_OK;
                refused += status == RONDO_ERR_MEMORY;
                refused += moved == RONDO_ERR_MEMORY;
                refused += polled == RONDO_ERR_MEMORY;
                assert_true(status >= 0 || status == RONDO_ERR_MEMORY);
                assert_true(moved >= 0 || moved == RONDO_ERR_MEMORY);
                assert_true(polled >= 0 || polled == RONDO_ERR_MEMORY);
                assert_string_equal(inbox.why, "");
            }
            /* An order that found nothing to refuse ends the loop. */
            refused += rondo_alloc_fail_after(0);
            assert_int_equal(sent, 8);
            pair_end(&pair);
            assert_true(nth < 10000);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_lengths_arrive),
        cmocka_unit_test(what_is_not_taken_is_offered_again),
        cmocka_unit_test(a_full_receiver_makes_senders_wait),
        cmocka_unit_test(impossible_messages_are_refused),
        cmocka_unit_test(handlers_may_send),
        cmocka_unit_test(malformed_messages_are_refused),
        cmocka_unit_test(a_message_that_changes_half_way_is_refused),
        cmocka_unit_test(any_refused_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
