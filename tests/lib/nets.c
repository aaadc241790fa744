/* nets.c - reads networks written down in a few lines. */
#include "lib/nets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>

/* Masters are named before or behind their parts, so they are looked up at the end. */
typedef struct above_names {
    char of[RONDO_LINKS_MAX][16];
} above_names;

static void
take_address(rondo_network_facts *facts, char *word)
{
    rondo_link_address *const address = &facts->addresses[facts->naddresses++];
    char *const slash = strchr(word, '/');

    assert_non_null(slash);
    *slash = '\0';
    address->link = facts->nlinks - 1;
    address->family = strchr(word, ':') != NULL ? 6 : 4;
    address->prefix = (uint16_t)atoi(slash + 1);
    assert_int_equal(
        inet_pton(address->family == 6 ? AF_INET6 : AF_INET, word, address->address),
        1);
}

static void
take_state(rondo_network_facts *facts, const char *word)
{
    static const char *const words[] = {"!tentative", "!duplicate", "!deprecated",
                                        "!temporary"};

    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(word, words[i]) == 0) {
            facts->addresses[facts->naddresses - 1].state |= UINT32_C(1) << i;
            return;
        }
    }
    fail_msg("no such state: %s", word);
}

static void
take_word(rondo_network_facts *facts, above_names *above, char *word)
{
    rondo_link *const link = &facts->links[facts->nlinks - 1];

    if (strncmp(word, "kind=", 5) == 0) {
        (void)snprintf(link->kind, sizeof link->kind, "%.15s", word + 5);
    } else if (strncmp(word, "speed=", 6) == 0) {
        link->speed_mbit = (uint32_t)atoi(word + 6);
    } else if (strncmp(word, "metric=", 7) == 0) {
        link->metric = (uint32_t)atoi(word + 7);
    } else if (strncmp(word, "master=", 7) == 0) {
        (void)snprintf(above->of[facts->nlinks - 1], 16, "%.15s", word + 7);
    } else if (strcmp(word, "down") == 0) {
        link->up = link->running = false;
    } else if (strcmp(word, "no-carrier") == 0) {
        link->running = false;
    } else if (strcmp(word, "loop") == 0) {
        link->loopback = true;
    } else if (word[0] == '!') {
        take_state(facts, word);
    } else {
        take_address(facts, word);
    }
}

static void
take_port(rondo_network_facts *facts, char *rest)
{
    rondo_port_fact *const port = &facts->ports[facts->nports++];

    assert_int_equal(sscanf(rest, "%63[^:]:%u %15s %15s %15s %127s", port->device,
                            &port->port, port->state, port->fabric, port->kind,
                            port->interfaces),
                     6);
    if (strcmp(port->interfaces, "-") == 0) {
        port->interfaces[0] = '\0';
    }
}

static void
take_line(rondo_network_facts *facts, above_names *above, char *line)
{
    char *rest = line + strspn(line, " ");
    const char *const name = strsep(&rest, " ");

    if (strcmp(name, "port") == 0) {
        take_port(facts, rest);
        return;
    }
    rondo_link *const link = &facts->links[facts->nlinks++];
    (void)snprintf(link->name, sizeof link->name, "%.15s", name);
    link->index = facts->nlinks;
    link->mtu = 1500;
    link->metric = RONDO_NO_METRIC;
    link->up = link->running = true;
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        if (word[0] != '\0') {
            take_word(facts, above, word);
        }
    }
}

rondo_network_facts *
nets_read(const char *text)
{
    rondo_network_facts *const facts = calloc(1, sizeof *facts);
    above_names *const above = calloc(1, sizeof *above);
    char *const copy = strdup(text);
    char *rest = copy;

    assert_non_null(facts);
    assert_non_null(above);
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (line[strspn(line, " ")] != '\0') {
            take_line(facts, above, line);
        }
    }
    for (uint32_t i = 0; i < facts->nlinks; i++) {
        const rondo_link *const master = rondo_facts_link(facts, above->of[i]);

        facts->links[i].master = master == NULL ? 0 : master->index;
    }
    free(above);
    free(copy);
    return facts;
}
