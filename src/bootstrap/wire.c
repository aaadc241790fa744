/* wire.c - making and checking the messages of the rendezvous. */
#include "bootstrap/wire.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define ORDER_MARK  UINT32_C(0x01020304)
#define FRAME_MAGIC UINT32_C(0x726e646f)

static const char magic[8] = {'R', 'O', 'N', 'D', 'O', 'm', 'e', 't'};

void
rondo_wire_preface(rondo_preface *preface)
{
    _Static_assert(sizeof *preface == 24, "the same in all versions");
    *preface = (rondo_preface){
        .order = ORDER_MARK, .wire = RONDO_WIRE_VERSION, .library = RONDO_VERSION};
    memcpy(preface->magic, magic, sizeof magic);
}

rondo_preface_verdict
rondo_wire_preface_check(const void *bytes, size_t nbytes)
{
    const size_t there = nbytes < sizeof magic ? nbytes : sizeof magic;
    rondo_preface ours;

    if (memcmp(bytes, magic, there) != 0) {
        return RONDO_PREFACE_FOREIGN;
    }
    if (nbytes < sizeof ours) {
        return RONDO_PREFACE_OURS;
    }
    rondo_wire_preface(&ours);
    return memcmp(bytes, &ours, sizeof ours) == 0 ? RONDO_PREFACE_OURS
                                                  : RONDO_PREFACE_VERSION;
}

void
rondo_wire_versions(const rondo_preface *theirs, char *text, size_t text_bytes)
{
    const bool swapped = theirs->order == __builtin_bswap32(ORDER_MARK);
    const uint32_t library =
        swapped ? __builtin_bswap32(theirs->library) : theirs->library;
    const uint32_t wire = swapped ? __builtin_bswap32(theirs->wire) : theirs->wire;

    (void)snprintf(text, text_bytes,
                   "Rondo %u.%u.%u (protocol %u) here, %u.%u.%u (protocol %u%s) there",
                   RONDO_VERSION_MAJOR, RONDO_VERSION_MINOR, RONDO_VERSION_PATCH,
                   RONDO_WIRE_VERSION, library / 10000, library / 100 % 100,
                   library % 100, wire, swapped ? ", other byte order" : "");
}

/* The first byte hashed says what for: no hash of one kind passes for another. */
static void
start_hash(crypto_auth_hmacsha512256_state *state, const rondo_key *secret,
           unsigned char purpose)
{
    _Static_assert(crypto_auth_hmacsha512256_BYTES == RONDO_HASH_BYTES, "fits");
    (void)crypto_auth_hmacsha512256_init(state, secret->bytes, sizeof secret->bytes);
    (void)crypto_auth_hmacsha512256_update(state, &purpose, 1);
}

static void
hash_hello(const rondo_key *secret, const unsigned char *server_nonce, const void *card,
           const rondo_hello *hello, unsigned char *mac)
{
    crypto_auth_hmacsha512256_state state;

    _Static_assert(sizeof *hello == 120, "no padding is sent");
    start_hash(&state, secret, 'H');
    (void)crypto_auth_hmacsha512256_update(&state, server_nonce, RONDO_NONCE_BYTES);
    (void)crypto_auth_hmacsha512256_update(&state, (const unsigned char *)hello,
                                           offsetof(rondo_hello, mac));
    (void)crypto_auth_hmacsha512256_update(&state, card, hello->card_bytes);
    (void)crypto_auth_hmacsha512256_final(&state, mac);
}

void
rondo_wire_hello_sign(const rondo_key *secret, const unsigned char *server_nonce,
                      const void *card, rondo_hello *hello)
{
    hash_hello(secret, server_nonce, card, hello, hello->mac);
}

bool
rondo_wire_hello_signed(const rondo_key *secret, const unsigned char *server_nonce,
                        const void *card, const rondo_hello *hello)
{
    unsigned char mac[RONDO_HASH_BYTES];

    hash_hello(secret, server_nonce, card, hello, mac);
    return sodium_memcmp(mac, hello->mac, sizeof mac) == 0;
}

