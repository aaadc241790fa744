/* room.h - how much memory this process may still take, machine and cgroup together. */
#ifndef BASE_ROOM_H
#define BASE_ROOM_H

#include <stdint.h>

/* rondo_room_bytes - what can still be had without anything being killed for it, as far
 * as the system tells; UINT64_MAX where it tells nothing. */
uint64_t
rondo_room_bytes(void);

#endif /* BASE_ROOM_H */
