/* topology_judge.c - which interface is usable, which is best, and why others are
 * not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/alloc.h"
#include "lib/nets.h"

static rondo_network network;

static void
judge(const char *text, const char *wanted)
{
    rondo_network_facts *const facts = nets_read(text);

    memset(&network, 0xa5, sizeof network);
    assert_int_equal(rondo_network_judge(facts, wanted, &network), RONDO_OK);
    free(facts);
}

/* The usable ones in their order, as "eth0 10.0.0.5,eth1 fd00::1". */
static void
assert_usable(const char *text, const char *wanted, const char *expected)
{
    char list[1024] = "";
    char address[64];

    judge(text, wanted);
    for (uint32_t i = 0; i < network.ninterfaces; i++) {
        const rondo_interface *const one = &network.interfaces[i];
        const size_t used = strlen(list);

        assert_int_equal(one->verdict == RONDO_INTERFACE_USABLE, i < network.nusable);
        assert_int_equal(one->reason[0] == '\0', i < network.nusable);
        if (i < network.nusable) {
            rondo_network_address_text(one->family, one->address, address,
                                       sizeof address);
            (void)snprintf(list + used, sizeof list - used, "%s%s %s",
                           used == 0 ? "" : ",", one->name, address);
        }
    }
    assert_string_equal(list, expected);
}

static const rondo_interface *
find(const char *name)
{
    for (uint32_t i = 0; i < network.ninterfaces; i++) {
        if (strcmp(network.interfaces[i].name, name) == 0) {
            return &network.interfaces[i];
        }
    }
    fail_msg("%s is not listed", name);
    return NULL;
}

/* What auto refuses, and whether it may be asked for nevertheless. */
static const struct {
    const char *line;
    rondo_interface_verdict verdict;
    const char *reason;
    bool may_be_asked;
} refusals[] = {
    {"x0 loop 127.0.0.1/8", RONDO_INTERFACE_LOOPBACK, "loopback", true},
    {"x0 loop 10.7.7.7/32", RONDO_INTERFACE_LOOPBACK, "loopback", true},
    {"x0 loop ::1/128", RONDO_INTERFACE_LOOPBACK, "loopback", true},
    {"x0 127.0.0.9/8", RONDO_INTERFACE_LOOPBACK, "loopback", true},
    {"x0 down 10.0.0.1/8", RONDO_INTERFACE_DOWN, "is down", false},
    {"x0 no-carrier 10.0.0.1/8", RONDO_INTERFACE_DOWN, "carrier", false},
    {"docker0 no-carrier 10.0.0.1/8", RONDO_INTERFACE_DOWN, "carrier", false},
    {"x0 169.254.3.4/16", RONDO_INTERFACE_LINK_LOCAL, "169.254", true},
    {"x0 fe80::1/64", RONDO_INTERFACE_LINK_LOCAL, "fe80", false},
    {"x0 febf::1/64", RONDO_INTERFACE_LINK_LOCAL, "fe80", false},
    {"x0", RONDO_INTERFACE_NO_ADDRESS, "no address", false},
    {"veth1a2b3c", RONDO_INTERFACE_NO_ADDRESS, "no address", false},
    {"x0 fd00::1/64 !duplicate", RONDO_INTERFACE_NO_ADDRESS, "another host", false},
    {"docker0 kind=bridge 172.17.0.1/16", RONDO_INTERFACE_CONTAINER, "Docker", true},
    {"docker_gwbridge 172.18.0.1/16", RONDO_INTERFACE_CONTAINER, "Docker", true},
    {"br-0123456789ab kind=bridge 172.18.0.1/16", RONDO_INTERFACE_CONTAINER, "Docker",
     true},
    {"podman0 10.88.0.1/16", RONDO_INTERFACE_CONTAINER, "Podman", true},
    {"virbr0 kind=bridge 192.168.122.1/24", RONDO_INTERFACE_CONTAINER, "libvirt", true},
    {"veth12 kind=veth 10.1.1.1/24", RONDO_INTERFACE_CONTAINER, "container", true},
    {"cni0 kind=bridge 10.244.0.1/24", RONDO_INTERFACE_CONTAINER, "CNI", true},
    {"cali12ab 10.0.1.1/32", RONDO_INTERFACE_CONTAINER, "Calico", true},
    {"vxlan.calico kind=vxlan 10.0.1.0/32", RONDO_INTERFACE_VIRTUAL, "Calico", true},
    {"flannel.1 kind=vxlan 10.244.1.0/32", RONDO_INTERFACE_VIRTUAL, "flannel", true},
    {"flannel-wg 10.244.1.0/32", RONDO_INTERFACE_VIRTUAL, "flannel", true},
    {"cilium_host 10.0.1.1/32", RONDO_INTERFACE_CONTAINER, "Cilium", true},
    {"lxdbr0 10.5.0.1/24", RONDO_INTERFACE_CONTAINER, "LXD", true},
    {"kube-ipvs0 kind=dummy 10.96.0.1/32", RONDO_INTERFACE_CONTAINER, "Kubernetes",
     true},
    {"nodelocaldns kind=dummy 169.254.20.10/32", RONDO_INTERFACE_CONTAINER,
     "Kubernetes", true},
    {"x0 kind=vxlan 10.1.1.1/24", RONDO_INTERFACE_VIRTUAL, "vxlan", true},
    {"x0 kind=tun 10.1.1.1/24", RONDO_INTERFACE_VIRTUAL, "tap", true},
    {"x0 kind=wireguard 10.1.1.1/24", RONDO_INTERFACE_VIRTUAL, "WireGuard", true},
    {"x0 kind=dummy 10.1.1.1/24", RONDO_INTERFACE_VIRTUAL, "dummy", true},
    {"x0 kind=ipip 10.1.1.1/24", RONDO_INTERFACE_VIRTUAL, "ipip", true},
    {"tun0 10.1.1.1/24", RONDO_INTERFACE_VIRTUAL, "tunnel", true},
    {"tap3 10.1.1.1/24", RONDO_INTERFACE_VIRTUAL, "tap", true},
    {"wg0 10.1.1.1/24", RONDO_INTERFACE_VIRTUAL, "WireGuard", true},
    {"tailscale0 100.64.0.1/32", RONDO_INTERFACE_VIRTUAL, "Tailscale", true},
};

