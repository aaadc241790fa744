/* outer.c - DiLoCo's outer optimiser: momentum on how far the ranks have come. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <rondo/average.h>

#include "base/error.h"

#define RATE     0.7F
#define MOMENTUM 0.9F

void
rondo_outer_config_init(rondo_outer_config *config)
{
    memset(config, 0, sizeof *config);
    config->size = sizeof *config;
    config->rate = RATE;
    config->momentum = MOMENTUM;
    config->nesterov = 1;
}

static rondo_status
check(const rondo_outer_config *config)
{
    if (config->size != sizeof *config) {
        return rondo_error(RONDO_ERR_ARG,
                           "size of the outer step's configuration is %zu; %zu is what "
                           "rondo_outer_config_init sets",
                           config->size, sizeof *config);
    }
    if (!isfinite(config->rate) || config->rate <= 0.0F) {
        return rondo_error(RONDO_ERR_ARG,
                           "the outer rate is %g; it must be more than 0",
                           (double)config->rate);
    }
    if (!(config->momentum >= 0.0F && config->momentum < 1.0F)) {
        return rondo_error(RONDO_ERR_ARG,
                           "the outer momentum is %g; allowed is 0 to less than 1",
                           (double)config->momentum);
    }
    if (config->nesterov > 1) {
        return rondo_error(RONDO_ERR_ARG, "nesterov is %u; allowed are 0 and 1",
                           config->nesterov);
    }
    return RONDO_OK;
}

/* Rate 1 without momentum is an average and no more. The formula would round twice on
 * the way, anchor - (anchor - average); what it means is set instead. */
static void
take_over(const float *average, uint64_t count, float *anchor, float *velocity)
{
    for (uint64_t i = 0; i < count; i++) {
        velocity[i] = anchor[i] - average[i];
        anchor[i] = average[i];
    }
}

static void
step(const rondo_outer_config *config, const float *average, uint64_t count,
     float *anchor, float *velocity)
{
    const float rate = config->rate;
    const float momentum = config->momentum;
    const bool nesterov = config->nesterov == 1;

    for (uint64_t i = 0; i < count; i++) {
        const float moved = anchor[i] - average[i];
        const float speed = momentum * velocity[i] + moved;

        velocity[i] = speed;
        anchor[i] -= rate * (nesterov ? moved + momentum * speed : speed);
    }
}

rondo_status
rondo_outer_step(const rondo_outer_config *config, const float *average, uint64_t count,
                 float *anchor, float *velocity)
{
    if (config == NULL ||
        (count != 0 && (average == NULL || anchor == NULL || velocity == NULL))) {
        return rondo_error(RONDO_ERR_ARG, "rondo_outer_step: a pointer is null");
    }
    const rondo_status status = check(config);
    if (status != RONDO_OK) {
        return status;
    }
    if (config->rate == 1.0F && config->momentum == 0.0F) {
        take_over(average, count, anchor, velocity);
    } else {
        step(config, average, count, anchor, velocity);
    }
    return RONDO_OK;
}
