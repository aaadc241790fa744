/* ranks.c - the other ranks of this run (see ranks.h). */
#include "ranks.h"

bool
ranks_fail(const ranks *all, rondo_status status, const char *what, problem *why)
{
    const char *text = all->comm != NULL ? rondo_comm_error_text(all->comm) : "";
    if (text[0] == '\0') {
        text = rondo_error_text();
    }
    if (text[0] == '\0') {
        text = rondo_status_text(status);
    }
    return problem_fail(why, "%s: %s (%s)", what, text, rondo_status_name(status));
}

bool
ranks_join(ranks *all, problem *why)
{
    ranks result = {.comm = NULL};
    const rondo_status status = rondo_comm_create(NULL, &result.comm);
    if (status != RONDO_OK) {
        return ranks_fail(&result, status, "joining the other ranks", why);
    }
    result.rank = rondo_comm_rank(result.comm);
    result.count = rondo_comm_nranks(result.comm);
    *all = result;
    return true;
}

void
ranks_leave(ranks *all)
{
    rondo_comm_destroy(all->comm);
    all->comm = NULL;
}

void
ranks_abandon(ranks *all)
{
    /* The others learn at once, not at a deadline. If it fails they are gone
     * already. */
    const rondo_status status = rondo_comm_abort(all->comm);
    (void)status;
    ranks_leave(all);
}

bool
ranks_share(const ranks *all, float *vector, uint64_t count, problem *why)
{
    const rondo_status status =
        rondo_broadcast(all->comm, vector, vector, count, RONDO_FP32, 0);
    return status == RONDO_OK || ranks_fail(all, status, "sharing parameters", why);
}

bool
ranks_adopt(const ranks *all, uint32_t root, void *bytes, uint64_t count, problem *why)
{
    const rondo_status status =
        rondo_broadcast(all->comm, bytes, bytes, count, RONDO_UINT8, root);
    return status == RONDO_OK || ranks_fail(all, status, "sharing a rank's state", why);
}

bool
ranks_gather(const ranks *all, const void *mine, uint64_t bytes, void *gathered,
             problem *why)
{
    const rondo_status status =
        rondo_all_gather(all->comm, mine, gathered, bytes, RONDO_UINT8);
    return status == RONDO_OK || ranks_fail(all, status, "comparing ranks", why);
}

bool
ranks_sum(const ranks *all, uint64_t *value, problem *why)
{
    return ranks_sum_all(all, value, 1, why);
}

bool
ranks_sum_all(const ranks *all, uint64_t *values, uint64_t count, problem *why)
{
    const rondo_status status =
        rondo_all_reduce(all->comm, values, values, count, RONDO_UINT64, RONDO_SUM);
    return status == RONDO_OK || ranks_fail(all, status, "summing over ranks", why);
}

bool
ranks_largest(const ranks *all, double *value, problem *why)
{
    const rondo_status status =
        rondo_all_reduce(all->comm, value, value, 1, RONDO_FP64, RONDO_MAX);
    return status == RONDO_OK || ranks_fail(all, status, "timing all ranks", why);
}