/* One line is refused beside a good one, and asking for it helps or not. */
static void
refuses_and_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        char text[256];
        char name[16];

        /* Behind it in every order, were it usable. */
        (void)snprintf(text, sizeof text, "good speed=1 10.9.0.1/24\n%s speed=100000",
                       refusals[i].line);
        assert_int_equal(sscanf(refusals[i].line, "%15s", name), 1);
        judge(text, "auto");
        assert_int_equal(network.ninterfaces, 2);
        assert_int_equal(network.nusable, 1);
        assert_int_equal(find(name)->verdict, refusals[i].verdict);
        assert_non_null(strstr(find(name)->reason, refusals[i].reason));
        judge(text, name);
        assert_int_equal(network.nusable, refusals[i].may_be_asked ? 1 : 0);
        assert_int_equal(find("good")->verdict, RONDO_INTERFACE_NOT_ASKED);
        judge(text, "good");
        assert_string_equal(network.interfaces[0].name, "good");
        assert_int_equal(network.nusable, 1);
    }
}

/* What looks like the names and kinds above, but is a way out of the host. */
static void
takes_what_reaches_others(void **state)
{
    static const char *const lines[] = {
        "eth0 10.0.0.1/24",
        "e0 kind=veth 10.0.0.1/24",
        "e1 kind=veth speed=10000 fd00::1/64",
        "wlp3s0 192.168.0.2/24",
        "ib0 kind=ipoib 10.0.0.1/24",
        "bond0 kind=bond 10.0.0.1/24",
        "team0 kind=team 10.0.0.1/24",
        "eth0.100 kind=vlan 10.0.0.1/24",
        "mac0 kind=macvlan 10.0.0.1/24",
        "ipv0 kind=ipvlan 10.0.0.1/24",
        "br0 kind=bridge 10.0.0.1/24",
        "br-ex kind=openvswitch 10.0.0.1/24",
        "br-0123456789a kind=bridge 10.0.0.1/24",
        "br-0123456789ag kind=bridge 10.0.0.1/24",
        "x0 169.253.0.1/16",
        "x0 fec0::1/64",
        "x0 fd00::1/64 !tentative",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        judge(lines[i], "auto");
        assert_int_equal(network.nusable, 1);
    }
}

