/* print.c - the text for people: processors, ranks, environment, problems. */
#include "info.h"

#include <string.h>

#include "environment.h"
#include "list.h"

/* Ranks whose processors are listed one by one. */
#define RANKS_SHOWN 16

static const char *
plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* "32 KiB", "1.5 MiB", "64 GiB". */
static void
size_text(uint64_t bytes, char *text, size_t text_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    uint32_t unit = 0;

    while (value >= 1024.0 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024.0;
        unit++;
    }
    /* One digit behind the point, unless it says nothing. */
    const bool whole = value >= 99.95 || value - (double)(uint64_t)value < 0.05;
    (void)snprintf(text, text_bytes, "%.*f %s", whole ? 0 : 1, value, units[unit]);
}

static void
print_caches(const rondo_machine *machine)
{
    char size[32];

    if (machine->ncaches == 0) {
        return;
    }
    printf("  %-11s", "caches");
    for (uint32_t i = 0; i < machine->ncaches; i++) {
        const rondo_machine_cache *const cache = &machine->caches[i];

        size_text(cache->bytes, size, sizeof size);
        printf("%sL%u %s ", i == 0 ? "" : ", ", cache->level, size);
        if (cache->cores_each == 1) {
            printf("for each core");
        } else if (cache->count == 1) {
            printf("for all cores");
        } else {
            printf("for every %u cores", cache->cores_each);
        }
    }
    putchar('\n');
}

static void
print_nodes(const rondo_machine *machine)
{
    char size[32];
    char list[256];

    for (uint32_t i = 0; i < machine->nnodes && machine->nnodes > 1; i++) {
        uint64_t mask[RONDO_CPUS_MAX / 64] = {0};
        char name[32];

        for (uint32_t k = 0; k < machine->ncpus; k++) {
            if (machine->cpus[k].node == machine->nodes[i].node) {
                info_list_add(mask, machine->cpus[k].cpu);
            }
        }
        (void)snprintf(name, sizeof name, "node %u", machine->nodes[i].node);
        size_text(machine->nodes[i].memory_bytes, size, sizeof size);
        info_list_write(mask, list, sizeof list);
        printf("  %-11s%s, processors %s", name, size, list[0] == '\0' ? "none" : list);
        const uint32_t distance = machine->distances[i][i == 0 ? 1 : 0];
        if (distance != 0) {
            printf(", distance to node %u: %u", machine->nodes[i == 0 ? 1 : 0].node,
                   distance);
        }
        putchar('\n');
    }
}

static void
print_machine(const info_found *found)
{
    const rondo_machine *const machine = found->machine;
    char list[256];

    printf("Processors\n  %-11s%s%s", "model",
           machine->model[0] == '\0' ? "not known" : machine->model,
           machine->npackages > 1 ? "" : "\n");
    if (machine->npackages > 1) {
        printf(", %u of them\n", machine->npackages);
    }
    printf("  %-11s%u core%s, %u processor%s", "cores", machine->ncores,
           plural(machine->ncores), machine->ncpus, plural(machine->ncpus));
    if (machine->ncpus > machine->ncores && machine->ncores > 0) {
        printf(" (%u in each core)", machine->ncpus / machine->ncores);
    }
    if (machine->nnodes > 1) {
        printf(", %u memory nodes", machine->nnodes);
    }
    putchar('\n');
    print_caches(machine);
    print_nodes(machine);
    info_list_write(found->mask, list, sizeof list);
    printf("  %-11sprocessor%s %s; ", "usable", strpbrk(list, ",-") ? "s" : "", list);
    if (found->quota == UINT32_MAX) {
        puts("no quota of a cgroup");
    } else {
        printf("the cgroup's quota is %u core%s\n", found->quota, plural(found->quota));
    }
}

static void
print_part(const info_decided *decided, uint32_t rank)
{
    uint64_t mask[RONDO_CPUS_MAX / 64] = {0};
    char name[32];
    char list[256];
    cpu_set_t part;

    info_part(decided, rank, &part);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE && cpu < RONDO_CPUS_MAX; cpu++) {
        if (CPU_ISSET(cpu, &part)) {
            info_list_add(mask, cpu);
        }
    }
    info_list_write(mask, list, sizeof list);
    (void)snprintf(name, sizeof name, "rank %u", rank);
    printf("    %-9sprocessor%s %s\n", name, strpbrk(list, ",-") ? "s" : "", list);
}

