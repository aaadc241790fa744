/* ssp.c - each gradient is an update at once, but no worker gets further than --bound
 * steps ahead of the slowest. With bound 0 a step's gradients make one update, their
 * mean in worker order. Method: Ho et al., "More effective distributed ML via a stale
 * synchronous parallel parameter server", 2013. */
#include "modes/served.h"

static bool
create(trainer *t, problem *why)
{
    /* Many updates of one step's images come to one with their mean: each has its
     * share of the rate. */
    const uint64_t updates = t->o->bound == 0 ? 1 : t->workers;
    const serving_rule mine = {.rule = RONDO_SHARD_BOUNDED,
                               .bound = t->o->bound,
                               .updates = updates,
                               .share = 1.0 / (double)updates};
    return served_create(t, &mine, why);
}

const mode_kind mode_kind_ssp = {.help = "as async, but workers stay together",
                                 .traits = SERVED_TRAITS,
                                 .create = create,
                                 .step = served_step,
                                 .serve = served_serve,
                                 .regroup = served_regroup,
                                 .finish = served_finish,
                                 .free = served_free};
