/* async.c - each gradient is an update at once, whatever has become of the parameters
 * it was computed from. Method: Dean et al., "Large scale distributed deep networks",
 * 2012; the rate by staleness and delay compensation are the shard's (see
 * rondo/server.h). */
#include "modes/served.h"

static bool
create(trainer *t, problem *why)
{
    const serving_rule mine = {
        .rule = RONDO_SHARD_ASYNC, .updates = t->workers, .share = 1.0};
    return served_create(t, &mine, why);
}

const mode_kind mode_kind_async = {.help = "a server takes each gradient at once",
                                   .traits = SERVED_TRAITS,
                                   .create = create,
                                   .step = served_step,
                                   .serve = served_serve,
                                   .regroup = served_regroup,
                                   .finish = served_finish,
                                   .free = served_free};
