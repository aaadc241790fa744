/* s13_port_taken.c - the rendezvous port belongs to somebody else: rank 0 says so at
 * once, a rank that reached the stranger gives up in time, and of two jobs at one port
 * the second fails while the first goes on. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/leftover.h"
#include "lib/ranks.h"

#define START_TIMEOUT_MS 2000

/* What the stranger at the port does. */
typedef enum manner { SILENT, SAYS_HTTP, HANGS_UP, MANNERS } manner;

static uint16_t
stranger_listen(int *fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t at_bytes = sizeof at;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || bind(*fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(*fd, 16) != 0 ||
        getsockname(*fd, (struct sockaddr *)&at, &at_bytes) != 0) {
        return 0;
    }
    return ntohs(at.sin_port);
}

static void
stranger_serve(int fd, manner how)
{
    static const char answer[] = "HTTP/1.0 400 Bad request\r\n\r\nno such thing\r\n";
    char heard[256];

    for (int guests = 0;; guests++) {
        const int guest = accept(fd, NULL, NULL);
        if (guest < 0) {
            _exit(0);
        }
        if (how == SAYS_HTTP) {
            (void)!read(guest, heard, sizeof heard);
            (void)!write(guest, answer, sizeof answer - 1);
        }
        if (how != SILENT) {
            (void)close(guest);
        }
    }
}

static void
join_where_a_stranger_is(rank_self *self)
{
    const leftover before = leftover_take();
    const char *const port = self->user;
    rondo_comm_config config = rank_config(self);
    rondo_comm *comm = NULL;
    char text[RANK_TEXT_MAX];

    (void)setenv("MASTER_PORT", port, 1);
    config.start_timeout_ms = START_TIMEOUT_MS;
    const uint64_t begin_ms = test_now_ms();
    const rondo_status status = rondo_comm_create(&config, &comm);
    const uint64_t took_ms = test_now_ms() - begin_ms;
    (void)snprintf(text, sizeof text, "%s", rondo_error_text());
    if (self->rank == 0) {
        rank_expect_status(self, status, RONDO_ERR_SYSTEM, NULL, "rank 0");
        rank_expect_text(self, text, "127.0.0.1", "rank 0");
        rank_expect_text(self, text, port, "rank 0");
        rank_expect_text(self, text, "ddress already in use, by process ", "rank 0");
        rank_expect_text(self, text, "(field_s13_port_", "rank 0");
        rank_expect(self, took_ms < 1000, "rank 0 took %d ms", (int)took_ms);
    } else {
        rank_expect_status(self, status, RONDO_ERR_START, NULL, "rank 1");
        rank_expect_text(self, text, port, "rank 1");
        rank_expect(self, took_ms < START_TIMEOUT_MS + 1000, "rank 1 took %d ms",
                    (int)took_ms);
    }
    rank_expect(self, leftover_same(&before, text, sizeof text), "left behind: %.500s",
                text);
}

static void
a_stranger_at_the_port(void **state)
{
    (void)state;
    for (manner how = 0; how < MANNERS; how++) {
        int fd = -1;
        char port[8];
        (void)snprintf(port, sizeof port, "%u", stranger_listen(&fd));
        const pid_t stranger = fork();
        if (stranger == 0) {
            stranger_serve(fd, how);
        }
        assert_true(stranger > 0);
        (void)close(fd);
        static rank_report report;
        const rank_run run = {.nranks = 2,
                              .kind = AS_PROCESSES,
                              .function = join_where_a_stranger_is,
                              .user = port,
                              .deadline_ms = 15000};
        ranks_run(&run, &report);
        (void)kill(stranger, SIGKILL);
        (void)waitpid(stranger, NULL, 0);
        ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
    }
}

/* --- two jobs --------------------------------------------------------------------- */

/* Ranks 0 and 1 are the first job, 2 and 3 the second, at the same port. */
static void
two_jobs(rank_self *self)
{
    const bool same_secret = *(const bool *)self->user;
    const bool first = self->rank < 2;
    rondo_comm_config config;
    rondo_comm *comm = NULL;
    uint32_t one = 1;
    uint32_t sum = 0;

    rondo_comm_config_init(&config);
    config.rank = self->rank % 2;
    config.nranks = 2;
    config.start_timeout_ms = first ? 8000 : START_TIMEOUT_MS;
    if (!first && !same_secret) {
        (void)setenv("RONDO_SECRET", "the secret of another job", 1);
    }
    if (first && self->rank == 0) {
        rank_mark(self, 0);
    }
    /* Rank 1 comes last: while its job is half there, the other one knocks. */
    if (self->rank == 1) {
        (void)rank_reached(self, 2, 1, 10000);
        (void)rank_reached(self, 3, 1, same_secret ? 0 : 10000);
    }
    if (!first) {
        (void)rank_reached(self, 0, 0, 10000);
        rank_pause(200);
    }
    rank_note(self, "creating");
    const rondo_status status = rondo_comm_create(&config, &comm);
    rank_mark(self, 1);
    if (!first) {
        rank_expect(self, status == RONDO_ERR_START || status == RONDO_ERR_SYSTEM,
                    "the second job's rank got %s: %s", rondo_status_name(status),
                    rondo_error_text());
        return;
    }
    if (rank_expect_status(self, status, RONDO_OK, NULL, "the first job")) {
        rank_expect_status(
            self, rondo_all_reduce(comm, &one, &sum, 1, RONDO_UINT32, RONDO_SUM),
            RONDO_OK, comm, "the first job");
        rank_expect(self, sum == 2, "the first job's sum is %u", sum);
    }
    rondo_comm_destroy(comm);
}

static void
two_jobs_at_one_port(void **state)
{
    bool same_secret = false;

    (void)state;
    run_ranks(4, AS_PROCESSES, two_jobs, &same_secret, 20000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stranger_at_the_port),
        cmocka_unit_test(two_jobs_at_one_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
