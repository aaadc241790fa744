/*
 * spaces.h - hosts as network namespaces, joined by a switch: host i has 10.77.0.(i+1),
 * fd77::(i+1) and fe80::77:(i+1) at its interface "e0". Names are private to the run.
 */
#ifndef LIB_SPACES_H
#define LIB_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#define SPACES_MAX 4

typedef enum spaces_families {
    SPACES_BOTH,
    SPACES_FOUR, /* IPv6 is off */
    SPACES_SIX   /* no IPv4 address, not even of loopback */
} spaces_families;

typedef struct spaces {
    uint32_t count;
    int fds[SPACES_MAX]; /* of the namespaces */
} spaces;

/* spaces_open - false: this process may not (the test is then to be skipped). */
bool
spaces_open(uint32_t count, spaces_families families, spaces *made);
void
spaces_close(spaces *made);

/* spaces_ip - run `ip` with these words on a host; the switch is host SPACES_MAX. */
void
spaces_ip(uint32_t host, const char *words);

/* spaces_link - take the cable of a host out, at the switch, or put it in again. */
void
spaces_link(uint32_t host, bool up);

/* space_enter - this thread moves to the namespace, and to an /etc/hosts of its own
 * with these lines (null: the machine's). It stays there for good. */
void
space_enter(int fd, const char *hosts);

/* space_own - the namespace this thread is in, to be closed by the caller. */
int
space_own(void);

#endif /* LIB_SPACES_H */
