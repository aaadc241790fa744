/* load.h - reading a dump, piece by piece. */
#ifndef RONDO_INFO_LOAD_H
#define RONDO_INFO_LOAD_H

#include "info.h"

/* What went wrong first, and where. */
typedef struct load_fault {
    char where[64];
    json_error_t error;
} load_fault;

/* load_fail - note where it is, and what unless jansson said so already; false. */
bool
load_fail(load_fault *fault, const char *where, size_t number, const char *what);

/* load_number - a number of 32 bits; what is out of range becomes the nearest. */
uint32_t
load_number(json_int_t value);

/* load_text - false: it does not fit, or has letters that steer a terminal. */
bool
load_text(const char *from, char *text, size_t text_bytes);

/* load_network - links, addresses and ports of a dump. */
bool
load_network(json_t *network, rondo_network_facts *facts, load_fault *fault);

#endif /* RONDO_INFO_LOAD_H */
