/* report.c - sentences for people and one line of JSON for programs. */
#include "report.h"

#include "link.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
put_text(run_job *job, const char *text, size_t length)
{
    if (job->relayed) {
        run_relay_say(&job->relay, text, length);
    } else {
        fwrite(text, 1, length, stderr);
    }
}

void
run_say(run_job *job, const char *format, ...)
{
    char line[2048] = "rondo-run: ";
    const size_t start = strlen(line);
    va_list values;
    va_start(values, format);
    vsnprintf(line + start, sizeof(line) - start - 1, format, values);
    va_end(values);
    if (job->link != NULL) {
        /* The launching side knows how to say it, and whose it is. */
        const run_frame frame = {.type = RUN_FRAME_SAY,
                                 .length = strlen(line + start),
                                 .bytes = line + start};
        run_link_put(job, &frame);
        return;
    }
    strcat(line, "\n");
    put_text(job, line, strlen(line));
}

static void
describe(const run_rank *rank, char *text, size_t text_size)
{
    if (rank->lost) {
        snprintf(text, text_size, "lost with %s", rank->host);
    } else if (rank->signal != 0) {
        snprintf(text, text_size, "killed by signal %d (%s%s)", rank->signal,
                 strsignal(rank->signal), rank->core ? ", core dumped" : "");
    } else {
        snprintf(text, text_size, "exited with code %d", rank->code);
    }
}

void
run_say_failure(run_job *job, uint32_t rank)
{
    char how[96];
    const run_rank *one = &job->ranks[rank];
    describe(one, how, sizeof(how));
    run_say(job, "rank %u%s%s (pid %d) %s%s", rank, one->host != NULL ? " on " : "",
            one->host != NULL ? one->host : "", (int)one->pid,
            one->signal != 0 || one->lost ? "was " : "", how);
}

/* A set of ranks as text: appends "a", "a-b" for each run of chosen ranks. */
static uint32_t
list(const run_job *job, const bool *chosen, char *text, size_t text_size)
{
    uint32_t count = 0;
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t first = 0; first < job->options->nranks; first++) {
        if (!chosen[first]) {
            continue;
        }
        uint32_t last = first;
        while (last + 1 < job->options->nranks && chosen[last + 1]) {
            last++;
        }
        count += last - first + 1;
        if (length + 40 < text_size) {
            length += (size_t)snprintf(text + length, text_size - length,
                                       first == last ? "%s%u" : "%s%u-%u",
                                       length > 0 ? ", " : "", first, last);
        } else if (text[length - 1] != '.') {
            length += (size_t)snprintf(text + length, text_size - length, ", ...");
        }
        first = last;
    }
    return count;
}

void
run_list_running(const run_job *job, char *text, size_t text_size)
{
    bool chosen[RUN_RANKS_MAX] = {false};
    for (uint32_t i = 0; i < job->options->nranks; i++) {
        chosen[i] = job->ranks[i].state == RUN_RUNNING;
    }
    char numbers[256];
    const uint32_t count = list(job, chosen, numbers, sizeof(numbers));
    snprintf(text, text_size, "rank%s %s", count == 1 ? "" : "s", numbers);
}

static bool
same_end(const run_rank *left, const run_rank *right)
{
    return left->state == right->state && left->code == right->code &&
           left->signal == right->signal && left->pushed == right->pushed &&
           left->lost == right->lost && (!left->lost || left->host == right->host);
}

static bool
is_failed(const run_rank *rank)
{
    return rank->state == RUN_ENDED && (rank->signal != 0 || rank->code != 0);
}

/* The host of all chosen ranks; null: there are several, or none are known. */
static const char *
common_host(const run_job *job, const bool *chosen)
{
    const char *host = NULL;
    for (uint32_t i = 0; i < job->options->nranks; i++) {
        if (chosen[i] && host != NULL && job->ranks[i].host != host) {
            return NULL;
        }
        host = chosen[i] ? job->ranks[i].host : host;
    }
    return host;
}

