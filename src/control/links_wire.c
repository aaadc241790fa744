/* links_wire.c - making and checking what goes over a link between hosts. */
#include "control/links_wire.h"

#include <sodium.h>
#include <string.h>

#define ORDER_MARK UINT32_C(0x01020304)

static const char magic[8] = {'R', 'O', 'N', 'D', 'O', 'l', 'n', 'k'};

typedef crypto_auth_hmacsha512256_state hash_state;

static void
preface_make(rondo_link_preface *preface)
{
    _Static_assert(sizeof *preface == 24, "no padding is sent");
    *preface = (rondo_link_preface){
        .order = ORDER_MARK, .protocol = RONDO_LINK_VERSION, .library = RONDO_VERSION};
    memcpy(preface->magic, magic, sizeof magic);
}

static bool
preface_check(const rondo_link_preface *preface)
{
    rondo_link_preface ours;

    preface_make(&ours);
    return memcmp(preface, &ours, sizeof ours) == 0;
}

/* The first byte hashed says what for: no hash of one kind passes for another. */
static void
hash_start(hash_state *state, const rondo_key *key, unsigned char purpose)
{
    _Static_assert(crypto_auth_hmacsha512256_BYTES == RONDO_LINK_MAC_BYTES, "fits");
    (void)crypto_auth_hmacsha512256_init(state, key->bytes, sizeof key->bytes);
    (void)crypto_auth_hmacsha512256_update(state, &purpose, 1);
}

static void
hash_add(hash_state *state, const void *bytes, size_t nbytes)
{
    (void)crypto_auth_hmacsha512256_update(state, bytes, nbytes);
}

static bool
hash_equals(hash_state *state, const unsigned char *mac)
{
    unsigned char ours[RONDO_LINK_MAC_BYTES];

    (void)crypto_auth_hmacsha512256_final(state, ours);
    return sodium_memcmp(ours, mac, sizeof ours) == 0;
}

static void
hash_hello(const rondo_key *key, const rondo_link_hello *hello, hash_state *state)
{
    _Static_assert(sizeof *hello == 120, "no padding is sent");
    hash_start(state, key, 'H');
    hash_add(state, hello, offsetof(rondo_link_hello, mac));
}

void
rondo_link_hello_make(const rondo_key *key, rondo_link_hello *hello)
{
    hash_state state;

    preface_make(&hello->preface);
    hello->reserved = 0;
    rondo_random(hello->nonce, sizeof hello->nonce);
    hash_hello(key, hello, &state);
    (void)crypto_auth_hmacsha512256_final(&state, hello->mac);
}

bool
rondo_link_hello_check(const rondo_link_hello *hello)
{
    return preface_check(&hello->preface) && hello->reserved == 0 && hello->rank > 0 &&
           hello->rank < hello->nranks && hello->host > 0 && hello->host <= hello->rank;
}

bool
rondo_link_hello_signed(const rondo_key *key, const rondo_link_hello *hello)
{
    hash_state state;

    hash_hello(key, hello, &state);
    return hash_equals(&state, hello->mac);
}

/* What both sides have said: the hello, and the answer but for its hash. */
static void
hash_both(const rondo_key *key, unsigned char purpose, const rondo_link_hello *hello,
          const rondo_link_answer *answer, hash_state *state)
{
    _Static_assert(sizeof *answer == 88, "no padding is sent");
    hash_start(state, key, purpose);
    hash_add(state, hello, sizeof *hello);
    hash_add(state, answer, offsetof(rondo_link_answer, mac));
}

void
rondo_link_answer_make(const rondo_key *key, const rondo_link_hello *hello,
                       rondo_link_answer *answer)
{
    hash_state state;

    preface_make(&answer->preface);
    rondo_random(answer->nonce, sizeof answer->nonce);
    hash_both(key, 'A', hello, answer, &state);
    (void)crypto_auth_hmacsha512256_final(&state, answer->mac);
}

bool
rondo_link_answer_check(const rondo_link_answer *answer)
{
    return preface_check(&answer->preface);
}

bool
rondo_link_answer_signed(const rondo_key *key, const rondo_link_hello *hello,
                         const rondo_link_answer *answer)
{
    hash_state state;

    hash_both(key, 'A', hello, answer, &state);
    return hash_equals(&state, answer->mac);
}

void
rondo_link_proof_make(const rondo_key *key, const rondo_link_hello *hello,
                      const rondo_link_answer *answer, rondo_link_proof *proof)
{
    hash_state state;

    hash_both(key, 'P', hello, answer, &state);
    (void)crypto_auth_hmacsha512256_final(&state, proof->mac);
}

