/*
 * links_wire.h - what goes over a link between hosts, and what is believed of it.
 *
 *   leader  hello: magic, versions, whose communicator, who it is, a nonce, a keyed
 *   hash hub     answer: magic, versions, its nonce, a hash keyed over all of that
 *   leader  proof: a hash over both nonces, so that no old hello serves again
 *   both    frames, each with a hash keyed for this connection and direction, over its
 *           number in that direction and all of it; the hub's first is WELCOME
 *
 * Nothing but the hash is looked at before the hash has been found right.
 */
#ifndef CONTROL_LINKS_WIRE_H
#define CONTROL_LINKS_WIRE_H

#include "control/agreement.h"
#include "control/service.h"

#define RONDO_LINK_VERSION     2
#define RONDO_LINK_NONCE_BYTES 32
#define RONDO_LINK_MAC_BYTES   32

typedef struct rondo_link_preface {
    char magic[8];
    uint32_t order;
    uint32_t protocol;
    uint32_t library;
    uint32_t reserved; /* 0 */
} rondo_link_preface;

typedef struct rondo_link_hello {
    rondo_link_preface preface;
    rondo_name name; /* of the communicator */
    uint32_t host;
    uint32_t rank;
    uint32_t nranks;
    uint32_t reserved; /* 0 */
    unsigned char nonce[RONDO_LINK_NONCE_BYTES];
    unsigned char mac[RONDO_LINK_MAC_BYTES];
} rondo_link_hello;

typedef struct rondo_link_answer {
    rondo_link_preface preface;
    unsigned char nonce[RONDO_LINK_NONCE_BYTES];
    unsigned char mac[RONDO_LINK_MAC_BYTES];
} rondo_link_answer;

typedef struct rondo_link_proof {
    unsigned char mac[RONDO_LINK_MAC_BYTES];
} rondo_link_proof;

/* What a frame is about. */
typedef enum rondo_link_kind {
    RONDO_LINK_WELCOME = 1, /* no body: you are one of us */
    RONDO_LINK_LINE = 2,    /* a rank's lines of the board */
    RONDO_LINK_WIRE = 3,    /* a rank's wire address */
    RONDO_LINK_BREAK = 4,   /* why it broke */
    RONDO_LINK_HOST = 5,    /* what address a host was reached at */
    RONDO_LINK_ASK = 6,     /* no body: send your lines */
    RONDO_LINK_BYE = 7,     /* no body: the last one */
    RONDO_LINK_DECISION = 8 /* who goes on after a breaking: agreement.h */
} rondo_link_kind;

typedef struct rondo_link_frame {
    uint32_t kind;
    uint32_t bytes; /* of the body */
    unsigned char mac[RONDO_LINK_MAC_BYTES];
} rondo_link_frame;

typedef struct rondo_link_line {
    uint32_t rank;
    uint32_t reserved; /* 0 */
    rondo_board_line line;
} rondo_link_line;

typedef struct rondo_link_wire {
    uint32_t rank;
    uint32_t bytes; /* of the address, which ends the body */
    unsigned char address[RONDO_BOARD_WIRE_MAX];
} rondo_link_wire;

typedef struct rondo_link_break {
    int32_t status;
    uint32_t culprit;
    uint32_t reporter;
    uint32_t reserved; /* 0 */
    char text[RONDO_BOARD_TEXT_MAX];
} rondo_link_break;

typedef struct rondo_link_host {
    uint32_t host;
    uint32_t family;
    unsigned char address[16];
} rondo_link_host;

typedef union rondo_link_body {
    rondo_link_line line;
    rondo_link_wire wire;
    rondo_link_break broken;
    rondo_link_host host;
    rondo_agreement_piece decision; /* as far as its members go */
} rondo_link_body;

#define RONDO_LINK_FRAME_MAX (sizeof(rondo_link_frame) + sizeof(rondo_link_body))

/* The keys of one connection. */
typedef struct rondo_link_keys {
    rondo_key up; /* leader to hub */
    rondo_key down;
} rondo_link_keys;

void
rondo_link_hello_make(const rondo_key *key, rondo_link_hello *hello);
/* rondo_link_hello_check - ours, and possible; the hash is another question. */
bool
rondo_link_hello_check(const rondo_link_hello *hello);
bool
rondo_link_hello_signed(const rondo_key *key, const rondo_link_hello *hello);

void
rondo_link_answer_make(const rondo_key *key, const rondo_link_hello *hello,
                       rondo_link_answer *answer);
bool
rondo_link_answer_check(const rondo_link_answer *answer);
bool
rondo_link_answer_signed(const rondo_key *key, const rondo_link_hello *hello,
                         const rondo_link_answer *answer);

void
rondo_link_proof_make(const rondo_key *key, const rondo_link_hello *hello,
                      const rondo_link_answer *answer, rondo_link_proof *proof);
bool
rondo_link_proof_signed(const rondo_key *key, const rondo_link_hello *hello,
                        const rondo_link_answer *answer, const rondo_link_proof *proof);

void
rondo_link_keys_make(const rondo_key *key, const rondo_link_hello *hello,
                     const rondo_link_answer *answer, rondo_link_keys *keys);

/* rondo_link_frame_check - a known kind, and a length that fits it. */
bool
rondo_link_frame_check(const rondo_link_frame *frame);
void
rondo_link_frame_sign(const rondo_key *key, uint64_t number, const void *body,
                      rondo_link_frame *frame);
bool
rondo_link_frame_signed(const rondo_key *key, uint64_t number, const void *body,
                        const rondo_link_frame *frame);

/* rondo_link_body_read - the body of a frame that was checked, if all in it can be true
 * among so many ranks and hosts. Texts end and are fit for a message. */
bool
rondo_link_body_read(const rondo_link_frame *frame, const void *bytes, uint32_t nranks,
                     uint32_t nhosts, rondo_link_body *body);

/* rondo_link_forget - overwrite keys that are no longer needed. */
void
rondo_link_forget(void *memory, size_t bytes);

#endif /* CONTROL_LINKS_WIRE_H */
