/* topology_choose.c - what UCX is given: RDMA ports that fit, TCP, or what was
 * named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "lib/nets.h"

static const char host[] = "eth0 10.0.0.1/8\n"
                           "eth0.7 kind=vlan 10.7.0.1/16\n"
                           "ib0 10.1.0.1/16\n"
                           "port mlx5_0:1 ACTIVE Ethernet CA eth0,eth0.7\n"
                           "port mlx5_0:2 DOWN Ethernet CA eth1\n"
                           "port mlx5_1:1 ACTIVE InfiniBand CA -\n"
                           "port mlx5_2:1 INIT InfiniBand CA -\n"
                           "port mlx5_3:1 ACTIVE Ethernet CA eth9\n"
                           "port mlx5_4:1 ACTIVE Ethernet CA -\n"
                           "port siw0:1 ACTIVE Ethernet RNIC eth0\n";

static rondo_network network;

static void
judge(const char *text)
{
    rondo_network_facts *const facts = nets_read(text);

    assert_int_equal(rondo_network_judge(facts, "auto", &network), RONDO_OK);
    free(facts);
}

static void
sorts_ports(void **state)
{
    static const struct {
        const char *name;
        const char *interface;
        const char *reason;
    } ports[] = {
        {"mlx5_0:1", "eth0", ""},        {"mlx5_1:1", "", ""},
        {"mlx5_3:1", "eth9", ""},        {"mlx5_4:1", "?", ""},
        {"mlx5_0:2", "eth1", "is down"}, {"mlx5_2:1", "", "subnet manager"},
        {"siw0:1", "eth0", "iWARP"},
    };

    (void)state;
    judge(host);
    assert_int_equal(network.nports, 4);
    assert_int_equal(network.nports_seen, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_string_equal(network.ports[i].name, ports[i].name);
        assert_string_equal(network.ports[i].interface, ports[i].interface);
        assert_non_null(strstr(network.ports[i].reason, ports[i].reason));
        assert_int_equal(network.ports[i].reason[0] == '\0', i < 4);
    }
}

static void
chooses(void **state)
{
    static const struct {
        const char *interfaces;
        const char *rdma;
        const char *devices;
        const char *transports;
    } cases[] = {
        {"eth0", "auto", "mlx5_0:1,mlx5_1:1,eth0", "rc,ud,tcp"},
        {"eth0", "", "mlx5_0:1,mlx5_1:1,eth0", "rc,ud,tcp"},
        {"eth0.7", "auto", "mlx5_0:1,mlx5_1:1,eth0.7", "rc,ud,tcp"},
        {"ib0", "auto", "mlx5_1:1,ib0", "rc,ud,tcp"},
        {"ib0,eth0", "auto", "mlx5_0:1,mlx5_1:1,ib0,eth0", "rc,ud,tcp"},
        {"eth", "auto", "mlx5_1:1,eth", "rc,ud,tcp"},
        {"?", "auto", "mlx5_1:1,?", "rc,ud,tcp"},
        {"eth0", "off", "eth0", "tcp"},
        {"ib0,eth0", "off", "ib0,eth0", "tcp"},
        {"eth0", "mlx5_3:1", "mlx5_3:1", "rc,ud"},
        {"eth0", "mlx5_1:1,mlx5_0:1", "mlx5_1:1,mlx5_0:1", "rc,ud"},
        {"eth0", "mlx5_0", "mlx5_0:1", "rc,ud"},
        {"eth0", "mlx5_0,mlx5_0:1", "mlx5_0:1", "rc,ud"},
    };

    (void)state;
    judge(host);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rondo_network_choice choice;

        assert_int_equal(
            rondo_network_choose(&network, cases[i].interfaces, cases[i].rdma, &choice),
            RONDO_OK);
        assert_string_equal(choice.devices, cases[i].devices);
        assert_string_equal(choice.transports, cases[i].transports);
        assert_true(choice.reason[0] != '\0');
    }
}

static void
refuses_ports_that_are_not_there(void **state)
{
    static const struct {
        const char *rdma;
        const char *named;
    } cases[] = {
        {"mlx5_0:2", "\"mlx5_0:2\""},
        {"mlx5_2", "\"mlx5_2\""},
        {"siw0", "\"siw0\""},
        {"mlx5", "\"mlx5\""},
        {"mlx5_0:", "\"mlx5_0:\""},
        {"mlx5_0:11", "\"mlx5_0:11\""},
        {"mlx5_0:1,nosuch", "\"nosuch\""},
        {"mlx5_0:1,", "\"\""},
        {",mlx5_0:1", "\"\""},
        {"on", "\"on\""},
        {"mlx5_0:1 mlx5_1:1", "mlx5_1:1\" is"},
        {"eth0", "\"eth0\""},
    };

    (void)state;
    judge(host);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rondo_network_choice choice;

        memset(&choice, 7, sizeof choice);
        assert_int_equal(rondo_network_choose(&network, "eth0", cases[i].rdma, &choice),
                         RONDO_ERR_ARG);
        assert_int_equal(choice.devices[0], 7);
        assert_non_null(strstr(rondo_error_text(), "RONDO_RDMA"));
        assert_non_null(strstr(rondo_error_text(), cases[i].named));
        assert_non_null(strstr(rondo_error_text(), "mlx5_0:2 (is down)"));
    }
    judge("eth0 10.0.0.1/8");
    rondo_network_choice choice;
    assert_int_equal(rondo_network_choose(&network, "eth0", "x", &choice),
                     RONDO_ERR_ARG);
    assert_non_null(strstr(rondo_error_text(), "there are: none"));
}

/* Every length of the list of interfaces: all of it, or a refusal. */
static void
never_cuts_a_list(void **state)
{
    char interfaces[600] = "";
    uint32_t taken = 0;

    (void)state;
    judge(host);
    for (uint32_t i = 0; i < 90; i++) {
        rondo_network_choice choice;
        const size_t used = strlen(interfaces);

        (void)snprintf(interfaces + used, sizeof interfaces - used, "%se%04u",
                       i == 0 ? "" : ",", i);
        const rondo_status status =
            rondo_network_choose(&network, interfaces, "auto", &choice);
        if (status == RONDO_OK) {
            assert_int_equal(strlen(choice.devices),
                             strlen("mlx5_1:1,") + strlen(interfaces));
            taken++;
        } else {
            assert_int_equal(status, RONDO_ERR_ARG);
            assert_non_null(strstr(rondo_error_text(), "do not fit"));
        }
    }
    assert_true(taken > 30);
    assert_true(taken < 90);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_ports),
        cmocka_unit_test(chooses),
        cmocka_unit_test(refuses_ports_that_are_not_there),
        cmocka_unit_test(never_cuts_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