bool
rondo_link_proof_signed(const rondo_key *key, const rondo_link_hello *hello,
                        const rondo_link_answer *answer, const rondo_link_proof *proof)
{
    hash_state state;

    hash_both(key, 'P', hello, answer, &state);
    return hash_equals(&state, proof->mac);
}

void
rondo_link_keys_make(const rondo_key *key, const rondo_link_hello *hello,
                     const rondo_link_answer *answer, rondo_link_keys *keys)
{
    hash_state state;

    _Static_assert(RONDO_LINK_MAC_BYTES == RONDO_KEY_BYTES, "a hash makes a key");
    hash_both(key, 'U', hello, answer, &state);
    (void)crypto_auth_hmacsha512256_final(&state, keys->up.bytes);
    hash_both(key, 'D', hello, answer, &state);
    (void)crypto_auth_hmacsha512256_final(&state, keys->down.bytes);
}

bool
rondo_link_frame_check(const rondo_link_frame *frame)
{
    switch (frame->kind) {
    case RONDO_LINK_WELCOME:
    case RONDO_LINK_ASK:
    case RONDO_LINK_BYE:
        return frame->bytes == 0;
    case RONDO_LINK_LINE:
        return frame->bytes == sizeof(rondo_link_line);
    case RONDO_LINK_WIRE:
        return frame->bytes >= offsetof(rondo_link_wire, address) &&
               frame->bytes <= sizeof(rondo_link_wire);
    case RONDO_LINK_BREAK:
        return frame->bytes == sizeof(rondo_link_break);
    case RONDO_LINK_HOST:
        return frame->bytes == sizeof(rondo_link_host);
    case RONDO_LINK_DECISION:
        return frame->bytes >= offsetof(rondo_agreement_piece, members) &&
               frame->bytes <= sizeof(rondo_agreement_piece);
    default:
        return false;
    }
}

static void
hash_frame(const rondo_key *key, uint64_t number, const void *body,
           const rondo_link_frame *frame, hash_state *state)
{
    _Static_assert(sizeof *frame == 40, "no padding is sent");
    hash_start(state, key, 'F');
    hash_add(state, &number, sizeof number);
    hash_add(state, frame, offsetof(rondo_link_frame, mac));
    hash_add(state, body, frame->bytes);
}

void
rondo_link_frame_sign(const rondo_key *key, uint64_t number, const void *body,
                      rondo_link_frame *frame)
{
    hash_state state;

    hash_frame(key, number, body, frame, &state);
    (void)crypto_auth_hmacsha512256_final(&state, frame->mac);
}

bool
rondo_link_frame_signed(const rondo_key *key, uint64_t number, const void *body,
                        const rondo_link_frame *frame)
{
    hash_state state;

    hash_frame(key, number, body, frame, &state);
    return hash_equals(&state, frame->mac);
}

static void
clean(char *text, size_t text_bytes)
{
    text[text_bytes - 1] = '\0';
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            text[i] = '?';
        }
    }
}

static bool
break_read(uint32_t nranks, rondo_link_break *broken)
{
    const rondo_status status = (rondo_status)broken->status;

    clean(broken->text, sizeof broken->text);
    return rondo_status_group_of(status) != RONDO_GROUP_NONE &&
           strcmp(rondo_status_name(status), "RONDO_UNKNOWN") != 0 &&
           broken->reporter < nranks &&
           (broken->culprit < nranks || broken->culprit == UINT32_MAX);
}

bool
rondo_link_body_read(const rondo_link_frame *frame, const void *bytes, uint32_t nranks,
                     uint32_t nhosts, rondo_link_body *body)
{
    _Static_assert(sizeof(rondo_link_line) == 8 + sizeof(rondo_board_line), "packed");
    memset(body, 0, sizeof *body);
    if (frame->bytes > 0) {
        memcpy(body, bytes, frame->bytes);
    }
    switch (frame->kind) {
    case RONDO_LINK_LINE:
        return body->line.rank < nranks;
    case RONDO_LINK_WIRE:
        return body->wire.rank < nranks &&
               body->wire.bytes == frame->bytes - offsetof(rondo_link_wire, address);
    case RONDO_LINK_BREAK:
        return break_read(nranks, &body->broken);
    case RONDO_LINK_HOST:
        return body->host.host < nhosts &&
               (body->host.family == 4 || body->host.family == 6);
    case RONDO_LINK_DECISION:
        return frame->bytes == offsetof(rondo_agreement_piece, members) +
                                   (uint64_t)body->decision.count * sizeof(uint64_t);
    default:
        return true;
    }
}

void
rondo_link_forget(void *memory, size_t bytes)
{
    sodium_memzero(memory, bytes);
}
