/* secret.c - the job's secret, from the environment or from a file. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"
#include "bootstrap/identity.h"

#define SECRET_CHARACTERS_MIN 16
#define FILE_BYTES_MAX        4096

/* Hashed, so that any text makes a key of the right length. */
static rondo_status
make_key(rondo_config_id source, const char *text, size_t bytes, rondo_key *secret)
{
    static const char purpose[] = "rondo job secret";

    if (bytes < SECRET_CHARACTERS_MIN) {
        return rondo_error(
            RONDO_ERR_ARG,
            "%s holds a secret of %zu characters; at least %u are needed",
            rondo_config_variable(source), bytes, SECRET_CHARACTERS_MIN);
    }
    (void)crypto_generichash(secret->bytes, sizeof secret->bytes,
                             (const unsigned char *)text, bytes,
                             (const unsigned char *)purpose, sizeof purpose - 1);
    return RONDO_OK;
}

static rondo_status
check_file(int fd, const char *path)
{
    const char *const variable = rondo_config_variable(RONDO_CONFIG_SECRET_FILE);
    struct stat file;

    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        return rondo_error(RONDO_ERR_ARG, "%s names %.300s, which is no regular file",
                           variable, path);
    }
    if ((file.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0) {
        return rondo_error(RONDO_ERR_ARG,
                           "%s names %.300s, which others may read or write (mode "
                           "%03o); 600 is allowed",
                           variable, path, (unsigned)file.st_mode & 0777U);
    }
    return RONDO_OK;
}

static size_t
without_line_end(const char *text, size_t bytes)
{
    while (bytes > 0 && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r')) {
        bytes--;
    }
    return bytes;
}

static rondo_status
read_all(int fd, const char *path, rondo_key *secret)
{
    char text[FILE_BYTES_MAX + 1];
    size_t bytes = 0;

    while (bytes < sizeof text) {
        const ssize_t got = read(fd, text + bytes, sizeof text - bytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return rondo_error_errno(RONDO_ERR_ARG, errno, "%.300s cannot be read",
                                     path);
        }
        if (got == 0) {
            break;
        }
        bytes += (size_t)got;
    }
    if (bytes == sizeof text) {
        return rondo_error(
            RONDO_ERR_ARG, "%s names %.300s, which is over %u bytes long",
            rondo_config_variable(RONDO_CONFIG_SECRET_FILE), path, FILE_BYTES_MAX);
    }
    const rondo_status status =
        make_key(RONDO_CONFIG_SECRET_FILE, text, without_line_end(text, bytes), secret);
    sodium_memzero(text, sizeof text);
    return status;
}

static rondo_status
read_file(const char *path, rondo_key *secret)
{
    /* Not blocking: a pipe of that name must not hold us up. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return rondo_error_errno(RONDO_ERR_ARG, errno,
                                 "%s names %.300s, which cannot be opened",
                                 rondo_config_variable(RONDO_CONFIG_SECRET_FILE), path);
    }
    rondo_status status = check_file(fd, path);
    if (status == RONDO_OK) {
        status = read_all(fd, path, secret);
    }
    (void)close(fd);
    return status;
}

rondo_status
rondo_secret_read(rondo_key *secret)
{
    const char *const text = rondo_config_text(RONDO_CONFIG_SECRET);

    if (rondo_config_set(RONDO_CONFIG_SECRET)) {
        return make_key(RONDO_CONFIG_SECRET, text, strlen(text), secret);
    }
    if (rondo_config_set(RONDO_CONFIG_SECRET_FILE)) {
        return read_file(rondo_config_text(RONDO_CONFIG_SECRET_FILE), secret);
    }
    memset(secret, 0, sizeof *secret);
    return RONDO_OK;
}
