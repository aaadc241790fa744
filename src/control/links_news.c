/* links_news.c - what hosts tell each other of their boards: pushed, and when asked. */
#include <stdio.h>
#include <string.h>

#include "control/links_parts.h"

/* What may be on its way to a host that has not said anything since. Beyond it only
 * what must not be lost is sent: the host may be stopped, and its kernel's room is
 * small. */
#define QUIET_BYTES (64 << 10)

/* How often a host is asked that does not answer. */
#define ASK_QUIET_NS RONDO_NS_PER_S

/* Rounds of lines begin at most this often: what is asked earlier waits. Answers of
 * processes come in between the sendings of one. */
#define ROUND_NS (10 * RONDO_NS_PER_MS)

static const uint64_t round_steps_ms[] = {0, 5, 50, 300};

#define ROUND_STEPS (sizeof round_steps_ms / sizeof round_steps_ms[0])

/* Who may speak of a rank: its host's leader to the hub, the hub to all others. */
static bool
is_behind(const rondo_links *links, const rondo_link *link, uint32_t rank)
{
    return rondo_links_is_hub(links) ? links->host_of[rank] == link->host
                                     : links->host_of[rank] != links->host;
}

static void
tell_wire(rondo_links *links, rondo_link *link, uint32_t rank)
{
    rondo_link_wire wire = {.rank = rank};
    size_t bytes = sizeof wire.address;

    if (link->told[rank].wire ||
        rondo_board_wire(&links->board, rank, wire.address, &bytes) != RONDO_OK) {
        return;
    }
    wire.bytes = (uint32_t)bytes;
    link->told[rank].wire = true;
    rondo_link_send(link, RONDO_LINK_WIRE, &wire,
                    offsetof(rondo_link_wire, address) + bytes);
}

static void
tell_line(rondo_link *link, uint32_t rank, const rondo_board_line *line)
{
    const rondo_link_line message = {.rank = rank, .line = *line};

    link->told[rank].presence = (uint8_t)line->presence;
    link->told[rank].stage = line->stage;
    rondo_link_send(link, RONDO_LINK_LINE, &message, sizeof message);
}

static bool
is_news(const link_told *told, uint32_t presence, uint64_t stage)
{
    return presence > told->presence || stage > told->stage;
}

/* What must not be lost. A rank that has joined has a wire address: it goes first. */
static void
tell_rank(rondo_links *links, rondo_link *link, uint32_t rank)
{
    rondo_board_line line;
    const uint32_t presence = (uint32_t)rondo_board_presence(&links->board, rank);
    const uint64_t stage = rondo_agreement_stage(&links->board, rank);

    tell_wire(links, link, rank);
    if (is_news(&link->told[rank], presence, stage)) {
        rondo_board_export(&links->board, rank, &line);
        tell_line(link, rank, &line);
    }
}

static void
tell_break(rondo_links *links, rondo_link *link)
{
    rondo_breakage why;

    if (link->told_break || !rondo_board_breakage(&links->board, &why)) {
        return;
    }
    rondo_link_break message = {.status = why.status,
                                .culprit = why.culprit,
                                .reporter = why.reporter < links->nranks ? why.reporter
                                                                         : links->rank};
    (void)snprintf(message.text, sizeof message.text, "%s", why.text);
    link->told_break = true;
    rondo_link_send(link, RONDO_LINK_BREAK, &message, sizeof message);
}

static void
tell_host(rondo_links *links, rondo_link *link, uint32_t host)
{
    rondo_link_host message = {.host = host};
    uint16_t family = 0;

    if (link->told[host].host || host == link->host ||
        !rondo_board_reached(&links->board, links->leaders[host], &family,
                             message.address)) {
        return;
    }
    message.family = family;
    link->told[host].host = true;
    rondo_link_send(link, RONDO_LINK_HOST, &message, sizeof message);
}

/* One that is overtaken while it is being sent is not sent to its end: the next look
 * begins with what counts then. */