/* One line for all ranks that ended alike: 63 equal lines would hide the first. */
static void
say_others(run_job *job)
{
    bool told[RUN_RANKS_MAX] = {false};
    told[job->first] = true;
    for (uint32_t i = 0; i < job->options->nranks; i++) {
        if (told[i] || !is_failed(&job->ranks[i])) {
            continue;
        }
        bool chosen[RUN_RANKS_MAX] = {false};
        for (uint32_t k = i; k < job->options->nranks; k++) {
            chosen[k] = !told[k] && same_end(&job->ranks[i], &job->ranks[k]);
            told[k] = told[k] || chosen[k];
        }
        char numbers[256];
        char how[96];
        const uint32_t count = list(job, chosen, numbers, sizeof(numbers));
        describe(&job->ranks[i], how, sizeof(how));
        const char *host = common_host(job, chosen);
        const bool done_to = job->ranks[i].signal != 0 || job->ranks[i].lost;
        run_say(job, "after it rank%s %s%s%s %s%s%s", count == 1 ? "" : "s", numbers,
                host != NULL ? " on " : "", host != NULL ? host : "",
                !done_to     ? ""
                : count == 1 ? "was "
                             : "were ",
                how, job->ranks[i].pushed ? ", ended by rondo-run" : "");
    }
}

static double
seconds_between(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns > start_ns ? (double)(end_ns - start_ns) * 1e-9 : 0.0;
}

/* A number, or null for what does not apply. */
static void
put_number(FILE *file, const char *name, bool applies, uint32_t number)
{
    if (applies) {
        fprintf(file, "\"%s\":%u,", name, number);
    } else {
        fprintf(file, "\"%s\":null,", name);
    }
}

static void
put_rank(FILE *file, uint32_t rank, const run_rank *one)
{
    const bool ended = one->state == RUN_ENDED;
    fprintf(file, "%s{\"rank\":%u,\"pid\":%d,", rank > 0 ? "," : "", rank,
            (int)one->pid);
    if (one->host != NULL) {
        fprintf(file, "\"host\":\"%s\",", one->host);
    }
    put_number(file, "code", ended && one->signal == 0 && !one->lost,
               (uint32_t)one->code);
    put_number(file, "signal", one->signal != 0, (uint32_t)one->signal);
    fprintf(file, "\"ended_by_rondo_run\":%s,\"seconds\":%.3f}",
            one->pushed ? "true" : "false",
            seconds_between(one->start_ns, one->end_ns));
}

static void
write_json(run_job *job)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL) {
        return;
    }
    fprintf(file, "{\"rondo_run\":1,\"nranks\":%u,\"code\":%d,\"seconds\":%.3f,",
            job->options->nranks, run_exit_code(job),
            seconds_between(job->start_ns, run_now_ns()));
    put_number(file, "first_failed", job->first != RUN_NO_RANK, job->first);
    fprintf(file, "\"timed_out\":%s,\"ranks\":[", job->timed_out ? "true" : "false");
    for (uint32_t i = 0; i < job->started; i++) {
        put_rank(file, i, &job->ranks[i]);
    }
    fputs("]}\n", file);
    if (fclose(file) == 0) {
        put_text(job, text, length);
    }
    free(text);
}

void
run_report_end(run_job *job)
{
    if (job->link != NULL) {
        return;
    }
    if (job->first != RUN_NO_RANK) {
        say_others(job);
    }
    if (job->options->json) {
        write_json(job);
    }
}

int
run_exit_code(const run_job *job)
{
    if (job->start_error != 0) {
        return job->start_error;
    }
    if (job->link != NULL) {
        /* The launching side has been told all of it. */
        return 0;
    }
    if (job->timed_out) {
        return RUN_EXIT_TIMEOUT;
    }
    if (job->started == 0) {
        return 128 + job->user_signal;
    }
    if (job->first != RUN_NO_RANK) {
        const run_rank *first = &job->ranks[job->first];
        if (first->lost) {
            return RUN_EXIT_FAILURE;
        }
        return first->signal != 0 ? 128 + first->signal : first->code;
    }
    /* Nobody failed, but a rank that had to be pushed did not return 0 either. */
    for (uint32_t i = 0; i < job->started; i++) {
        const run_rank *one = &job->ranks[i];
        if (one->state != RUN_ENDED) {
            return RUN_EXIT_FAILURE;
        }
        if (one->lost) {
            return RUN_EXIT_FAILURE;
        }
        if (is_failed(one)) {
            return 128 + job->user_signal;
        }
    }
    return 0;
}
