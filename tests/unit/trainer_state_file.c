/* trainer_state_file.c - state files: what is written comes back; whatever is wrong
 * with one is found and named; a kill during writing loses nothing; and which
 * checkpoint of a directory is the newest that is complete. */
#include "trainer/checkpoint.h"
#include "trainer/state_dirs.h"
#include "trainer/state_file.h"

#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/model.h"

#define VALUES 777u

static char directory[] = "/tmp/rondo-trainer-state-XXXXXX";

/* What a file is made from and loaded into. */
typedef struct content {
    uint64_t number;
    float vector[VALUES];
    char text[32];
} content;

static void
content_fill(content *c, uint64_t seed)
{
    c->number = seed;
    for (uint32_t i = 0; i < VALUES; i++) {
        c->vector[i] = (float)(model_random(&seed) % 1000);
    }
    memset(c->text, 0, sizeof c->text);
    (void)snprintf(c->text, sizeof c->text, "text %d", (int)(seed % 1000));
}

static state_list
list_of(content *c)
{
    state_list list = {.count = 0};
    state_add(&list, "number", &c->number, sizeof c->number);
    state_add(&list, "empty", NULL, 0);
    state_add(&list, "vector", c->vector, sizeof c->vector);
    state_add(&list, ".text", c->text, sizeof c->text);
    return list;
}

static void
write_content(const char *name, uint64_t seed)
{
    content c;
    problem why;
    content_fill(&c, seed);
    const state_list list = list_of(&c);
    if (!state_file_write(".", name, &list, &why)) {
        fail_msg("%s", why.text);
    }
}

/* The bytes of a file. */
static unsigned char *
slurp(const char *name, size_t *bytes)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    (void)fclose(file);
    return data;
}

static void
spit(const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* It must be refused, by name and with these words. */
static void
refused(const char *name, const char *words)
{
    problem why = {.text = ""};
    state_file f;
    if (state_file_read(name, &f, &why)) {
        state_file_free(&f);
        fail_msg("%s was read (%s)", name, words);
    }
    if (strstr(why.text, name) == NULL || strstr(why.text, words) == NULL) {
        fail_msg("\"%s\" does not name %s and \"%s\"", why.text, name, words);
    }
    assert_int_equal(why.exit_code, EXIT_FAILED);
}

/* --- one file --------------------------------------------------------------------- */

static void
what_is_written_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        content want;
        content got;
        problem why;
        state_file f;
        uint64_t bytes = 0;
        content_fill(&want, seed);
        write_content("state", seed); /* Over the one before. */
        memset(&got, 0x55, sizeof got);
        const state_list list = list_of(&got);
        assert_true(state_file_read("./state", &f, &why));
        assert_true(state_file_load(&f, "./state", &list, &why));
        assert_memory_equal(&got.vector, &want.vector, sizeof want.vector);
        assert_int_equal(got.number, want.number);
        assert_string_equal(state_file_find(&f, ".text", &bytes), want.text);
        assert_int_equal(bytes, sizeof want.text);
        assert_null(state_file_find(&f, "number2", &bytes));
        assert_null(state_file_find(&f, "", &bytes));
        state_file_free(&f);
        assert_int_equal(access("state.new", F_OK), -1);
    }
}

static void
every_bit_counts(void **state)
{
    size_t bytes = 0;
    (void)state;
    write_content("whole", 3);
    unsigned char *data = slurp("whole", &bytes);
    /* All of head and table, all of the checksum, and some of what is between. */
    for (size_t at = 0; at < bytes; at += at < 300 || at + 40 > bytes ? 1 : 97) {
        for (uint32_t bit = 0; bit < 8; bit += 7) {
            data[at] ^= (unsigned char)(1U << bit);
            spit("flipped", data, bytes);
            refused("flipped", at < 8    ? "no state of this program"
                               : at < 12 ? "of version"
                                         : "damaged");
            data[at] ^= (unsigned char)(1U << bit);
        }
    }
    free(data);
}

