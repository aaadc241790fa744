/*
 * layout.c - do all ranks register the same parameters with the same settings? One
 * small all-gather when they do; when not, the first difference is searched together,
 * so that every rank says the same sentence and the communicator stays in step.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "sync/state.h"

#define WORDS RONDO_SYNC_LAYOUT_WORDS

/* What each rank brings to the comparison: words, so that it can be all-gathered. */
typedef enum layout_word {
    PLANNED, /* 0: planning went well; otherwise minus its status */
    MODE,
    CANONICAL,
    FIRST_BUCKET_BYTES,
    BUCKET_BYTES,
    PARAMETERS,
    PARAMETERS_HASH
} layout_word;

_Static_assert(PARAMETERS_HASH + 1 == WORDS, "one word for each row of layout_word");

static const char *const setting_name[WORDS] = {
    [MODE] = "mode",
    [CANONICAL] = "canonical",
    [FIRST_BUCKET_BYTES] = "first_bucket_bytes",
    [BUCKET_BYTES] = "bucket_bytes",
};

/* One parameter, as it is sent when layouts differ. */
typedef struct entry {
    uint64_t count;
    uint64_t name_hash; /* of all of the name; the text may be cut off */
    char name[RONDO_SYNC_NAME_SHOWN + 1];
} entry;

static entry
entry_of(const rondo_sync *sync, uint64_t index)
{
    entry made;
    const rondo_sync_param *const param = &sync->params[index];

    memset(&made, 0, sizeof made);
    made.count = param->count;
    made.name_hash = rondo_hash_bytes(0, param->name, strlen(param->name));
    (void)snprintf(made.name, sizeof made.name, "%s", param->name);
    return made;
}

static void
own_words(const rondo_sync *sync, rondo_status planned, uint64_t *words)
{
    uint64_t hash = 0;

    for (uint64_t i = 0; i < sync->nparams; i++) {
        const entry made = entry_of(sync, i);
        hash = rondo_hash_add(rondo_hash_add(hash, made.count), made.name_hash);
    }
    words[PLANNED] = (uint64_t)(-(int64_t)planned);
    words[MODE] = (uint64_t)sync->config.mode;
    words[CANONICAL] = sync->config.canonical;
    words[FIRST_BUCKET_BYTES] = sync->config.first_bucket_bytes;
    words[BUCKET_BYTES] = sync->config.bucket_bytes;
    words[PARAMETERS] = sync->nparams;
    words[PARAMETERS_HASH] = hash;
}

static rondo_status
settings_differ(rondo_sync *sync, uint32_t rank, layout_word word,
                const uint64_t *values)
{
    return rondo_sync_fail(
        sync, RONDO_ERR_MISMATCH,
        "%s of the synchroniser is %llu on rank 0 and %llu on rank %u",
        setting_name[word], (unsigned long long)values[0],
        (unsigned long long)values[1], rank);
}

static rondo_status
entries_differ(rondo_sync *sync, uint32_t rank, uint64_t index, const entry *pair)
{
    return rondo_sync_fail(
        sync, RONDO_ERR_MISMATCH,
        "parameter %llu is \"%s\" with %llu elements on rank 0 and \"%s\" with %llu "
        "elements on rank %u",
        (unsigned long long)index, pair[0].name, (unsigned long long)pair[0].count,
        pair[1].name, (unsigned long long)pair[1].count, rank);
}

static rondo_status
one_list_ends(rondo_sync *sync, uint32_t rank, uint64_t shorter,
              const uint64_t *nparams)
{
    return rondo_sync_fail(
        sync, RONDO_ERR_MISMATCH,
        "rank 0 has %llu parameters and rank %u has %llu; the first %llu are alike",
        (unsigned long long)nparams[0], rank, (unsigned long long)nparams[1],
        (unsigned long long)shorter);
}

/* Rank 0 and `rank` show their entries one after the other until two differ. All ranks
 * take part and see the same, so all stop at the same place; nothing is allocated. */
static rondo_status
first_difference(rondo_sync *sync, uint32_t rank, const uint64_t *nparams)
{
    const uint64_t shorter = nparams[0] < nparams[1] ? nparams[0] : nparams[1];
    const uint32_t roots[2] = {0, rank};
    entry pair[2];

    for (uint64_t i = 0; i < shorter; i++) {
        for (int side = 0; side < 2; side++) {
            memset(&pair[side], 0, sizeof pair[side]);
            if (sync->rank == roots[side]) {
                pair[side] = entry_of(sync, i);
            }
            const rondo_status status =
                rondo_broadcast(sync->comm, &pair[side], &pair[side], sizeof pair[side],
                                RONDO_UINT8, roots[side]);
            if (status != RONDO_OK) {
                return rondo_sync_fail(sync, status, "%s",
                                       rondo_comm_error_text(sync->comm));
            }
            pair[side].name[RONDO_SYNC_NAME_SHOWN] = '\0';
        }
        if (pair[0].count != pair[1].count || pair[0].name_hash != pair[1].name_hash) {
            return entries_differ(sync, rank, i, pair);
        }
    }
    return one_list_ends(sync, rank, shorter, nparams);
}

/* Somebody could not plan: its own rank has its sentence already, the others name
 * it. */
static rondo_status
planning_failed(rondo_sync *sync, uint32_t rank, uint64_t word)
{
    const rondo_status status = (rondo_status)(-(int64_t)word);

    return rondo_sync_fail(sync, status, "rank %u could not commit: %s", rank,
                           rondo_status_text(status));
}

/* `all` holds WORDS words of each rank. */
static rondo_status
judge(rondo_sync *sync, const uint64_t *all)
{
    for (uint32_t r = 0; r < sync->nranks; r++) {
        if (all[(uint64_t)r * WORDS + PLANNED] != 0) {
            return planning_failed(sync, r, all[(uint64_t)r * WORDS + PLANNED]);
        }
    }
    for (uint32_t r = 1; r < sync->nranks; r++) {
        const uint64_t *const theirs = all + (uint64_t)r * WORDS;
        for (layout_word word = MODE; word <= BUCKET_BYTES; word++) {
            const uint64_t values[2] = {all[word], theirs[word]};
            if (values[0] != values[1]) {
                return settings_differ(sync, r, word, values);
            }
        }
        if (memcmp(all + PARAMETERS, theirs + PARAMETERS, 2 * sizeof *all) != 0) {
            const uint64_t nparams[2] = {all[PARAMETERS], theirs[PARAMETERS]};
            return first_difference(sync, r, nparams);
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_sync_compare(rondo_sync *sync, rondo_status planned)
{
    uint64_t words[WORDS];

    own_words(sync, planned, words);
    const rondo_status status =
        rondo_all_gather(sync->comm, words, sync->compared, WORDS, RONDO_UINT64);
    if (status != RONDO_OK) {
        return rondo_sync_fail(sync, status, "%s", rondo_comm_error_text(sync->comm));
    }
    return planned != RONDO_OK ? planned : judge(sync, sync->compared);
}
