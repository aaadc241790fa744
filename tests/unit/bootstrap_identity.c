/* bootstrap_identity.c - who we are: environment, config, secrets, unique ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "bootstrap/identity.h"
#include "bootstrap/server.h"
#include "lib/meet.h"
#include "lib/peers.h"

static const char *const variables[] = {"RANK",
                                        "WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "RONDO_PORT",
                                        "TORCHELASTIC_USE_AGENT_STORE",
                                        "RONDO_SECRET",
                                        "RONDO_SECRET_FILE",
                                        "RONDO_START_TIMEOUT",
                                        "RONDO_INTERFACE",
                                        "RONDO_HOST_ID"};

static uint32_t alone; /* threads without a service */

static int
clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        (void)unsetenv(variables[i]);
    }
    return 0;
}

/* "A=1 B=2" into the environment. */
static void
set_all(const char *text)
{
    char words[256];
    char *rest = NULL;

    (void)clean(NULL);
    (void)snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        char *const value = strchr(word, '=');
        *value = '\0';
        assert_int_equal(setenv(word, value + 1, 1), 0);
    }
}

static rondo_comm_config
config_of(uint32_t rank, uint32_t nranks)
{
    return (rondo_comm_config){
        .size = sizeof(rondo_comm_config), .rank = rank, .nranks = nranks};
}

static const struct {
    const char *environment;
    uint32_t rank, nranks; /* in the config */
    uint32_t want_rank, want_nranks;
    const char *host;
    uint16_t port;
} working[] = {
    {"", RONDO_FROM_ENV, RONDO_FROM_ENV, 0, 1, "", 0},
    {"RANK=0 WORLD_SIZE=1", RONDO_FROM_ENV, RONDO_FROM_ENV, 0, 1, "", 0},
    {"RANK=3 WORLD_SIZE=8 MASTER_PORT=29500", RONDO_FROM_ENV, RONDO_FROM_ENV, 3, 8,
     "127.0.0.1", 29500},
    {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=host.example MASTER_PORT=1", RONDO_FROM_ENV,
     RONDO_FROM_ENV, 0, 2, "host.example", 1},
    {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=65535", RONDO_FROM_ENV,
     RONDO_FROM_ENV, 1, 2, "::1", 65535},
    {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=[fd00::1] MASTER_PORT=5", RONDO_FROM_ENV,
     RONDO_FROM_ENV, 1, 2, "fd00::1", 5},
    {"RANK=1 WORLD_SIZE=2 MASTER_ADDR=[fe80::1%eth0] MASTER_PORT=5", RONDO_FROM_ENV,
     RONDO_FROM_ENV, 1, 2, "fe80::1%eth0", 5},
    {"RANK=1 WORLD_SIZE=2 MASTER_PORT=29500 RONDO_PORT=4000", RONDO_FROM_ENV,
     RONDO_FROM_ENV, 1, 2, "127.0.0.1", 4000},
    {"RANK=1 WORLD_SIZE=2 MASTER_PORT=29500 TORCHELASTIC_USE_AGENT_STORE=True",
     RONDO_FROM_ENV, RONDO_FROM_ENV, 1, 2, "127.0.0.1", 29501},
    {"RANK=1 WORLD_SIZE=2 MASTER_PORT=29500 RONDO_PORT=4000 "
     "TORCHELASTIC_USE_AGENT_STORE=True",
     RONDO_FROM_ENV, RONDO_FROM_ENV, 1, 2, "127.0.0.1", 4000},
    {"RANK=7 WORLD_SIZE=8 MASTER_PORT=5", 2, 4, 2, 4, "127.0.0.1", 5},
    {"WORLD_SIZE=8 MASTER_PORT=5", 2, RONDO_FROM_ENV, 2, 8, "127.0.0.1", 5},
    {"RANK=2 MASTER_PORT=5", RONDO_FROM_ENV, 4, 2, 4, "127.0.0.1", 5},
    {"", 0, 1, 0, 1, "", 0},
};