/* A bridge is judged by what is on it. */
static void
looks_at_the_parts_of_a_bridge(void **state)
{
    (void)state;
    assert_usable("br0 kind=bridge 10.0.0.1/24\neno1 master=br0", "auto",
                  "br0 10.0.0.1");
    assert_usable("br0 kind=bridge 10.0.0.1/24\nvnet0 kind=tun master=br0\n"
                  "eno1 master=br0",
                  "auto", "br0 10.0.0.1");
    assert_usable("br0 kind=bridge 10.0.0.1/24\nvnet0 kind=tun master=br0\n"
                  "p1 kind=veth master=br0",
                  "auto", "");
    assert_int_equal(find("br0")->verdict, RONDO_INTERFACE_CONTAINER);
    assert_usable("bond0 kind=bond 10.0.0.1/24\np1 kind=veth master=bond0", "auto",
                  "bond0 10.0.0.1");
}

static void
orders_the_usable(void **state)
{
    (void)state;
    /* The faster first, whatever else. */
    assert_usable("a speed=1000 metric=0 10.0.0.1/8\nb speed=100000 10.0.0.2/8", "auto",
                  "b 10.0.0.2,a 10.0.0.1");
    assert_usable("a metric=0 10.0.0.1/8\nb speed=10 10.0.0.2/8", "auto",
                  "b 10.0.0.2,a 10.0.0.1");
    /* Equally fast: the default route, then the smaller metric, then the index. */
    assert_usable("a 10.0.0.1/8\nb metric=600 10.0.0.2/8", "auto",
                  "b 10.0.0.2,a 10.0.0.1");
    assert_usable("a metric=600 10.0.0.1/8\nb metric=100 10.0.0.2/8", "auto",
                  "b 10.0.0.2,a 10.0.0.1");
    assert_usable("b 10.0.0.2/8\na 10.0.0.1/8", "auto", "b 10.0.0.2,a 10.0.0.1");
    /* Of one interface: IPv4, then what lasts. */
    assert_usable("a fd00::1/64 10.0.0.1/8 10.0.0.2/8", "auto",
                  "a 10.0.0.1,a 10.0.0.2,a fd00::1");
    assert_usable("a fd00::1/64 !deprecated fd00::2/64 !temporary fd00::3/64 "
                  "!tentative fd00::4/64",
                  "auto", "a fd00::4,a fd00::2,a fd00::3,a fd00::1");
    /* What is named first is preferred. */
    assert_usable("a speed=1000 10.0.0.1/8\nb speed=10 10.0.0.2/8", "b,a",
                  "b 10.0.0.2,a 10.0.0.1");
    assert_usable("a speed=1000 10.0.0.1/8\nb speed=10 10.0.0.2/8", "a*,b*,?",
                  "a 10.0.0.1,b 10.0.0.2");
    assert_usable("a speed=9 10.0.0.1/8\nb 10.0.0.2/8\nc speed=5 10.0.0.3/8", "b,auto",
                  "b 10.0.0.2,a 10.0.0.1,c 10.0.0.3");
}

static const char host[] = "lo loop 127.0.0.1/8 ::1/128\n"
                           "eth0 speed=1000 10.1.0.5/16 fd00:1::5/64\n"
                           "eth1 speed=1000 10.2.0.5/16 fe80::5/64\n"
                           "ib0 speed=9000 10.3.0.5/16\n"
                           "docker0 kind=bridge 172.17.0.1/16\n";

