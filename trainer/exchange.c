/* exchange.c - gradients through the synchroniser of the library (see exchange.h). */
#include "exchange.h"

#include <stdio.h>

static bool
fail(const exchange *e, rondo_status status, const char *what, problem *why)
{
    const char *text = e->sync != NULL ? rondo_sync_error_text(e->sync) : "";
    if (text[0] == '\0') {
        return ranks_fail(e->all, status, what, why);
    }
    return problem_fail(why, "%s: %s (%s)", what, text, rondo_status_name(status));
}

/* The gradient in memory that the other ranks can map. */
static bool
allocate(exchange *e, const model *net, problem *why)
{
    void *memory = NULL;
    const size_t bytes = (net->parameters + 1) * sizeof(float);
    rondo_status status = rondo_mem_alloc(bytes, &memory);
    if (status != RONDO_OK) {
        return fail(e, status, "memory for the gradient", why);
    }
    e->gradient = memory;
    status = rondo_mem_register(e->all->comm, memory);
    return status == RONDO_OK || fail(e, status, "registering the gradient", why);
}

/* Layer by layer in the order of the forward pass, the loss last: so the first bucket,
 * filled from the back, holds the loss and the last layer. */
static rondo_status
add_tensors(exchange *e, const model *net)
{
    for (uint32_t l = 0; l < net->layers; l++) {
        const uint64_t biases = net->m[l];
        const uint64_t weights = net->k[l] * biases;
        char name[32];
        (void)snprintf(name, sizeof name, "layer %u weight", l);
        rondo_status status = rondo_sync_add(
            e->sync, name, e->gradient + net->weight_at[l], weights, &e->weight[l]);
        if (status != RONDO_OK) {
            return status;
        }
        (void)snprintf(name, sizeof name, "layer %u bias", l);
        status = rondo_sync_add(e->sync, name, e->gradient + net->bias_at[l], biases,
                                &e->bias[l]);
        if (status != RONDO_OK) {
            return status;
        }
    }
    return rondo_sync_add(e->sync, "loss", e->gradient + net->parameters, 1, &e->loss);
}

static bool
synchroniser(exchange *e, const model *net, bool canonical, problem *why)
{
    rondo_sync_config config;
    rondo_sync_config_init(&config);
    config.canonical = canonical ? 1 : 0;
    rondo_status status = rondo_sync_create(e->all->comm, &config, &e->sync);
    if (status == RONDO_OK) {
        status = add_tensors(e, net);
    }
    if (status == RONDO_OK) {
        status = rondo_sync_commit(e->sync);
    }
    return status == RONDO_OK || fail(e, status, "planning the exchange", why);
}

bool
exchange_create(const ranks *all, const model *net, bool canonical, exchange *result,
                problem *why)
{
    exchange e = {.all = all, .layers = net->layers, .failed = RONDO_OK};
    if (!allocate(&e, net, why) || !synchroniser(&e, net, canonical, why)) {
        exchange_free(&e);
        return false;
    }
    *result = e;
    return true;
}

void
exchange_free(exchange *e)
{
    rondo_sync_destroy(e->sync);
    e->sync = NULL;
    /* Still registered: deregistering is a call of all ranks, and some may be gone. The
     * peers' maps end with their communicators. */
    rondo_mem_free(e->gradient);
    e->gradient = NULL;
}

bool
exchange_begin(exchange *e, problem *why)
{
    e->failed = RONDO_OK;
    const rondo_status status = rondo_sync_step_begin(e->sync);
    return status == RONDO_OK || fail(e, status, "starting a step", why);
}

static void
ready(exchange *e, uint32_t tensor)
{
    if (e->failed == RONDO_OK) {
        e->failed = rondo_sync_grad_ready(e->sync, tensor);
    }
}

void
exchange_layer_done(void *user, uint32_t layer)
{
    exchange *e = user;
    span_begin(e->spans, SPAN_EXCHANGE, layer);
    if (layer + 1 == e->layers) {
        e->began = span_now(e->spans);
        ready(e, e->loss);
    }
    ready(e, e->bias[layer]);
    ready(e, e->weight[layer]);
    if (e->failed == RONDO_OK) {
        e->failed = rondo_sync_progress(e->sync);
    }
    span_end(e->spans);
}

bool
exchange_wait(exchange *e, problem *why)
{
    rondo_sync_step_info info = {.size = sizeof info};
    rondo_status status = e->failed;
    span_begin(e->spans, SPAN_WAIT, 0);
    if (status == RONDO_OK) {
        status = rondo_sync_step_wait(e->sync, &info);
    }
    span_end(e->spans);
    span_beside(e->spans, SPAN_EXCHANGE_ALL, e->began);
    if (status != RONDO_OK) {
        return fail(e, status, "averaging gradients", why);
    }
    e->wait_seconds = (double)info.wait_ns * 1e-9;
    e->payload_bytes = (double)info.payload_bytes;
    return true;
}
