/* group_ticket.c - the file by which a restarted rank finds the others (see
 * group_ticket.h). */
#include "group_ticket.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD       "rondo-train door 1\n"
#define HEAD_BYTES (sizeof HEAD - 1)
#define ID_BYTES   (sizeof((rondo_unique_id *)NULL)->bytes)
#define FILE_BYTES (HEAD_BYTES + 2 * ID_BYTES + 1)

static void
print_ticket(const rondo_unique_id *id, char text[FILE_BYTES])
{
    static const char digit[] = "0123456789abcdef";
    memcpy(text, HEAD, HEAD_BYTES);
    for (size_t i = 0; i < ID_BYTES; i++) {
        text[HEAD_BYTES + 2 * i] = digit[id->bytes[i] >> 4];
        text[HEAD_BYTES + 2 * i + 1] = digit[id->bytes[i] & 15];
    }
    text[FILE_BYTES - 1] = '\n';
}

static int
value_of(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool
ticket_write(const char *path, const rondo_unique_id *id)
{
    char text[FILE_BYTES];
    char beside[4096];
    const int length = snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof beside) {
        return false;
    }
    (void)unlink(beside); /* Of a process that had our number. */
    const int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return false;
    }
    print_ticket(id, text);
    const bool written = write(file, text, sizeof text) == (ssize_t)sizeof text;
    const bool closed = close(file) == 0;
    if (written && closed && rename(beside, path) == 0) {
        return true;
    }
    (void)unlink(beside);
    return false;
}

/* The bytes of a file that is the user's alone. */
static bool
read_own(const char *path, char text[FILE_BYTES])
{
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) {
        return false;
    }
    const bool good = fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                      about.st_uid == geteuid() && (about.st_mode & 077) == 0 &&
                      about.st_size == (off_t)FILE_BYTES &&
                      read(file, text, FILE_BYTES) == (ssize_t)FILE_BYTES;
    (void)close(file);
    return good;
}

bool
ticket_read(const char *path, rondo_unique_id *id)
{
    char text[FILE_BYTES];
    rondo_unique_id result;
    if (!read_own(path, text) || memcmp(text, HEAD, HEAD_BYTES) != 0) {
        return false;
    }
    for (size_t i = 0; i < ID_BYTES; i++) {
        const int high = value_of(text[HEAD_BYTES + 2 * i]);
        const int low = value_of(text[HEAD_BYTES + 2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        result.bytes[i] = (unsigned char)(high * 16 + low);
    }
    *id = result;
    return true;
}

void
ticket_remove(const char *path, const rondo_unique_id *id)
{
    rondo_unique_id there;
    if (ticket_read(path, &there) && memcmp(&there, id, sizeof there) == 0) {
        (void)unlink(path);
    }
}