static void
obeys_the_list(void **state)
{
    static const struct {
        const char *wanted;
        const char *usable;
    } cases[] = {
        {"auto", "ib0 10.3.0.5,eth0 10.1.0.5,eth0 fd00:1::5,eth1 10.2.0.5"},
        {"", "ib0 10.3.0.5,eth0 10.1.0.5,eth0 fd00:1::5,eth1 10.2.0.5"},
        {"eth0", "eth0 10.1.0.5,eth0 fd00:1::5"},
        {"eth*", "eth0 10.1.0.5,eth0 fd00:1::5,eth1 10.2.0.5"},
        {"eth*,^eth0", "eth1 10.2.0.5"},
        {"^ib*", "eth0 10.1.0.5,eth0 fd00:1::5,eth1 10.2.0.5"},
        {"^ib*,^fd00::/8", "eth0 10.1.0.5,eth1 10.2.0.5"},
        {"^*", ""},
        {"10.0.0.0/14", "ib0 10.3.0.5,eth0 10.1.0.5,eth1 10.2.0.5"},
        {"10.2.0.0/15", "ib0 10.3.0.5,eth1 10.2.0.5"},
        {"10.2.9.9/16", "eth1 10.2.0.5"},
        {"10.2.0.5", "eth1 10.2.0.5"},
        {"10.2.0.6", ""},
        {"fd00::/8", "eth0 fd00:1::5"},
        {"::/0", "eth0 fd00:1::5,lo ::1"},
        {"lo", "lo 127.0.0.1,lo ::1"},
        {"docker0,lo,^::/0", "docker0 172.17.0.1,lo 127.0.0.1"},
        {"auto,docker0,^eth*", "ib0 10.3.0.5,docker0 172.17.0.1"},
        {"nosuch", ""},
        {"nosuch,eth1", "eth1 10.2.0.5"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_usable(host, cases[i].wanted, cases[i].usable);
        /* Nothing gets lost: what is not usable is refused. */
        assert_int_equal(network.ninterfaces, 8);
    }
}

static void
leaves_the_result_on_an_error(void **state)
{
    rondo_network_facts *const facts = nets_read(host);

    (void)state;
    memset(&network, 0, sizeof network);
    network.nusable = 77;
    assert_int_equal(rondo_network_judge(facts, "eth0,", &network), RONDO_ERR_ARG);
    assert_int_equal(network.nusable, 77);
    (void)rondo_alloc_fail_after(1);
    assert_int_equal(rondo_network_judge(facts, "eth0", &network), RONDO_ERR_MEMORY);
    assert_true(rondo_alloc_fail_after(0));
    assert_int_equal(network.nusable, 77);
    free(facts);
}

/* A host of containers: what is usable stands before hundreds of others, and the table
 * is as long as it is. */
static void
finds_one_among_many(void **state)
{
    char *const text = calloc(RONDO_LINKS_MAX, 64);
    char line[64];

    (void)state;
    assert_non_null(text);
    for (uint32_t i = 0; i + 1 < RONDO_LINKS_MAX; i++) {
        (void)snprintf(line, sizeof line, "veth%u kind=veth %s\n", i,
                       i % 7 == 0 ? "10.0.0.1/8" : "");
        strcat(text, line);
    }
    strcat(text, "eth0 10.1.0.5/16");
    assert_usable(text, "auto", "eth0 10.1.0.5");
    assert_int_equal(network.ninterfaces, RONDO_INTERFACES_MAX);
    for (uint32_t i = 1; i < RONDO_INTERFACES_MAX; i++) {
        assert_int_equal(network.interfaces[i].verdict, RONDO_INTERFACE_CONTAINER);
        /* Those without an address would come last. */
        assert_int_equal(network.interfaces[i].family, 4);
    }
    free(text);
}

/* This machine has a loopback that can be asked for, whatever else it has. */
static void
looks_at_this_machine(void **state)
{
    (void)state;
    assert_int_equal(rondo_network_find("auto", &network), RONDO_OK);
    assert_int_equal(find("lo")->verdict, RONDO_INTERFACE_LOOPBACK);
    for (uint32_t i = 0; i < network.nusable; i++) {
        assert_true(network.interfaces[i].index > 0);
        assert_true(network.interfaces[i].mtu >= 68);
    }
    assert_int_equal(rondo_network_find("127.0.0.0/8", &network), RONDO_OK);
    assert_int_equal(network.nusable, 1);
    assert_string_equal(network.interfaces[0].name, "lo");
    assert_int_equal(network.interfaces[0].prefix, 8);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        (void)rondo_alloc_fail_after(nth);
        assert_int_equal(rondo_network_find("auto", &network), RONDO_ERR_MEMORY);
        assert_true(rondo_alloc_fail_after(0));
    }
}

static void
writes_addresses(void **state)
{
    const unsigned char four[16] = {10, 77, 0, 4};
    const unsigned char six[16] = {0xfd, [15] = 4};
    char text[64];

    (void)state;
    rondo_network_address_text(4, four, text, sizeof text);
    assert_string_equal(text, "10.77.0.4");
    rondo_network_address_text(6, six, text, sizeof text);
    assert_string_equal(text, "fd00::4");
    rondo_network_address_text(0, six, text, sizeof text);
    assert_string_equal(text, "");
    for (size_t room = 1; room < sizeof "10.77.0.4"; room++) {
        rondo_network_address_text(4, four, text, room);
        assert_string_equal(text, "");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_and_says_why),
        cmocka_unit_test(takes_what_reaches_others),
        cmocka_unit_test(looks_at_the_parts_of_a_bridge),
        cmocka_unit_test(orders_the_usable),
        cmocka_unit_test(obeys_the_list),
        cmocka_unit_test(leaves_the_result_on_an_error),
        cmocka_unit_test(finds_one_among_many),
        cmocka_unit_test(looks_at_this_machine),
        cmocka_unit_test(writes_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