static void
environments_that_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof working / sizeof working[0]; i++) {
        const rondo_comm_config config = config_of(working[i].rank, working[i].nranks);
        rondo_meeting meeting;
        set_all(working[i].environment);
        assert_int_equal(rondo_meeting_from_config(&config, &meeting), RONDO_OK);
        assert_int_equal(meeting.rank, working[i].want_rank);
        assert_int_equal(meeting.nranks, working[i].want_nranks);
        assert_string_equal(meeting.host, working[i].host);
        assert_int_equal(meeting.port, working[i].port);
        assert_int_equal(meeting.serve,
                         working[i].want_nranks > 1 && working[i].want_rank == 0);
        assert_false(meeting.by_id);
        assert_false(rondo_key_given(&meeting.secret));
        const uint64_t left = meeting.deadline_ns - rondo_now_ns();
        assert_true(left > 50 * RONDO_NS_PER_S && left <= 60 * RONDO_NS_PER_S);
    }
    clean(NULL);
    rondo_meeting meeting;
    assert_int_equal(rondo_meeting_from_config(NULL, &meeting), RONDO_OK);
    assert_int_equal(meeting.nranks, 1);
}

static const struct {
    const char *environment;
    uint32_t rank, nranks;
    const char *parts[3]; /* of the text */
} failing[] = {
    {"WORLD_SIZE=2 MASTER_PORT=5",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RANK", "WORLD_SIZE", "not"}},
    {"RANK=1 MASTER_PORT=5",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RANK", "WORLD_SIZE", "not"}},
    {"RANK=2 WORLD_SIZE=2 MASTER_PORT=5",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RANK is 2", "2 ranks", "0 to 1"}},
    {"RANK=-1 WORLD_SIZE=2 MASTER_PORT=5",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RANK", "\"-1\"", "allowed"}},
    {"RANK=x WORLD_SIZE=2 MASTER_PORT=5",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RANK", "\"x\"", "allowed"}},
    {"RANK=0 WORLD_SIZE=0 MASTER_PORT=5",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"WORLD_SIZE", "\"0\"", "from 1"}},
    {"RANK=0 WORLD_SIZE=99999999999",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"WORLD_SIZE", "99999999999", "65536"}},
    {"RANK=0 WORLD_SIZE=2",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"MASTER_PORT", "RONDO_PORT", "allowed"}},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=0",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"MASTER_PORT", "\"0\"", "from 1"}},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=65536",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"MASTER_PORT", "\"65536\"", "65535"}},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=65535 TORCHELASTIC_USE_AGENT_STORE=True",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"MASTER_PORT", "\"65535\"", "65534"}},
    {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=host:29500 MASTER_PORT=5",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"MASTER_ADDR", "\"host:29500\"", "without a port"}},
    {"RANK=0 WORLD_SIZE=2 MASTER_ADDR=[::1]:29500 MASTER_PORT=5",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"MASTER_ADDR", "\"[::1]:29500\"", "without a port"}},
    {"RANK=0 WORLD_SIZE=2 RONDO_PORT=http",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RONDO_PORT", "\"http\"", "allowed"}},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=5 RONDO_START_TIMEOUT=soon",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RONDO_START_TIMEOUT", "\"soon\"", "allowed"}},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=5 RONDO_SECRET=short",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RONDO_SECRET", "5 characters", "16"}},
    {"RANK=0 WORLD_SIZE=2 MASTER_PORT=5 RONDO_SECRET_FILE=/no/such/file",
     RONDO_FROM_ENV,
     RONDO_FROM_ENV,
     {"RONDO_SECRET_FILE", "/no/such/file", "No such file"}},
    {"MASTER_PORT=5", 4, 4, {"rank is 4", "nranks", "0 to 3"}},
    {"MASTER_PORT=5", 0, 0, {"nranks", "0", "allowed"}},
    {"MASTER_PORT=5", 0, 100000, {"nranks is 100000", "65536", "allowed"}},
    {"WORLD_SIZE=2 MASTER_PORT=5",
     3,
     RONDO_FROM_ENV,
     {"rank is 3", "WORLD_SIZE", "0 to 1"}},
};

