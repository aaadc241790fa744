/* trainer_ticket.c - the file at a door: whole, its owner's alone, removed by whoever
 * wrote it. */
#include "trainer/group_ticket.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/rondo-ticket-XXXXXX";
static char path[64];

static int
make_folder(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof path, "%s/door", mkdtemp(folder));
    return 0;
}

static int
remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static rondo_unique_id
id_of(unsigned char first)
{
    rondo_unique_id id;
    for (size_t i = 0; i < sizeof id.bytes; i++) {
        id.bytes[i] = (unsigned char)(first + 3 * i);
    }
    return id;
}

static void
what_is_written_is_read(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        const rondo_unique_id id = id_of((unsigned char)first);
        rondo_unique_id there;
        struct stat about;
        assert_true(ticket_write(path, &id));
        assert_true(ticket_read(path, &there));
        assert_memory_equal(&id, &there, sizeof id);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
    }
}

static void
another_ones_ticket_stays(void **state)
{
    (void)state;
    const rondo_unique_id mine = id_of(1);
    const rondo_unique_id other = id_of(2);
    assert_true(ticket_write(path, &other));
    ticket_remove(path, &mine);
    assert_int_equal(access(path, F_OK), 0);
    ticket_remove(path, &other);
    assert_int_equal(access(path, F_OK), -1);
    ticket_remove(path, &other);
}

static void
put(const char *text, size_t bytes, mode_t mode)
{
    (void)unlink(path);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    assert_true(file >= 0);
    assert_int_equal(fchmod(file, mode), 0);
    assert_int_equal(write(file, text, bytes), (ssize_t)bytes);
    assert_int_equal(close(file), 0);
}

static size_t
take(char *text, size_t room)
{
    const int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    const ssize_t bytes = read(file, text, room);
    assert_true(bytes > 0);
    assert_int_equal(close(file), 0);
    return (size_t)bytes;
}

static void
what_is_not_whole_or_not_private_is_none(void **state)
{
    (void)state;
    char text[1024];
    rondo_unique_id there;
    const rondo_unique_id id = id_of(7);
    assert_false(ticket_read("/nowhere/door", &there));
    assert_false(ticket_write("/nowhere/door", &id));
    assert_true(ticket_write(path, &id));
    const size_t bytes = take(text, sizeof text);
    for (size_t cut = 0; cut < bytes; cut++) {
        put(text, cut, 0600);
        assert_false(ticket_read(path, &there));
    }
    for (size_t at = 0; at + 1 < bytes; at++) {
        const char kept = text[at];
        text[at] = 'G'; /* Neither a digit nor in the first line at that place. */
        put(text, bytes, 0600);
        assert_false(ticket_read(path, &there));
        text[at] = kept;
    }
    put(text, bytes, 0640);
    assert_false(ticket_read(path, &there));
    put(text, bytes, 0604);
    assert_false(ticket_read(path, &there));
    put(text, bytes, 0600);
    assert_true(ticket_read(path, &there));
}

static void
a_link_is_none(void **state)
{
    (void)state;
    char behind[80];
    rondo_unique_id there;
    const rondo_unique_id id = id_of(9);
    (void)snprintf(behind, sizeof behind, "%s.real", path);
    assert_true(ticket_write(behind, &id));
    (void)unlink(path);
    assert_int_equal(symlink(behind, path), 0);
    assert_false(ticket_read(path, &there));
    /* It is replaced, not followed. */
    const rondo_unique_id other = id_of(10);
    assert_true(ticket_write(path, &other));
    assert_true(ticket_read(behind, &there));
    assert_memory_equal(&id, &there, sizeof id);
    assert_int_equal(unlink(behind), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(another_ones_ticket_stays),
        cmocka_unit_test(what_is_not_whole_or_not_private_is_none),
        cmocka_unit_test(a_link_is_none),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
