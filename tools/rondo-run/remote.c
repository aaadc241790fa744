/* remote.c - prepares one host: order, folder, program, port; then runs its ranks. */
#include "remote.h"

#include "job.h"
#include "order.h"
#include "port.h"
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The launching side has a deadline of its own; this one is for when it has vanished
 * without a word. */
#define ORDER_PATIENCE_MS 600000

static run_reader input = {.fd = STDIN_FILENO};

static void
tell(run_frame_type type, uint32_t number, const char *text)
{
    static run_sink sink;
    /* Without an epoll it waits until all is written, which is right here. */
    run_sink_open(STDOUT_FILENO, -1, 0, &sink);
    const run_frame frame = {
        .type = type, .number = number, .length = strlen(text), .bytes = text};
    run_frame_put(&sink, &frame);
    run_sink_flush(&sink);
}

static int
refuse(int code, const run_reason *reason)
{
    tell(RUN_FRAME_SAY, 0, reason->text);
    tell(RUN_FRAME_FAILED, (uint32_t)code, "");
    return code;
}

/* False: the launching side has gone, is silent or says something else. */
static bool
await(run_frame_type type, run_frame *frame)
{
    for (;;) {
        const run_reading reading = run_reader_next(&input, frame);
        if (reading != RUN_READ_MORE) {
            return reading == RUN_READ_FRAME && frame->type == type;
        }
        struct pollfd ready = {.fd = input.fd, .events = POLLIN};
        const int count = poll(&ready, 1, ORDER_PATIENCE_MS);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return false;
        }
        if (count > 0 && run_reader_fill(&input) <= 0) {
            return false;
        }
    }
}

/* Everything that may fail before a rank starts anywhere. */
static int
prepare(const run_order *order, run_place *place, run_reason *reason)
{
    char path[PATH_MAX];
    if (chdir(order->folder) != 0) {
        snprintf(reason->text, sizeof(reason->text),
                 "cannot work in the folder %.600s: %s", order->folder,
                 strerror(errno));
        return RUN_EXIT_FAILURE;
    }
    int code = run_program_find(order->path, path, sizeof(path), reason);
    if (code == 0 && order->port) {
        code = run_port_reserve(RUN_REACH_ALL_HOSTS, &place->port, reason);
    }
    if (code == 0 && order->master[0] != '\0') {
        code = run_address_find(order->master, place->master, sizeof(place->master),
                                reason);
    }
    return code;
}

int
run_remote(void)
{
    static run_order order;
    run_frame frame;
    run_reason reason;
    if (isatty(STDIN_FILENO)) {
        fputs("rondo-run: --on-host is for rondo-run itself: it takes its orders from "
              "standard input\n",
              stderr);
        return RUN_EXIT_USAGE;
    }
    printf(RUN_FRAME_HELLO "%d\n", RUN_FRAME_PROTOCOL);
    fflush(stdout);
    if (!await(RUN_FRAME_JOB, &frame)) {
        return RUN_EXIT_FAILURE;
    }
    if (!run_order_read(frame.bytes, frame.length, &order)) {
        snprintf(reason.text, sizeof(reason.text), "cannot read the order");
        return refuse(RUN_EXIT_FAILURE, &reason);
    }
    run_place place = order.place;
    const int code = prepare(&order, &place, &reason);
    if (code != 0) {
        return refuse(code, &reason);
    }
    tell(RUN_FRAME_READY, place.port, place.master);
    if (!await(RUN_FRAME_START, &frame) || frame.length >= sizeof(place.master)) {
        return RUN_EXIT_FAILURE;
    }
    memcpy(place.master, frame.bytes, frame.length);
    place.master[frame.length] = '\0';
    place.port = frame.number;
    const run_task task = {
        .options = &order.options, .path = order.path, .place = place, .link = &input};
    return run_job_run(&task);
}
