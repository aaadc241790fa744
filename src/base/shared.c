/* shared.c - memory that several processes map, as sealed memfds. */
#include "base/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/room.h"
#include "base/touch.h"

/* Newer than Debian 12's headers: the file can never be executed. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define ROOM_ASKED_BYTES ((size_t)1 << 20)

static size_t
page_bytes(void)
{
    const long bytes = sysconf(_SC_PAGESIZE);

    return bytes > 0 ? (size_t)bytes : 4096;
}

static rondo_status
round_to_pages(size_t bytes, size_t *rounded)
{
    const size_t page = page_bytes();
    size_t sum = 0;

    if (__builtin_add_overflow(bytes == 0 ? 1 : bytes, page - 1, &sum) ||
        sum > (size_t)INT64_MAX) {
        return rondo_error(RONDO_ERR_MEMORY,
                           "%zu bytes of shared memory are more than there can be",
                           bytes);
    }
    *rounded = sum / page * page;
    return RONDO_OK;
}

/* Asked for more than there is, the kernel kills somebody rather than refuse. Small
 * amounts are not worth the question. */
static rondo_status
check_room(size_t bytes)
{
    if (bytes < ROOM_ASKED_BYTES) {
        return RONDO_OK;
    }
    const uint64_t room = rondo_room_bytes();
    if (bytes > room) {
        return rondo_error(RONDO_ERR_MEMORY,
                           "%zu bytes of shared memory could not be reserved: %llu are "
                           "available",
                           bytes, (unsigned long long)room);
    }
    return RONDO_OK;
}

/* Kernels before 6.3 refuse the flag, newer ones warn when it is missing. */
static int
open_memfd(void)
{
    const int fd =
        memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    if (fd >= 0 || errno != EINVAL) {
        return fd;
    }
    return memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* Gives the file its size for good: nobody who maps it can be cut short later. */
static rondo_status
size_and_seal(int fd, size_t bytes, rondo_shared_kind kind)
{
    if (ftruncate(fd, (off_t)bytes) != 0) {
        return rondo_error_errno(RONDO_ERR_MEMORY, errno,
                                 "%zu bytes of shared memory could not be had", bytes);
    }
    if (kind == RONDO_SHARED_RESERVED) {
        const rondo_status status = check_room(bytes);
        if (status != RONDO_OK) {
            return status;
        }
        int failed = 0;
        do {
            failed = fallocate(fd, 0, 0, (off_t)bytes);
        } while (failed != 0 && errno == EINTR);
        if (failed != 0) {
            return rondo_error_errno(RONDO_ERR_MEMORY, errno,
                                     "%zu bytes of shared memory could not be reserved",
                                     bytes);
        }
    }
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "shared memory could not be sealed");
    }
    return RONDO_OK;
}

static void *
map_all(int fd, size_t bytes)
{
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

rondo_status
rondo_shared_create(size_t bytes, rondo_shared_kind kind, rondo_shared *shared)
{
    size_t rounded = 0;
    rondo_status status = round_to_pages(bytes, &rounded);

    if (status != RONDO_OK) {
        return status;
    }
    const int fd = open_memfd();
    if (fd < 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "shared memory could not be opened");
    }
    status = size_and_seal(fd, rounded, kind);
    if (status != RONDO_OK) {
        goto undo_open;
    }
    void *const memory = map_all(fd, rounded);
    if (memory == NULL) {
        status = rondo_error_errno(RONDO_ERR_MEMORY, errno,
                                   "%zu bytes of shared memory could not be mapped",
                                   rounded);
        goto undo_open;
    }
    *shared = (rondo_shared){.memory = memory, .bytes = rounded, .fd = fd};
    return RONDO_OK;

undo_open:
    (void)close(fd);
    return status;
}

/* Pages of huge-page files can run out when touched, so those are refused as well. */
static bool
is_sealed_memory(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS);
    struct statfs system;

    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstatfs(fd, &system) == 0 &&
           system.f_type == TMPFS_MAGIC;
}

rondo_status
rondo_shared_map(int fd, size_t bytes_min, rondo_shared *shared)
{
    struct stat file = {0};

    if (!is_sealed_memory(fd)) {
        return rondo_error(RONDO_ERR_WIRE,
                           "a descriptor that is no sealed shared memory was received");
    }
    if (fstat(fd, &file) != 0 || file.st_size <= 0 ||
        (uint64_t)file.st_size < bytes_min) {
        return rondo_error(
            RONDO_ERR_WIRE,
            "shared memory of %lld bytes was received where %zu were due",
            (long long)file.st_size, bytes_min);
    }
    const size_t bytes = (size_t)file.st_size;
    void *const memory = map_all(fd, bytes);
    if (memory == NULL) {
        const int number = errno;
        return rondo_error_errno(
            number == ENOMEM ? RONDO_ERR_MEMORY : RONDO_ERR_WIRE, number,
            "%zu bytes of shared memory could not be mapped", bytes);
    }
    *shared = (rondo_shared){.memory = memory, .bytes = bytes, .fd = fd};
    return RONDO_OK;
}

void
rondo_shared_close(rondo_shared *shared)
{
    if (shared->fd >= 0) {
        (void)close(shared->fd);
        shared->fd = -1;
    }
}

void
rondo_shared_unmap(rondo_shared *shared)
{
    rondo_shared_close(shared);
    if (shared->memory != NULL) {
        (void)munmap(shared->memory, shared->bytes);
        shared->memory = NULL;
    }
    shared->bytes = 0;
}

rondo_status
rondo_shared_reserve(void *memory, size_t bytes)
{
    const size_t page = page_bytes();
    const size_t before = (uintptr_t)memory % page;
    size_t rounded = 0;

    if (bytes == 0) {
        return RONDO_OK;
    }
    rondo_status status = round_to_pages(before + bytes, &rounded);
    if (status == RONDO_OK) {
        status = check_room(rounded);
    }
    if (status != RONDO_OK) {
        return status;
    }
    /* Faults every page in now, and reports what would be a bus error later. */
    char *const pages = (char *)memory - before;
    int problem = madvise(pages, rounded, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
    if (problem == EINVAL) { /* a kernel before 5.14 */
        problem = rondo_touch(pages, rounded);
    }
    if (problem != 0) {
        return rondo_error_errno(RONDO_ERR_MEMORY, problem,
                                 "%zu bytes of shared memory could not be reserved",
                                 bytes);
    }
    return RONDO_OK;
}
