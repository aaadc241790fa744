/* idx.c - reads IDX files (see idx.h). */
#include "idx.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* Far above any data set this trainer is for, and low enough that a header of garbage
 * cannot make us allocate all there is. */
#define BYTES_MAX (UINT64_C(1) << 30)
#define SIDE_MAX  4096u

/* A whole file in memory, and how far it has been unpacked. */
typedef struct packed {
    const char *path;
    uint8_t *file;
    uint64_t file_bytes;
    uint64_t taken; /* Of a plain file; zlib counts for itself. */
    bool gzip;
    bool ended; /* zlib has seen the end of the stream and its checksum is right. */
    z_stream z;
} packed;

static bool
slurp(FILE *stream, packed *source, problem *why)
{
    struct stat about;
    if (fstat(fileno(stream), &about) != 0) {
        return problem_fail(why, "%s: %s", source->path, strerror(errno));
    }
    if (!S_ISREG(about.st_mode)) {
        return problem_fail(why, "%s: not a regular file", source->path);
    }
    if ((uint64_t)about.st_size > BYTES_MAX) {
        return problem_fail(why, "%s: %lld bytes, allowed are at most %llu",
                            source->path, (long long)about.st_size,
                            (unsigned long long)BYTES_MAX);
    }
    const size_t bytes = (size_t)about.st_size;
    uint8_t *file = malloc(bytes + 1); /* Not 0 bytes, for an empty file. */
    if (file == NULL) {
        return problem_fail(why, "%s: no memory for %zu bytes", source->path, bytes);
    }
    const size_t read = fread(file, 1, bytes, stream);
    if (read != bytes) {
        free(file);
        return problem_fail(why, "%s: read %zu of %zu bytes: %s", source->path, read,
                            bytes, ferror(stream) ? strerror(errno) : "file shrank");
    }
    source->file = file;
    source->file_bytes = bytes;
    return true;
}

static bool
packed_open(const char *path, packed *source, problem *why)
{
    *source = (packed){.path = path};
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return problem_fail(why, "%s: %s", path, strerror(errno));
    }
    const bool good = slurp(stream, source, why);
    (void)fclose(stream);
    if (!good) {
        return false;
    }
    source->gzip =
        source->file_bytes >= 2 && source->file[0] == 0x1f && source->file[1] == 0x8b;
    if (!source->gzip) {
        return true;
    }
    source->z.next_in = source->file;
    source->z.avail_in = (uInt)source->file_bytes;
    if (inflateInit2(&source->z, 15 + 16) != Z_OK) {
        free(source->file);
        return problem_fail(why, "%s: zlib could not be started", path);
    }
    return true;
}

static void
packed_close(packed *source)
{
    if (source->gzip) {
        (void)inflateEnd(&source->z);
    }
    free(source->file);
}

/* Unpacks up to `wanted` bytes; fewer only where the data ends. */
static bool
unpack(packed *source, uint64_t wanted, uint8_t *bytes, uint64_t *got, problem *why)
{
    if (!source->gzip) {
        const uint64_t left = source->file_bytes - source->taken;
        const uint64_t some = wanted < left ? wanted : left;
        memcpy(bytes, source->file + source->taken, some);
        source->taken += some;
        *got = some;
        return true;
    }
    source->z.next_out = bytes;
    source->z.avail_out = (uInt)wanted;
    while (source->z.avail_out > 0 && !source->ended) {
        const int code = inflate(&source->z, Z_NO_FLUSH);
        source->ended = code == Z_STREAM_END;
        if (code == Z_BUF_ERROR) {
            break; /* The file ends inside the stream. */
        }
        if (code != Z_OK && code != Z_STREAM_END) {
            return problem_fail(why, "%s: damaged gzip data: %s", source->path,
                                source->z.msg != NULL ? source->z.msg : "no detail");
        }
    }
    *got = wanted - source->z.avail_out;
    return true;
}

