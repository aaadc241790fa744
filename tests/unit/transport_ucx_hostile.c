/* transport_ucx_hostile.c - parcels as an enemy would write them: dropped, or refused
 * by the rank they are for, and nobody else is hurt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/hash.h"
#include "lib/fakehosts.h"
#include "transport/ucx/parcel.h"

#define COMM UINT64_C(0x1122334455667788)

/* Rank 1 is the victim; parcels seem to come from rank 0. */
struct stage {
    fakehosts hosts;
    rondo_transport *victim;
};

static void
stage_make(struct stage *stage)
{
    *stage = (struct stage){
        .hosts = {.nwires = 2, .nranks = 3, .comm = COMM, .window_bytes = 65536}};
    fakehosts_make(&stage->hosts);
    stage->victim = stage->hosts.ranks[1];
}

static rondo_parcel_header
honest(rondo_parcel_kind kind)
{
    return (rondo_parcel_header){.magic = RONDO_PARCEL_MAGIC,
                                 .version = RONDO_PARCEL_VERSION,
                                 .kind = (uint8_t)kind,
                                 .comm = COMM,
                                 .from = 0,
                                 .to = 1};
}

static void
throw_in(const rondo_parcel_header *header, uint64_t bytes)
{
    static const unsigned char data[70000];

    fakewire_inject(1, header, sizeof *header, data, bytes);
}

static rondo_status
look(struct stage *stage)
{
    rondo_incoming piece;
    rondo_status status = RONDO_BUSY;

    for (int i = 0; i < 200 && status == RONDO_BUSY; i++) {
        status = stage->victim->ops->peek(stage->victim, 0, RONDO_LANE_COLL, &piece);
    }
    return status;
}

/* An honest exchange between the other ranks still works. */
static void
others_are_well(struct stage *stage)
{
    rondo_transport *const a = stage->hosts.ranks[0];
    rondo_transport *const c = stage->hosts.ranks[2];
    rondo_outgoing message = {.data = "x", .bytes = 1, .token = 6};
    rondo_incoming piece;
    int calls = 0;

    assert_int_equal(a->ops->send(a, 2, RONDO_LANE_COLL, &message), RONDO_OK);
    while (c->ops->peek(c, 0, RONDO_LANE_COLL, &piece) == RONDO_BUSY) {
        assert_true(++calls < 1000);
    }
    assert_int_equal(piece.token, 6);
    c->ops->consume(c, 0, RONDO_LANE_COLL);
}

/* A change of an honest parcel of 8 bytes, and what becomes of it. */
struct change {
    size_t at;
    size_t width;
    uint64_t value;
    rondo_status want; /* RONDO_BUSY: dropped */
};

#define AT(field) \
    offsetof(rondo_parcel_header, field), sizeof((rondo_parcel_header *)NULL)->field

static const struct change changes[] = {
    {AT(magic), RONDO_PARCEL_MAGIC, RONDO_OK},
    {AT(magic), 0x520d, RONDO_BUSY},
    {AT(magic), 0, RONDO_BUSY},
    {AT(version), 0, RONDO_BUSY},
    {AT(version), 2, RONDO_BUSY},
    {AT(kind), 0, RONDO_BUSY},
    {AT(kind), RONDO_PARCEL_CREDIT, RONDO_BUSY},
    {AT(kind), 3, RONDO_BUSY},
    {AT(lane), RONDO_LANES, RONDO_BUSY},
    {AT(lane), 255, RONDO_BUSY},
    {AT(flags), 0, RONDO_ERR_WIRE},
    {AT(flags), 2, RONDO_BUSY},
    {AT(flags), 3, RONDO_BUSY},
    {AT(flags), 255, RONDO_BUSY},
    {AT(reserved), 1, RONDO_BUSY},
    {AT(comm), COMM + 1, RONDO_BUSY},
    {AT(comm), 0, RONDO_BUSY},
    {AT(from), 1, RONDO_BUSY},
    {AT(from), 3, RONDO_BUSY},
    {AT(from), UINT32_MAX, RONDO_BUSY},
    {AT(to), 0, RONDO_BUSY},
    {AT(to), 3, RONDO_BUSY},
    {AT(to), UINT32_MAX, RONDO_BUSY},
    {AT(token), 12345, RONDO_OK},
    {AT(total), 7, RONDO_BUSY},
    {AT(total), 0, RONDO_BUSY},
    {AT(total), 9, RONDO_ERR_WIRE},
    {AT(total), UINT64_MAX, RONDO_ERR_WIRE},
    {AT(sequence), 1, RONDO_ERR_WIRE},
    {AT(sequence), UINT64_MAX, RONDO_ERR_WIRE},
    {AT(credit), 1, RONDO_ERR_WIRE},
    {AT(credit), UINT64_MAX, RONDO_ERR_WIRE},
};

