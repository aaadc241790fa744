/* touch.h - have memory behind pages where the kernel offers no call for it. */
#ifndef BASE_TOUCH_H
#define BASE_TOUCH_H

#include <stdint.h>

/*
 * rondo_touch - 0, or an error number: EFAULT where no memory is left.
 *
 * What MADV_POPULATE_WRITE does since Linux 5.14, for shared mappings: the kernel reads
 * a byte of each page into a pipe. Where there is no memory that call fails, while our
 * own touch would be a fatal signal; and nothing is written, since others may be using
 * the page already. `pages` begins at a page.
 */
int
rondo_touch(const void *pages, uint64_t bytes);

#endif /* BASE_TOUCH_H */
