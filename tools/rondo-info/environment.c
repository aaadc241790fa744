/* environment.c - the variables Rondo reads, from the one table there is. */
#include "environment.h"

#include <string.h>

static const char *const fallbacks[RONDO_CONFIGS] = {
#define FALLBACK(id, variable, kind, fallback, agreed, text) \
    [RONDO_CONFIG_##id] = (fallback),
    RONDO_CONFIG_ROWS(FALLBACK)
#undef FALLBACK
};

static const char *const texts[RONDO_CONFIGS] = {
#define TEXT(id, variable, kind, fallback, agreed, text) [RONDO_CONFIG_##id] = (text),
    RONDO_CONFIG_ROWS(TEXT)
#undef TEXT
};

void
info_variable_read(rondo_config_id id, info_variable *variable)
{
    const char *const value = rondo_config_text(id);

    *variable = (info_variable){
        .name = rondo_config_variable(id),
        .value = value,
        .fallback = fallbacks[id],
        .about = texts[id],
        .set = rondo_config_set(id) && strcmp(value, fallbacks[id]) != 0,
        .secret = id == RONDO_CONFIG_SECRET,
    };
    if (variable->secret && variable->set) {
        variable->value = "(set, not shown)";
    }
}
