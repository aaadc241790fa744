/* s15_small_shm.c - /dev/shm of 1 MiB, read-only, or full: the shared memory used has
 * no name there, so all of it works, with the right results.
 * Needs the right to mount in a namespace of its own; skipped without. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/model.h"
#include "lib/ranks.h"

#define BYTES_MAX ((uint64_t)64 << 20)

/* How /dev/shm is made unusable. */
typedef struct small {
    const char *options; /* of the tmpfs */
    unsigned long flags;
    bool fill; /* once the communicator is made */
    uint32_t nranks;
    uint64_t bytes_max;
} small;

static bool
namespace_enter(void)
{
    if (unshare(CLONE_NEWNS) != 0) {
        return false;
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void
fill(void)
{
    static char zeros[65536];
    const int fd = open("/dev/shm/filler", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    while (fd >= 0 && write(fd, zeros, sizeof zeros) > 0) {
    }
    (void)!(fd >= 0 && close(fd) == 0);
}

static bool
sizes(rank_self *self, rondo_comm *comm, float *in, float *out)
{
    const small *const how = self->user;

    for (uint64_t bytes = 8; bytes <= how->bytes_max; bytes *= 2) {
        const uint64_t count = bytes / sizeof *in;
        const model numbers = {RONDO_FP32, RONDO_SUM, self->nranks, bytes};
        model_input(&numbers, self->rank, 0, count, in);
        rank_note(self, "all_reduce of %d bytes", (int)bytes);
        if (!rank_expect_status(
                self, rondo_all_reduce(comm, in, out, count, RONDO_FP32, RONDO_SUM),
                RONDO_OK, comm, "all_reduce")) {
            return false;
        }
        /* The ends and a few places between; every element is looked at elsewhere. */
        for (uint64_t part = 0; part < 64; part++) {
            const uint64_t i = part * (count - 1) / 63;
            float want = 0.0F;
            model_result(&numbers, i, 1, &want);
            if (!rank_expect(self, out[i] == want, "%d bytes: element %d is %g, not %g",
                             (int)bytes, (int)i, (double)out[i], (double)want)) {
                return false;
            }
        }
    }
    return true;
}

static void
with_small_shm(rank_self *self)
{
    const small *const how = self->user;
    float *const in = malloc(how->bytes_max);
    float *const out = malloc(how->bytes_max);
    rondo_comm *comm = NULL;
    void *block = NULL;

    if (in == NULL || out == NULL || !rank_join(self, 60000, &comm)) {
        return;
    }
    if (how->fill) {
        fill();
    }
    if (sizes(self, comm, in, out)) {
        rank_expect_status(self, rondo_mem_alloc(how->bytes_max, &block), RONDO_OK,
                           NULL, "rondo_mem_alloc");
        rank_expect_status(self, rondo_mem_register(comm, block), RONDO_OK, comm,
                           "rondo_mem_register");
        (void)sizes(self, comm, block, out);
    }
    rondo_comm_destroy(comm);
    rondo_mem_free(block);
    free(in);
    free(out);
}

static void
with(const small *how)
{
    small copy = *how;

    if (mount("none", "/dev/shm", "tmpfs", how->flags, how->options) != 0) {
        fail_msg("mounting over /dev/shm failed");
    }
    run_ranks(how->nranks, AS_PROCESSES, with_small_shm, &copy, 60000);
    (void)umount("/dev/shm");
}

static void
one_mebibyte(void **state)
{
    const small how = {.options = "size=1m", .nranks = 4, .bytes_max = BYTES_MAX};

    (void)state;
    with(&how);
}

static void
sixty_four_mebibytes(void **state)
{
    const small how = {.options = "size=64m", .nranks = 8, .bytes_max = 4 << 20};

    (void)state;
    with(&how);
}

static void
read_only(void **state)
{
    const small how = {
        .options = "size=1m", .flags = MS_RDONLY, .nranks = 3, .bytes_max = 4 << 20};

    (void)state;
    with(&how);
}

static void
filled_up_later(void **state)
{
    const small how = {
        .options = "size=1m", .fill = true, .nranks = 3, .bytes_max = 8 << 20};

    (void)state;
    with(&how);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_mebibyte),
        cmocka_unit_test(sixty_four_mebibytes),
        cmocka_unit_test(read_only),
        cmocka_unit_test(filled_up_later),
    };

    if (!namespace_enter()) {
        (void)printf("skipped: no right to make a mount namespace\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