static void
tell_decision(rondo_links *links, rondo_link *link)
{
    const uint64_t word = rondo_agreement_word(&links->board);
    const uint32_t words = rondo_agreement_words(links->nranks);
    rondo_agreement_piece piece;
    uint32_t first = 0;

    if (word <= link->told_word) {
        return;
    }
    do {
        if (!rondo_agreement_export(&links->board, word, first, &piece)) {
            atomic_store(&links->news, true);
            return;
        }
        rondo_link_send(link, RONDO_LINK_DECISION, &piece,
                        offsetof(rondo_agreement_piece, members) +
                            piece.count * sizeof piece.members[0]);
        first += piece.count;
    } while (piece.count > 0 && first < words);
    link->told_word = word;
}

void
rondo_links_look(rondo_links *links)
{
    for (rondo_link *link = links->links; link != NULL; link = link->next) {
        /* First: who leaves after it has been decided is not missed. */
        if (rondo_links_is_hub(links)) {
            tell_decision(links, link);
        }
        for (uint32_t rank = 0; rank < links->nranks; rank++) {
            if (!is_behind(links, link, rank)) {
                tell_rank(links, link, rank);
            }
        }
        for (uint32_t host = 1; host < links->nhosts && rondo_links_is_hub(links);
             host++) {
            tell_host(links, link, host);
        }
        if (rondo_board_broken(&links->board)) {
            tell_break(links, link);
        }
    }
}

static bool
is_quiet(const rondo_links *links, const rondo_link *link)
{
    return link->quiet_bytes > QUIET_BYTES + links->nranks * RONDO_LINK_FRAME_MAX / 2;
}

/* The line of a rank, as far as there is room for what may be lost. */
static void
bring(rondo_links *links, uint32_t rank, const rondo_board_line *line)
{
    for (rondo_link *link = links->links; link != NULL; link = link->next) {
        if (is_behind(links, link, rank)) {
            continue;
        }
        if (is_news(&link->told[rank], line->presence, line->stage)) {
            tell_rank(links, link, rank);
        } else if (!is_quiet(links, link)) {
            tell_line(link, rank, line);
        }
    }
}

/* The ranks of this host; later in a round only those that have changed. */
static void
bring_host(rondo_links *links, bool all)
{
    rondo_board_line line;

    for (uint32_t rank = 0; rank < links->nranks; rank++) {
        if (links->host_of[rank] != links->host) {
            continue;
        }
        rondo_board_export(&links->board, rank, &line);
        if (all || memcmp(&line, &links->sent[rank], sizeof line) != 0) {
            links->sent[rank] = line;
            bring(links, rank, &line);
        }
    }
}

static void
begin_round(rondo_links *links, uint64_t now)
{
    links->round_began_ns = now;
    links->round_step = 1;
    links->round_ns = now + round_steps_ms[1] * RONDO_NS_PER_MS;
    rondo_links_ask_processes(links);
    bring_host(links, true);
}

/* All hosts but the one that asks, if it is alone. */
static void
ask_hosts(rondo_links *links, uint64_t now)
{
    uint32_t askers = atomic_exchange(&links->asked, false) ? 2 : 0;

    for (const rondo_link *link = links->links; link != NULL; link = link->next) {
        askers += link->asks ? 1 : 0;
    }
    for (rondo_link *link = links->links; link != NULL; link = link->next) {
        const bool alone = link->asks && askers == 1;
        const bool heard = !is_quiet(links, link);
        link->asks = false;
        if (!alone && (heard || now >= link->asked_ns + ASK_QUIET_NS)) {
            link->asked_ns = now;
            rondo_link_send(link, RONDO_LINK_ASK, NULL, 0);
        }
    }
}

/* A leader that is asked by the hub has only its own host to ask. */
static void
begin_asked(rondo_links *links, uint64_t now)
{
    if (rondo_links_is_hub(links) || atomic_load(&links->asked)) {
        ask_hosts(links, now);
    }
    links->asked_far = false;
    begin_round(links, now);
}

