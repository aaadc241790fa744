/* ask.c - "are you there?", asked by any thread and answered by service threads. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "control/service_parts.h"

/* A question that met a full queue, or whose answer did, is asked again. */
#define AGAIN_MS 50

#define REPLY_RETRY_MS  1
#define REPLY_EXPIRE_MS 1000

static bool
is_own(const rondo_service *service, const rondo_address *address)
{
    return memcmp(&address->socket, &service->address.socket, sizeof address->socket) ==
           0;
}

/* True when somebody may still answer: a socket that is gone will not. The lock is not
 * held. */
static bool
send_questions(rondo_service *service, const ask *asked)
{
    letter message;
    bool hope = false;

    rondo_datagram_init(MESSAGE_PING, &message);
    message.nonce = asked->nonce;
    for (uint32_t i = 0; i < asked->naddresses; i++) {
        (void)pthread_mutex_lock(&service->lock);
        const bool answered = asked->answered[i];
        (void)pthread_mutex_unlock(&service->lock);
        if (!answered) {
            message.index = i;
            const int failed =
                rondo_datagram_send(service, &asked->addresses[i], &message, -1);
            hope = hope || failed == 0 || failed == EAGAIN || failed == ENOBUFS;
        }
    }
    return hope;
}

/* Sleeps until all have answered or the moment has come. */
static bool
all_answered(rondo_service *service, const ask *asked, uint64_t moment_ns)
{
    (void)pthread_mutex_lock(&service->lock);
    while (asked->left > 0 && rondo_service_sleep(service, moment_ns)) {
        continue;
    }
    const bool all = asked->left == 0;
    (void)pthread_mutex_unlock(&service->lock);
    return all;
}

static void
link_ask(rondo_service *service, ask *asked)
{
    (void)pthread_mutex_lock(&service->lock);
    asked->next = service->asks;
    service->asks = asked;
    (void)pthread_mutex_unlock(&service->lock);
}

static void
unlink_ask(rondo_service *service, ask *asked)
{
    (void)pthread_mutex_lock(&service->lock);
    ask **place = &service->asks;
    while (*place != asked) {
        place = &(*place)->next;
    }
    *place = asked->next;
    (void)pthread_mutex_unlock(&service->lock);
}

void
rondo_service_ask(rondo_service *service, const rondo_address *addresses,
                  uint32_t naddresses, uint64_t wait_ns, bool *answered)
{
    const uint64_t deadline_ns = rondo_now_ns() + wait_ns;
    ask asked = {
        .addresses = addresses, .naddresses = naddresses, .answered = answered};

    RONDO_ASSERT(!rondo_service_is_thread(service));
    rondo_random(&asked.nonce, sizeof asked.nonce);
    for (uint32_t i = 0; i < naddresses; i++) {
        answered[i] = is_own(service, &addresses[i]);
        asked.left += answered[i] ? 0 : 1;
    }
    link_ask(service, &asked);
    uint64_t now = rondo_now_ns();
    do {
        const uint64_t again_ns = now + AGAIN_MS * RONDO_NS_PER_MS;
        if (!send_questions(service, &asked) ||
            all_answered(service, &asked,
                         again_ns < deadline_ns ? again_ns : deadline_ns)) {
            break;
        }
        now = rondo_now_ns();
    } while (now < deadline_ns);
    unlink_ask(service, &asked);
}

static bool
is_from(const rondo_address *address, const struct sockaddr_un *from,
        socklen_t from_bytes)
{
    struct sockaddr_un name;
    const socklen_t bytes = rondo_datagram_name(&address->socket, &name);

    return bytes == from_bytes && memcmp(&name, from, bytes) == 0;
}

void
rondo_ask_answered(rondo_service *service, const letter *message,
                   const struct sockaddr_un *from, socklen_t from_bytes)
{
    const uint64_t index = message->index;

    (void)pthread_mutex_lock(&service->lock);
    for (ask *at = service->asks; at != NULL; at = at->next) {
        if (at->nonce != message->nonce || index >= at->naddresses ||
            at->answered[index] || !is_from(&at->addresses[index], from, from_bytes)) {
            continue;
        }
        at->answered[index] = true;
        at->left--;
        (void)pthread_cond_broadcast(&service->changed);
    }
    (void)pthread_mutex_unlock(&service->lock);
}

/* Only the service thread comes here and to rondo_ask_retry. */
void
rondo_ask_reply(rondo_service *service, const letter *message,
                const struct sockaddr_un *from, socklen_t from_bytes)
{
    letter pong;

    rondo_datagram_init(MESSAGE_PONG, &pong);
    pong.nonce = message->nonce;
    pong.index = message->index;
    const int failed = rondo_datagram_answer(service, from, from_bytes, &pong);
    if (failed != EAGAIN || service->nreplies == REPLIES_MAX) {
        return;
    }
    service->replies[service->nreplies++] =
        (reply){.to = *from,
                .to_bytes = from_bytes,
                .message = pong,
                .expires_ns = rondo_deadline_ns(REPLY_EXPIRE_MS)};
    rondo_service_alarm(service, service->socket, rondo_deadline_ns(REPLY_RETRY_MS));
}

void
rondo_ask_retry(rondo_service *service)
{
    const uint64_t now = rondo_now_ns();
    uint32_t kept = 0;

    for (uint32_t i = 0; i < service->nreplies; i++) {
        const reply *const at = &service->replies[i];
        const int failed =
            rondo_datagram_answer(service, &at->to, at->to_bytes, &at->message);
        if (failed == EAGAIN && now < at->expires_ns) {
            service->replies[kept++] = *at;
        }
    }
    service->nreplies = kept;
    if (kept > 0) {
        rondo_service_alarm(service, service->socket,
                            rondo_deadline_ns(REPLY_RETRY_MS));
    }
}
