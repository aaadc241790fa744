/* base_shared.c - sealed shared memory: made, mapped elsewhere, refused, reserved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shared.h"

static const rondo_shared_kind kinds[] = {RONDO_SHARED_RESERVED, RONDO_SHARED_SPARSE};

static int
lowest_fd(void)
{
    const int fd = dup(0);

    assert_true(fd >= 0);
    (void)close(fd);
    return fd;
}

static void
zeroed_and_rounded(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t sizes[] = {0, 1, page - 1, page, page + 1, 10 * page, 1000003};
    const int before = lowest_fd();

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            rondo_shared shared;
            assert_int_equal(rondo_shared_create(sizes[i], kinds[k], &shared),
                             RONDO_OK);
            assert_true(shared.bytes >= sizes[i] && shared.bytes > 0);
            assert_true(shared.bytes % page == 0 && shared.bytes < sizes[i] + page + 1);
            assert_true((uintptr_t)shared.memory % page == 0);
            assert_true(shared.fd >= 0);
            const unsigned char *const bytes = shared.memory;
            for (size_t at = 0; at < shared.bytes; at++) {
                assert_int_equal(bytes[at], 0);
            }
            rondo_shared_unmap(&shared);
            assert_int_equal(shared.fd, -1);
            assert_null(shared.memory);
        }
    }
    assert_int_equal(lowest_fd(), before);
}

static void
sealed(void **state)
{
    rondo_shared shared;

    (void)state;
    assert_int_equal(rondo_shared_create(10000, RONDO_SHARED_SPARSE, &shared),
                     RONDO_OK);
    assert_int_not_equal(ftruncate(shared.fd, 4096), 0);
    assert_int_not_equal(ftruncate(shared.fd, 1 << 20), 0);
    assert_int_not_equal(fcntl(shared.fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    assert_true((fcntl(shared.fd, F_GETFD) & FD_CLOEXEC) != 0);
    rondo_shared_unmap(&shared);
}

static void
mapped_twice_is_the_same_memory(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        rondo_shared one;
        rondo_shared other;
        assert_int_equal(rondo_shared_create(50000, kinds[k], &one), RONDO_OK);
        assert_int_equal(rondo_shared_map(dup(one.fd), 50000, &other), RONDO_OK);
        assert_int_equal(other.bytes, one.bytes);
        ((unsigned char *)one.memory)[49999] = 7;
        assert_int_equal(((unsigned char *)other.memory)[49999], 7);
        rondo_shared_close(&one);
        assert_int_equal(one.fd, -1);
        ((unsigned char *)one.memory)[0] = 9;
        assert_int_equal(((unsigned char *)other.memory)[0], 9);
        rondo_shared_unmap(&one);
        rondo_shared_unmap(&other);
    }
}

static void
refuse(int fd, size_t bytes_min)
{
    rondo_shared shared = {.fd = 4711};

    assert_true(fd >= 0);
    assert_int_equal(rondo_shared_map(fd, bytes_min, &shared), RONDO_ERR_WIRE);
    assert_int_equal(shared.fd, 4711);
    assert_true(strlen(rondo_error_text()) > 0);
    /* Not ours to close on an error. */
    assert_true(fcntl(fd, F_GETFD) >= 0);
    (void)close(fd);
}

static int
memfd(unsigned flags, off_t bytes, int seals)
{
    const int fd = memfd_create("test", flags);

    if (fd >= 0) {
        assert_int_equal(ftruncate(fd, bytes), 0);
        if (seals != 0) {
            assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
        }
    }
    return fd;
}

static void
foreign_descriptors_are_refused(void **state)
{
    const int before = lowest_fd();
    int ends[2];
    FILE *const file = tmpfile();

    (void)state;
    refuse(memfd(MFD_ALLOW_SEALING, 8192, 0), 1);
    refuse(memfd(MFD_ALLOW_SEALING, 8192, F_SEAL_GROW), 1);
    refuse(memfd(0, 8192, 0), 1);
    refuse(memfd(MFD_ALLOW_SEALING, 8192, F_SEAL_SHRINK), 8193);
    refuse(memfd(MFD_ALLOW_SEALING, 0, F_SEAL_SHRINK), 0);
    refuse(memfd(MFD_ALLOW_SEALING, 8192, F_SEAL_SHRINK | F_SEAL_WRITE), 1);
    refuse(open("/dev/zero", O_RDWR), 1);
    refuse(open("/", O_RDONLY), 1);
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), 8192), 0);
    refuse(dup(fileno(file)), 1);
    (void)fclose(file);
    assert_int_equal(pipe(ends), 0);
    refuse(ends[0], 1);
    (void)close(ends[1]);
    assert_int_equal(rondo_shared_map(-1, 1, &(rondo_shared){.fd = -1}),
                     RONDO_ERR_WIRE);
    assert_int_equal(lowest_fd(), before);
}

