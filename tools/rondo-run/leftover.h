/* leftover.h - processes the ranks started and left behind. */
#ifndef RONDO_RUN_LEFTOVER_H
#define RONDO_RUN_LEFTOVER_H

#include <stdint.h>

/*
 * run_leftover_init - call before the first rank starts: whoever loses its parent below
 * us becomes our child from now on. Children we already have (of what we were before
 * exec) are noted and left alone.
 */
void
run_leftover_init(void);

/* run_leftover_signal - send `number` (0: none) to our children that are alive; call
 * when no rank is running. Returns how many there are. */
uint32_t
run_leftover_signal(int number);

#endif /* RONDO_RUN_LEFTOVER_H */
