/* status.c - names and texts of statuses, types and operators, from their tables. */
#include <rondo/status.h>
#include <rondo/types.h>

const char *
rondo_status_name(rondo_status status)
{
    switch (status) {
#define NAME(name, value, text) \
    case RONDO_##name:          \
        return "RONDO_" #name;
        RONDO_STATUS_ROWS(NAME)
#undef NAME
    default:
        return "RONDO_UNKNOWN";
    }
}

const char *
rondo_status_text(rondo_status status)
{
    switch (status) {
#define TEXT(name, value, text) \
    case RONDO_##name:          \
        return (text);
        RONDO_STATUS_ROWS(TEXT)
#undef TEXT
    default:
        return "no status of this library";
    }
}

rondo_status_group
rondo_status_group_of(rondo_status status)
{
    const int value = (int)status;

    if (value == RONDO_OK || value == RONDO_BUSY) {
        return RONDO_GROUP_NONE;
    }
    if (value < 0 && value > -20) {
        return RONDO_GROUP_ARGUMENT;
    }
    return value <= -20 && value > -40 ? RONDO_GROUP_BROKEN : RONDO_GROUP_SYSTEM;
}

size_t
rondo_dtype_bytes(rondo_dtype dtype)
{
    switch (dtype) {
#define BYTES(name, value, bytes, text) \
    case RONDO_##name:                  \
        return (bytes);
        RONDO_DTYPE_ROWS(BYTES)
#undef BYTES
    default:
        return 0;
    }
}

const char *
rondo_dtype_text(rondo_dtype dtype)
{
    switch (dtype) {
#define TEXT(name, value, bytes, text) \
    case RONDO_##name:                 \
        return (text);
        RONDO_DTYPE_ROWS(TEXT)
#undef TEXT
    default:
        return "?";
    }
}

const char *
rondo_op_text(rondo_op op)
{
    switch (op) {
#define TEXT(name, value, text) \
    case RONDO_##name:          \
        return (text);
        RONDO_OP_ROWS(TEXT)
#undef TEXT
    default:
        return "?";
    }
}

uint32_t
rondo_version(void)
{
    return RONDO_VERSION;
}

#define QUOTE(number)               #number
#define DOTTED(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)

const char *
rondo_version_text(void)
{
    return DOTTED(RONDO_VERSION_MAJOR, RONDO_VERSION_MINOR, RONDO_VERSION_PATCH);
}