static void
every_length_but_one_is_wrong(void **state)
{
    size_t bytes = 0;
    (void)state;
    write_content("whole", 4);
    unsigned char *data = slurp("whole", &bytes);
    for (size_t length = 0; length < bytes; length += length < 300 ? 1 : 89) {
        spit("cut", data, length);
        refused("cut", length < 24 ? "cut off" : "damaged: it has");
    }
    data[bytes] = 0;
    spit("longer", data, bytes + 1);
    refused("longer", "damaged: it has");
    free(data);
}

static void
what_is_no_state_is_refused(void **state)
{
    size_t bytes = 0;
    uint64_t seed = 8;
    unsigned char noise[4000];
    (void)state;
    refused("nowhere", "No such file");
    assert_int_equal(mkdir("folder", 0700), 0);
    refused("folder", "Is a directory");
    assert_int_equal(rmdir("folder"), 0);
    for (uint32_t i = 0; i < sizeof noise; i++) {
        noise[i] = (unsigned char)model_random(&seed);
    }
    spit("noise", noise, sizeof noise);
    refused("noise", "no state of this program");
    /* As a later program might write it: another version, all else in order. */
    write_content("whole", 5);
    unsigned char *data = slurp("whole", &bytes);
    data[8] = 2;
    spit("later", data, bytes);
    refused("later", "of version 2; this program knows version 1");
    free(data);
}

/* Tables that lie, with a checksum that fits: only a program could make them. */
static void
tables_that_lie_are_refused(void **state)
{
    static const struct lie {
        size_t at; /* In the file. */
        uint64_t value;
        uint32_t width;
    } lies[] = {
        {12, 33, 4},                  /* parts: more than there may be */
        {12, UINT32_MAX, 4},          /* more than there can be */
        {12, 3, 4},                   /* one less */
        {12, 5, 4},                   /* one more */
        {24 + 32, 0, 8},              /* a part inside the head */
        {24 + 32, UINT64_MAX - 7, 8}, /* behind everything */
        {24 + 40, UINT64_MAX, 8},     /* as long as can be */
        {24 + 40, 9, 8},              /* one too long */
    };
    (void)state;
    for (size_t l = 0; l < sizeof lies / sizeof *lies; l++) {
        size_t bytes = 0;
        write_content("whole", 6);
        unsigned char *data = slurp("whole", &bytes);
        memcpy(data + lies[l].at, &lies[l].value, lies[l].width);
        (void)crypto_generichash(data + bytes - 32, 32, data, bytes - 32, NULL, 0);
        spit("lying", data, bytes);
        refused("lying", "its parts do not fit");
        free(data);
    }
}

static void
loading_is_all_or_nothing(void **state)
{
    content got;
    problem why;
    state_file f;
    uint64_t number = 0;
    (void)state;
    write_content("state", 7);
    assert_true(state_file_read("state", &f, &why));
    memset(&got, 0x55, sizeof got);
    const content before = got;

    state_list more = list_of(&got);
    state_add(&more, "another", &number, sizeof number);
    assert_false(state_file_load(&f, "F", &more, &why));
    assert_non_null(strstr(why.text, "F: has no part \"another\""));

    state_list longer = list_of(&got);
    longer.part[2].bytes -= 4;
    assert_false(state_file_load(&f, "F", &longer, &why));
    assert_non_null(strstr(why.text, "part \"vector\" has 3108 bytes"));
    assert_non_null(strstr(why.text, "needs 3104"));

    state_list fewer = {.count = 0};
    state_add(&fewer, "number", &got.number, sizeof got.number);
    state_add(&fewer, "empty", NULL, 0);
    assert_false(state_file_load(&f, "F", &fewer, &why));
    assert_non_null(strstr(why.text, "has a part \"vector\", which this run has not"));
    assert_memory_equal(&got, &before, sizeof got);
    state_file_free(&f);
}

