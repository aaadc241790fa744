/* nets.h - networks of hosts, written down in a few lines, for the tests of
 * topology. */
#ifndef LIB_NETS_H
#define LIB_NETS_H

#include "topology/facts.h"

/*
 * nets_read - facts from lines; an error of the text fails the test:
 *
 *     eth0 kind=veth speed=1000 metric=100 master=br0 down 10.0.0.5/16 fd00::5/64
 *
 * The first word is the name, the words behind it are in any order: no-carrier, loop,
 * and behind an address !tentative, !duplicate, !deprecated or !temporary. Indices are
 * counted from 1. A line "port mlx5_0:1 ACTIVE Ethernet CA eth0,eth0.7" is an RDMA
 * port, "-" no interface. Freed with free.
 */
rondo_network_facts *
nets_read(const char *text);

#endif /* LIB_NETS_H */
