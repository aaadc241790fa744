/* option_modes.c - what options mean together with the mode, with failures and with
 * virtual time (see options_complete). */
#include "options.h"
#include "straggler.h"

#include <inttypes.h>
#include <string.h>

#define LOCAL_STEPS_DEFAULT    16u
#define OUTER_RATE_DEFAULT     0.7
#define OUTER_MOMENTUM_DEFAULT 0.9
#define RETURN_TIMEOUT_DEFAULT 30.0
#define TRACE_STEPS_DEFAULT    20u
#define WORKERS_DEFAULT        4u

static uint32_t
traits_of(const options *o)
{
    return mode_kind_of(o->mode)->traits;
}

/* An option that only some modes know. */
typedef struct mode_option {
    const char *name;
    const char *modes; /* Their words, each between spaces. */
    const char *why;
} mode_option;

static const mode_option only_in[] = {
    {"--servers", " backup async ssp ", "only backup, async and ssp have servers"},
    {"--backups", " backup ", "only backup does not wait for all workers"},
    {"--policy", " backup ", "only backup has gradients that are too late"},
    {"--bound", " ssp ", "only ssp bounds how far workers are apart"},
    {"--staleness-aware", " async ssp ", "only async and ssp use stale gradients"},
    {"--compensate", " async ssp ", "only async and ssp use stale gradients"},
    {"--compensate-adaptive", " async ssp ", "only async and ssp use stale gradients"},
    {"--graph", " gossip ", "only gossip averages along a graph"},
    {"--local-steps", " local diloco ", "only local and diloco skip exchanges"},
    {"--local-from", " local ", "only local may start as sync"},
    {"--outer-lr", " diloco ", "only diloco has an outer update"},
    {"--outer-momentum", " diloco ", "only diloco has an outer update"},
    {"--own-images", " sync async ssp ",
     "only sync, async and ssp weight ranks by their images"},
    {"--canonical", " sync ", "only sync adds the gradients of all ranks in one order"},
};

static bool
check_mode_options(const options *o, problem *why)
{
    const char *mode = options_mode_text(o->mode);
    char word[32];
    (void)snprintf(word, sizeof word, " %s ", mode);
    for (uint32_t i = 0; i < sizeof only_in / sizeof only_in[0]; i++) {
        const mode_option *row = &only_in[i];
        if (options_given(o, row->name) && strstr(row->modes, word) == NULL) {
            return problem_usage(why, "%s with --mode %s: %s", row->name, mode,
                                 row->why);
        }
    }
    return true;
}

static bool
check_equal(const options *o, problem *why)
{
    if (o->canonical && o->mode == TRAIN_NONE) {
        return problem_usage(why, "--canonical with --mode none: ranks that exchange "
                                  "nothing cannot agree on a gradient");
    }
    if (o->hash_every > 0 && o->mode == TRAIN_NONE) {
        return problem_usage(why,
                             "--hash-every %" PRIu64 " with --mode none: ranks that "
                             "exchange nothing differ, there is nothing to compare",
                             o->hash_every);
    }
    if (o->hash_every > 0 && (traits_of(o) & MODE_EQUAL) == 0) {
        return problem_usage(why,
                             "--hash-every %" PRIu64 " with --mode %s: parameters of "
                             "its ranks differ, there is nothing to compare",
                             o->hash_every, options_mode_text(o->mode));
    }
    return true;
}

static bool
complete_stale(options *o, problem *why)
{
    const bool fresh = o->bound == 0;
    if (o->bound == COUNT_NOT_GIVEN) {
        o->bound = 1;
    }
    if (fresh && (o->staleness_aware || o->compensate > 0.0)) {
        return problem_usage(why, "%s with --bound 0: no gradient is stale there",
                             o->staleness_aware ? "--staleness-aware" : "--compensate");
    }
    if (o->compensate_adaptive && o->compensate < 0.0) {
        return problem_usage(why, "--compensate-adaptive without --compensate: there "
                                  "is no lambda to adapt");
    }
    if (o->compensate < 0.0) {
        o->compensate = 0.0;
    }
    return true;
}

static bool
complete_servers(options *o, problem *why)
{
    const bool alone = o->mode == TRAIN_BACKUP;
    if ((traits_of(o) & MODE_SERVERS) == 0) {
        o->servers = 0;
        o->backups = 0;
    } else if (o->servers == COUNT_NOT_GIVEN) {
        o->servers = 1;
    }
    if (alone && o->servers > 1) {
        return problem_usage(why,
                             "--servers %" PRIu64 " with --mode backup: a gradient is "
                             "taken or dropped as a whole, so one server has it all",
                             o->servers);
    }
    if (o->backups == COUNT_NOT_GIVEN) {
        o->backups = alone ? 1 : 0;
    }
    return complete_stale(o, why);
}

static bool
check_norms(const options *o, problem *why)
{
    const bool norms = (optimiser_kind_of(o->optimiser)->uses & USES_NORMS) != 0;
    return o->servers < 2 || !norms ||
           problem_usage(why,
                         "--optimiser %s with --servers %" PRIu64
                         ": it takes norms of whole layers, and servers have parts of "
                         "them",
                         optimiser_words[o->optimiser], o->servers);
}

