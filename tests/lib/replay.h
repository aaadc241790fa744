/*
 * replay.h - runs a fuzz target without a fuzzer: the corpus that a fuzzer has found
 * (tests/fuzz/corpus/TARGET), its seeds, then changes of them that are the same every
 * time. With RONDO_FUZZER defined there is no main: scripts/fuzz builds it so.
 */
#ifndef LIB_REPLAY_H
#define LIB_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#define REPLAY_BYTES_MAX 8192

/* The entry every fuzzer knows; returns 0. A broken promise aborts. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* replay_seed - write seed `number` to `data` (REPLAY_BYTES_MAX of room); its length, 0
 * when there are no more seeds. Each target has its own. */
size_t
replay_seed(uint32_t number, uint8_t *data);

/* replay_insist - a promise of the code under test. */
void
replay_insist(int fact, const char *what);

/* replay_all - the corpus, every seed, and `changes` changes of each; 0. */
int
replay_all(uint32_t changes);

/* Called by libFuzzer before it begins: writes the seeds to the folder RONDO_FUZZ_SEEDS
 * names, if it is set. */
int
LLVMFuzzerInitialize(int *count, char ***words);

#endif /* LIB_REPLAY_H */
