/* transport_ucx_life.c - the process's wire: opened, counted, closed, forked, and what
 * is said where it cannot be had. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "lib/fakehosts.h"

static void
expect_text(const char *part)
{
    if (strstr(rondo_error_text(), part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, rondo_error_text());
    }
}

/* Neither a file that is not there, nor one that is no module, nor a library that is
 * another one. All sentences name the path. */
static void
a_missing_module_is_said(void **state)
{
    char path[] = "/tmp/rondo-test-XXXXXX";
    rondo_ucx *ucx = NULL;
    rondo_ucx_spec spec = {.devices = "lo", .module = "/nowhere/librondo_ucx.so"};
    const int fd = mkstemp(path);

    (void)state;
    assert_int_equal(rondo_ucx_open(&spec, &ucx), RONDO_ERR_UNSUPPORTED);
    expect_text("/nowhere/librondo_ucx.so");
    expect_text("No such file");
    expect_text("libucx0");
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "hello", 5), 5);
    (void)snprintf(spec.module, sizeof spec.module, "%s", path);
    assert_int_equal(rondo_ucx_open(&spec, &ucx), RONDO_ERR_UNSUPPORTED);
    expect_text(path);
    (void)snprintf(spec.module, sizeof spec.module, "libm.so.6");
    assert_int_equal(rondo_ucx_open(&spec, &ucx), RONDO_ERR_UNSUPPORTED);
    expect_text("libm.so.6 has no " RONDO_WIRE_SYMBOL);
    assert_null(ucx);
    (void)close(fd);
    (void)unlink(path);
}

static void
unusable_devices_are_said(void **state)
{
    const rondo_ucx_spec spec = {.devices = "none", .ops = fakewire_ops()};
    rondo_ucx *ucx = NULL;

    (void)state;
    fakewire_begin(&(fakewire_plan){0});
    assert_int_equal(rondo_ucx_open(&spec, &ucx), RONDO_ERR_SYSTEM);
    expect_text("a stand-in cannot use none: no such device");
    assert_null(ucx);
    assert_int_equal(fakewire_end(), 0);
}

/* Whatever allocation fails: the text, nothing left behind, and the next try works. */
static void
refused_allocations_are_survived(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        static unsigned char data[9000];
        fakehosts hosts = {.nwires = 2, .nranks = 2};
        rondo_outgoing message = {.data = data, .bytes = sizeof data};
        rondo_incoming piece;
        assert_true(nth < 100);
        fakehosts_make(&hosts);
        rondo_transport *const a = hosts.ranks[0];
        rondo_transport *const b = hosts.ranks[1];
        (void)rondo_alloc_fail_after(nth);
        rondo_status status = a->ops->send(a, 1, RONDO_LANE_MESSAGE, &message);
        while (status == RONDO_OK || status == RONDO_BUSY) {
            status = b->ops->peek(b, 0, RONDO_LANE_MESSAGE, &piece);
            if (status == RONDO_OK) {
                b->ops->consume(b, 0, RONDO_LANE_MESSAGE);
            }
            if (status == RONDO_OK && piece.last) {
                break;
            }
        }
        const bool hit = rondo_alloc_fail_after(0);
        assert_int_equal(status, hit ? RONDO_ERR_MEMORY : RONDO_OK);
        if (hit) {
            expect_text("memory");
        }
        fakehosts_end(&hosts);
        if (!hit) {
            assert_true(nth > 5);
            return;
        }
    }
}

