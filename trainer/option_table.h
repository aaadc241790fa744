/* option_table.h - the one list of options: what each is called, what it may be, where
 * it goes. Reading, checking across ranks and --help all follow it. */
#ifndef TRAINER_OPTION_TABLE_H
#define TRAINER_OPTION_TABLE_H

#include "options.h"

#include <stddef.h>

typedef enum option_kind {
    KIND_FLAG,   /* bool */
    KIND_COUNT,  /* uint64_t, least to most */
    KIND_NUMBER, /* double, least to most */
    KIND_CHOICE, /* an enum from 0 on, one value for each word of `words` */
    KIND_WIDTHS, /* hidden and hidden_count; each width from least to most */
    KIND_TEXT,   /* const char * */
    KIND_ACTION  /* options_action; `least` is the value */
} option_kind;

/* Must all ranks be given the same value? */
typedef enum option_scope { SCOPE_ALL, SCOPE_RANK } option_scope;

typedef struct option {
    const char *name;
    option_kind kind;
    option_scope scope;
    size_t place; /* In options. */
    double least;
    double most;
    const char *const *words; /* Ends with NULL. */
    const char *help;
} option;

extern const option option_table[];
extern const uint32_t option_rows;

/* The row of that name (of `length` characters), or NULL. */
const option *
option_find(const char *name, size_t length);

/* The value of `text`, to its place in *o. Flags and actions take none. */
TRAINER_MUST_USE bool
option_read(const option *row, const char *text, options *o, problem *why);

/* A flag or an action that was given. */
void
option_set(const option *row, options *o);

/* Flags and actions stand alone, all others need a value. */
bool
option_stands_alone(const option *row);

/* The value in *o as text, "" where there is none. */
void
option_write(const option *row, const options *o, char value[OPTIONS_VALUE_MAX]);

#endif
