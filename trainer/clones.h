/* clones.h - TRAINER_CLONES before a function compiles it twice, for AVX2 and for any
 * x86-64, and the right one is taken when the program starts. Only loops whose results
 * do not depend on the width of a vector are marked, so both give the same bits. */
#ifndef TRAINER_CLONES_H
#define TRAINER_CLONES_H

/* Only gcc: clang 14's attribute is young. Not under sanitizers: they are not yet set
 * up when the choice is made. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRAINER_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define TRAINER_CLONES
#endif

#endif
