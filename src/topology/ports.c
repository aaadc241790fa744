/* ports.c - RDMA devices and their ports, from /sys/class/infiniband. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/facts.h"

#define DEVICES "/sys/class/infiniband"

/* GIDs of a port that are looked at; a port has 256 places at most. */
#define GIDS_MAX 256

/* First line of a file without its newline; "" when there is none. */
static void
read_line(const char *path, char *text, size_t text_bytes)
{
    FILE *const file = fopen(path, "re");

    text[0] = '\0';
    if (file == NULL) {
        return;
    }
    if (fgets(text, (int)text_bytes, file) == NULL) {
        text[0] = '\0';
    }
    text[strcspn(text, "\n")] = '\0';
    (void)fclose(file);
}

/* The word behind the number in "4: ACTIVE". */
static void
read_numbered(const char *path, char *word, size_t word_bytes)
{
    char line[64];
    const char *at = line;

    read_line(path, line, sizeof line);
    at += strspn(at, "0123456789");
    at += strspn(at, ": ");
    const size_t letters = strnlen(at, word_bytes - 1);
    memcpy(word, at, letters);
    word[letters] = '\0';
}

static bool
listed(const char *list, const char *name)
{
    const size_t letters = strlen(name);

    for (const char *at = list; *at != '\0';) {
        const size_t length = strcspn(at, ",");

        if (length == letters && memcmp(at, name, letters) == 0) {
            return true;
        }
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return false;
}

static void
add_interface(rondo_port_fact *port, const char *name)
{
    const size_t used = strlen(port->interfaces);

    if (name[0] == '\0' || strlen(name) > 15 || listed(port->interfaces, name) ||
        used + strlen(name) + 2 > sizeof port->interfaces) {
        return;
    }
    (void)snprintf(port->interfaces + used, sizeof port->interfaces - used, "%s%s",
                   used == 0 ? "" : ",", name);
}

/* Which interfaces a port's GIDs belong to. Empty places give an error, so all are
 * tried. Soft-RoCE says its interface under `parent` as well. */
static void
read_interfaces(rondo_port_fact *port)
{
    char path[192];
    char name[64];

    for (uint32_t gid = 0; gid < GIDS_MAX; gid++) {
        (void)snprintf(path, sizeof path, DEVICES "/%s/ports/%u/gid_attrs/ndevs/%u",
                       port->device, port->port, gid);
        FILE *const file = fopen(path, "re");
        if (file == NULL) {
            break;
        }
        (void)fclose(file);
        read_line(path, name, sizeof name);
        add_interface(port, name);
    }
    (void)snprintf(path, sizeof path, DEVICES "/%s/parent", port->device);
    read_line(path, name, sizeof name);
    add_interface(port, name);
}

static void
read_port(rondo_network_facts *facts, const char *device, const char *number)
{
    char path[192];
    char *end = NULL;
    const unsigned long count = strtoul(number, &end, 10);

    if (*end != '\0' || count == 0 || count > 255 || strlen(device) > 63 ||
        facts->nports == RONDO_RDMA_PORTS_MAX) {
        return;
    }
    rondo_port_fact *const port = &facts->ports[facts->nports++];
    port->port = (uint32_t)count;
    memcpy(port->device, device, strlen(device) + 1);
    (void)snprintf(path, sizeof path, DEVICES "/%s/ports/%u/state", port->device,
                   port->port);
    read_numbered(path, port->state, sizeof port->state);
    (void)snprintf(path, sizeof path, DEVICES "/%s/ports/%u/link_layer", port->device,
                   port->port);
    read_line(path, port->fabric, sizeof port->fabric);
    (void)snprintf(path, sizeof path, DEVICES "/%s/node_type", port->device);
    read_numbered(path, port->kind, sizeof port->kind);
    read_interfaces(port);
}

/* Names of a folder in alphabetical order, so that two looks give the same list. */
static int
visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void
read_device(rondo_network_facts *facts, const char *device)
{
    char path[320];
    struct dirent **numbers = NULL;

    (void)snprintf(path, sizeof path, DEVICES "/%s/ports", device);
    const int count = scandir(path, &numbers, visible, versionsort);
    for (int i = 0; i < count; i++) {
        read_port(facts, device, numbers[i]->d_name);
        free(numbers[i]);
    }
    free(numbers);
}

void
rondo_facts_read_ports(rondo_network_facts *facts)
{
    struct dirent **devices = NULL;
    const int count = scandir(DEVICES, &devices, visible, versionsort);

    for (int i = 0; i < count; i++) {
        read_device(facts, devices[i]->d_name);
        free(devices[i]);
    }
    free(devices);
}
