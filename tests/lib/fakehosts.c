/* fakehosts.c - ranks over fake wires, made and ended. */
#include "lib/fakehosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool
find(void *user, uint32_t rank, void *address, size_t *bytes)
{
    fakehosts *const hosts = user;

    return !hosts->unknown && rondo_ucx_address(hosts->ucx[rank % hosts->nwires],
                                                address, bytes) == RONDO_OK;
}

static void
woken(void *user)
{
    fakehosts *const hosts = user;

    atomic_fetch_add_explicit(&hosts->wakes, 1, memory_order_relaxed);
}

void
fakehosts_open(fakehosts *hosts)
{
    const rondo_ucx_spec spec = {.devices = "any", .ops = fakewire_ops()};

    fakewire_begin(&hosts->wire);
    for (uint32_t i = 0; i < hosts->nwires; i++) {
        assert_int_equal(rondo_ucx_open(&spec, &hosts->ucx[i]), RONDO_OK);
    }
}

rondo_transport *
fakehosts_rank(fakehosts *hosts, uint64_t comm, uint32_t rank)
{
    rondo_transport *made = NULL;
    const rondo_ucx_setup setup = {.ucx = hosts->ucx[rank % hosts->nwires],
                                   .comm = comm,
                                   .me = rank,
                                   .nranks = hosts->nranks,
                                   .find = find,
                                   .wake = woken,
                                   .user = hosts,
                                   .window_bytes = hosts->window_bytes};

    assert_int_equal(rondo_ucx_create(&setup, &made), RONDO_OK);
    return made;
}

void
fakehosts_make(fakehosts *hosts)
{
    fakehosts_open(hosts);
    for (uint32_t rank = 0; rank < hosts->nranks; rank++) {
        hosts->ranks[rank] = fakehosts_rank(hosts, hosts->comm, rank);
    }
}

void
fakehosts_end(fakehosts *hosts)
{
    for (uint32_t rank = 0; rank < hosts->nranks; rank++) {
        if (hosts->ranks[rank] != NULL) {
            hosts->ranks[rank]->ops->destroy(hosts->ranks[rank]);
        }
        hosts->ranks[rank] = NULL;
    }
    for (uint32_t i = 0; i < hosts->nwires; i++) {
        rondo_ucx_close(hosts->ucx[i]);
        hosts->ucx[i] = NULL;
    }
    assert_int_equal(fakewire_end(), 0);
}
