/* info.h - what rondo-info has found, and what it decides from that. */
#ifndef RONDO_INFO_H
#define RONDO_INFO_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "cores.h"
#include "options.h"
#include "topology/cores.h"
#include "topology/facts.h"
#include "topology/machine/machine.h"
#include "topology/machine/rdma.h"
#include "topology/network.h"

#define INFO_PROBES_MAX   64
#define INFO_PROBLEMS_MAX 8

/* All that was read, of this machine or out of a dump. The environment is the process's
 * own: a dump is put into it. */
typedef struct info_found {
    char host[64];
    char origin[512];                   /* the dump's file; "" for this machine */
    uint64_t mask[RONDO_CPUS_MAX / 64]; /* processors we may run on */
    uint32_t quota;                     /* whole cores; UINT32_MAX without one */
    rondo_machine *machine;
    rondo_rdma rdma;
    rondo_network_facts network;
} info_found;

/* One attempt to reach a host through one interface. */
typedef struct info_probe {
    uint32_t interface; /* number in the judged network */
    uint16_t family;
    unsigned char target[16];
    bool reached;
    double ms;      /* how long the answer took */
    char words[96]; /* "it answers", "no answer within 2 s" */
} info_probe;

typedef struct info_decided {
    rondo_network network;
    uint32_t nranks;
    uint32_t cores; /* that ranks share */
    uint32_t spins;
    bool bound; /* rondo-run gives each rank a part of its own */
    run_cores order;
    bool probed;
    char target[128]; /* "head:29500" */
    uint32_t nprobes;
    info_probe probes[INFO_PROBES_MAX];
    uint32_t chosen; /* interface; RONDO_INTERFACES_MAX: none */
    rondo_network_choice choice;
    uint32_t nproblems;
    char problems[INFO_PROBLEMS_MAX][800];
} info_decided;

/* info_gather - read this machine. False: said. */
bool
info_gather(info_found *found);

/* info_dump - write everything that was read into one file. False: said. */
bool
info_dump(const info_found *found, const char *path);

/* info_load - the reverse; sets the environment too, where nothing is set. False:
 * said. */
bool
info_load(const char *path, info_found *found);

/* info_decide - everything that can be decided without a probe. */
void
info_decide(const info_found *found, uint32_t nranks, info_decided *decided);

/* info_probe_all - try to reach options->host from every usable interface, all at once;
 * 2 s at most, and 5 s to find its addresses. */
void
info_probe_all(const info_options *options, info_decided *decided);

/* info_choose - which interface and which devices, after the probes if there were
 * any. */
void
info_choose(info_decided *decided);

/* info_part - processors of one rank, as rondo-run binds it. */
void
info_part(const info_decided *decided, uint32_t rank, cpu_set_t *part);

/* info_print, info_print_json - for people; for programs. */
void
info_print(const info_found *found, const info_decided *decided);
bool
info_print_json(const info_found *found, const info_decided *decided);

/* info_print_network - the part about interfaces, RDMA and pairs. */
void
info_print_network(const info_found *found, const info_decided *decided);

/* info_problem - one more thing that is wrong. */
void
info_problem(info_decided *decided, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* RONDO_INFO_H */