static void
environments_that_do_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++) {
        const rondo_comm_config config = config_of(failing[i].rank, failing[i].nranks);
        rondo_meeting meeting = {.port = 4711};
        set_all(failing[i].environment);
        assert_int_equal(rondo_meeting_from_config(&config, &meeting), RONDO_ERR_ARG);
        for (uint32_t k = 0; k < 3; k++) {
            if (strstr(rondo_error_text(), failing[i].parts[k]) == NULL) {
                fail_msg("\"%s\" is not in \"%s\"", failing[i].parts[k],
                         rondo_error_text());
            }
        }
        assert_null(strstr(rondo_error_text(), "short"));
        assert_int_equal(meeting.port, 4711);
    }
    static char endless[400];
    memset(endless, 'x', sizeof endless - 1);
    set_all("RANK=0 WORLD_SIZE=2 MASTER_PORT=5");
    (void)setenv("MASTER_ADDR", endless, 1);
    rondo_meeting meeting;
    assert_int_equal(rondo_meeting_from_config(NULL, &meeting), RONDO_ERR_ARG);
    assert_non_null(strstr(rondo_error_text(), "MASTER_ADDR is 399 characters"));
}

static void
deadlines(void **state)
{
    const struct {
        const char *environment;
        uint64_t config_ms;
        uint64_t want_ms;
    } rows[] = {{"", 0, 60000},
                {"RONDO_START_TIMEOUT=2.5", 0, 2500},
                {"RONDO_START_TIMEOUT=2.5", 700, 700}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rondo_comm_config config = config_of(0, 1);
        rondo_meeting meeting;
        set_all(rows[i].environment);
        config.start_timeout_ms = rows[i].config_ms;
        const uint64_t before = rondo_deadline_ns(rows[i].want_ms);
        assert_int_equal(rondo_meeting_from_config(&config, &meeting), RONDO_OK);
        assert_true(meeting.deadline_ns >= before &&
                    meeting.deadline_ns <= rondo_deadline_ns(rows[i].want_ms));
    }
}

static rondo_status
read_secret(const char *path, rondo_key *secret)
{
    (void)clean(NULL);
    (void)setenv("RONDO_SECRET_FILE", path, 1);
    return rondo_secret_read(secret);
}

static void
write_file(const char *path, const char *text, size_t bytes, mode_t mode)
{
    (void)unlink(path);
    FILE *const file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fchmod(fileno(file), mode), 0);
    assert_int_equal(fclose(file), 0);
}

static void
secrets(void **state)
{
    char folder[] = "/tmp/rondo-test-XXXXXX";
    char path[64];
    static char endless[5000];
    rondo_key from_text;
    rondo_key other;
    rondo_key from_file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/secret", folder);
    set_all("RONDO_SECRET=0123456789abcdef");
    assert_int_equal(rondo_secret_read(&from_text), RONDO_OK);
    assert_true(rondo_key_given(&from_text));
    set_all("RONDO_SECRET=0123456789abcdeg");
    assert_int_equal(rondo_secret_read(&other), RONDO_OK);
    assert_memory_not_equal(&from_text, &other, sizeof other);

    /* A file with the same text, with or without a line end, is the same secret. */
    const char *const texts[] = {"0123456789abcdef", "0123456789abcdef\n",
                                 "0123456789abcdef\r\n"};
    for (uint32_t i = 0; i < 3; i++) {
        write_file(path, texts[i], strlen(texts[i]), 0600);
        assert_int_equal(read_secret(path, &from_file), RONDO_OK);
        assert_memory_equal(&from_file, &from_text, sizeof from_file);
    }
    for (mode_t mode = 0; mode <= 0777; mode++) {
        /* Root may read what its mode forbids; others then fail to open it. */
        write_file(path, texts[0], strlen(texts[0]), mode);
        const bool open_to_others = (mode & 0026) != 0;
        const rondo_status status = read_secret(path, &from_file);
        assert_true(open_to_others ? status == RONDO_ERR_ARG
                                   : status == RONDO_OK || (mode & 0400) == 0);
    }
    write_file(path, "0123456789abcde\n", 16, 0600);
    assert_int_equal(read_secret(path, &from_file), RONDO_ERR_ARG);
    assert_null(strstr(rondo_error_text(), "0123"));
    write_file(path, "", 0, 0600);
    assert_int_equal(read_secret(path, &from_file), RONDO_ERR_ARG);
    memset(endless, 'x', sizeof endless);
    write_file(path, endless, sizeof endless, 0600);
    assert_int_equal(read_secret(path, &from_file), RONDO_ERR_ARG);
    assert_int_equal(read_secret(folder, &from_file), RONDO_ERR_ARG);
    assert_int_equal(unlink(path), 0);
    /* A pipe nobody writes to must not hold us up. */
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_secret(path, &from_file), RONDO_ERR_ARG);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    (void)clean(NULL);
    assert_int_equal(rondo_secret_read(&from_file), RONDO_OK);
    assert_false(rondo_key_given(&from_file));
}

