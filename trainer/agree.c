/* agree.c - what must be the same on all ranks (see agree.h). */
#include "agree.h"

#include "hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One setting each, as text; the last is the data. */
#define SETTINGS_MAX (OPTIONS_MAX + 1)

typedef struct settings {
    char value[SETTINGS_MAX][OPTIONS_VALUE_MAX];
} settings;

static const char *
or_nothing(const char *value)
{
    return value[0] != '\0' ? value : "(not given)";
}

static bool
compare(const settings *theirs, uint32_t count, const option_text *setting,
        uint32_t rank, problem *why)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *first = theirs[0].value[i];
        const char *other = theirs[rank].value[i];
        if (memcmp(first, other, OPTIONS_VALUE_MAX) != 0) {
            (void)problem_fail(
                why, "ranks differ in %s: rank %u has %.*s, rank 0 has %.*s",
                setting[i].name, rank, (int)OPTIONS_VALUE_MAX - 1, or_nothing(other),
                (int)OPTIONS_VALUE_MAX - 1, or_nothing(first));
            why->known_to_all = true;
            return false;
        }
    }
    return true;
}

bool
agree_settings(const ranks *all, const options *o, uint64_t data_fingerprint,
               problem *why)
{
    option_text setting[SETTINGS_MAX];
    uint32_t count = options_shared(o, setting);
    setting[count].name = "the data (fingerprint)";
    (void)snprintf(setting[count].value, OPTIONS_VALUE_MAX, "%016" PRIx64,
                   data_fingerprint);
    count++;

    settings mine;
    memset(&mine, 0, sizeof mine); /* Whole fields are compared, so fill them all. */
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(mine.value[i], OPTIONS_VALUE_MAX, "%s", setting[i].value);
    }
    settings *theirs = calloc(all->count, sizeof *theirs);
    if (theirs == NULL) {
        return problem_fail(why, "no memory for the settings of %u ranks", all->count);
    }
    bool same = ranks_gather(all, &mine, sizeof mine, theirs, why);
    for (uint32_t rank = 1; same && rank < all->count; rank++) {
        same = compare(theirs, count, setting, rank, why);
    }
    free(theirs);
    return same;
}

uint64_t
agree_hash(const options *o, uint64_t data_fingerprint)
{
    option_text setting[SETTINGS_MAX];
    uint64_t hash = data_fingerprint;
    const uint32_t count = options_shared(o, setting);
    for (uint32_t i = 0; i < count; i++) {
        hash = hash_pair(hash, hash_bytes(setting[i].value, strlen(setting[i].value)));
    }
    return hash;
}

uint32_t
agree_odd_rank(const uint64_t *hash, uint32_t count)
{
    uint32_t most = 0;
    uint64_t right = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t same = 0;
        for (uint32_t j = 0; j < count; j++) {
            same += hash[j] == hash[i];
        }
        if (same > most) {
            most = same;
            right = hash[i];
        }
    }
    uint32_t rank = 0;
    while (rank < count && hash[rank] == right) {
        rank++;
    }
    return rank;
}

bool
agree_parameters(const ranks *all, uint64_t hash, uint64_t step, problem *why)
{
    uint64_t *theirs = calloc(all->count, sizeof *theirs);
    if (theirs == NULL) {
        return problem_fail(why, "no memory for the hashes of %u ranks", all->count);
    }
    bool same = ranks_gather(all, &hash, sizeof hash, theirs, why);
    if (same) {
        const uint32_t odd = agree_odd_rank(theirs, all->count);
        same = odd == all->count;
        if (!same) {
            const uint32_t other = odd == 0 ? 1 : 0;
            (void)problem_fail(why,
                               "after step %" PRIu64
                               " the parameters of rank %u differ: "
                               "hash %016" PRIx64 ", rank %u has %016" PRIx64,
                               step, odd, theirs[odd], other, theirs[other]);
            why->known_to_all = true;
        }
    }
    free(theirs);
    return same;
}
