/* base_touch.c - pages are had, left as they were, and an error where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/touch.h"

#define PAGES 200

static void
touching_has_memory_and_changes_nothing(void **state)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const int fd = memfd_create("rondo test", MFD_CLOEXEC);
    struct stat about;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)(PAGES * page)), 0);
    unsigned char *const memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 0x5a, 3 * page);
    assert_int_equal(rondo_touch(memory, PAGES * page), 0);
    assert_int_equal(fstat(fd, &about), 0);
    assert_true((uint64_t)about.st_blocks * 512 >= PAGES * page);
    for (uint64_t at = 0; at < PAGES * page; at++) {
        assert_int_equal(memory[at], at < 3 * page ? 0x5a : 0);
    }
    /* The file cut short stands for a machine that has no memory left. */
    for (uint64_t left = 0; left < 10; left++) {
        assert_int_equal(ftruncate(fd, (off_t)(left * page)), 0);
        assert_int_equal(rondo_touch(memory, left * page), 0);
        assert_true(rondo_touch(memory, (left + 1) * page) != 0);
        assert_true(rondo_touch(memory, PAGES * page) != 0);
    }
    (void)munmap(memory, PAGES * page);
    (void)close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touching_has_memory_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
