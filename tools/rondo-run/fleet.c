/* fleet.c - a job on several hosts: calls them, starts them together, ends them. */
#include "fleet.h"

#include "ending.h"
#include "order.h"
#include "post.h"
#include "program.h"
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Three pipes of ours for each agent. */
static void
allow_descriptors(const run_job *job)
{
    struct rlimit limit;
    const rlim_t wanted = 3 * (rlim_t)job->fleet->hosts.count + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void
run_fleet_open(run_job *job)
{
    run_fleet *fleet = job->fleet;
    const char *agent = job->options->agent;
    allow_descriptors(job);
    job->leftovers = true;
    job->alarm_ns = run_now_ns() + job->options->answer_ms * 1000000u;
    for (uint32_t i = 0; i < fleet->hosts.count; i++) {
        run_post *post = &fleet->posts[i];
        run_reason reason;
        post->host = &fleet->hosts.hosts[i];
        post->name = run_host_label(post->host);
        for (uint32_t k = 0; k < post->host->nranks; k++) {
            job->ranks[post->host->first + k].host = post->name;
        }
        char **words = run_agent_words(agent != NULL ? agent : RUN_AGENT_SSH,
                                       post->host->name, fleet->remote, &reason);
        if (words == NULL) {
            run_say(job, "%s", reason.text);
            job->start_error = RUN_EXIT_USAGE;
            return;
        }
        const int error = run_post_call(job, i, words);
        if (error != 0) {
            run_say(job, "cannot start the agent '%s' for %s: %s", words[0], post->name,
                    strerror(error));
            job->start_error = RUN_EXIT_FAILURE;
            free(words);
            return;
        }
        free(words);
        fleet->called++;
    }
}

/* What is set for the ranks of one host: its interface comes after our variables, since
 * it is nearer to the host, and before --env, which is said for this job. */
static bool
settings_for(const run_options *options, char *interface, char ***settings,
             size_t *count)
{
    char **all = calloc(options->setting_count + 2, sizeof(char *));
    if (all == NULL) {
        return false;
    }
    size_t to = 0;
    for (size_t i = 0; i < options->setting_count; i++) {
        if (i == options->gathered && interface[0] != '\0') {
            all[to++] = interface;
        }
        all[to++] = options->settings[i];
    }
    if (options->gathered == options->setting_count && interface[0] != '\0') {
        all[to++] = interface;
    }
    *settings = all;
    *count = to;
    return true;
}

/* The address by which others reach the first host is asked of the second: a host's own
 * name is often 127.0.1.1 to itself. Alone, it needs no other than 127.0.0.1. */
static const char *
master_to_find(const run_job *job, uint32_t number)
{
    const run_fleet *fleet = job->fleet;
    const bool asked = number == 1 && job->options->master == NULL;
    return asked ? run_host_label(&fleet->hosts.hosts[0]) : "";
}

void
run_fleet_tell(run_job *job, uint32_t number)
{
    run_fleet *fleet = job->fleet;
    run_post *post = &fleet->posts[number];
    char interface[96] = "";
    if (post->host->interface[0] != '\0') {
        snprintf(interface, sizeof(interface), "RONDO_INTERFACE=%s",
                 post->host->interface);
    }
    run_order order = {.host = post->name,
                       .folder = fleet->folder,
                       .path = job->path,
                       .master = master_to_find(job, number),
                       .port = number == 0 && job->options->port == 0,
                       .place = {.first = post->host->first,
                                 .world = job->options->nranks,
                                 .group = number},
                       .options = *job->options};
    order.options.nranks = post->host->nranks;
    size_t length = 0;
    char *text = NULL;
    if (settings_for(job->options, interface, &order.options.settings,
                     &order.options.setting_count)) {
        text = run_order_write(&order, &length);
        free(order.options.settings);
    }
    if (text == NULL) {
        run_say(job, "out of memory");
        job->start_error = RUN_EXIT_FAILURE;
        run_end_now(job);
        return;
    }
    post->state = RUN_POST_TOLD;
    run_post_put(post, RUN_FRAME_JOB, 0, 0, text, length);
    explicit_bzero(text, length);
    free(text);
}

static void
start_all(run_job *job)
{
    run_fleet *fleet = job->fleet;
    const char *master = job->place.master;
    job->alarm_ns = 0;
    for (uint32_t i = 0; i < fleet->hosts.count; i++) {
        run_post *post = &fleet->posts[i];
        post->state = RUN_POST_WORKING;
        run_post_say_words(job, post);
        run_post_put(post, RUN_FRAME_START, 0, job->place.port, master, strlen(master));
    }
    for (uint32_t i = 0; i < job->options->nranks; i++) {
        job->ranks[i].state = RUN_RUNNING;
        job->ranks[i].start_ns = run_now_ns();
    }
    job->started = job->options->nranks;
    job->running = job->started;
}

void
run_fleet_ready(run_job *job, uint32_t number, const run_frame *frame)
{
    run_fleet *fleet = job->fleet;
    if (fleet->posts[number].state != RUN_POST_TOLD) {
        return;
    }
    fleet->posts[number].state = RUN_POST_READY;
    if (frame->number > 0 && frame->number < 65536) {
        job->place.port = frame->number;
    }
    if (frame->length > 0 && frame->length < sizeof(job->place.master)) {
        memcpy(job->place.master, frame->bytes, frame->length);
        job->place.master[frame->length] = '\0';
    }
    if (++fleet->ready == fleet->hosts.count && job->phase == RUN_PHASE_WORK) {
        start_all(job);
    }
}

void
run_fleet_event(run_job *job, uint64_t tag)
{
    const uint64_t at = tag - RUN_TAG_POST;
    if (at / 4 < job->fleet->called) {
        run_post_event(job, (uint32_t)(at / 4), (uint32_t)(at % 4));
    }
}

void
run_fleet_turn(run_job *job)
{
    run_fleet *fleet = job->fleet;
    const bool full = run_relay_full(&job->relay);
    for (uint32_t kind = 0; kind < 2; kind++) {
        const bool closes = job->relay.sinks[kind].dead && !fleet->closed[kind];
        for (uint32_t i = 0; closes && i < fleet->called; i++) {
            run_post_put(&fleet->posts[i], RUN_FRAME_CLOSED, 0, kind, NULL, 0);
        }
        fleet->closed[kind] = fleet->closed[kind] || closes;
    }
    for (uint32_t i = 0; !full && i < fleet->called; i++) {
        run_post *post = &fleet->posts[i];
        if (post->untaken > 0) {
            run_post_put(post, RUN_FRAME_TAKEN, 0, (uint32_t)post->untaken, NULL, 0);
            post->untaken = 0;
        }
    }
    run_judge_ends(job);
}

void
run_fleet_note_child(run_job *job, const siginfo_t *info)
{
    for (uint32_t i = 0; i < job->fleet->called; i++) {
        const run_post *post = &job->fleet->posts[i];
        if (post->agent.pid == info->si_pid && post->state != RUN_POST_GONE) {
            run_post_end(job, i, info);
            return;
        }
    }
}

void
run_fleet_alarm(run_job *job)
{
    run_fleet *fleet = job->fleet;
    const uint64_t now = run_now_ns();
    bool silent = false;
    for (uint32_t i = 0; i < fleet->called; i++) {
        const run_post *post = &fleet->posts[i];
        if (post->state != RUN_POST_GONE && post->silent_ns != 0) {
            kill(-post->agent.pid, SIGKILL);
            silent = true;
        }
    }
    if (silent || job->started > 0 || job->phase != RUN_PHASE_WORK) {
        job->alarm_ns = job->started > 0 ? 0 : now + job->options->answer_ms * 1000000u;
        return;
    }
    char what[96];
    snprintf(what, sizeof(what), "no answer within %g s",
             (double)job->options->answer_ms / 1000.0);
    run_fleet_say_silent(job, what);
    job->start_error = RUN_EXIT_FAILURE;
    run_end_now(job);
}

void
run_fleet_signal(run_fleet *fleet, int number, bool group)
{
    for (uint32_t i = 0; i < fleet->called; i++) {
        if (fleet->posts[i].state == RUN_POST_WORKING) {
            run_post_put(&fleet->posts[i], RUN_FRAME_SIGNAL, group ? 1 : 0,
                         (uint32_t)number, NULL, 0);
        }
    }
}

void
run_fleet_push(run_fleet *fleet, run_phase phase)
{
    for (uint32_t i = 0; i < fleet->called; i++) {
        run_post *post = &fleet->posts[i];
        if (post->state == RUN_POST_WORKING) {
            run_post_put(post, RUN_FRAME_PUSH, 0, (uint32_t)phase, NULL, 0);
        } else if (post->state != RUN_POST_GONE) {
            kill(-post->agent.pid, phase == RUN_PHASE_TERM ? SIGTERM : SIGKILL);
        }
    }
}

bool
run_fleet_is_open(const run_fleet *fleet)
{
    return fleet->gone < fleet->called;
}

void
run_fleet_say_silent(run_job *job, const char *what)
{
    char names[512] = "";
    size_t length = 0;
    const run_fleet *fleet = job->fleet;
    for (uint32_t i = 0; i < fleet->called && length < 400; i++) {
        const run_post *post = &fleet->posts[i];
        const bool answered = job->started == 0 && post->state == RUN_POST_READY;
        if (post->state != RUN_POST_GONE && !answered) {
            length += (size_t)snprintf(names + length, sizeof(names) - length,
                                       "%s%.64s", length > 0 ? ", " : "", post->name);
        }
    }
    run_say(job, "%s: %s", names, what);
}

void
run_fleet_abandon(run_fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->called; i++) {
        if (fleet->posts[i].state != RUN_POST_GONE) {
            kill(-fleet->posts[i].agent.pid, SIGKILL);
        }
    }
}