static void
what_cannot_be_written_is_a_problem(void **state)
{
    content c;
    problem why;
    char *const long_name = malloc(5000);
    (void)state;
    content_fill(&c, 1);
    state_list list = list_of(&c);
    assert_false(state_file_write("./nowhere", "state", &list, &why));
    assert_non_null(strstr(why.text, "./nowhere/state: No such file"));
    assert_non_null(long_name);
    memset(long_name, 'x', 4999);
    long_name[4999] = '\0';
    assert_false(state_file_write(long_name, "state", &list, &why));
    free(long_name);
    /* A directory in the place of the file. */
    assert_int_equal(mkdir("taken", 0700), 0);
    assert_false(state_file_write(".", "taken", &list, &why));
    assert_int_equal(access("taken.new", F_OK), -1);
    assert_int_equal(rmdir("taken"), 0);
    while (list.count <= STATE_PARTS_MAX) {
        state_add(&list, "more", NULL, 0);
    }
    assert_false(state_file_write(".", "state", &list, &why));
    assert_non_null(strstr(why.text, "33 parts"));
}

static void
write_for_ever(uint64_t number)
{
    content c;
    problem why;
    const state_list list = list_of(&c);
    do {
        content_fill(&c, number++);
    } while (state_file_write(".", "killed", &list, &why));
    _exit(1);
}

/* A child writes one state after the other until it is killed: what stands there is
 * always one of them, whole. */
static void
a_kill_loses_nothing(void **state)
{
    uint64_t seed = 21;
    (void)state;
    write_content("killed", 1);
    for (uint32_t round = 0; round < 60; round++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            write_for_ever(round);
        }
        const struct timespec pause = {.tv_nsec =
                                           (long)(model_random(&seed) % 6000000)};
        (void)nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));

        content got;
        content want;
        problem why;
        state_file f;
        const state_list list = list_of(&got);
        if (!state_file_read("killed", &f, &why) ||
            !state_file_load(&f, "killed", &list, &why)) {
            fail_msg("round %u: %s", round, why.text);
        }
        content_fill(&want, got.number);
        assert_memory_equal(got.vector, want.vector, sizeof want.vector);
        state_file_free(&f);
    }
}

/* --- directories ------------------------------------------------------------------ */

static void
put_rank(uint64_t step, uint32_t rank, uint32_t ranks)
{
    char path[PATH_MAX];
    char file[STATE_FILE_NAME_MAX];
    uint32_t name[8];
    problem why;
    state_list list = {.count = 0};
    assert_true(state_dirs_path("D", step, path, &why));
    (void)mkdir(path, 0700);
    for (uint32_t i = 0; i < ranks; i++) {
        name[i] = 2 * i; /* Ranks 1, 3, ... have died. */
    }
    state_add(&list, STATE_RANKS_PART, name, ranks * sizeof *name);
    state_dirs_file(2 * rank, file);
    assert_true(state_file_write(path, file, &list, &why));
}

static void
put_step(uint64_t step, uint32_t ranks)
{
    for (uint32_t rank = 0; rank < ranks; rank++) {
        put_rank(step, rank, ranks);
    }
}

static void
newest_is(bool found, uint64_t step, uint32_t ranks)
{
    state_dir d;
    problem why;
    if (!state_dirs_newest("D", &d, &why)) {
        fail_msg("%s", why.text);
    }
    assert_int_equal(d.found, found);
    if (found) {
        assert_int_equal(d.step, step);
        assert_int_equal(d.names, ranks);
        for (uint32_t i = 0; i < ranks; i++) {
            assert_int_equal(d.name[i], 2 * i);
        }
    }
    state_dir_free(&d);
}

