/* print_network.c - the text for people: interfaces, RDMA ports, pairs, probes. */
#include "info.h"

#include <string.h>

#include "base/config.h"

static void
rate_text(uint32_t mbit, char *text, size_t text_bytes)
{
    if (mbit == 0) {
        (void)snprintf(text, text_bytes, "speed ?");
    } else if (mbit % 1000 == 0) {
        (void)snprintf(text, text_bytes, "%u Gbit/s", mbit / 1000);
    } else if (mbit > 1000) {
        (void)snprintf(text, text_bytes, "%.1f Gbit/s", mbit / 1000.0);
    } else {
        (void)snprintf(text, text_bytes, "%u Mbit/s", mbit);
    }
}

static void
address_text(const rondo_interface *interface, char *text, size_t text_bytes)
{
    rondo_network_address_text(interface->family, interface->address, text, text_bytes);
    const size_t used = strlen(text);

    if (interface->family != 0 && used + 5 < text_bytes) {
        (void)snprintf(text + used, text_bytes - used, "/%u", interface->prefix);
    } else {
        (void)snprintf(text, text_bytes, "-");
    }
}

static int
wider(int width, const char *text)
{
    return (int)strlen(text) > width ? (int)strlen(text) : width;
}

static bool
shares_link(const info_decided *decided, uint32_t number)
{
    return decided->chosen < RONDO_INTERFACES_MAX &&
           decided->network.interfaces[number].index ==
               decided->network.interfaces[decided->chosen].index;
}

static void
print_verdict(const info_decided *decided, uint32_t number)
{
    const rondo_interface *const one = &decided->network.interfaces[number];

    if (one->verdict != RONDO_INTERFACE_USABLE) {
        printf("refused, it %s\n", one->reason);
    } else if (number == decided->chosen) {
        puts("chosen");
    } else {
        puts(shares_link(decided, number) ? "usable, on the same interface" : "usable");
    }
}

/* Why the chosen one comes before the next usable one of another link. */
static void
print_why(const info_decided *decided)
{
    const rondo_interface *const all = decided->network.interfaces;
    const rondo_interface *const best = &all[decided->chosen];
    const rondo_interface *next = NULL;

    for (uint32_t i = decided->chosen + 1; i < decided->network.nusable; i++) {
        if (all[i].index != best->index) {
            next = &all[i];
            break;
        }
    }
    printf("  %s is chosen: ", best->name);
    if (decided->probed && decided->chosen > 0) {
        puts("it is the best that reaches the host.");
    } else if (next == NULL) {
        puts("it is the only usable one.");
    } else if (best->part < next->part) {
        printf("RONDO_INTERFACE names it before %s.\n", next->name);
    } else if (best->speed_mbit > next->speed_mbit) {
        printf("it is the fastest that is usable, before %s.\n", next->name);
    } else if (best->metric < next->metric) {
        printf("it is as fast as %s and has the %sdefault route.\n", next->name,
               next->metric == RONDO_NO_METRIC ? "" : "better ");
    } else {
        printf("nothing tells it from %s but the order.\n", next->name);
    }
}

static void
print_interfaces(const info_decided *decided)
{
    const rondo_network *const network = &decided->network;
    char address[64];
    char rate[32];
    int name_width = 0;
    int address_width = 0;

    for (uint32_t i = 0; i < network->ninterfaces; i++) {
        address_text(&network->interfaces[i], address, sizeof address);
        name_width = wider(name_width, network->interfaces[i].name);
        address_width = wider(address_width, address);
    }
    printf("\nInterfaces (RONDO_INTERFACE=%s)\n",
           rondo_config_text(RONDO_CONFIG_INTERFACE));
    for (uint32_t i = 0; i < network->ninterfaces; i++) {
        const rondo_interface *const one = &network->interfaces[i];

        address_text(one, address, sizeof address);
        rate_text(one->speed_mbit, rate, sizeof rate);
        printf("  %-*s  %-*s  %-11s  MTU %-5u  ", name_width, one->name, address_width,
               address, rate, one->mtu);
        print_verdict(decided, i);
    }
    if (decided->chosen < RONDO_INTERFACES_MAX) {
        print_why(decided);
        return;
    }
    puts(network->nusable > 0 ? "  None is chosen: none reaches the host."
                              : "  None is usable: ranks on other hosts cannot be "
                                "reached.");
}

static const rondo_rdma_detail *
detail_of(const info_found *found, const char *name)
{
    for (uint32_t i = 0; i < found->rdma.nports; i++) {
        if (strcmp(found->rdma.ports[i].name, name) == 0) {
            return &found->rdma.ports[i];
        }
    }
    return NULL;
}