static void
creation_survives_refused_allocations(void **state)
{
    const rondo_ucx_spec spec = {.devices = "any", .ops = fakewire_ops()};
    bool hit = true;

    (void)state;
    for (uint64_t nth = 1; hit; nth++) {
        rondo_ucx *ucx = NULL;
        rondo_transport *transport = NULL;
        assert_true(nth < 100);
        fakewire_begin(&(fakewire_plan){0});
        (void)rondo_alloc_fail_after(nth);
        rondo_status status = rondo_ucx_open(&spec, &ucx);
        if (status == RONDO_OK) {
            const rondo_ucx_setup setup = {.ucx = ucx, .nranks = 3};
            status = rondo_ucx_create(&setup, &transport);
        }
        hit = rondo_alloc_fail_after(0);
        assert_int_equal(status, hit ? RONDO_ERR_MEMORY : RONDO_OK);
        if (transport != NULL) {
            transport->ops->destroy(transport);
        }
        rondo_ucx_close(ucx);
        assert_int_equal(fakewire_end(), 0);
    }
}

/* --- fork ------------------------------------------------------------------------- */

/* 0: as it should be. Nothing of the child's calls may reach the wire. */
static int
in_child(fakehosts *hosts)
{
    rondo_transport *const a = hosts->ranks[0];
    const fakewire_state before = fakewire_look(0);
    const rondo_am message = {.payload = "x", .payload_bytes = 1};
    rondo_outgoing outgoing = {.data = "x", .bytes = 1};
    unsigned char address[RONDO_WIRE_ADDRESS_MAX];
    rondo_incoming piece;
    size_t bytes = 0;

    /* What had arrived may be looked at: it is in our copy of the memory. */
    if (a->ops->peek(a, 1, RONDO_LANE_COLL, &piece) != RONDO_OK) {
        return 1;
    }
    a->ops->consume(a, 1, RONDO_LANE_COLL);
    if (a->ops->peek(a, 1, RONDO_LANE_COLL, &piece) != RONDO_ERR_FORKED ||
        a->ops->send(a, 1, RONDO_LANE_COLL, &outgoing) != RONDO_ERR_FORKED ||
        a->ops->am_send(a, 1, &message) != RONDO_ERR_FORKED ||
        a->ops->progress(a) != RONDO_ERR_FORKED ||
        rondo_ucx_address(hosts->ucx[0], address, &bytes) != RONDO_ERR_FORKED ||
        rondo_ucx_event_fd(hosts->ucx[0]) != -1) {
        return 2;
    }
    rondo_ucx_flush(a, UINT64_C(1) << 40);
    rondo_ucx_quiet(a, UINT64_C(1) << 40);
    (void)rondo_ucx_arm(hosts->ucx[0]);
    a->ops->destroy(a);
    const fakewire_state after = fakewire_look(0);
    if (memcmp(&before, &after, sizeof before) != 0) {
        return 3;
    }
    rondo_ucx_close(hosts->ucx[0]);
    /* A wire of its own. */
    const rondo_ucx_spec spec = {.devices = "any", .ops = fakewire_ops()};
    rondo_ucx *own = NULL;
    if (rondo_ucx_open(&spec, &own) != RONDO_OK ||
        rondo_ucx_address(own, address, &bytes) != RONDO_OK) {
        return 4;
    }
    rondo_ucx_close(own);
    return 0;
}

static void
a_child_never_touches_the_wire(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};
    int ended = 0;

    (void)state;
    fakehosts_make(&hosts);
    for (uint32_t me = 0; me < 2; me++) {
        rondo_transport *const one = hosts.ranks[me];
        rondo_outgoing message = {.data = "x", .bytes = 1};
        assert_int_equal(one->ops->send(one, 1 - me, RONDO_LANE_COLL, &message),
                         RONDO_OK);
    }
    assert_int_equal(hosts.ranks[0]->ops->progress(hosts.ranks[0]), RONDO_OK);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(in_child(&hosts));
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
    /* The parent goes on. */
    rondo_incoming piece;
    assert_int_equal(
        hosts.ranks[0]->ops->peek(hosts.ranks[0], 1, RONDO_LANE_COLL, &piece),
        RONDO_OK);
    fakehosts_end(&hosts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_module_is_said),
        cmocka_unit_test(unusable_devices_are_said),
        cmocka_unit_test(refused_allocations_are_survived),
        cmocka_unit_test(creation_survives_refused_allocations),
        cmocka_unit_test(a_child_never_touches_the_wire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
