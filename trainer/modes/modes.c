/* modes.c - the table of modes (see mode.h). */
#include "modes/mode.h"

#include <stddef.h>

#define ROW_WORD(upper, lower, word) word,
#define ROW_KIND(upper, lower, word) &mode_kind_##lower,

const char *const mode_words[] = {MODE_LIST(ROW_WORD) NULL};
static const mode_kind *const kinds[] = {MODE_LIST(ROW_KIND)};

const mode_kind *
mode_kind_of(train_mode which)
{
    return kinds[which];
}