uint64_t
rondo_links_ask_moment(const rondo_links *links)
{
    const uint64_t asked_ns = atomic_load(&links->asked) || links->asked_far
                                  ? links->round_began_ns + ROUND_NS
                                  : RONDO_NEVER;

    return links->round_step > 0 && links->round_ns < asked_ns ? links->round_ns
                                                               : asked_ns;
}

void
rondo_links_ask_turn(rondo_links *links, uint64_t now)
{
    if ((atomic_load(&links->asked) || links->asked_far) &&
        now >= links->round_began_ns + ROUND_NS) {
        begin_asked(links, now);
    }
    if (links->round_step == 0 || now < links->round_ns) {
        return;
    }
    bring_host(links, false);
    links->round_step++;
    if (links->round_step == ROUND_STEPS) {
        links->round_step = 0;
        return;
    }
    links->round_ns =
        links->round_began_ns + round_steps_ms[links->round_step] * RONDO_NS_PER_MS;
}

static void
take_line(rondo_links *links, rondo_link *link, const rondo_link_line *message)
{
    if (!is_behind(links, link, message->rank) ||
        rondo_board_import(&links->board, message->rank, &message->line) != RONDO_OK) {
        rondo_link_end(link,
                       (link_end){.phrase = "it sent a line that cannot be true"});
        return;
    }
    if (rondo_links_is_hub(links)) {
        rondo_board_line line;
        rondo_board_export(&links->board, message->rank, &line);
        bring(links, message->rank, &line);
    }
    rondo_links_changed(links);
}

/* Whoever reported it keeps that honour, wherever it was. */
static void
take_break(rondo_links *links, rondo_link *link, const rondo_link_break *message)
{
    rondo_board reporter = links->board;
    rondo_breakage why = {.status = (rondo_status)message->status,
                          .culprit = message->culprit};

    reporter.rank = message->reporter;
    memcpy(why.text, message->text, sizeof why.text);
    link->told_break = true;
    (void)rondo_board_break(&reporter, &why);
    atomic_store(&links->news, true);
    rondo_links_changed(links);
}

static void
take_decision(rondo_links *links, rondo_link *link, const rondo_agreement_piece *piece)
{
    if (rondo_links_is_hub(links) ||
        rondo_agreement_import(&links->board, piece) != RONDO_OK) {
        rondo_link_end(link,
                       (link_end){.phrase = "it sent a decision that cannot be true"});
        return;
    }
    rondo_links_changed(links);
}

static void
take_wire(rondo_links *links, rondo_link *link, const rondo_link_wire *message)
{
    if (!is_behind(links, link, message->rank)) {
        rondo_link_end(link, (link_end){.phrase = "it spoke for another host"});
        return;
    }
    rondo_board_wire_import(&links->board, message->rank, message->address,
                            message->bytes);
    atomic_store(&links->news, true);
}

void
rondo_links_frame(rondo_link *link, rondo_link_kind kind, const rondo_link_body *body)
{
    rondo_links *const links = link->owner;

    switch (kind) {
    case RONDO_LINK_LINE:
        take_line(links, link, &body->line);
        break;
    case RONDO_LINK_WIRE:
        take_wire(links, link, &body->wire);
        break;
    case RONDO_LINK_BREAK:
        take_break(links, link, &body->broken);
        break;
    case RONDO_LINK_HOST:
        rondo_board_reached_set(&links->board, links->leaders[body->host.host],
                                (uint16_t)body->host.family, body->host.address);
        break;
    case RONDO_LINK_DECISION:
        take_decision(links, link, &body->decision);
        break;
    case RONDO_LINK_ASK:
        link->asks = true;
        links->asked_far = true;
        break;
    default:
        rondo_link_end(link, (link_end){.orderly = true});
        break;
    }
}
