/* host.c - which processes may share memory and abstract sockets: a host, and its
 * name. */
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/wire.h"

/* What must be equal. A piece that cannot be had stays zero: the proof is the sharing
 * itself, this only keeps hopeless attempts away. */
typedef struct host_facts {
    char boot[64];
    char name[64];
    uint64_t spaces[3][2]; /* network, pid and user namespace: device, inode */
    uint64_t uid;
} host_facts;

static void
read_boot(char *text, size_t text_bytes)
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        if (read(fd, text, text_bytes - 1) < 0) {
            text[0] = '\0';
        }
        (void)close(fd);
    }
}

void
rondo_host_key(rondo_name *key)
{
    /* Numbers of processes travel as well, so the pid namespace counts. */
    static const char *const spaces[] = {"/proc/self/ns/net", "/proc/self/ns/pid",
                                         "/proc/self/ns/user"};
    const char *const given = rondo_config_text(RONDO_CONFIG_HOST_ID);
    crypto_generichash_state state;
    host_facts facts;
    struct stat space;

    memset(&facts, 0, sizeof facts);
    read_boot(facts.boot, sizeof facts.boot);
    if (facts.boot[0] == '\0') {
        (void)gethostname(facts.name, sizeof facts.name - 1);
    }
    for (uint32_t i = 0; i < 3; i++) {
        if (stat(spaces[i], &space) == 0) {
            facts.spaces[i][0] = space.st_dev;
            facts.spaces[i][1] = space.st_ino;
        }
    }
    facts.uid = getuid();
    (void)crypto_generichash_init(&state, NULL, 0, sizeof key->bytes);
    (void)crypto_generichash_update(&state, (const unsigned char *)&facts,
                                    sizeof facts);
    (void)crypto_generichash_update(&state, (const unsigned char *)given,
                                    strlen(given));
    (void)crypto_generichash_final(&state, key->bytes, sizeof key->bytes);
}

void
rondo_host_name(char *text, size_t text_bytes)
{
    const char *const given = rondo_config_text(RONDO_CONFIG_HOST_ID);
    char name[RONDO_HOST_NAME_BYTES] = "";

    if (given[0] != '\0') {
        (void)snprintf(name, sizeof name, "%s", given);
    } else if (gethostname(name, sizeof name - 1) != 0) {
        name[0] = '\0';
    }
    rondo_wire_clean(name, sizeof name);
    (void)snprintf(text, text_bytes, "%s", name[0] != '\0' ? name : "unnamed host");
}
