/* frame.c - writes frames into a sink and cuts what arrives into frames. */
#include "frame.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK 0x52524e44u

/* Little endian: hosts may differ. */
typedef struct frame_head {
    uint32_t mark;
    uint32_t type;
    uint32_t rank;
    uint32_t number;
    uint32_t length;
} frame_head;

void
run_frame_put(run_sink *sink, const run_frame *frame)
{
    const frame_head head = {.mark = htole32(MARK),
                             .type = htole32((uint32_t)frame->type),
                             .rank = htole32(frame->rank),
                             .number = htole32(frame->number),
                             .length = htole32((uint32_t)frame->length)};
    run_sink_put(sink, (const char *)&head, sizeof(head));
    run_sink_put(sink, frame->bytes, frame->length);
}

ssize_t
run_reader_fill(run_reader *reader)
{
    if (reader->start > 0) {
        memmove(reader->bytes, reader->bytes + reader->start, reader->length);
        reader->start = 0;
    }
    if (reader->capacity - reader->length < 65536) {
        const size_t capacity = 2 * reader->capacity + 131072;
        char *bytes = realloc(reader->bytes, capacity);
        if (bytes == NULL) {
            errno = ENOMEM;
            return -1;
        }
        reader->bytes = bytes;
        reader->capacity = capacity;
    }
    const ssize_t count = read(reader->fd, reader->bytes + reader->length,
                               reader->capacity - reader->length);
    if (count > 0) {
        reader->length += (size_t)count;
    }
    return count;
}

static void
consume(run_reader *reader, size_t bytes)
{
    reader->start += bytes;
    reader->length -= bytes;
}

run_reading
run_reader_next(run_reader *reader, run_frame *frame)
{
    frame_head head;
    if (reader->length < sizeof(head)) {
        return RUN_READ_MORE;
    }
    memcpy(&head, reader->bytes + reader->start, sizeof(head));
    const uint32_t type = le32toh(head.type);
    const size_t length = le32toh(head.length);
    if (le32toh(head.mark) != MARK || type == 0 || type >= RUN_FRAME_TYPES ||
        length > RUN_FRAME_BYTES_MAX) {
        return RUN_READ_BROKEN;
    }
    if (reader->length - sizeof(head) < length) {
        return RUN_READ_MORE;
    }
    *frame = (run_frame){.type = (run_frame_type)type,
                         .rank = le32toh(head.rank),
                         .number = le32toh(head.number),
                         .length = length,
                         .bytes = reader->bytes + reader->start + sizeof(head)};
    consume(reader, sizeof(head) + length);
    return RUN_READ_FRAME;
}

run_reading
run_reader_hello(run_reader *reader, uint32_t *protocol)
{
    static const char hello[] = RUN_FRAME_HELLO;
    for (;;) {
        const char *line = reader->bytes + reader->start;
        const char *end =
            reader->length > 0 ? memchr(line, '\n', reader->length) : NULL;
        if (end == NULL) {
            /* Whoever talks so long without a line is nobody we know. */
            return reader->length > 65536 ? RUN_READ_BROKEN : RUN_READ_MORE;
        }
        consume(reader, (size_t)(end + 1 - line));
        if ((size_t)(end - line) > sizeof(hello) - 1 &&
            memcmp(line, hello, sizeof(hello) - 1) == 0) {
            *protocol = (uint32_t)strtoul(line + sizeof(hello) - 1, NULL, 10);
            return RUN_READ_FRAME;
        }
    }
}
