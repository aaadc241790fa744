/* topology_numa.c - which memory node holds all processors of a rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology/numa.h"

#define NODES 3

static char folder[64];

/* Node 0 in two runs, node 2 beyond the first word, one without processors. */
static const char *const names[NODES] = {"node0", "node2", "node5"};
static const char *const lists[NODES] = {"0-3,8,10-11\n", "4-7,70-127\n", "\n"};

static int
make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/rondo-numa-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    for (int i = 0; i < NODES; i++) {
        char path[160];

        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (mkdir(path, 0700) != 0) {
            return 1;
        }
        (void)snprintf(path, sizeof path, "%s/%s/cpulist", folder, names[i]);
        FILE *const file = fopen(path, "we");
        if (file == NULL || fputs(lists[i], file) < 0 || fclose(file) != 0) {
            return 1;
        }
    }
    return 0;
}

static int
remove_folder(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++) {
        char path[160];

        (void)snprintf(path, sizeof path, "%s/%s/cpulist", folder, names[i]);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)rmdir(path);
    }
    return rmdir(folder);
}

static uint32_t
node_of_run(unsigned first, unsigned last)
{
    uint64_t mask[RONDO_CPUS_MAX / 64] = {0};

    for (unsigned cpu = first; cpu <= last; cpu++) {
        mask[cpu / 64] |= UINT64_C(1) << cpu % 64;
    }
    return rondo_numa_node_in(folder, mask);
}

/* Every run of processors, against a plain list of which is where. */
static void
every_run(void **state)
{
    uint32_t home[160];

    (void)state;
    for (unsigned cpu = 0; cpu < 160; cpu++) {
        const bool zero = cpu <= 3 || cpu == 8 || cpu == 10 || cpu == 11;
        const bool two = (cpu >= 4 && cpu <= 7) || (cpu >= 70 && cpu <= 127);

        home[cpu] = zero ? 0 : two ? 2 : RONDO_NO_NUMA_NODE;
    }
    for (unsigned first = 0; first < 160; first++) {
        uint32_t wanted = home[first];

        for (unsigned last = first; last < 160; last++) {
            wanted = home[last] == wanted ? wanted : RONDO_NO_NUMA_NODE;
            assert_int_equal(node_of_run(first, last), wanted);
            if (wanted == RONDO_NO_NUMA_NODE && last > first + 4) {
                break;
            }
        }
    }
}

static void
nothing_to_go_by(void **state)
{
    const uint64_t none[RONDO_CPUS_MAX / 64] = {0};
    const uint64_t one[RONDO_CPUS_MAX / 64] = {1};

    (void)state;
    assert_int_equal(rondo_numa_node_in(folder, none), RONDO_NO_NUMA_NODE);
    assert_int_equal(rondo_numa_node_in("/nowhere", one), RONDO_NO_NUMA_NODE);
    assert_int_equal(rondo_numa_node_in(folder, one), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_run),
        cmocka_unit_test(nothing_to_go_by),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
