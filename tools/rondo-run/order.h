/* order.h - what a host is told to run, as text in a JOB frame. */
#ifndef RONDO_RUN_ORDER_H
#define RONDO_RUN_ORDER_H

#include "environment.h"
#include "hosts.h"

typedef struct run_order {
    const char *host;   /* what the launching side calls it */
    const char *folder; /* to work in */
    const char *path;   /* of the program */
    const char *master; /* a name to look up; "": none */
    bool port;          /* whether to find the port of the job */
    run_place place;
    run_options options;
} run_order;

/*
 * run_order_write - the text; null: out of memory. The secret is among the settings, so
 * this text goes nowhere but into the agent's standard input.
 */
char *
run_order_write(const run_order *order, size_t *length);

/* run_order_read - the other way round; what it points to is a copy that stays. False:
 * it is not an order, or no memory. */
bool
run_order_read(const char *text, size_t length, run_order *order);

#endif /* RONDO_RUN_ORDER_H */
