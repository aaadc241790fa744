/* backup.c - the first gradients of a version make its update, and those of the last
 * --backups workers are given up. Method: Chen et al., "Revisiting distributed
 * synchronous SGD", 2016. */
#include "modes/served.h"

static bool
create(trainer *t, problem *why)
{
    const serving_rule mine = {.rule = RONDO_SHARD_BACKUP,
                               .quorum = t->workers - (uint32_t)t->o->backups,
                               .updates = 1,
                               .share = 1.0};
    return served_create(t, &mine, why);
}

const mode_kind mode_kind_backup = {.help = "the last few gradients are not waited for",
                                    .traits = SERVED_TRAITS,
                                    .create = create,
                                    .step = served_step,
                                    .serve = served_serve,
                                    .regroup = served_regroup,
                                    .finish = served_finish,
                                    .free = served_free};