static void
reserve_touches_all_and_keeps_contents(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    rondo_shared shared;
    unsigned char there[64];

    (void)state;
    assert_int_equal(rondo_shared_create(64 * page, RONDO_SHARED_SPARSE, &shared),
                     RONDO_OK);
    unsigned char *const bytes = shared.memory;
    bytes[10 * page + 5] = 42;
    assert_int_equal(rondo_shared_reserve(bytes + 8 * page + 17, 9 * page), RONDO_OK);
    assert_int_equal(mincore(shared.memory, shared.bytes, there), 0);
    for (size_t at = 0; at < 64; at++) {
        assert_int_equal(there[at] & 1, at >= 8 && at <= 17);
    }
    assert_int_equal(bytes[10 * page + 5], 42);
    assert_int_equal(rondo_shared_reserve(bytes, 0), RONDO_OK);
    rondo_shared_unmap(&shared);
}

static void
impossible_sizes(void **state)
{
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1, (size_t)1 << 60};
    const int before = lowest_fd();

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            rondo_shared shared = {.fd = 4711};
            char number[32];
            assert_int_equal(rondo_shared_create(sizes[i], kinds[k], &shared),
                             RONDO_ERR_MEMORY);
            (void)snprintf(number, sizeof number, "%zu", sizes[i]);
            assert_non_null(strstr(rondo_error_text(), number));
            assert_int_equal(shared.fd, 4711);
        }
    }
    assert_int_equal(lowest_fd(), before);
}

/* In a process of its own, whose limits cannot be given back. */
static int
in_child(int (*body)(void))
{
    int how = 0;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(body());
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 100 + WTERMSIG(how);
}

static int
without_descriptors(void)
{
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = 3};
    rondo_shared shared;

    for (int fd = 3; fd < 100; fd++) {
        (void)close(fd);
    }
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) {
        return 1;
    }
    const rondo_status status = rondo_shared_create(4096, RONDO_SHARED_SPARSE, &shared);
    return status == RONDO_ERR_SYSTEM && strstr(rondo_error_text(), "open files") ? 0
                                                                                  : 2;
}

static void
no_descriptor_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(in_child(without_descriptors), 0);
}

/* A memory limit that reserving must report where touching would be a bus error. A file
 * size limit is what an unprivileged process can set for itself. */
static int
without_room(void)
{
    const struct rlimit small = {.rlim_cur = 1 << 16, .rlim_max = 1 << 16};
    rondo_shared shared;

    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &small) != 0) {
        return 1;
    }
    const rondo_status status =
        rondo_shared_create(1 << 20, RONDO_SHARED_RESERVED, &shared);
    return status == RONDO_ERR_MEMORY && strstr(rondo_error_text(), "1048576") ? 0 : 2;
}

static void
no_room_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(in_child(without_room), 0);
}

static int
reserve_what_is_not_there(void)
{
    void *const memory =
        mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return rondo_shared_reserve(memory, 1 << 20) == RONDO_ERR_MEMORY ? 0 : 1;
}

static void
reserve_reports(void **state)
{
    (void)state;
    assert_int_equal(in_child(reserve_what_is_not_there), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_and_rounded),
        cmocka_unit_test(sealed),
        cmocka_unit_test(mapped_twice_is_the_same_memory),
        cmocka_unit_test(foreign_descriptors_are_refused),
        cmocka_unit_test(reserve_touches_all_and_keeps_contents),
        cmocka_unit_test(impossible_sizes),
        cmocka_unit_test(no_descriptor_is_an_error),
        cmocka_unit_test(no_room_is_an_error),
        cmocka_unit_test(reserve_reports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