static void
print_detail(const rondo_rdma_detail *detail)
{
    char rate[32];

    if (detail == NULL) {
        return;
    }
    rate_text(detail->rate_mbit, rate, sizeof rate);
    printf(", %s, MTU %u", rate, detail->mtu);
}

static void
print_gids(const rondo_rdma_detail *detail)
{
    for (uint32_t i = 0; detail != NULL && i < detail->ngids; i++) {
        const rondo_rdma_gid *const gid = &detail->gids[i];

        printf("    GID %-3u %-8s  %s%s%s\n", gid->index, gid->type, gid->text,
               gid->interface[0] == '\0' ? "" : "  ", gid->interface);
    }
    if (detail != NULL && detail->ngids_seen > detail->ngids) {
        printf("    and %u GIDs more\n", detail->ngids_seen - detail->ngids);
    }
}

static void
print_place(const info_found *found, const rondo_rdma_port *port)
{
    char device[80];

    (void)snprintf(device, sizeof device, "%.*s", (int)strcspn(port->name, ":"),
                   port->name);
    const uint32_t node = rondo_machine_near(found->machine, device);
    if (node != RONDO_NO_NODE) {
        printf(", near node %u", node);
    }
}

static void
print_ports(const info_found *found, const info_decided *decided)
{
    const rondo_network *const network = &decided->network;

    printf("\nRDMA ports (RONDO_RDMA=%s)\n", rondo_config_text(RONDO_CONFIG_RDMA));
    if (network->nports_seen == 0) {
        puts("  There are none.");
    }
    for (uint32_t i = 0; i < network->nports_seen; i++) {
        const rondo_rdma_port *const port = &network->ports[i];
        const rondo_rdma_detail *const detail = detail_of(found, port->name);

        printf("  %s  %s", port->name, port->fabric);
        if (port->interfaces[0] != '\0') {
            printf(" on %s", port->interfaces);
        }
        print_detail(detail);
        print_place(found, port);
        printf(port->reason[0] == '\0' ? ": usable\n" : ": refused, it %s\n",
               port->reason);
        print_gids(detail);
    }
}

static void
print_pairs(const info_decided *decided)
{
    const rondo_network_choice *const choice = &decided->choice;
    const bool rdma = strstr(choice->transports, "rc") != NULL;
    const bool tcp = strstr(choice->transports, "tcp") != NULL;
    const char *const name = decided->chosen < RONDO_INTERFACES_MAX
                                 ? decided->network.interfaces[decided->chosen].name
                                 : "";

    puts("\nBetween ranks");
    puts("  same host    shared memory (shm)");
    if (choice->devices[0] == '\0') {
        puts("  other hosts  nothing");
        return;
    }
    printf("  other hosts  UCX: ");
    if (rdma) {
        const size_t tail = tcp && name[0] != '\0' ? strlen(name) + 1 : 0;

        printf("rc over %.*s", (int)(strlen(choice->devices) - tail), choice->devices);
    }
    printf("%s%s%s\n",
           rdma && tcp ? "; TCP over "
           : tcp       ? "TCP over "
                       : "",
           tcp ? name : "", rdma && tcp ? " for hosts without" : "");
    printf("  UCX is given the devices %s and the transports %s: %s.\n",
           choice->devices, choice->transports, choice->reason);
}

static void
print_probes(const info_decided *decided)
{
    char source[64];
    char target[64];

    if (!decided->probed) {
        return;
    }
    printf("\nReaching %s\n", decided->target);
    for (uint32_t i = 0; i < decided->nprobes; i++) {
        const info_probe *const probe = &decided->probes[i];
        const rondo_interface *const from =
            &decided->network.interfaces[probe->interface];

        rondo_network_address_text(from->family, from->address, source, sizeof source);
        rondo_network_address_text(probe->family, probe->target, target, sizeof target);
        printf("  %s (%s) to %s: %s", from->name, source, target,
               probe->reached ? "reached" : "not reached");
        printf(probe->reached ? ", %s (%.1f ms)\n" : ", %s\n", probe->words, probe->ms);
    }
    if (decided->nprobes == 0) {
        puts("  Nothing to try: no usable interface has an address of its family.");
    }
}

void
info_print_network(const info_found *found, const info_decided *decided)
{
    print_interfaces(decided);
    print_ports(found, decided);
    print_probes(decided);
    print_pairs(decided);
}
