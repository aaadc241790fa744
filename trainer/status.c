/* status.c - telling the rank that draws how workers are doing (see status.h). */
#include "status.h"

#include "clock.h"

#include <stdlib.h>
#include <string.h>

#define TELL_INTERVAL 0.5 /* Seconds. */
/* Rates are over at least so long a time, lest they flicker. */
#define RATE_INTERVAL 0.9

bool
status_create(uint32_t workers, status_board *result, problem *why)
{
    status_board s = {.workers = workers};
    s.worker = calloc(workers, sizeof *s.worker);
    if (s.worker == NULL) {
        return problem_fail(why, "no memory for the state of %u workers", workers);
    }
    *result = s;
    return true;
}

static void
unbind(status_board *s)
{
    /* A communicator that is gone has taken its handlers along. */
    if (s->comm != NULL && s->all->comm == s->comm) {
        /* Fails only where the channel does not exist. */
        const rondo_status status =
            rondo_message_handler_set(s->comm, STATUS_CHANNEL, NULL, NULL);
        (void)status;
    }
    s->comm = NULL;
}

void
status_free(status_board *s)
{
    unbind(s);
    free(s->worker);
    *s = (status_board){.comm = NULL};
}

static void
take(status_board *s, const status_report *r)
{
    if (r->worker >= s->workers) {
        return;
    }
    status_worker *w = &s->worker[r->worker];
    /* One that came back starts anew. */
    if (!w->known || w->gone || r->seconds < w->last.seconds) {
        *w = (status_worker){.known = true};
    } else if (r->seconds - w->last.seconds >= RATE_INTERVAL) {
        w->before = w->last;
        w->middle = w->last;
    } else if (r->seconds - w->middle.seconds >= RATE_INTERVAL) {
        w->before = w->middle;
        w->middle = w->last;
    }
    w->last = *r;
}

static void
receive(uint32_t from, const void *header, size_t header_bytes, const void *payload,
        size_t payload_bytes, void *user)
{
    (void)from;
    (void)payload;
    status_report r;
    if (header_bytes != sizeof r || payload_bytes != 0) {
        return; /* Not one of ours. */
    }
    memcpy(&r, header, sizeof r);
    take(user, &r);
}

bool
status_bind(status_board *s, const ranks *all, uint32_t drawer, problem *why)
{
    s->all = all;
    s->comm = all->comm;
    s->rank = all->rank;
    s->drawer = drawer;
    s->next = 0.0;
    const rondo_status status =
        rondo_message_handler_set(all->comm, STATUS_CHANNEL, receive, s);
    return status == RONDO_OK || ranks_fail(all, status, "the display", why);
}

void
status_tell(status_board *s, const status_report *r)
{
    if (s == NULL || s->worker == NULL) {
        return;
    }
    const double now = clock_seconds();
    if (now < s->next) {
        return;
    }
    s->next = now + TELL_INTERVAL;
    take(s, r);
    if (s->comm == NULL || s->rank == s->drawer) {
        return;
    }
    /* Whatever it fails for: the next collective call or exchange says so. */
    const rondo_status status =
        rondo_message_send(s->comm, s->drawer, STATUS_CHANNEL, r, sizeof *r, NULL, 0);
    s->dropped += status != RONDO_OK;
}

void
status_gone(status_board *s, uint32_t worker)
{
    if (s != NULL && worker < s->workers) {
        s->worker[worker].gone = true;
    }
}

void
status_back(status_board *s, uint32_t worker)
{
    if (s != NULL && worker < s->workers) {
        s->worker[worker] = (status_worker){.known = false};
    }
}

status_rates
status_rates_of(const status_worker *w)
{
    const double seconds = w->last.seconds - w->before.seconds;
    if (!(seconds > 0.0)) {
        return (status_rates){.images_second = 0.0};
    }
    return (status_rates){
        .images_second = (double)(w->last.images - w->before.images) / seconds,
        .compute = (w->last.compute - w->before.compute) / seconds,
        .communicate = (w->last.communicate - w->before.communicate) / seconds,
        .wait = (w->last.wait - w->before.wait) / seconds};
}

/* Of one worker, `seconds` after its start. */
static double
images_of(const status_worker *w, double seconds)
{
    const status_report *r = &w->last;
    const bool still = w->gone || r->finished != 0 || !(r->seconds > 0.0);
    return (double)r->images * (still ? 1.0 : seconds / r->seconds);
}

uint64_t
status_images(status_board *s, uint32_t worker, uint64_t images, double seconds)
{
    double sum = (double)images;
    for (uint32_t i = 0; i < s->workers; i++) {
        if (i != worker) {
            const status_worker *w = &s->worker[i];
            sum += w->known ? images_of(w, seconds) : (double)images;
        }
    }
    const uint64_t guess = (uint64_t)(sum + 0.5);
    s->images = guess > s->images ? guess : s->images;
    return s->images;
}
