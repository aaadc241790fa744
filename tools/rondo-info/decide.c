/* decide.c - what follows from what was found. */
#include "info.h"

#include <stdarg.h>
#include <string.h>

#include "base/config.h"
#include "list.h"

void
info_problem(info_decided *decided, const char *format, ...)
{
    va_list values;

    if (decided->nproblems == INFO_PROBLEMS_MAX) {
        return;
    }
    va_start(values, format);
    (void)vsnprintf(decided->problems[decided->nproblems++],
                    sizeof decided->problems[0], format, values);
    va_end(values);
}

static uint32_t
core_of(const rondo_machine *machine, uint32_t cpu)
{
    for (uint32_t i = 0; i < machine->ncpus; i++) {
        if (machine->cpus[i].cpu == cpu) {
            return machine->cpus[i].core;
        }
    }
    return UINT32_MAX;
}

/* As rondo-run orders them: the first usable processor of each core, then siblings. */
static void
order_processors(const info_found *found, run_cores *order)
{
    bool siblings[RONDO_CPUS_MAX] = {false};
    bool seen[RONDO_CPUS_MAX] = {false}; /* by core */

    for (uint32_t cpu = 0; cpu < RONDO_CPUS_MAX; cpu++) {
        const uint32_t core = core_of(found->machine, cpu);

        if (!info_list_has(found->mask, cpu) || core >= RONDO_CPUS_MAX) {
            continue;
        }
        siblings[cpu] = seen[core];
        seen[core] = true;
    }
    order->count = 0;
    for (int round = 0; round < 2; round++) {
        for (uint32_t cpu = 0; cpu < RONDO_CPUS_MAX && cpu < CPU_SETSIZE; cpu++) {
            if (info_list_has(found->mask, cpu) && siblings[cpu] == (round == 1)) {
                order->processor[order->count++] = (uint16_t)cpu;
            }
        }
    }
}

void
info_part(const info_decided *decided, uint32_t rank, cpu_set_t *part)
{
    run_cores_share(&decided->order, rank, decided->nranks, false, part);
}

static void
decide_cores(const info_found *found, uint32_t nranks, info_decided *decided)
{
    rondo_cores cores = {.quota = 0};

    rondo_cores_add(&cores, found->mask, found->quota);
    decided->cores = rondo_cores_count(&cores);
    decided->nranks = nranks != 0 ? nranks : decided->cores;
    if (rondo_cores_spins(decided->nranks, decided->cores, false, &decided->spins) !=
        RONDO_OK) {
        info_problem(decided, "%s", rondo_error_text());
    }
    order_processors(found, &decided->order);
    decided->bound = decided->nranks <= decided->order.count;
}

static void
decide_network(const info_found *found, info_decided *decided)
{
    const char *const wanted = rondo_config_text(RONDO_CONFIG_INTERFACE);

    rondo_status status =
        rondo_network_judge(&found->network, wanted, &decided->network);
    if (status == RONDO_ERR_ARG) {
        info_problem(decided, "%s", rondo_error_text());
        status = rondo_network_judge(&found->network, "auto", &decided->network);
    }
    if (status != RONDO_OK) {
        info_problem(decided, "%s", rondo_error_text());
    }
}

void
info_decide(const info_found *found, uint32_t nranks, info_decided *decided)
{
    memset(decided, 0, sizeof *decided);
    decided->chosen = RONDO_INTERFACES_MAX;
    decide_cores(found, nranks, decided);
    decide_network(found, decided);
}

/* After a probe only what has reached its target counts. */
static bool
has_reached(const info_decided *decided, uint32_t interface)
{
    bool reached = !decided->probed;

    for (uint32_t i = 0; i < decided->nprobes; i++) {
        reached = reached || (decided->probes[i].interface == interface &&
                              decided->probes[i].reached);
    }
    return reached;
}

void
info_choose(info_decided *decided)
{
    const char *name = "";

    for (uint32_t i = 0; i < decided->network.nusable; i++) {
        if (has_reached(decided, i)) {
            decided->chosen = i;
            name = decided->network.interfaces[i].name;
            break;
        }
    }
    /* A name that is not known has been complained about already. */
    if (decided->probed && decided->chosen == RONDO_INTERFACES_MAX &&
        (decided->nprobes > 0 || decided->nproblems == 0)) {
        info_problem(decided, "%s cannot be reached through any usable interface",
                     decided->target);
    }
    if (rondo_network_choose(&decided->network, name,
                             rondo_config_text(RONDO_CONFIG_RDMA),
                             &decided->choice) != RONDO_OK) {
        info_problem(decided, "%s", rondo_error_text());
    }
}
