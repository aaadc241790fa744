/* joining.c - what a hello means for the meeting: one more, a refusal, or the end. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bootstrap/server_inside.h"

static void
tell(rondo_guest *guest, const char *text)
{
    rondo_server *const server = guest->server;

    rondo_server_refused(server, guest, text);
    (void)snprintf(server->failure, sizeof server->failure, "%s", text);
    server->failure_status = RONDO_ERR_START;
    rondo_guest_end(guest, RONDO_FRAME_FAILURE);
}

/* With a secret the guest is one of us, and a rank that is wrong about the job means
 * that the meeting cannot succeed. Without one it may be of another job: it alone is
 * refused. */
static void
blame(rondo_guest *guest, const char *text)
{
    rondo_server *const server = guest->server;

    if (rondo_key_given(&server->secret)) {
        guest->state = RONDO_GUEST_JOINED;
        rondo_server_fail(server, RONDO_ERR_START, text);
    } else {
        tell(guest, text);
    }
}

/* The first hello settles how many ranks there are, if we do not know, and how long
 * cards are. */
static rondo_status
make_room(rondo_server *server, const rondo_hello *hello)
{
    void *memory = NULL;

    if (server->by_rank != NULL) {
        return RONDO_OK;
    }
    const uint32_t nranks = server->nranks != 0 ? server->nranks : hello->nranks;
    const size_t bytes = sizeof(rondo_result) + (size_t)nranks * hello->card_bytes;
    rondo_status status = rondo_alloc_zero(bytes, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    server->body = memory;
    status = rondo_alloc_zero(nranks * sizeof(rondo_guest *), &memory);
    if (status != RONDO_OK) {
        rondo_free(server->body);
        server->body = NULL;
        return status;
    }
    server->by_rank = memory;
    server->nranks = nranks;
    server->card_bytes = hello->card_bytes;
    server->body_bytes = bytes;
    return RONDO_OK;
}

/* Whether the job is the same size for both; if not, `text` says what each thinks. */
static bool
fits_job(const rondo_server *server, const rondo_hello *hello, char *text,
         size_t text_bytes)
{
    if (server->nranks == 0 || hello->nranks == server->nranks) {
        return true;
    }
    (void)snprintf(text, text_bytes,
                   "rank %u (process %u) expects %u ranks, but the meeting at %s is "
                   "of %u",
                   hello->rank, hello->pid, hello->nranks, server->where,
                   server->nranks);
    return false;
}

/* Whether the hello fits those before it; if not, `text` says what both sides say. */
static bool
fits(const rondo_guest *guest, const rondo_hello *hello, char *text, size_t text_bytes)
{
    const rondo_server *const server = guest->server;

    if (hello->card_bytes != server->card_bytes) {
        (void)snprintf(text, text_bytes,
                       "rank %u (process %u) brings a card of %u bytes to %s, but "
                       "others one of %u",
                       hello->rank, hello->pid, hello->card_bytes, server->where,
                       server->card_bytes);
        return false;
    }
    const rondo_guest *const other = server->by_rank[hello->rank];
    if (other != NULL) {
        (void)snprintf(text, text_bytes,
                       "rank %u came twice to %s: process %u from %s, then process %u "
                       "from %s",
                       hello->rank, server->where, other->pid, other->from, hello->pid,
                       guest->from);
        return false;
    }
    return true;
}

/* Everybody is here. The listening socket goes first: a rank that is quick to come to
 * the next meeting must not find this one. */
static void
complete(rondo_server *server)
{
    rondo_result head = {.nranks = server->nranks, .card_bytes = server->card_bytes};

    rondo_server_close(server);
    rondo_server_drop_unknown(server);
    rondo_random(&head.name, sizeof head.name);
    rondo_random(head.salt, sizeof head.salt);
    memcpy(server->body, &head, sizeof head);
    rondo_wire_body_hash(server->body, server->body_bytes, server->body_hash);
    /* Rank 0 last: it often is the one that serves, and may exit first. */
    for (uint32_t rank = server->nranks; rank-- > 0;) {
        if (server->by_rank[rank] != NULL) {
            rondo_guest_end(server->by_rank[rank], RONDO_FRAME_RESULT);
        }
    }
}

static void
count_in(rondo_guest *guest, const rondo_hello *hello, const void *card)
{
    rondo_server *const server = guest->server;

    if (!rondo_guest_welcome(guest)) {
        rondo_guest_drop(guest);
        return;
    }
    guest->state = RONDO_GUEST_JOINED;
    guest->counted = true;
    server->nunknown--;
    server->njoined++;
    server->by_rank[hello->rank] = guest;
    memcpy(server->body + sizeof(rondo_result) +
               (size_t)hello->rank * server->card_bytes,
           card, server->card_bytes);
    if (server->njoined == server->nranks) {
        complete(server);
    }
}

void
rondo_server_join(rondo_guest *guest, const rondo_hello *hello, const void *card)
{
    rondo_server *const server = guest->server;
    char text[RONDO_FAILURE_BYTES];

    if (!rondo_wire_hello_signed(&server->secret, guest->nonces.server, card, hello)) {
        rondo_server_refused(server, guest, "it has another secret");
        rondo_guest_end(guest, RONDO_FRAME_REFUSED);
        return;
    }
    guest->rank = hello->rank;
    guest->pid = hello->pid;
    memcpy(guest->nonces.client, hello->nonce, sizeof hello->nonce);
    if (memcmp(&hello->job, &server->job, sizeof server->job) != 0) {
        (void)snprintf(text, sizeof text, "the meeting at %s is of another job",
                       server->where);
        tell(guest, text);
        return;
    }
    if (server->listeners.fd < 0) {
        rondo_guest_end(guest, RONDO_FRAME_FAILURE);
        return;
    }
    if (!fits_job(server, hello, text, sizeof text)) {
        blame(guest, text);
        return;
    }
    if (make_room(server, hello) != RONDO_OK) {
        guest->state = RONDO_GUEST_JOINED;
        rondo_server_fail(server, RONDO_ERR_MEMORY, rondo_error_text());
        return;
    }
    if (!fits(guest, hello, text, sizeof text)) {
        blame(guest, text);
        return;
    }
    count_in(guest, hello, card);
}
