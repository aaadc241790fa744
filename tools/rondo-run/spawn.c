/* spawn.c - vfork and execve, with the few calls between them that a rank needs. */
#include "spawn.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A stream of the rank's own; execve closes the original. */
static int
redirect(int from, int to)
{
    return from < 0 || dup2(from, to) >= 0 ? 0 : -1;
}

static int
bind_to(const cpu_set_t *processors)
{
    return processors == NULL ? 0
                              : sched_setaffinity(0, sizeof(*processors), processors);
}

/* Runs in the child on the parent's memory: system calls only, no return on success. */
static int
become(const run_start *start, pid_t launcher)
{
    /* The parent may have died before it could be asked for the signal. */
    if (!start->stays && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        return errno;
    }
    if (getppid() != launcher) {
        return ESRCH;
    }
    if (setpgid(0, 0) != 0 || redirect(start->input, STDIN_FILENO) != 0 ||
        redirect(start->output, STDOUT_FILENO) != 0 ||
        redirect(start->errors, STDERR_FILENO) != 0 ||
        setrlimit(RLIMIT_NOFILE, &start->descriptors) != 0 ||
        bind_to(start->processors) != 0 ||
        sigprocmask(SIG_SETMASK, &start->mask, NULL) != 0) {
        return errno;
    }
    execve(start->path, start->arguments, start->variables);
    return errno;
}

int
run_spawn(const run_start *start, pid_t *pid)
{
    /* The child shares our memory until execve, so its errno arrives here by itself. */
    volatile int error = 0;
    const pid_t launcher = getpid();
    const pid_t child = vfork();
    if (child < 0) {
        return errno;
    }
    if (child == 0) {
        error = become(start, launcher);
        _exit(127);
    }
    if (error != 0) {
        waitpid(child, NULL, 0);
        return error;
    }
    *pid = child;
    return 0;
}