static void
every_field_is_checked(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct stage stage;
        rondo_parcel_header header = honest(RONDO_PARCEL_DATA);
        stage_make(&stage);
        header.flags = RONDO_PARCEL_LAST;
        header.total = 8;
        memcpy((unsigned char *)&header + changes[i].at, &changes[i].value,
               changes[i].width);
        throw_in(&header, 8);
        assert_int_equal(look(&stage), changes[i].want);
        assert_int_equal(rondo_ucx_dropped(stage.hosts.ucx[1]),
                         changes[i].want == RONDO_BUSY && header.to != 0 ? 1
                         : header.to == 0                                ? 1
                                                                         : 0);
        if (changes[i].want == RONDO_ERR_WIRE) {
            assert_non_null(strstr(rondo_error_text(), "rank 0"));
            rondo_outgoing message = {0};
            assert_int_equal(
                stage.victim->ops->send(stage.victim, 2, RONDO_LANE_PAIR, &message),
                RONDO_ERR_WIRE);
            assert_int_equal(stage.victim->ops->progress(stage.victim), RONDO_ERR_WIRE);
        }
        others_are_well(&stage);
        fakehosts_end(&stage.hosts);
    }
}

/* Headers of every other length than the one there is. */
static void
headers_of_other_lengths_are_dropped(void **state)
{
    unsigned char bytes[RONDO_WIRE_HEADER_MAX];
    struct stage stage;
    rondo_parcel_header header = honest(RONDO_PARCEL_DATA);

    (void)state;
    stage_make(&stage);
    header.flags = RONDO_PARCEL_LAST;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &header, sizeof header);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        if (length != sizeof header) {
            fakewire_inject(1, bytes, length, NULL, 0);
        }
    }
    assert_int_equal(look(&stage), RONDO_BUSY);
    assert_int_equal(rondo_ucx_dropped(stage.hosts.ucx[1]), sizeof bytes);
    others_are_well(&stage);
    fakehosts_end(&stage.hosts);
}

/* The same number twice, one left out; pieces that do not belong together; a piece in
 * the middle of an odd length; more than the window: each after honest ones. */
struct second {
    const char *what;
    rondo_parcel_header header;
    uint64_t bytes;
};

#define NEXT                                                      \
    .magic = RONDO_PARCEL_MAGIC, .version = RONDO_PARCEL_VERSION, \
    .kind = RONDO_PARCEL_DATA, .comm = COMM, .to = 1, .token = 5

static const struct second seconds[] = {
    {"out of turn", {NEXT, .total = 1000, .sequence = 0}, 64},
    {"out of turn", {NEXT, .total = 1000, .sequence = 2}, 64},
    {"different messages", {NEXT, .total = 1001, .sequence = 1}, 64},
    {"longer than", {NEXT, .total = 1000, .sequence = 1}, 960},
    {"longer than", {NEXT, .total = 1000, .sequence = 1, .flags = 1}, 937},
    {"should not", {NEXT, .total = 1000, .sequence = 1, .flags = 1}, 64},
    {"should not", {NEXT, .total = 1000, .sequence = 1}, 936},
    {"impossible length", {NEXT, .total = 1000, .sequence = 1}, 65},
    {"impossible length", {NEXT, .total = 1000, .sequence = 1}, 0},
    {NULL, {NEXT, .total = 1000, .sequence = 1}, 64},
    {NULL, {NEXT, .total = 1000, .sequence = 1, .flags = 1}, 936},
};

static void
pieces_must_belong_together(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        struct stage stage;
        const rondo_parcel_header first = {NEXT, .total = 1000};
        rondo_incoming piece;
        stage_make(&stage);
        throw_in(&first, 64);
        throw_in(&seconds[i].header, seconds[i].bytes);
        assert_int_equal(look(&stage), RONDO_OK);
        stage.victim->ops->consume(stage.victim, 0, RONDO_LANE_COLL);
        const rondo_status status = look(&stage);
        if (seconds[i].what == NULL) {
            assert_int_equal(status, RONDO_OK);
            assert_int_equal(
                stage.victim->ops->peek(stage.victim, 0, RONDO_LANE_COLL, &piece),
                RONDO_OK);
            assert_int_equal(piece.bytes, seconds[i].bytes);
        } else {
            assert_int_equal(status, RONDO_ERR_WIRE);
            assert_non_null(strstr(rondo_error_text(), seconds[i].what));
        }
        fakehosts_end(&stage.hosts);
    }
}