/* Nothing may follow the array: neither data nor, in a gzip file, anything after it. */
static bool
at_end(packed *source, problem *why)
{
    uint8_t more;
    uint64_t got;
    if (!unpack(source, 1, &more, &got, why)) {
        return false;
    }
    if (got != 0) {
        return problem_fail(why, "%s: data goes on after the sizes in its header",
                            source->path);
    }
    if (source->gzip && !source->ended) {
        return problem_fail(why, "%s: truncated: the gzip checksum is missing",
                            source->path);
    }
    if (source->gzip && source->z.avail_in > 0) {
        return problem_fail(why, "%s: %u bytes follow the gzip data", source->path,
                            source->z.avail_in);
    }
    return true;
}

static uint32_t
big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

/* Reads and checks the header; leaves the number of bytes that follow it. */
static bool
read_header(packed *source, uint32_t dimensions, idx *array, uint64_t *bytes,
            problem *why)
{
    uint8_t header[4 + 4 * IDX_DIMENSIONS_MAX];
    const uint64_t header_bytes = 4 + 4 * (uint64_t)dimensions;
    uint64_t got;
    if (!unpack(source, header_bytes, header, &got, why)) {
        return false;
    }
    /* Two zero bytes, 8 for unsigned bytes, the number of dimensions. Looked at first:
     * another kind of file is more likely than one cut off in its header. */
    const uint32_t magic = got >= 4 ? big_endian(header) : 0;
    const uint32_t right = 0x800 + dimensions;
    if (got >= 4 && magic != right) {
        return problem_fail(why, "%s: magic number 0x%08x, expected 0x%08x",
                            source->path, magic, right);
    }
    if (got < header_bytes) {
        return problem_fail(why, "%s: truncated: %llu bytes of a %llu byte header",
                            source->path, (unsigned long long)got,
                            (unsigned long long)header_bytes);
    }
    *array = (idx){.dimensions = dimensions, .size = {1, 1, 1}};
    for (uint32_t d = 0; d < dimensions; d++) {
        array->size[d] = big_endian(header + 4 + 4 * d);
        const uint32_t most = d == 0 ? (uint32_t)INT32_MAX : SIDE_MAX;
        if (array->size[d] < 1 || array->size[d] > most) {
            return problem_fail(why, "%s: size %u of dimension %u, allowed are 1 to %u",
                                source->path, array->size[d], d, most);
        }
    }
    /* At most 2^31 * 2^12 * 2^12: no overflow. */
    const uint64_t total = (uint64_t)array->size[0] * array->size[1] * array->size[2];
    if (total > BYTES_MAX) {
        return problem_fail(why, "%s: header claims %llu bytes, allowed are %llu",
                            source->path, (unsigned long long)total,
                            (unsigned long long)BYTES_MAX);
    }
    *bytes = total;
    return true;
}

static bool
read_array(packed *source, uint32_t dimensions, idx *array, problem *why)
{
    idx result;
    uint64_t bytes = 0;
    if (!read_header(source, dimensions, &result, &bytes, why)) {
        return false;
    }
    result.bytes = malloc(bytes);
    if (result.bytes == NULL) {
        return problem_fail(why, "%s: no memory for %llu bytes", source->path,
                            (unsigned long long)bytes);
    }
    uint64_t got;
    if (!unpack(source, bytes, result.bytes, &got, why)) {
        goto free_bytes;
    }
    if (got < bytes) {
        (void)problem_fail(why, "%s: truncated: %llu of the %llu bytes in its header",
                           source->path, (unsigned long long)got,
                           (unsigned long long)bytes);
        goto free_bytes;
    }
    if (!at_end(source, why)) {
        goto free_bytes;
    }
    *array = result;
    return true;

free_bytes:
    free(result.bytes);
    return false;
}

bool
idx_read(const char *path, uint32_t dimensions, idx *array, problem *why)
{
    packed source;
    if (!packed_open(path, &source, why)) {
        return false;
    }
    const bool good = read_array(&source, dimensions, array, why);
    packed_close(&source);
    return good;
}
