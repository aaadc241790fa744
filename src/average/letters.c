/* letters.c - what comes in from the other side of a pair, and what is owed to it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "average/pairs.h"

/* Values converted at a time, from memory of any alignment. */
#define BLOCK_VALUES 1024

static void
fail(rondo_pairs *pairs, rondo_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A handler cannot return an error: the next call does, and the abort tells the
 * others. */
static void
fail(rondo_pairs *pairs, rondo_status status, const char *format, ...)
{
    va_list arguments;

    if (pairs->fault != RONDO_OK) {
        return;
    }
    pairs->fault = status;
    va_start(arguments, format);
    (void)vsnprintf(pairs->fault_text, sizeof pairs->fault_text, format, arguments);
    va_end(arguments);
    (void)!rondo_comm_abort(pairs->comm);
}

/* Halves are exact, so the mean is rounded once and cannot overflow, and is the same
 * whichever of the two is called own. `was` may be null. */
static void
average(float *own, const unsigned char *theirs, uint64_t count, float *was)
{
    float block[BLOCK_VALUES];

    for (uint64_t at = 0; at < count; at += BLOCK_VALUES) {
        const uint64_t values = count - at < BLOCK_VALUES ? count - at : BLOCK_VALUES;
        memcpy(block, theirs + at * sizeof *block, values * sizeof *block);
        if (was != NULL) {
            memcpy(was + at, own + at, values * sizeof *was);
        }
        for (uint64_t i = 0; i < values; i++) {
            own[at + i] = 0.5F * own[at + i] + 0.5F * block[i];
        }
    }
}

static rondo_status
pay_one(rondo_pairs *pairs, uint32_t index)
{
    rondo_pairs_other *const other = &pairs->others[index];
    const rondo_status status = rondo_message_send(
        pairs->comm, 2 * index, pairs->channel, &other->letter, sizeof other->letter,
        other->letter.values == 0 ? NULL : other->piece,
        other->letter.values * sizeof *other->piece);

    if (status == RONDO_OK) {
        other->pending = false;
        pairs->npending--;
    }
    return status;
}

rondo_status
rondo_pairs_pay(rondo_pairs *pairs)
{
    for (uint32_t i = 0; pairs->npending != 0 && i < pairs->nothers; i++) {
        if (!pairs->others[i].pending) {
            continue;
        }
        const rondo_status status = pay_one(pairs, i);
        if (status != RONDO_OK && status != RONDO_BUSY) {
            return status;
        }
    }
    return RONDO_OK;
}

/* Whatever keeps it from being sent now is seen by whoever makes progress next. */
static void
owe(rondo_pairs *pairs, uint32_t index, const rondo_pairs_letter *letter)
{
    pairs->others[index].letter = *letter;
    pairs->others[index].pending = true;
    pairs->npending++;
    (void)pay_one(pairs, index);
}

static void
take_ask(rondo_pairs *pairs, uint32_t from, const rondo_pairs_letter *letter,
         const unsigned char *piece)
{
    rondo_pairs_letter answer = *letter;

    average(pairs->parameters + letter->at, piece, letter->values,
            pairs->others[from / 2].piece);
    pairs->exchanges += letter->at + letter->values == pairs->count ? 1 : 0;
    answer.kind = RONDO_PAIRS_ANSWER;
    owe(pairs, from / 2, &answer);
}

static void
take_goodbye(rondo_pairs *pairs, uint32_t from)
{
    pairs->others[from / 2].done = true;
    pairs->ndone++;
}

static void
take_bye(rondo_pairs *pairs, uint32_t from)
{
    const rondo_pairs_letter answer = {.kind = RONDO_PAIRS_SEEN, .count = pairs->count};

    take_goodbye(pairs, from);
    owe(pairs, from / 2, &answer);
}

static void
take_answer(rondo_pairs *pairs, const rondo_pairs_letter *letter,
            const unsigned char *piece)
{
    average(pairs->parameters + letter->at, piece, letter->values, NULL);
    pairs->asked = false;
}

/* Whether the letter is one that `from` may send now. */
static bool
fits_odd(const rondo_pairs *pairs, uint32_t from, const rondo_pairs_letter *letter)
{
    if (from % 2 != 0 || pairs->others[from / 2].pending ||
        pairs->others[from / 2].done) {
        return false;
    }
    return letter->kind == RONDO_PAIRS_BYE
               ? letter->values == 0
               : letter->kind == RONDO_PAIRS_ASK && letter->values != 0;
}

static bool
fits_even(const rondo_pairs *pairs, uint32_t from, const rondo_pairs_letter *letter)
{
    if (letter->kind == RONDO_PAIRS_SEEN) {
        return from % 2 == 1 && letter->values == 0 && pairs->left &&
               !pairs->others[from / 2].done;
    }
    return letter->kind == RONDO_PAIRS_ANSWER && pairs->asked &&
           from == pairs->partner && letter->at == pairs->question.at &&
           letter->values == pairs->question.values &&
           letter->exchange == pairs->question.exchange;
}

/* Lengths and places, before anything is written there. */
static bool
is_whole(const rondo_pairs *pairs, const rondo_pairs_letter *letter,
         size_t payload_bytes)
{
    return letter->values <= RONDO_PAIRS_PIECE && letter->at <= pairs->count &&
           letter->values <= pairs->count - letter->at &&
           payload_bytes == letter->values * sizeof(float);
}

static void
act(rondo_pairs *pairs, uint32_t from, const rondo_pairs_letter *letter,
    const void *payload)
{
    switch ((rondo_pairs_kind)letter->kind) {
    case RONDO_PAIRS_ASK:
        take_ask(pairs, from, letter, payload);
        break;
    case RONDO_PAIRS_ANSWER:
        take_answer(pairs, letter, payload);
        break;
    case RONDO_PAIRS_BYE:
        take_bye(pairs, from);
        break;
    case RONDO_PAIRS_SEEN:
        take_goodbye(pairs, from);
        break;
    }
}

void
rondo_pairs_take(uint32_t from, const void *header, size_t header_bytes,
                 const void *payload, size_t payload_bytes, void *user)
{
    rondo_pairs *const pairs = user;
    rondo_pairs_letter letter;

    if (pairs->fault != RONDO_OK) {
        return;
    }
    if (header_bytes != sizeof letter) {
        fail(pairs, RONDO_ERR_WIRE,
             "rank %u sent a message of %zu bytes to the channel of averages in pairs",
             from, header_bytes + payload_bytes);
        return;
    }
    memcpy(&letter, header, sizeof letter);
    if (letter.count != pairs->count) {
        fail(pairs, RONDO_ERR_MISMATCH,
             "rank %u averages vectors of %llu values, this rank of %llu", from,
             (unsigned long long)letter.count, (unsigned long long)pairs->count);
        return;
    }
    const bool fits = pairs->rank % 2 == 1 ? fits_odd(pairs, from, &letter)
                                           : fits_even(pairs, from, &letter);
    if (!fits || !is_whole(pairs, &letter, payload_bytes)) {
        fail(pairs, RONDO_ERR_WIRE,
             "rank %u sent a letter of kind %u with %u values at %llu, which does not "
             "fit",
             from, letter.kind, letter.values, (unsigned long long)letter.at);
        return;
    }
    pairs->letters++;
    act(pairs, from, &letter, payload);
}
