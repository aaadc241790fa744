/*
 * wire.h - what the rendezvous sends, and what it believes of what it gets.
 *
 *   server  greeting: magic, versions, a nonce
 *   client  hello: magic, versions, who it is, its nonce, a hash keyed with the secret
 *           over all of it, the server's nonce and the card; then the card
 *   server  frames, each with a keyed hash over both nonces: WELCOME, which proves that
 *           it knows the secret too, then RESULT or FAILURE
 *   client  notices: it gives up, or its deadline has passed
 *
 * Numbers are in the sender's byte order; the order mark tells. The first 24 bytes of
 * greeting and hello stay as they are in all versions, so that two versions can name
 * each other.
 */
#ifndef BOOTSTRAP_WIRE_H
#define BOOTSTRAP_WIRE_H

#include "bootstrap/bootstrap.h"

#define RONDO_WIRE_VERSION 1
#define RONDO_NONCE_BYTES  32
#define RONDO_HASH_BYTES   32

/* Ranks of one communicator, so that no message can ask for endless memory. */
#define RONDO_MEETING_RANKS_MAX 65536

/* Text of a failure, terminated. */
#define RONDO_FAILURE_BYTES 448

typedef struct rondo_preface {
    char magic[8];
    uint32_t order;
    uint32_t wire;    /* version of this format */
    uint32_t library; /* RONDO_VERSION: shared memory is laid out alike */
    uint32_t reserved;
} rondo_preface;

typedef struct rondo_greeting {
    rondo_preface preface;
    unsigned char nonce[RONDO_NONCE_BYTES];
} rondo_greeting;

typedef struct rondo_hello {
    rondo_preface preface;
    uint32_t rank;
    uint32_t nranks;
    uint32_t card_bytes;
    uint32_t pid; /* for messages */
    rondo_name job;
    unsigned char nonce[RONDO_NONCE_BYTES];
    unsigned char mac[RONDO_HASH_BYTES];
} rondo_hello;

typedef enum rondo_frame_kind {
    RONDO_FRAME_WELCOME = 1, /* no body */
    RONDO_FRAME_RESULT = 2,  /* a rondo_result and the cards */
    RONDO_FRAME_FAILURE = 3, /* a text */
    RONDO_FRAME_REFUSED = 4  /* another secret: the hash cannot be checked; no body */
} rondo_frame_kind;

typedef struct rondo_wire_frame {
    uint32_t magic;
    uint32_t kind;
    uint64_t body_bytes;
    int32_t status; /* of a failure */
    uint32_t reserved;
    unsigned char body_hash[RONDO_HASH_BYTES];
    unsigned char mac[RONDO_HASH_BYTES];
} rondo_wire_frame;

/* Opens the body of RONDO_FRAME_RESULT. */
typedef struct rondo_result {
    rondo_name name;
    unsigned char salt[RONDO_NONCE_BYTES];
    uint32_t nranks;
    uint32_t card_bytes;
} rondo_result;

typedef enum rondo_notice_kind {
    RONDO_NOTICE_GIVE_UP = 1, /* this rank leaves */
    RONDO_NOTICE_LATE = 2     /* this rank's deadline has passed: say who is missing */
} rondo_notice_kind;

typedef struct rondo_notice {
    uint32_t magic;
    uint32_t kind;
} rondo_notice;

/* Both nonces of a connection. */
typedef struct rondo_nonces {
    unsigned char server[RONDO_NONCE_BYTES];
    unsigned char client[RONDO_NONCE_BYTES];
} rondo_nonces;

typedef enum rondo_preface_verdict {
    RONDO_PREFACE_OURS,
    RONDO_PREFACE_VERSION, /* Rondo, but another version or byte order */
    RONDO_PREFACE_FOREIGN  /* something else */
} rondo_preface_verdict;

void
rondo_wire_preface(rondo_preface *preface);
/* rondo_wire_preface_check - may be called with the first bytes only: what is there
 * decides; RONDO_PREFACE_OURS then means "so far". */
rondo_preface_verdict
rondo_wire_preface_check(const void *bytes, size_t nbytes);
/* rondo_wire_versions - "Rondo 0.1.0 (protocol 1) here, 0.2.0 (protocol 2) there". */
void
rondo_wire_versions(const rondo_preface *theirs, char *text, size_t text_bytes);

/* rondo_wire_hello_sign, _signed - the hash of a hello and its card. */
void
rondo_wire_hello_sign(const rondo_key *secret, const unsigned char *server_nonce,
                      const void *card, rondo_hello *hello);
bool
rondo_wire_hello_signed(const rondo_key *secret, const unsigned char *server_nonce,
                        const void *card, const rondo_hello *hello);
/* rondo_wire_hello_check - whether the fixed part can be true at all. */
bool
rondo_wire_hello_check(const rondo_hello *hello);

/* rondo_wire_body_hash - once per body, however many frames carry it. */
void
rondo_wire_body_hash(const void *body, size_t body_bytes, unsigned char *hash);
void
rondo_wire_frame_sign(const rondo_key *secret, const rondo_nonces *nonces,
                      rondo_wire_frame *frame);
bool
rondo_wire_frame_signed(const rondo_key *secret, const rondo_nonces *nonces,
                        const rondo_wire_frame *frame);
/* rondo_wire_frame_check - magic, a known kind, and a body length that fits it. */
bool
rondo_wire_frame_check(const rondo_wire_frame *frame, uint64_t result_bytes);
void
rondo_wire_frame_init(rondo_frame_kind kind, rondo_wire_frame *frame);

void
rondo_wire_notice(rondo_notice_kind kind, rondo_notice *notice);
bool
rondo_wire_notice_check(const rondo_notice *notice);

/* rondo_wire_key - the communicator's key, from what both sides know. */
rondo_key
rondo_wire_key(const rondo_key *secret, const rondo_result *result);

/* rondo_wire_clean - make a text from the wire fit for a message. */
void
rondo_wire_clean(char *text, size_t text_bytes);

/* rondo_wire_forget - overwrite a key that is no longer needed. */
void
rondo_wire_forget(void *memory, size_t bytes);

#endif /* BOOTSTRAP_WIRE_H */