/* Memory is slower to reach from some processors of a part like that. */
static bool
spans_nodes(const info_found *found, const info_decided *decided, uint32_t rank)
{
    const rondo_machine *const machine = found->machine;
    uint32_t node = RONDO_NO_NODE;
    cpu_set_t part;

    info_part(decided, rank, &part);
    for (uint32_t i = 0; i < machine->ncpus; i++) {
        const rondo_machine_cpu *const cpu = &machine->cpus[i];

        if (cpu->node == RONDO_NO_NODE || cpu->cpu >= CPU_SETSIZE ||
            !CPU_ISSET(cpu->cpu, &part)) {
            continue;
        }
        if (node != RONDO_NO_NODE && node != cpu->node) {
            return true;
        }
        node = cpu->node;
    }
    return false;
}

static void
print_places(const info_found *found, const info_decided *decided)
{
    uint32_t spanning = 0;

    if (!decided->bound) {
        printf("  rondo-run binds nobody: there are more ranks than usable "
               "processors (%u).\n",
               decided->order.count);
        return;
    }
    puts("  rondo-run gives each rank processors of its own, for all its threads:");
    for (uint32_t rank = 0; rank < decided->nranks && rank < RANKS_SHOWN; rank++) {
        print_part(decided, rank);
    }
    if (decided->nranks > RANKS_SHOWN) {
        printf("    and so on, up to rank %u\n", decided->nranks - 1);
    }
    for (uint32_t rank = 0; rank < decided->nranks; rank++) {
        spanning += spans_nodes(found, decided, rank) ? 1 : 0;
    }
    if (spanning > 0) {
        printf("  %u of the ranks span%s more than one memory node.\n", spanning,
               spanning == 1 ? "s" : "");
    }
}

static void
print_ranks(const info_found *found, const info_decided *decided)
{
    const uint32_t nranks = decided->nranks;
    const bool forced = strcmp(rondo_config_text(RONDO_CONFIG_SPIN), "auto") != 0;

    printf("\nRanks: %u on this host\n", nranks);
    printf("  %u processor%s can work for them at a time, so %s.\n", decided->cores,
           plural(decided->cores),
           nranks <= decided->cores ? "each has one to itself" : "they take turns");
    if (decided->spins > 0) {
        printf("  A rank that waits polls %u times, then yields, and sleeps when it "
               "takes long",
               decided->spins);
    } else {
        printf("  A rank that waits yields at once, and sleeps when it takes long");
    }
    puts(forced ? " (RONDO_SPIN).\n  Its service thread sleeps until something comes."
                : ".\n  Its service thread sleeps until something comes.");
    print_places(found, decided);
}

static void
print_environment(void)
{
    bool any = false;

    puts("\nEnvironment");
    for (uint32_t id = 0; id < RONDO_CONFIGS; id++) {
        info_variable variable;

        info_variable_read((rondo_config_id)id, &variable);
        if (!variable.set) {
            continue;
        }
        any = true;
        printf("  %s=%s", variable.name, variable.value);
        printf(variable.fallback[0] == '\0' ? " (not set by default)\n"
                                            : " (default: %s)\n",
               variable.fallback);
    }
    if (!any) {
        puts("  Every variable has its default; none is set.");
    }
}

void
info_print(const info_found *found, const info_decided *decided)
{
    printf("rondo-info %s, %s", rondo_version_text(), found->host);
    printf(found->origin[0] == '\0' ? "\n\n" : ", as written down in %s\n\n",
           found->origin);
    print_machine(found);
    print_ranks(found, decided);
    info_print_network(found, decided);
    print_environment();
    for (uint32_t i = 0; i < decided->nproblems; i++) {
        printf("%s%s\n", i == 0 ? "\nProblems\n  " : "  ", decided->problems[i]);
    }
}