/* A sender that pays no heed to the window is refused before it has filled memory. */
static void
more_than_the_window_is_refused(void **state)
{
    static const uint64_t lengths[] = {0,     8,     128,   129,  8000,
                                       40000, 65536, 65537, 70000};

    (void)state;
    for (uint64_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const uint64_t fits = 65536 / rondo_parcel_charge(lengths[i]);
        struct stage stage;
        stage_make(&stage);
        for (uint64_t k = 0; k < fits + 3; k++) {
            rondo_parcel_header header = honest(RONDO_PARCEL_DATA);
            header.flags = RONDO_PARCEL_LAST;
            header.total = lengths[i];
            header.sequence = k;
            throw_in(&header, lengths[i]);
        }
        for (int k = 0; k < 1000; k++) {
            (void)stage.victim->ops->progress(stage.victim);
        }
        assert_int_equal(stage.victim->ops->progress(stage.victim), RONDO_ERR_WIRE);
        assert_non_null(strstr(rondo_error_text(), "room"));
        assert_int_equal(fakewire_look(1).kept,
                         lengths[i] > RONDO_PARCEL_NEAR ? fits : 0);
        /* What came before can be consumed. */
        for (uint64_t k = 0; k < fits; k++) {
            assert_int_equal(look(&stage), RONDO_OK);
            stage.victim->ops->consume(stage.victim, 0, RONDO_LANE_COLL);
        }
        assert_int_equal(look(&stage), RONDO_ERR_WIRE);
        fakehosts_end(&stage.hosts);
    }
}

/* Credit for what was not sent, and credit that is taken back. */
static void
impossible_credit_is_refused(void **state)
{
    static const uint64_t credits[][2] = {{257, 257}, {256, 255}, {1, 0}, {0, 512}};

    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        struct stage stage;
        rondo_outgoing message = {.data = "12345678", .bytes = 8};
        stage_make(&stage);
        rondo_transport *const victim = stage.victim;
        assert_int_equal(victim->ops->send(victim, 0, RONDO_LANE_COLL, &message),
                         RONDO_OK);
        for (int k = 0; k < 2; k++) {
            rondo_parcel_header header = honest(RONDO_PARCEL_CREDIT);
            header.credit = credits[i][k];
            throw_in(&header, 0);
        }
        assert_int_equal(look(&stage), RONDO_ERR_WIRE);
        assert_non_null(strstr(rondo_error_text(), "consumed"));
        fakehosts_end(&stage.hosts);
    }
}

/* Noise: headers that are nearly right, while the victim does what it always does. */
static rondo_parcel_header
nearly(uint64_t *random, uint64_t *bytes)
{
    rondo_parcel_header header = honest(RONDO_PARCEL_DATA);
    unsigned char *const at = (unsigned char *)&header;
    const uint64_t word = rondo_hash_mix(*random += 3);

    *bytes = word % 5 == 0 ? 0 : word % 300;
    header.kind = (uint8_t)(word % 7 == 0 ? RONDO_PARCEL_CREDIT : RONDO_PARCEL_DATA);
    header.lane = (uint8_t)(word / 7 % 4);
    header.flags = (uint8_t)(word / 31 % 5 != 0);
    header.total = header.kind == RONDO_PARCEL_DATA ? *bytes : 0;
    header.sequence = word / 64 % 3;
    if (word % 11 == 0) {
        at[rondo_hash_mix(word) % sizeof header] ^= (unsigned char)(1U << word % 8);
    }
    return header;
}

static bool
take(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
     const void *payload, size_t payload_bytes, void *user)
{
    (void)from;
    (void)channel;
    (void)header;
    (void)payload;
    *(uint64_t *)user += header_bytes + payload_bytes;
    return true;
}

static void
allowed(rondo_status status)
{
    assert_true(status == RONDO_OK || status == RONDO_BUSY || status == RONDO_ERR_WIRE);
}

static void
noise_is_survived(void **state)
{
    uint64_t sum = 0;
    uint64_t broken = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        uint64_t random = seed * 1000003;
        struct stage stage;
        stage_make(&stage);
        rondo_transport *const victim = stage.victim;
        for (int i = 0; i < 60; i++) {
            uint64_t bytes = 0;
            const rondo_parcel_header header = nearly(&random, &bytes);
            rondo_outgoing message = {.data = &sum, .bytes = 8};
            rondo_incoming piece;
            throw_in(&header, bytes);
            allowed(victim->ops->progress(victim));
            allowed(victim->ops->am_poll(victim, 0, take, &sum));
            allowed(victim->ops->send(victim, 0, RONDO_LANE_PAIR, &message));
            const rondo_status status =
                victim->ops->peek(victim, 0, RONDO_LANE_COLL, &piece);
            allowed(status);
            if (status == RONDO_OK) {
                sum += piece.bytes;
                victim->ops->consume(victim, 0, RONDO_LANE_COLL);
            }
        }
        broken += victim->ops->progress(victim) == RONDO_ERR_WIRE;
        others_are_well(&stage);
        fakehosts_end(&stage.hosts);
    }
    assert_true(sum > 0);
    assert_true(broken > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_checked),
        cmocka_unit_test(headers_of_other_lengths_are_dropped),
        cmocka_unit_test(pieces_must_belong_together),
        cmocka_unit_test(more_than_the_window_is_refused),
        cmocka_unit_test(impossible_credit_is_refused),
        cmocka_unit_test(noise_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
