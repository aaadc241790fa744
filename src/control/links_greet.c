/* links_greet.c - how both ends of a link prove that they know the key. */
#include <string.h>

#include "control/links_parts.h"

/* How long a communicator that is not there yet may take to come. */
#define UNCLAIMED_MS 1000

/* How long a proof may take. */
#define PROOF_MS 5000

static void
take(rondo_link *link, void *message, size_t nbytes)
{
    memcpy(message, link->in, nbytes);
    link->in_bytes -= nbytes;
    memmove(link->in, link->in + nbytes, link->in_bytes);
}

static bool
refuse(rondo_link *link, const char *why)
{
    rondo_link_end(link, (link_end){.phrase = why});
    return false;
}

void
rondo_link_say_hello(rondo_link *link)
{
    const rondo_links *const links = link->owner;

    link->hello = (rondo_link_hello){.name = links->name,
                                     .host = links->host,
                                     .rank = links->rank,
                                     .nranks = links->nranks};
    rondo_link_hello_make(&links->key, &link->hello);
    link->state = LINK_ANSWER;
    rondo_link_raw(link, &link->hello, sizeof link->hello);
}

static bool
fits(const rondo_links *links, const rondo_link *link)
{
    const rondo_link_hello *const hello = &link->hello;

    return rondo_link_hello_signed(&links->key, hello) &&
           hello->nranks == links->nranks && hello->host < links->nhosts &&
           links->leaders[hello->host] == hello->rank;
}

static bool
is_linked(const rondo_links *links, uint32_t host)
{
    for (const rondo_link *at = links->links; at != NULL; at = at->next) {
        if (at->host == host) {
            return true;
        }
    }
    return false;
}

void
rondo_link_say_answer(rondo_link *link)
{
    const rondo_links *const links =
        rondo_links_find(link->service, &link->hello.name, 0);

    if (links == NULL) {
        return;
    }
    if (!fits(links, link) || is_linked(links, link->hello.host)) {
        (void)refuse(link, "it does not know the key");
        return;
    }
    link->host = link->hello.host;
    link->rank = link->hello.rank;
    link->state = LINK_PROOF;
    rondo_service_alarm(link->service, link->fd, rondo_deadline_ns(PROOF_MS));
    rondo_link_answer_make(&links->key, &link->hello, &link->answer);
    rondo_link_raw(link, &link->answer, sizeof link->answer);
}

/* Whatever cannot be a hello is sent away with its first bytes. */
static bool
read_hello(rondo_link *link)
{
    static const char magic[] = "RONDOlnk";
    const size_t there = link->in_bytes < 8 ? link->in_bytes : 8;

    if (memcmp(link->in, magic, there) != 0) {
        return refuse(link, "it does not speak Rondo's protocol");
    }
    if (link->in_bytes < sizeof link->hello) {
        return false;
    }
    take(link, &link->hello, sizeof link->hello);
    if (!rondo_link_hello_check(&link->hello)) {
        return refuse(link, "its hello cannot be true");
    }
    link->state = LINK_UNCLAIMED;
    rondo_service_alarm(link->service, link->fd, rondo_deadline_ns(UNCLAIMED_MS));
    rondo_link_say_answer(link);
    return true;
}

static bool
read_proof(rondo_link *link)
{
    rondo_links *const links = rondo_links_find(link->service, &link->hello.name, 0);
    rondo_link_keys keys;
    rondo_link_proof proof;

    if (link->in_bytes < sizeof proof) {
        return false;
    }
    take(link, &proof, sizeof proof);
    if (links == NULL || !fits(links, link) || is_linked(links, link->host) ||
        !rondo_link_proof_signed(&links->key, &link->hello, &link->answer, &proof)) {
        return refuse(link, "it does not know the key");
    }
    rondo_link_keys_make(&links->key, &link->hello, &link->answer, &keys);
    link->in_key = keys.up;
    link->out_key = keys.down;
    rondo_link_forget(&keys, sizeof keys);
    rondo_links_guest_moved(link);
    link->owner = links;
    rondo_links_up(link);
    return true;
}

static bool
read_answer(rondo_link *link)
{
    const rondo_key *const key = &link->owner->key;
    rondo_link_keys keys;
    rondo_link_proof proof;

    if (link->in_bytes < sizeof link->answer) {
        return false;
    }
    take(link, &link->answer, sizeof link->answer);
    if (!rondo_link_answer_check(&link->answer) ||
        !rondo_link_answer_signed(key, &link->hello, &link->answer)) {
        return refuse(link, "somebody else answered");
    }
    rondo_link_keys_make(key, &link->hello, &link->answer, &keys);
    link->in_key = keys.down;
    link->out_key = keys.up;
    rondo_link_forget(&keys, sizeof keys);
    rondo_link_proof_make(key, &link->hello, &link->answer, &proof);
    link->state = LINK_WELCOME;
    rondo_link_raw(link, &proof, sizeof proof);
    rondo_links_attempt_won(link);
    return true;
}

bool
rondo_link_greet(rondo_link *link)
{
    switch (link->state) {
    case LINK_HELLO:
        return read_hello(link);
    case LINK_PROOF:
        return read_proof(link);
    default:
        return read_answer(link);
    }
}
