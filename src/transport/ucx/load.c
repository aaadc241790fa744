/* load.c - the module librondo_ucx.so: found, loaded once, and its traces removed. */
#include <dlfcn.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/ucx/parts.h"

#define MODULE  "librondo_ucx.so"
#define SIGNALS 64

/* How whoever reads the sentence gets on. */
#define ADVICE "ranks on several hosts need UCX (Debian: apt-get install libucx0)"

/*
 * libucs installs signal handlers when it is loaded. What the application had set up
 * comes back, bit by bit: the C library's sigaction would add a flag of its own, so the
 * kernel is asked, and what it says is handed back as it is.
 */
typedef struct disposition {
    alignas(uint64_t) unsigned char bytes[64]; /* more than any kernel's */
} disposition;

struct dispositions {
    disposition of[SIGNALS + 1];
    bool known[SIGNALS + 1];
};

static bool
exchange(int number, const disposition *wanted, disposition *found)
{
    return syscall(SYS_rt_sigaction, number, wanted, found, SIGNALS / 8) == 0;
}

static void
remember(struct dispositions *before)
{
    memset(before, 0, sizeof *before);
    for (int number = 1; number <= SIGNALS; number++) {
        before->known[number] = exchange(number, NULL, &before->of[number]);
    }
}

static void
bring_back(const struct dispositions *before)
{
    for (int number = 1; number <= SIGNALS; number++) {
        const disposition *const was = &before->of[number];
        disposition now = {{0}};
        if (before->known[number] && exchange(number, NULL, &now) &&
            memcmp(&now, was, sizeof now) != 0) {
            (void)exchange(number, was, NULL);
        }
    }
}

/* The folder of the file this code is in; false: unknown. */
static bool
own_folder(char *folder, size_t bytes)
{
    static const char here = 0;
    char program[512];
    Dl_info info;

    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    const char *path = info.dli_fname;
    if (strchr(path, '/') == NULL) {
        /* A program that was found by PATH and has the library inside. */
        const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        if (length <= 0) {
            return false;
        }
        program[length] = '\0';
        path = program;
    }
    const char *const end = strrchr(path, '/');
    if (end == NULL || (size_t)(end - path) >= bytes) {
        return false;
    }
    memcpy(folder, path, (size_t)(end - path));
    folder[end - path] = '\0';
    return true;
}

/* Where the module is: given, beside this code, in a lib folder next to that. Else its
 * bare name, for the system to look for. */
static void
find_module(const char *given, char *path, size_t bytes)
{
    char folder[512];

    if (given[0] != '\0') {
        (void)snprintf(path, bytes, "%s", given);
        return;
    }
    for (int i = 0; i < 2 && own_folder(folder, sizeof folder); i++) {
        const int length = i == 0 ? snprintf(path, bytes, "%s/" MODULE, folder)
                                  : snprintf(path, bytes, "%s/../lib/" MODULE, folder);
        if (length > 0 && (size_t)length < bytes && access(path, F_OK) == 0) {
            return;
        }
    }
    (void)snprintf(path, bytes, "%s", MODULE);
}

static rondo_status
table_of(void *module, const char *path, const rondo_wire_ops **ops)
{
    rondo_wire_ops_function function = NULL;
    void *const symbol = dlsym(module, RONDO_WIRE_SYMBOL);

    if (symbol == NULL) {
        return rondo_error(RONDO_ERR_UNSUPPORTED,
                           "%s has no " RONDO_WIRE_SYMBOL ": it is not the module that "
                           "belongs to this library",
                           path);
    }
    memcpy(&function, &symbol, sizeof function);
    const rondo_wire_ops *const table = function();
    if (table == NULL || table->version != RONDO_WIRE_OPS_VERSION) {
        return rondo_error(RONDO_ERR_UNSUPPORTED,
                           "%s is of version %u, this library wants %d", path,
                           table == NULL ? 0 : table->version, RONDO_WIRE_OPS_VERSION);
    }
    *ops = table;
    return RONDO_OK;
}

/* Called with the process's guard, so once at a time. What has been loaded stays:
 * libucs has threads and hooks that cannot be taken out again. */
rondo_status
rondo_ucx_load(const char *module, const rondo_wire_ops **ops)
{
    static const rondo_wire_ops *loaded;
    struct dispositions before;
    char path[1100];

    if (loaded != NULL) {
        *ops = loaded;
        return RONDO_OK;
    }
    find_module(module, path, sizeof path);
    remember(&before);
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *const why = handle == NULL ? dlerror() : NULL;
    bring_back(&before);
    if (handle == NULL) {
        return rondo_error(RONDO_ERR_UNSUPPORTED,
                           "the module %s cannot be loaded: %s; " ADVICE, path,
                           why == NULL ? "no reason given" : why);
    }
    const rondo_status status = table_of(handle, path, &loaded);
    if (status == RONDO_OK) {
        *ops = loaded;
    }
    return status;
}
