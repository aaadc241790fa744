/* api_arguments.c - every argument that is not allowed is refused with a sentence that
 * names it, its value and what is allowed; the communicator is as good as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/troop.h"

#define RANKS 3

static int32_t in[RANKS * 8];
static int32_t out[RANKS * 8];

/* A sum over all ranks still works. */
static void
still_good(const troop *ranks)
{
    rondo_request *requests[RANKS];
    rondo_status statuses[RANKS];
    int32_t one[RANKS];
    int32_t sum[RANKS];

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        one[rank] = (int32_t)rank + 1;
        sum[rank] = 0;
        assert_int_equal(rondo_all_reduce_start(ranks->comm[rank], &one[rank],
                                                &sum[rank], 1, RONDO_INT32, RONDO_SUM,
                                                &requests[rank]),
                         RONDO_OK);
    }
    troop_finish(RANKS, requests, statuses);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(statuses[rank], RONDO_OK);
        assert_int_equal(sum[rank], 6);
    }
}

static void
refused(rondo_comm *comm, rondo_status status, const char *words)
{
    assert_int_equal(status, RONDO_ERR_ARG);
    assert_int_equal(rondo_status_group_of(status), RONDO_GROUP_ARGUMENT);
    if (strstr(rondo_comm_error_text(comm), words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", rondo_comm_error_text(comm), words);
    }
    if (comm != NULL && strstr(rondo_comm_error_text(comm), "rank 1 of 3") == NULL) {
        fail_msg("\"%s\" does not say which rank", rondo_comm_error_text(comm));
    }
    assert_int_equal(rondo_comm_state(comm), comm == NULL ? RONDO_ERR_ARG : RONDO_OK);
}

static void
collectives_refuse(void **state)
{
    troop ranks;

    (void)state;
    troop_make(RANKS, &ranks);
    rondo_comm *const c = ranks.comm[1];
    refused(c, rondo_all_reduce(c, NULL, out, 1, RONDO_INT32, RONDO_SUM), "in is null");
    refused(c, rondo_all_reduce(c, in, NULL, 1, RONDO_INT32, RONDO_SUM), "out is null");
    refused(c, rondo_all_reduce(c, in, out, 1, (rondo_dtype)10, RONDO_SUM),
            "dtype is 10; allowed is 0 to 9");
    refused(c, rondo_all_reduce(c, in, out, 1, (rondo_dtype)-1, RONDO_SUM),
            "dtype is -1");
    refused(c, rondo_all_reduce(c, in, out, 1, RONDO_INT32, (rondo_op)5),
            "op is 5; allowed is 0 to 4");
    refused(c, rondo_broadcast(c, in, out, 1, RONDO_INT32, 3),
            "root is 3; allowed is 0 to 2");
    refused(c, rondo_reduce(c, in, out, 1, RONDO_INT32, RONDO_SUM, UINT32_MAX),
            "root is -1; allowed is 0 to 2");
    refused(c, rondo_all_reduce(c, in, in + 1, 4, RONDO_INT32, RONDO_SUM), "overlap");
    refused(c, rondo_all_gather(c, out, out, 2, RONDO_INT32), "overlap");
    refused(c, rondo_reduce_scatter(c, in, in, 2, RONDO_INT32, RONDO_SUM), "overlap");
    refused(c, rondo_all_reduce(c, in, out, UINT64_MAX / 2, RONDO_INT32, RONDO_SUM),
            "more than memory can hold");
    refused(c, rondo_all_gather(c, in, out, UINT64_MAX / 8, RONDO_INT32),
            "more than memory can hold");
    refused(c, rondo_all_reduce_start(c, in, out, 1, RONDO_INT32, RONDO_SUM, NULL),
            "request is null");
    refused(NULL, rondo_all_reduce(NULL, in, out, 1, RONDO_INT32, RONDO_SUM),
            "comm is null");
    still_good(&ranks);
    troop_destroy(&ranks);
}

static void
pairs_and_messages_refuse(void **state)
{
    troop ranks;

    (void)state;
    troop_make(RANKS, &ranks);
    rondo_comm *const c = ranks.comm[1];
    refused(c, rondo_send(c, in, 1, RONDO_INT32, 3), "peer is 3; allowed is 0 to 2");
    refused(c, rondo_send(c, in, 1, RONDO_INT32, 1), "own rank 1");
    refused(c, rondo_recv(c, NULL, 1, RONDO_INT32, 0), "out is null");
    refused(c, rondo_send(c, NULL, 1, RONDO_INT32, 0), "in is null");
    refused(c, rondo_recv(c, out, 1, (rondo_dtype)77, 0), "dtype is 77");
    refused(c, rondo_message_send(c, 0, 16, NULL, 0, NULL, 0),
            "channel is 16; allowed is 0 to 15");
    refused(c, rondo_message_send(c, 9, 0, NULL, 0, NULL, 0), "peer is 9");
    refused(c, rondo_message_send(c, 0, 0, NULL, 4, NULL, 0), "header is null");
    refused(c, rondo_message_send(c, 0, 0, in, 4, NULL, 4), "payload is null");
    refused(c, rondo_message_send(c, 0, 0, in, 4, in, RONDO_MESSAGE_BYTES_MAX),
            "allowed is 1048576");
    refused(c, rondo_message_handler_set(c, 16, NULL, NULL), "channel is 16");
    still_good(&ranks);
    troop_destroy(&ranks);
}

static void
the_rest_refuses(void **state)
{
    rondo_comm_counters counters = {.size = 8};
    rondo_comm *part = NULL;
    troop ranks;

    (void)state;
    troop_make(RANKS, &ranks);
    rondo_comm *const c = ranks.comm[1];
    refused(c, rondo_comm_split(c, -2, 0, &part), "color is -2");
    refused(c, rondo_comm_split(c, 0, 0, NULL), "part is null");
    refused(c, rondo_mem_register(c, in), "rondo_mem_alloc");
    refused(c, rondo_mem_deregister(c, in), "not registered");
    refused(c, rondo_mem_deregister(c, NULL), "not registered");
    assert_int_equal(rondo_comm_counters_get(c, &counters), RONDO_ERR_ARG);
    assert_non_null(strstr(rondo_error_text(), "counters->size is 8"));
    assert_int_equal(rondo_comm_create(NULL, NULL), RONDO_ERR_ARG);
    assert_int_equal(rondo_mem_alloc(8, NULL), RONDO_ERR_ARG);
    assert_int_equal(rondo_request_test(NULL), RONDO_ERR_ARG);
    assert_int_equal(rondo_unique_id_create(NULL), RONDO_ERR_ARG);
    rondo_comm_destroy(NULL);
    rondo_mem_free(NULL);
    still_good(&ranks);
    troop_destroy(&ranks);
}

static void
configs_are_checked(void **state)
{
    rondo_comm_config config;
    rondo_unique_id id;
    rondo_comm *comm = NULL;

    (void)state;
    memset(&config, 0, sizeof config);
    assert_int_equal(rondo_comm_create(&config, &comm), RONDO_ERR_ARG);
    assert_non_null(strstr(rondo_error_text(), "config->size is 0"));
    rondo_comm_config_init(&config);
    config.rank = 4;
    config.nranks = 4;
    assert_int_equal(rondo_comm_create(&config, &comm), RONDO_ERR_ARG);
    memset(&id, 0x5a, sizeof id);
    config.rank = 0;
    config.id = &id;
    assert_int_equal(rondo_comm_create(&config, &comm), RONDO_ERR_ARG);
    assert_null(comm);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_refuse),
        cmocka_unit_test(pairs_and_messages_refuse),
        cmocka_unit_test(the_rest_refuses),
        cmocka_unit_test(configs_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
