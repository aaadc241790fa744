/* optimiser.c - stochastic gradient descent (see optimiser.h). */
#include "optimiser.h"

#include "clones.h"
#include "memory.h"

#include <stddef.h>

bool
optimiser_create(uint64_t count, double momentum, double weight_decay,
                 optimiser *result, problem *why)
{
    float *velocity = memory_floats(count, why);
    if (velocity == NULL) {
        return false;
    }
    *result = (optimiser){.count = count,
                          .momentum = (float)momentum,
                          .weight_decay = (float)weight_decay,
                          .velocity = velocity};
    return true;
}

void
optimiser_free(optimiser *o)
{
    memory_free(o->velocity);
    o->velocity = NULL;
}

/* One pass over memory: three vectors read, two written. */
TRAINER_CLONES void
optimiser_step(optimiser *o, float rate, const float *restrict gradient,
               float *restrict parameter)
{
    /* In locals, or the compiler thinks a store below could change them, and gives
     * up. */
    const uint64_t count = o->count;
    const float momentum = o->momentum;
    const float decay = o->weight_decay;
    float *restrict velocity = o->velocity;
    for (uint64_t i = 0; i < count; i++) {
        const float slope = gradient[i] + decay * parameter[i];
        velocity[i] = momentum * velocity[i] + slope;
        parameter[i] -= rate * velocity[i];
    }
}