bool
rondo_wire_hello_check(const rondo_hello *hello)
{
    return hello->nranks >= 1 && hello->nranks <= RONDO_MEETING_RANKS_MAX &&
           hello->rank < hello->nranks && hello->card_bytes <= RONDO_CARD_BYTES_MAX;
}

void
rondo_wire_body_hash(const void *body, size_t body_bytes, unsigned char *hash)
{
    (void)crypto_generichash(hash, RONDO_HASH_BYTES, body, body_bytes, NULL, 0);
}

static void
hash_frame(const rondo_key *secret, const rondo_nonces *nonces,
           const rondo_wire_frame *frame, unsigned char *mac)
{
    crypto_auth_hmacsha512256_state state;

    _Static_assert(sizeof *frame == 88, "no padding is sent");
    start_hash(&state, secret, 'F');
    (void)crypto_auth_hmacsha512256_update(&state, nonces->server,
                                           sizeof nonces->server);
    (void)crypto_auth_hmacsha512256_update(&state, nonces->client,
                                           sizeof nonces->client);
    (void)crypto_auth_hmacsha512256_update(&state, (const unsigned char *)frame,
                                           offsetof(rondo_wire_frame, mac));
    (void)crypto_auth_hmacsha512256_final(&state, mac);
}

void
rondo_wire_frame_sign(const rondo_key *secret, const rondo_nonces *nonces,
                      rondo_wire_frame *frame)
{
    hash_frame(secret, nonces, frame, frame->mac);
}

bool
rondo_wire_frame_signed(const rondo_key *secret, const rondo_nonces *nonces,
                        const rondo_wire_frame *frame)
{
    unsigned char mac[RONDO_HASH_BYTES];

    hash_frame(secret, nonces, frame, mac);
    return sodium_memcmp(mac, frame->mac, sizeof mac) == 0;
}

void
rondo_wire_frame_init(rondo_frame_kind kind, rondo_wire_frame *frame)
{
    memset(frame, 0, sizeof *frame);
    frame->magic = FRAME_MAGIC;
    frame->kind = kind;
}

bool
rondo_wire_frame_check(const rondo_wire_frame *frame, uint64_t result_bytes)
{
    if (frame->magic != FRAME_MAGIC) {
        return false;
    }
    switch (frame->kind) {
    case RONDO_FRAME_WELCOME:
    case RONDO_FRAME_REFUSED:
        return frame->body_bytes == 0;
    case RONDO_FRAME_RESULT:
        return frame->body_bytes == result_bytes;
    case RONDO_FRAME_FAILURE:
        return frame->body_bytes == RONDO_FAILURE_BYTES;
    default:
        return false;
    }
}

void
rondo_wire_notice(rondo_notice_kind kind, rondo_notice *notice)
{
    *notice = (rondo_notice){.magic = FRAME_MAGIC, .kind = kind};
}

bool
rondo_wire_notice_check(const rondo_notice *notice)
{
    return notice->magic == FRAME_MAGIC &&
           (notice->kind == RONDO_NOTICE_GIVE_UP || notice->kind == RONDO_NOTICE_LATE);
}

rondo_key
rondo_wire_key(const rondo_key *secret, const rondo_result *result)
{
    crypto_auth_hmacsha512256_state state;
    rondo_key key;

    start_hash(&state, secret, 'K');
    (void)crypto_auth_hmacsha512256_update(&state, result->salt, sizeof result->salt);
    (void)crypto_auth_hmacsha512256_update(&state, result->name.bytes,
                                           sizeof result->name.bytes);
    (void)crypto_auth_hmacsha512256_final(&state, key.bytes);
    return key;
}

void
rondo_wire_clean(char *text, size_t text_bytes)
{
    text[text_bytes - 1] = '\0';
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            text[i] = '?';
        }
    }
}

void
rondo_wire_forget(void *memory, size_t bytes)
{
    sodium_memzero(memory, bytes);
}
