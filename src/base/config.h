/* config.h - the one table of every environment variable Rondo reads. */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/status.h>

/* One row each: id, variable, kind, default (as text), agreed (rank 0's value counts on
 * all ranks), what it does. */
#define RONDO_CONFIG_ROWS(ROW)                                                         \
    ROW(RANK, "RANK", NUMBER, "", 0, "this process's rank")                            \
    ROW(WORLD_SIZE, "WORLD_SIZE", NUMBER, "", 0, "number of ranks")                    \
    ROW(MASTER_ADDR, "MASTER_ADDR", TEXT, "127.0.0.1", 0, "where rank 0 listens")      \
    ROW(MASTER_PORT, "MASTER_PORT", NUMBER, "", 0, "its port")                         \
    ROW(PORT, "RONDO_PORT", NUMBER, "", 0, "rendezvous port, instead of MASTER_PORT")  \
    ROW(AGENT_STORE, "TORCHELASTIC_USE_AGENT_STORE", TEXT, "", 0,                      \
        "set by torchrun when MASTER_PORT is its own store's: MASTER_PORT + 1 is "     \
        "used")                                                                        \
    ROW(INTERFACE, "RONDO_INTERFACE", TEXT, "auto", 0,                                 \
        "interfaces between hosts: auto, or names, patterns (eth*), address ranges")   \
    ROW(RDMA, "RONDO_RDMA", TEXT, "auto", 0,                                           \
        "RDMA ports: auto, off, or UCX device names (mlx5_0:1), then TCP is left out") \
    ROW(HOST_ID, "RONDO_HOST_ID", TEXT, "", 0,                                         \
        "ranks with different ones count as on different hosts")                       \
    ROW(LINK_SILENCE, "RONDO_LINK_SILENCE", SECONDS, "6", 0,                           \
        "a path between hosts that is silent for longer is cut")                       \
    ROW(UCX_MODULE, "RONDO_UCX_MODULE", TEXT, "", 0,                                   \
        "path of librondo_ucx.so, if it is not beside the library")                    \
    ROW(SECRET, "RONDO_SECRET", TEXT, "", 0, "the job secret")                         \
    ROW(SECRET_FILE, "RONDO_SECRET_FILE", TEXT, "", 0, "file that holds it")           \
    ROW(START_TIMEOUT, "RONDO_START_TIMEOUT", SECONDS, "60", 0, "start deadline")      \
    ROW(TIMEOUT, "RONDO_TIMEOUT", SECONDS, "600", 0, "operation deadline")             \
    ROW(WARN_AFTER, "RONDO_WARN_AFTER", SECONDS, "30", 0,                              \
        "log a warning when an operation waits longer")                                \
    ROW(CHECK, "RONDO_CHECK", NUMBER, "0", 1,                                          \
        "1: compare signatures on all ranks before each operation")                    \
    ROW(ALGO, "RONDO_ALGO", TEXT, "", 1,                                               \
        "force algorithms: all_reduce=ring,broadcast=tree")                            \
    ROW(SPIN, "RONDO_SPIN", TEXT, "auto", 0,                                           \
        "polls before a waiting rank yields: auto or a number")                        \
    ROW(CHUNK, "RONDO_CHUNK", BYTES, "0", 1,                                           \
        "bytes of a shared-memory chunk; 0: by number of ranks")                       \
    ROW(SEGMENT, "RONDO_SEGMENT", BYTES, "0", 1,                                       \
        "bytes of a pipeline segment of large vectors; 0: by size")                    \
    ROW(CPU, "RONDO_CPU", TEXT, "auto", 0, "kernels: auto, plain or avx2")             \
    ROW(LOG, "RONDO_LOG", TEXT, "warn", 0, "error, warn, info or debug")

typedef enum rondo_config_id {
#define RONDO_CONFIG_ENUM(id, variable, kind, fallback, agreed, text) RONDO_CONFIG_##id,
    RONDO_CONFIG_ROWS(RONDO_CONFIG_ENUM)
#undef RONDO_CONFIG_ENUM
        RONDO_CONFIGS
} rondo_config_id;

/* rondo_config_set - whether the variable is there and not empty. */
bool
rondo_config_set(rondo_config_id id);

/* rondo_config_text - its text, or the default; valid until the environment changes. */
const char *
rondo_config_text(rondo_config_id id);

/*
 * rondo_config_number - its value, or the default, within [low, high]. SECONDS rows may
 * have a fraction and give milliseconds; BYTES rows take K, M and G.
 *
 * RONDO_ERR_ARG: the text names the variable, its value and what is allowed.
 */
RONDO_MUST_USE rondo_status
rondo_config_number(rondo_config_id id, uint64_t low, uint64_t high, uint64_t *value);

/* rondo_config_agreed - one line of all rows that every rank must share, for the
 * comparison at start-up: "RONDO_ALGO=ring RONDO_CHUNK=0". */
void
rondo_config_agreed(char *line, uint64_t line_bytes);

/* rondo_config_variable - the row's variable name. */
const char *
rondo_config_variable(rondo_config_id id);

#endif /* BASE_CONFIG_H */