static int
refuse(int code, const run_reason *reason)
{
    fprintf(stderr, "rondo-run: %s\n", reason->text);
    return code;
}

/* A name without a slash is looked for here, and must be at the same place there. */
static int
find_program(const run_options *options, char *path, size_t path_size,
             run_reason *reason)
{
    const char *name = options->command[0];
    if (strchr(name, '/') == NULL) {
        return run_program_find(name, path, path_size, reason);
    }
    snprintf(path, path_size, "%s", name);
    return 0;
}

int
run_fleet_run(run_options *options)
{
    static run_fleet fleet;
    static run_secret secret;
    static char path[PATH_MAX];
    static char remote[PATH_MAX];
    run_reason reason;
    run_task task = {.options = options, .path = path, .fleet = &fleet};
    int code = run_hosts_read(options->hosts, &fleet.hosts);
    code = code != 0 ? code : run_hosts_fill(&fleet.hosts, options);
    code = code != 0 ? code : run_settings_gather(options);
    code = code != 0 ? code : run_secret_add(options, &secret);
    if (code != 0) {
        return code;
    }
    code = find_program(options, path, sizeof(path), &reason);
    if (code == 0) {
        code = run_agent_remote(options, remote, sizeof(remote), &reason);
    }
    if (code != 0) {
        return refuse(code, &reason);
    }
    fleet.remote = remote;
    fleet.folder = getcwd(NULL, 0);
    fleet.posts = calloc(fleet.hosts.count, sizeof(run_post));
    if (fleet.folder == NULL || fleet.posts == NULL) {
        perror("rondo-run: cannot begin");
        return RUN_EXIT_FAILURE;
    }
    task.place.port = options->port;
    snprintf(task.place.master, sizeof(task.place.master), "%s",
             options->master != NULL ? options->master : "127.0.0.1");
    return run_job_run(&task);
}
