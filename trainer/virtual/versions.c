/* versions.c - parameters as workers have pulled them (see versions.h). */
#include "virtual/versions.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

versions
versions_of(uint64_t count)
{
    return (versions){.count = count};
}

void
versions_free(versions *v)
{
    while (v->spare != NULL) {
        version_copy *copy = v->spare;
        v->spare = copy->next;
        memory_free(copy->parameter);
        free(copy);
    }
}

static version_copy *
new_copy(versions *v, problem *why)
{
    version_copy *copy = v->spare;
    if (copy != NULL) {
        v->spare = copy->next;
        return copy;
    }
    copy = malloc(sizeof *copy);
    if (copy == NULL) {
        (void)problem_fail(why, "no memory for a copy of the parameters");
        return NULL;
    }
    copy->parameter = memory_floats(v->count, why);
    if (copy->parameter == NULL) {
        free(copy);
        return NULL;
    }
    v->copies++;
    return copy;
}

version_copy *
versions_take(versions *v, uint64_t version, const float *parameter, problem *why)
{
    version_copy *copy = v->newest;
    if (copy == NULL || copy->version != version) {
        copy = new_copy(v, why);
        if (copy == NULL) {
            return NULL;
        }
        copy->version = version;
        copy->users = 0;
        memcpy(copy->parameter, parameter, v->count * sizeof *parameter);
        v->newest = copy;
    }
    copy->users++;
    return copy;
}

void
versions_drop(versions *v, version_copy *copy)
{
    if (copy == NULL || --copy->users > 0) {
        return;
    }
    if (v->newest == copy) {
        v->newest = NULL;
    }
    copy->next = v->spare;
    v->spare = copy;
}
