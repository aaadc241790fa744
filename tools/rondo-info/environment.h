/* environment.h - the variables Rondo reads, as rondo-info shows and dumps them. */
#ifndef RONDO_INFO_ENVIRONMENT_H
#define RONDO_INFO_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"

typedef struct info_variable {
    const char *name;
    const char *value; /* in effect; of a secret only that it is set */
    const char *fallback;
    const char *about;
    bool set;    /* differs from the default */
    bool secret; /* must not be written anywhere */
} info_variable;

/* info_variable_read - row `id` of the table of variables. */
void
info_variable_read(rondo_config_id id, info_variable *variable);

#endif /* RONDO_INFO_ENVIRONMENT_H */