static void
complete_averages(options *o)
{
    if (o->local_steps == 0) {
        o->local_steps = LOCAL_STEPS_DEFAULT;
    }
    if (o->outer_rate < 0.0) {
        o->outer_rate = OUTER_RATE_DEFAULT;
    }
    if (o->outer_momentum < 0.0) {
        o->outer_momentum = OUTER_MOMENTUM_DEFAULT;
    }
    if (o->mode == TRAIN_DILOCO && !options_given(o, "--optimiser")) {
        o->optimiser = TRAIN_ADAMW;
    }
}

static bool
check_own_images(const options *o, problem *why)
{
    if (o->own_images == COUNT_NOT_GIVEN) {
        return true;
    }
    const char *other = o->canonical                         ? "--canonical"
                        : options_given(o, "--global-batch") ? "--global-batch"
                        : o->door != NULL                    ? "--door"
                        : o->accumulate > 1                  ? "--accumulate"
                                                             : NULL;
    return other == NULL ||
           problem_usage(why,
                         "--own-images with %s: that needs images that are shared "
                         "by all",
                         other);
}

static bool
complete_failures(options *o, problem *why)
{
    const uint32_t traits = traits_of(o);
    const char *mode = options_mode_text(o->mode);
    if (!options_given(o, "--on-failure")) {
        o->on_failure = (traits & MODE_SURVIVES) != 0 ? FAILURE_SHRINK : FAILURE_STOP;
    } else if (o->mode == TRAIN_NONE) {
        return problem_usage(why, "--on-failure with --mode none: ranks that exchange "
                                  "nothing do not miss one another");
    }
    if (o->canonical && o->on_failure == FAILURE_SHRINK) {
        return problem_usage(why,
                             "--canonical with --on-failure shrink: the ranks that "
                             "are left are no power of two");
    }
    if (o->own_images != COUNT_NOT_GIVEN && o->on_failure == FAILURE_SHRINK &&
        (traits & MODE_LOCKSTEP) != 0) {
        return problem_usage(why,
                             "--own-images with --on-failure shrink: the images of "
                             "a rank that dies would be missing");
    }
    if (o->door != NULL && (traits & MODE_REJOIN) == 0) {
        return problem_usage(why, "--door with --mode %s: it takes no rank in again",
                             mode);
    }
    if (o->door != NULL && o->on_failure == FAILURE_STOP) {
        return problem_usage(why, "--door with --on-failure stop: nobody is left to "
                                  "return to");
    }
    if (o->door == NULL && (o->returning || o->return_timeout >= 0.0)) {
        return problem_usage(why, "%s without --door: a rank returns through its file",
                             o->returning ? "--return" : "--return-timeout");
    }
    if (o->return_timeout < 0.0) {
        o->return_timeout = RETURN_TIMEOUT_DEFAULT;
    }
    return true;
}

static bool
complete_files(options *o, problem *why)
{
    if (o->checkpoint == NULL && (o->resume || o->checkpoint_every > 0)) {
        return problem_usage(why, "%s without --checkpoint: that names the directory",
                             o->resume ? "--resume" : "--checkpoint-every");
    }
    if (o->trace == NULL && o->trace_steps > 0) {
        return problem_usage(why, "--trace-steps without --trace: that names the file");
    }
    if (o->quiet && options_given(o, "--status")) {
        return problem_usage(why, "--status with --quiet: that prints the result "
                                  "alone");
    }
    if (o->trace_steps == 0) {
        o->trace_steps = TRACE_STEPS_DEFAULT;
    }
    return true;
}

static bool
complete_virtual(options *o, problem *why)
{
    static const char *const more[] = {"--workers", "--virtual-timing",
                                       "--virtual-latency", "--virtual-bandwidth"};
    for (uint32_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (!o->virtual_time && options_given(o, more[i])) {
            return problem_usage(why,
                                 "%s without --virtual: real ranks are counted and "
                                 "timed, not told",
                                 more[i]);
        }
    }
    static const char *const real[] = {"--door",     "--return",     "--on-failure",
                                       "--resume",   "--checkpoint", "--own-images",
                                       "--canonical"};
    for (uint32_t i = 0; i < sizeof real / sizeof real[0]; i++) {
        if (o->virtual_time && options_given(o, real[i])) {
            return problem_usage(why, "%s with --virtual: only real ranks have it",
                                 real[i]);
        }
    }
    if (o->workers == 0) {
        o->workers = WORKERS_DEFAULT;
    }
    return true;
}

static bool
check_straggler(const options *o, problem *why)
{
    straggler slow;
    return straggler_read(o->straggler, o->seed, &slow, why);
}

bool
options_complete_mode(options *o, problem *why)
{
    if (!check_equal(o, why) || !check_mode_options(o, why) ||
        !complete_servers(o, why) || !check_norms(o, why) ||
        !check_own_images(o, why) || !complete_failures(o, why) ||
        !complete_files(o, why) || !complete_virtual(o, why)) {
        return false;
    }
    complete_averages(o);
    return check_straggler(o, why);
}
