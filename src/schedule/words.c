/* words.c - the words of a schedule's text; trusts nothing. */
#include "schedule/words.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "schedule/text.h"

rondo_status
rondo_words_refuse(const rondo_words *words, const char *what)
{
    const bool ended = words->word[0] == '\0' || words->word[0] == '\n';

    return rondo_error(RONDO_ERR_ARG, "line %" PRIu64 ": %s at %s%.*s%s", words->line,
                       what, ended ? "" : "\"", 40,
                       ended ? "the end of the line" : words->word, ended ? "" : "\"");
}

rondo_status
rondo_words_next(rondo_words *words)
{
    size_t used = 0;
    int letter = getc(words->in);

    if (words->new_line) {
        words->line++;
        words->new_line = false;
    }
    while (letter == ' ') {
        letter = getc(words->in);
    }
    if (letter == '\n') {
        words->new_line = true;
        memcpy(words->word, "\n", 2);
        return RONDO_OK;
    }
    while (letter != EOF && letter != ' ' && letter != '\n') {
        words->word[used] = (char)letter;
        words->word[++used] = '\0';
        if (letter == '\0' || used == RONDO_WORD_MAX - 1) {
            return rondo_words_refuse(words, "what is no word");
        }
        letter = getc(words->in);
    }
    if (letter != EOF) {
        (void)ungetc(letter, words->in);
    }
    words->word[used] = '\0';
    return RONDO_OK;
}

/* Reads decimal digits from `*at` on and moves it behind them. */
static bool
digits(const char **at, uint64_t *number)
{
    uint64_t value = 0;
    const char *const first = *at;

    while (**at >= '0' && **at <= '9') {
        if (__builtin_mul_overflow(value, 10U, &value) ||
            __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value)) {
            return false;
        }
        (*at)++;
    }
    *number = value;
    return *at != first;
}

rondo_status
rondo_words_expect(rondo_words *words, const char *word)
{
    const rondo_status status = rondo_words_next(words);

    if (status == RONDO_OK && strcmp(words->word, word) != 0) {
        char what[RONDO_WORD_MAX];

        (void)snprintf(what, sizeof what, "\"%s\" expected",
                       word[0] == '\n' ? "end of line" : word);
        return rondo_words_refuse(words, what);
    }
    return status;
}

rondo_status
rondo_words_number(const rondo_words *words, uint64_t most, uint64_t *number)
{
    const char *at = words->word;
    uint64_t value = 0;

    if (!digits(&at, &value) || *at != '\0' || value > most) {
        return rondo_words_refuse(words, "a number expected");
    }
    *number = value;
    return RONDO_OK;
}

rondo_status
rondo_words_wide(rondo_words *words, const char *before, uint64_t *number)
{
    rondo_status status = before == NULL ? RONDO_OK : rondo_words_expect(words, before);

    if (status == RONDO_OK) {
        status = rondo_words_next(words);
    }
    return status == RONDO_OK ? rondo_words_number(words, UINT64_MAX, number) : status;
}

rondo_status
rondo_words_narrow(rondo_words *words, const char *before, uint32_t *number)
{
    uint64_t value = 0;
    rondo_status status = rondo_words_wide(words, before, &value);

    if (status == RONDO_OK) {
        status = rondo_words_number(words, UINT32_MAX, &value);
    }
    if (status == RONDO_OK) {
        *number = (uint32_t)value;
    }
    return status;
}

/* "in[0+4]" or "2:in[0+4]". */
rondo_status
rondo_words_slice(rondo_words *words, const char *before, rondo_slice *slice)
{
    rondo_status status = before == NULL ? RONDO_OK : rondo_words_expect(words, before);
    rondo_slice read = {.owner = RONDO_OWN};
    uint64_t owner = 0;
    uint32_t buffer = 0;

    if (status == RONDO_OK) {
        status = rondo_words_next(words);
    }
    if (status != RONDO_OK) {
        return status;
    }
    const char *at = words->word;
    if (digits(&at, &owner)) {
        if (*at++ != ':' || owner >= RONDO_OWN) {
            return rondo_words_refuse(words, "a slice expected");
        }
        read.owner = (uint32_t)owner;
    }
    const size_t length = strcspn(at, "[");
    while (buffer < 4 &&
           (strlen(rondo_buffer_text((rondo_buffer)buffer)) != length ||
            strncmp(at, rondo_buffer_text((rondo_buffer)buffer), length) != 0)) {
        buffer++;
    }
    at += length;
    if (buffer == 4 || *at++ != '[' || !digits(&at, &read.first) || *at++ != '+' ||
        !digits(&at, &read.count) || strcmp(at, "]") != 0) {
        return rondo_words_refuse(words, "a slice expected");
    }
    read.buffer = (rondo_buffer)buffer;
    *slice = read;
    return RONDO_OK;
}
