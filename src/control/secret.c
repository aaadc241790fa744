/* secret.c - random bytes, and names and keys that a group derives alike. */
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "control/service.h"

static pthread_once_t started = PTHREAD_ONCE_INIT;

static void
start(void)
{
    /* It can fail only where the kernel has no random numbers; drawing then does. */
    if (sodium_init() < 0) {
        return;
    }
}

void
rondo_random(void *memory, size_t bytes)
{
    (void)pthread_once(&started, start);
    randombytes_buf(memory, bytes);
}

/* The purpose is part of what is hashed: a name, which travels, tells nothing about the
 * key with the same label. */
static void
derive(const rondo_key *key, const char *purpose, const char *label, uint64_t number,
       unsigned char out[crypto_auth_BYTES])
{
    char text[128] = {0};

    _Static_assert(crypto_auth_KEYBYTES == RONDO_KEY_BYTES, "keys are 32 bytes");
    (void)snprintf(text, sizeof text, "rondo %s %.80s %llu", purpose, label,
                   (unsigned long long)number);
    (void)crypto_auth(out, (const unsigned char *)text, strlen(text), key->bytes);
}

rondo_name
rondo_name_derive(const rondo_key *key, const char *label, uint64_t number)
{
    unsigned char mac[crypto_auth_BYTES];
    rondo_name name;

    derive(key, "name", label, number, mac);
    memcpy(name.bytes, mac, sizeof name.bytes);
    return name;
}

rondo_key
rondo_key_derive(const rondo_key *key, const char *label, uint64_t number)
{
    rondo_key part;

    _Static_assert(crypto_auth_BYTES == RONDO_KEY_BYTES, "a hash makes a key");
    derive(key, "key", label, number, part.bytes);
    return part;
}
