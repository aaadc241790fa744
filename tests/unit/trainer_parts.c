/* trainer_parts.c - hashes, the comparison of ranks, and the ends of the
 * network: softmax with its loss, and the count of correct answers. */
#include "trainer/agree.h"
#include "trainer/evaluate.h"
#include "trainer/hash.h"
#include "trainer/layers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* --- hash ------------------------------------------------------------------------ */

static void
test_each_bit_changes_the_hash(void **state)
{
    (void)state;
    uint8_t bytes[600];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    /* Around the block of 256 bytes, and well beyond. */
    static const size_t count[] = {1, 3, 4, 255, 256, 257, 511, 512, 513, 600};
    for (size_t c = 0; c < sizeof count / sizeof count[0]; c++) {
        const uint64_t hash = hash_bytes(bytes, count[c]);
        assert_int_equal(hash, hash_bytes(bytes, count[c]));
        for (size_t bit = 0; bit < 8 * count[c]; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_not_equal(hash_bytes(bytes, count[c]), hash);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void
test_length_order_and_pairs_of_signs_count(void **state)
{
    (void)state;
    uint8_t zeros[600] = {0};
    for (size_t a = 0; a <= sizeof zeros; a++) {
        for (size_t b = 0; b < a; b++) {
            assert_int_not_equal(hash_bytes(zeros, a), hash_bytes(zeros, b));
        }
    }
    float vector[300];
    for (uint32_t i = 0; i < 300; i++) {
        vector[i] = (float)i + 1.0f;
    }
    const uint64_t hash = hash_bytes(vector, sizeof vector);
    for (uint32_t a = 0; a < 300; a++) {
        for (uint32_t b = 0; b < a; b++) {
            vector[a] = -vector[a];
            vector[b] = -vector[b];
            assert_int_not_equal(hash_bytes(vector, sizeof vector), hash);
            vector[a] = (float)b + 1.0f; /* And the two exchanged. */
            vector[b] = (float)a + 1.0f;
            assert_int_not_equal(hash_bytes(vector, sizeof vector), hash);
            vector[a] = (float)a + 1.0f;
            vector[b] = (float)b + 1.0f;
        }
    }
    assert_int_not_equal(hash_pair(1, 2), hash_pair(2, 1));
    assert_int_not_equal(hash_pair(0, 0), 0x123);
}

/* --- the rank that differs ------------------------------------------------------- */

static void
test_the_odd_rank_is_found(void **state)
{
    (void)state;
    uint64_t hash[9];
    for (uint32_t count = 1; count <= 9; count++) {
        for (uint32_t odd = 0; odd <= count; odd++) {
            for (uint32_t rank = 0; rank < count; rank++) {
                hash[rank] = rank == odd ? 7 : 5;
            }
            /* One of two: the higher rank is said to differ. */
            const bool alone = count == 1;
            const bool pair = count == 2 && odd < count;
            const uint32_t right = alone ? count : pair ? 1 : odd;
            assert_int_equal(agree_odd_rank(hash, count), right);
        }
    }
}

/* --- softmax, loss, answers ------------------------------------------------------ */

static void
test_softmax_of_extreme_values(void **state)
{
    (void)state;
    const layer_shape shape = {.n = 2, .m = 3};
    const uint8_t label[] = {0, 2};
    float z[] = {3e38f, -3e38f, 0.0f, 3e38f, 0.0f, -1000.0f};
    const double loss = softmax_loss(shape, label, 0.5f, z);
    /* 0 for the first; for the second the distance, a lone exponential being 1. */
    assert_true(fabs(loss / (0.5 * (3e38 + 1000.0)) - 1.0) < 1e-6);
    static const float expected[] = {0.0f, 0.0f, 0.0f, 0.5f, 0.0f, -0.5f};
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(z[i] == expected[i]);
    }
    float even[] = {-7.0f, -7.0f, -7.0f};
    const double third = softmax_loss((layer_shape){.n = 1, .m = 3}, label, 1.0f, even);
    assert_true(fabs(third - log(3.0)) < 1e-6);
    /* What is not a number must show, not vanish. */
    float broken[] = {NAN, 1.0f, 2.0f};
    assert_true(
        isnan(softmax_loss((layer_shape){.n = 1, .m = 3}, label, 1.0f, broken)));
    float infinite[] = {1.0f, INFINITY, 2.0f};
    const double endless =
        softmax_loss((layer_shape){.n = 1, .m = 3}, label, 1.0f, infinite);
    assert_true(isnan(endless) || isinf(endless));
}

static void
test_the_rectifier_keeps_what_is_not_a_number(void **state)
{
    (void)state;
    const layer_shape shape = {.n = 1, .m = 3};
    const float b[] = {0.0f, 1.0f, -1.0f};
    float z[] = {NAN, -3.0f, 3.0f};
    bias_relu_forward(shape, b, z);
    assert_true(isnan(z[0]));
    assert_true(z[1] == 0.0f);
    assert_true(z[2] == 2.0f);
}

/* Each share of the test images counts what it should, whatever the number of
 * shares. */
static void
test_shares_of_the_evaluation_add_up(void **state)
{
    (void)state;
    enum { MOST = 2 * EVALUATE_CHUNK + 37 };
    static uint8_t pixel[MOST];
    static uint8_t label[MOST];
    /* A network that answers 1 for bright pixels and 0 for dark ones. */
    model net = model_begin(1);
    model_add_linear(&net, 2);
    const float parameter[] = {-1.0f, 1.0f, 0.0f, 0.0f};
    problem why;
    tape t;
    assert_true(tape_create(&net, EVALUATE_CHUNK, &t, &why));
    for (uint32_t images = 1; images <= MOST; images += 59) {
        uint64_t right = 0;
        for (uint32_t i = 0; i < images; i++) {
            const bool bright = i % 3 == 0;
            pixel[i] = bright ? 255 : 0;
            label[i] = i % 2;
            right += bright == (i % 2 == 1);
        }
        const data_part part = {
            .images = images, .pixels = 1, .pixel = pixel, .label = label};
        for (uint32_t shares = 1; shares <= 8; shares++) {
            uint64_t sum = 0;
            for (uint32_t share = 0; share < shares; share++) {
                sum += evaluate_correct(
                    &net, parameter, &part,
                    (evaluate_share){.share = share, .shares = shares}, &t);
            }
            assert_int_equal(sum, right);
        }
    }
    tape_free(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_bit_changes_the_hash),
        cmocka_unit_test(test_length_order_and_pairs_of_signs_count),
        cmocka_unit_test(test_the_odd_rank_is_found),
        cmocka_unit_test(test_softmax_of_extreme_values),
        cmocka_unit_test(test_the_rectifier_keeps_what_is_not_a_number),
        cmocka_unit_test(test_shares_of_the_evaluation_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
