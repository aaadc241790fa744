/* words.h - the words of a schedule's text, with the line they stand on. */
#ifndef SCHEDULE_WORDS_H
#define SCHEDULE_WORDS_H

#include "schedule/schedule.h"

/* Longer than any word that means something. */
#define RONDO_WORD_MAX 80

/* The text, one word at a time. The word "\n" ends a line, "" the text. */
typedef struct rondo_words {
    FILE *in;
    uint64_t line;             /* where the last word stands */
    char word[RONDO_WORD_MAX]; /* the last word */
    bool new_line;             /* it ended its line */
} rondo_words;

/* All return RONDO_ERR_ARG with a sentence that names the line and the word. */

/* rondo_words_refuse - the sentence: `what` at the last word. */
rondo_status
rondo_words_refuse(const rondo_words *words, const char *what);

/* rondo_words_next - read the next word. */
RONDO_MUST_USE rondo_status
rondo_words_next(rondo_words *words);

/* rondo_words_expect - read the next word, which must be `word`. */
RONDO_MUST_USE rondo_status
rondo_words_expect(rondo_words *words, const char *word);

/* rondo_words_number - the last word as a number of at most `most`. */
RONDO_MUST_USE rondo_status
rondo_words_number(const rondo_words *words, uint64_t most, uint64_t *number);

/* rondo_words_wide, rondo_words_narrow - read `before`, unless null, and a number. */
RONDO_MUST_USE rondo_status
rondo_words_wide(rondo_words *words, const char *before, uint64_t *number);
RONDO_MUST_USE rondo_status
rondo_words_narrow(rondo_words *words, const char *before, uint32_t *number);

/* rondo_words_slice - read `before`, unless null, and "in[0+4]" or "2:in[0+4]". */
RONDO_MUST_USE rondo_status
rondo_words_slice(rondo_words *words, const char *before, rondo_slice *slice);

/* rondo_words_levels - what follows "levels", up to the end of the line: the shapes and
 * who is on which host. On RONDO_OK coll->levels is the caller's to destroy. */
RONDO_MUST_USE rondo_status
rondo_words_levels(rondo_words *words, rondo_coll *coll);

#endif /* SCHEDULE_WORDS_H */
