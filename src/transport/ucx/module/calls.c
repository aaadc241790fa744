/*
 * calls.c - loading UCX such that it patches nothing, and finding its functions.
 */
#define RONDO_UCX_CALLS_PLAIN
#include "transport/ucx/module/calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <ucm/api/ucm.h>

rondo_ucx_functions rondo_ucx_calls;

/* Null: hooks are not our business. */
static void (*set_options)(const ucm_global_config_t *options);
static const ucm_global_config_t *current_options;

static bool
user_wants_hooks(void)
{
    return rondo_ucx_user_setting("MEM_EVENTS") != NULL ||
           rondo_ucx_user_setting("MEM_MMAP_HOOK_MODE") != NULL;
}

void
rondo_ucx_no_hooks(void)
{
    if (set_options == NULL) {
        return;
    }
    ucm_global_config_t options = *current_options;
    options.enable_events = 0;
    options.enable_malloc_hooks = 0;
    options.enable_malloc_reloc = 0;
    options.enable_dynamic_mmap_thresh = 0;
    set_options(&options);
}

/* libucm patches when it is first given options, which libucs does as it is loaded: the
 * first options are ours. It cannot be loaded by itself with all symbols bound. */
static void
tame_libucm(void)
{
    if (user_wants_hooks() || dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD) != NULL) {
        return;
    }
    void *library = dlopen("libucm.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        return;
    }
    void *set = dlsym(library, "ucm_set_global_opts");
    void *options = dlsym(library, "ucm_global_opts");
    if (set != NULL && options != NULL) {
        memcpy(&set_options, &set, sizeof(set));
        current_options = options;
        rondo_ucx_no_hooks();
    }
}

static const char *
find_all(void *library)
{
    static const struct {
        const char *name;
        size_t at;
    } wanted[] = {
#define WANTED(name) {#name, offsetof(rondo_ucx_functions, name)},
        RONDO_UCX_CALLS(WANTED)
#undef WANTED
    };
    for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++) {
        void *function = dlsym(library, wanted[k].name);
        if (function == NULL) {
            return wanted[k].name;
        }
        memcpy((char *)&rondo_ucx_calls + wanted[k].at, &function, sizeof(function));
    }
    return NULL;
}

bool
rondo_ucx_calls_find(char *why, size_t why_bytes)
{
    static bool found;
    if (found) {
        return true;
    }
    tame_libucm();
    void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        (void)snprintf(why, why_bytes, "UCX cannot be loaded: %s",
                       reason == NULL ? "no reason given" : reason);
        return false;
    }
    const char *missing = find_all(library);
    if (missing != NULL) {
        (void)snprintf(why, why_bytes, "this UCX has no %s; 1.13 or later is needed",
                       missing);
        return false;
    }
    found = true;
    return true;
}