static bool
is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void
the_newest_complete_one_counts(void **state)
{
    problem why;
    bool found = true;
    uint64_t step = 0;
    (void)state;
    assert_true(state_dirs_create("D", &why));
    assert_true(state_dirs_create("D", &why));
    assert_true(state_dirs_any("D", &found, &step, &why));
    assert_false(found);
    newest_is(false, 0, 0);
    put_rank(9, 1, 3);
    newest_is(false, 0, 0);
    put_rank(9, 0, 3);
    newest_is(false, 0, 0);
    put_rank(9, 2, 3);
    newest_is(true, 9, 3);
    put_step(10, 3); /* As numbers, not as words. */
    newest_is(true, 10, 3);
    put_rank(100, 2, 3);
    assert_int_equal(mkdir("D/step-200", 0700), 0);
    assert_int_equal(mkdir("D/step-0300", 0700), 0); /* Not ours. */
    assert_int_equal(mkdir("D/step-300x", 0700), 0);
    newest_is(true, 10, 3);
    assert_true(state_dirs_any("D", &found, &step, &why));
    assert_true(found);
    assert_int_equal(step, 200);

    state_dir d;
    assert_true(state_dirs_newest("D", &d, &why));
    assert_true(state_dirs_drop_newer("D", &d, &why));
    state_dir_free(&d);
    assert_false(is_there("D/step-100"));
    assert_false(is_there("D/step-200"));
    assert_true(is_there("D/step-9/rank-2"));
    assert_true(is_there("D/step-0300"));
    newest_is(true, 10, 3);
}

static void
old_ones_go_but_for_one(void **state)
{
    static const uint32_t names[] = {0, 2};
    (void)state;
    for (uint64_t step = 20; step < 26; step++) {
        put_step(step, step == 23 ? 1 : 2); /* One was interrupted. */
        state_dirs_prune("D", names, 2);
    }
    assert_true(is_there("D/step-25") && is_there("D/step-24"));
    assert_false(is_there("D/step-23") || is_there("D/step-22") ||
                 is_there("D/step-20") || is_there("D/step-10"));
    put_rank(26, 1, 2);
    state_dirs_prune("D", names, 2);
    assert_true(is_there("D/step-26") && is_there("D/step-24"));
    newest_is(true, 25, 2);
    /* What is not ours stays. */
    spit("D/step-24/notes", "x", 1);
    put_step(27, 2);
    put_step(28, 2);
    state_dirs_prune("D", names, 2);
    assert_true(is_there("D/step-24/notes"));
    assert_false(is_there("D/step-24/rank-0"));
    newest_is(true, 28, 2);
}

static void
a_damaged_file_is_no_reason_to_go_further_back(void **state)
{
    state_dir d;
    problem why;
    state_list list = {.count = 0};
    uint64_t number = 1;
    (void)state;
    spit("D/step-28/rank-0", "rubbish", 7);
    assert_false(state_dirs_newest("D", &d, &why));
    assert_non_null(strstr(why.text, "D/step-28/rank-0: "));
    state_add(&list, "number", &number, sizeof number);
    assert_true(state_file_write("D/step-28", "rank-0", &list, &why));
    assert_false(state_dirs_newest("D", &d, &why));
    assert_non_null(strstr(why.text, "does not say whose it is"));
}

static void
directories_that_are_none(void **state)
{
    state_dir d;
    problem why;
    bool found = false;
    uint64_t step = 0;
    (void)state;
    spit("file", "x", 1);
    assert_false(state_dirs_create("file", &why));
    assert_non_null(strstr(why.text, "--checkpoint file: Not a directory"));
    assert_false(state_dirs_create("nowhere/deep", &why));
    assert_non_null(strstr(why.text, "No such file"));
    assert_false(state_dirs_newest("nowhere", &d, &why));
    assert_false(state_dirs_any("nowhere", &found, &step, &why));
}

static int
enter(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL && chdir(directory) == 0 ? 0 : -1;
}

static int
leave(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(every_length_but_one_is_wrong),
        cmocka_unit_test(what_is_no_state_is_refused),
        cmocka_unit_test(tables_that_lie_are_refused),
        cmocka_unit_test(loading_is_all_or_nothing),
        cmocka_unit_test(what_cannot_be_written_is_a_problem),
        cmocka_unit_test(a_kill_loses_nothing),
        cmocka_unit_test(the_newest_complete_one_counts),
        cmocka_unit_test(old_ones_go_but_for_one),
        cmocka_unit_test(a_damaged_file_is_no_reason_to_go_further_back),
        cmocka_unit_test(directories_that_are_none),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