/* A meeting point that nobody came to ends at its deadline, and the service with it. */
static int
await_the_end(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10000 && threads_alive() != alone; i++) {
        (void)usleep(1000);
    }
    return threads_alive() == alone ? 0 : -1;
}

static void
ids_bring_ranks_together(void **state)
{
    static meet_rank ranks[9];

    (void)state;
    for (uint32_t n = 1; n <= 9; n++) {
        rondo_unique_id id;
        (void)clean(NULL);
        assert_int_equal(rondo_meeting_open_id(20000, &id), RONDO_OK);
        meet_init(n, 0, 0, 0, ranks);
        for (uint32_t rank = 0; rank < n; rank++) {
            rondo_comm_config config = config_of(rank, n);
            config.id = &id;
            config.start_timeout_ms = 20000;
            assert_int_equal(rondo_meeting_from_config(&config, &ranks[rank].meeting),
                             RONDO_OK);
            assert_true(ranks[rank].meeting.by_id);
            assert_false(ranks[rank].meeting.serve);
            assert_true(rondo_key_given(&ranks[rank].meeting.secret));
        }
        meet_all(n, ranks);
        assert_true(meet_succeeded(n, ranks));
        assert_int_equal(await_the_end(NULL), 0);
    }
    /* One that nobody comes to ends by itself; several stay apart. */
    rondo_unique_id ids[4];
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(rondo_meeting_open_id(200, &ids[i]), RONDO_OK);
        for (uint32_t k = 0; k < i; k++) {
            assert_memory_not_equal(&ids[k], &ids[i], sizeof ids[i]);
        }
    }
}

static void
damaged_ids_are_refused(void **state)
{
    rondo_unique_id id;
    rondo_comm_config config = config_of(0, 2);
    rondo_meeting meeting;

    (void)state;
    assert_int_equal(rondo_meeting_open_id(100, &id), RONDO_OK);
    config.id = &id;
    for (size_t at = 0; at < sizeof id; at++) {
        for (uint32_t bit = 0; bit < 8; bit++) {
            id.bytes[at] ^= (unsigned char)(1U << bit);
            assert_int_equal(rondo_meeting_from_config(&config, &meeting),
                             RONDO_ERR_ARG);
            assert_non_null(strstr(rondo_error_text(), "unique id"));
            id.bytes[at] ^= (unsigned char)(1U << bit);
        }
    }
    assert_int_equal(rondo_meeting_from_config(&config, &meeting), RONDO_OK);
    for (int fill = 0; fill < 256; fill++) {
        memset(&id, fill, sizeof id);
        assert_int_equal(rondo_meeting_from_config(&config, &meeting), RONDO_ERR_ARG);
    }
}

/* The host of an id that is made with this RONDO_INTERFACE. */
static void
id_host(const char *interface, char *host)
{
    rondo_comm_config config = config_of(0, 2);
    rondo_meeting meeting;
    rondo_unique_id id;

    (void)setenv("RONDO_INTERFACE", interface, 1);
    if (rondo_meeting_open_id(100, &id) != RONDO_OK) {
        fail_msg("%s: %s", interface, rondo_error_text());
    }
    config.id = &id;
    assert_int_equal(rondo_meeting_from_config(&config, &meeting), RONDO_OK);
    (void)snprintf(host, RONDO_HOST_BYTES, "%s", meeting.host);
}

