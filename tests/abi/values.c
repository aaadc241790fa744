/*
 * values.c - what compiled programs rely on: numbers of enums, layouts of structures.
 *
 * A line here changes only together with the version of the shared library. Structures
 * that begin with their size may grow at their end: then add lines, change none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rondo/rondo.h>

typedef struct pin {
    const char *name;
    long long value;
    long long wanted;
} pin;

/* clang-format off */
#define PIN(name, wanted) {#name, (long long)(name), (wanted)}

static const pin numbers[] = {
    PIN(RONDO_OK, 0),
    PIN(RONDO_BUSY, 1),
    PIN(RONDO_ERR_ARG, -1),
    PIN(RONDO_ERR_UNSUPPORTED, -2),
    PIN(RONDO_ERR_STATE, -3),
    PIN(RONDO_ERR_PEER, -20),
    PIN(RONDO_ERR_TIMEOUT, -21),
    PIN(RONDO_ERR_MISMATCH, -22),
    PIN(RONDO_ERR_ABORTED, -23),
    PIN(RONDO_ERR_WIRE, -24),
    PIN(RONDO_ERR_SYSTEM, -40),
    PIN(RONDO_ERR_MEMORY, -41),
    PIN(RONDO_ERR_START, -42),
    PIN(RONDO_ERR_FORKED, -43),
    PIN(RONDO_ERR_INTERNAL, -44),
    PIN(RONDO_GROUP_NONE, 0),
    PIN(RONDO_GROUP_ARGUMENT, 1),
    PIN(RONDO_GROUP_BROKEN, 2),
    PIN(RONDO_GROUP_SYSTEM, 3),
    PIN(RONDO_INT8, 0),
    PIN(RONDO_UINT8, 1),
    PIN(RONDO_INT32, 2),
    PIN(RONDO_UINT32, 3),
    PIN(RONDO_INT64, 4),
    PIN(RONDO_UINT64, 5),
    PIN(RONDO_FP16, 6),
    PIN(RONDO_FP32, 7),
    PIN(RONDO_FP64, 8),
    PIN(RONDO_BF16, 9),
    PIN(RONDO_SUM, 0),
    PIN(RONDO_PROD, 1),
    PIN(RONDO_MAX, 2),
    PIN(RONDO_MIN, 3),
    PIN(RONDO_AVG, 4),
    PIN(RONDO_LOG_ERROR, 0),
    PIN(RONDO_LOG_WARN, 1),
    PIN(RONDO_LOG_INFO, 2),
    PIN(RONDO_LOG_DEBUG, 3),
    PIN(RONDO_SYNC_ALL_REDUCE, 0),
    PIN(RONDO_SYNC_NONE, 1),
    PIN(RONDO_FROM_ENV, 4294967295),
    PIN(RONDO_NO_COLOR, -1),
    PIN(RONDO_MESSAGE_BYTES_MAX, 1048576),
    PIN(RONDO_MESSAGE_CHANNELS, 16),
};

static const pin layouts[] = {
    PIN(sizeof(rondo_status), 4),
    PIN(sizeof(rondo_dtype), 4),
    PIN(sizeof(rondo_op), 4),
    PIN(sizeof(rondo_unique_id), 128),
    PIN(offsetof(rondo_comm_config, size), 0),
    PIN(offsetof(rondo_comm_config, rank), 8),
    PIN(offsetof(rondo_comm_config, nranks), 12),
    PIN(offsetof(rondo_comm_config, id), 16),
    PIN(offsetof(rondo_comm_config, name), 24),
    PIN(offsetof(rondo_comm_config, start_timeout_ms), 32),
    PIN(offsetof(rondo_comm_config, op_timeout_ms), 40),
    PIN(offsetof(rondo_comm_counters, size), 0),
    PIN(offsetof(rondo_comm_counters, operations), 8),
    PIN(offsetof(rondo_comm_counters, sent_bytes), 16),
    PIN(offsetof(rondo_comm_counters, received_bytes), 24),
    PIN(offsetof(rondo_comm_counters, shm_sent_bytes), 32),
    PIN(offsetof(rondo_comm_counters, mapped_bytes), 40),
    PIN(offsetof(rondo_comm_counters, schedules_built), 48),
    PIN(offsetof(rondo_sync_config, size), 0),
    PIN(offsetof(rondo_sync_config, mode), 8),
    PIN(offsetof(rondo_sync_config, canonical), 12),
    PIN(offsetof(rondo_sync_config, first_bucket_bytes), 16),
    PIN(offsetof(rondo_sync_config, bucket_bytes), 24),
    PIN(offsetof(rondo_sync_config, step_timeout_ms), 32),
    PIN(offsetof(rondo_sync_step_info, size), 0),
    PIN(offsetof(rondo_sync_step_info, step), 8),
    PIN(offsetof(rondo_sync_step_info, payload_bytes), 16),
    PIN(offsetof(rondo_sync_step_info, wait_ns), 24),
    PIN(offsetof(rondo_sync_step_info, communication_ns), 32),
};
/* clang-format on */

static void
hold(const pin *pins, size_t count)
{
    int moved = 0;

    for (size_t i = 0; i < count; i++) {
        if (pins[i].value != pins[i].wanted) {
            print_error("%s is %lld, was promised as %lld\n", pins[i].name,
                        pins[i].value, pins[i].wanted);
            moved++;
        }
    }
    assert_int_equal(moved, 0);
}

static void
numbers_stay(void **state)
{
    (void)state;
    hold(numbers, sizeof(numbers) / sizeof(numbers[0]));
}

static void
layouts_stay(void **state)
{
    (void)state;
    hold(layouts, sizeof(layouts) / sizeof(layouts[0]));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stay),
        cmocka_unit_test(layouts_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