static void
interfaces(void **state)
{
    const char *const loopback[] = {"auto",         "lo",
                                    "l*",           "l?",
                                    "127.0.0.1",    "127.0.0.0/8",
                                    "127.0.0.1/32", "127.0.0.254/31,lo",
                                    "no-such*,lo",  "no-such,127.0.0.0/8,^x"};
    /* What means nothing here: the text says what there is. */
    const char *const nothing[] = {"no-such",      "203.0.113.77", "203.0.113.0/24",
                                   "::2/127,::2",  "lo,^lo",       "^*",
                                   "2001:db8::/32"};
    /* What cannot be read: the text names the part. */
    const char *const wrong[] = {"127.0.0.1/33",  "127.0.0.1/", "127.0.0.1/8x",
                                 ",,lo,",         "[lo",        "no-such-name.invalid",
                                 "^x,127.0.0.0/8"};
    char host[RONDO_HOST_BYTES];
    rondo_unique_id id;

    (void)state;
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++) {
        id_host(loopback[i], host);
        assert_string_equal(host, "127.0.0.1");
    }
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        (void)setenv("RONDO_INTERFACE", nothing[i], 1);
        assert_int_equal(rondo_meeting_open_id(100, &id), RONDO_ERR_ARG);
        assert_non_null(strstr(rondo_error_text(), nothing[i]));
        assert_non_null(strstr(rondo_error_text(), "lo 127.0.0.1"));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)setenv("RONDO_INTERFACE", wrong[i], 1);
        assert_int_equal(rondo_meeting_open_id(100, &id), RONDO_ERR_ARG);
        assert_non_null(strstr(rondo_error_text(), "RONDO_INTERFACE"));
    }
    static char endless[400];
    memset(endless, '1', sizeof endless - 1);
    (void)setenv("RONDO_INTERFACE", endless, 1);
    assert_int_equal(rondo_meeting_open_id(100, &id), RONDO_ERR_ARG);
}

static void
host_keys_repeat(void **state)
{
    rondo_name one;
    rondo_name other;
    const rondo_name zero = {{0}};

    (void)state;
    rondo_host_key(&one);
    rondo_host_key(&other);
    assert_memory_equal(&one, &other, sizeof one);
    assert_memory_not_equal(&one, &zero, sizeof one);
    /* Hosts that look alike are told apart by their ids. */
    const char *const ids[] = {
        "a", "b", "ab",
        "an id that is longer than the name of any host, and is cut in the texts"};
    rondo_name keys[4];
    for (uint32_t i = 0; i < 4; i++) {
        char name[RONDO_HOST_NAME_BYTES];
        (void)setenv("RONDO_HOST_ID", ids[i], 1);
        rondo_host_key(&keys[i]);
        assert_memory_not_equal(&keys[i], &one, sizeof one);
        for (uint32_t k = 0; k < i; k++) {
            assert_memory_not_equal(&keys[i], &keys[k], sizeof one);
        }
        rondo_host_name(name, sizeof name);
        assert_memory_equal(name, ids[i], strlen(name));
        rondo_host_key(&other);
        assert_memory_equal(&keys[i], &other, sizeof other);
    }
}

static void
host_names_are_clean(void **state)
{
    char own[256] = "";
    char name[RONDO_HOST_NAME_BYTES];

    (void)state;
    assert_int_equal(gethostname(own, sizeof own - 1), 0);
    rondo_host_name(name, sizeof name);
    assert_memory_equal(name, own, strlen(name));
    (void)setenv("RONDO_HOST_ID", "a\nb\x1b[31m", 1);
    rondo_host_name(name, sizeof name);
    assert_string_equal(name, "a?b?[31m");
    rondo_host_name(name, 3);
    assert_string_equal(name, "a?");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(environments_that_work, clean),
        cmocka_unit_test_setup(environments_that_do_not, clean),
        cmocka_unit_test_setup(deadlines, clean),
        cmocka_unit_test_setup(secrets, clean),
        cmocka_unit_test_setup_teardown(ids_bring_ranks_together, clean, await_the_end),
        cmocka_unit_test_setup_teardown(damaged_ids_are_refused, clean, await_the_end),
        cmocka_unit_test_setup_teardown(interfaces, clean, await_the_end),
        cmocka_unit_test_setup(host_keys_repeat, clean),
        cmocka_unit_test_setup(host_names_are_clean, clean),
    };

    /* A sanitizer starts a thread of its own with the first one. */
    static meet_rank one;
    meet_init(1, 1, 0, 0, &one);
    meet_all(1, &one);
    alone = threads_alive();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
