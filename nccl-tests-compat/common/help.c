/* help.c - every flag in one line. */
#include "common/help.h"

#include <stdio.h>

static const char text[] =
    "  -t, --nthreads N        threads of this process (1)\n"
    "  -g, --ngpus N           ranks of each thread (1); ranks = processes * t * g\n"
    "  -b, --minbytes SIZE     first size (32M); K, M, G, T are powers of 1024\n"
    "  -e, --maxbytes SIZE     last size (32M)\n"
    "  -i, --stepbytes SIZE    from one size to the next (1M)\n"
    "  -f, --stepfactor N      multiply by N instead\n"
    "  -n, --iters N           timed iterations (20)\n"
    "  -w, --warmup_iters N    warm-up iterations of each size (1)\n"
    "  -m, --agg_iters N       operations in flight together in an iteration (1)\n"
    "  -N, --run_cycles N      repeat the sweep; 0: for ever (1)\n"
    "  -p, --parallel_init 0|1 each thread makes its own communicators (0)\n"
    "  -c, --check N           verified operations after the timing, 0: none (1)\n"
    "  -o, --op OP             sum, prod, max, min, avg or all (sum)\n"
    "  -d, --datatype TYPE     int8, uint8, int32, uint32, int64, uint64, half,\n"
    "                          float, double, bfloat16 or all (float)\n"
    "  -r, --root RANK         or all, which is -1 (0)\n"
    "  -z, --blocking 0|1|2|3  1: a barrier after each operation; 2: wait for each;\n"
    "                          3: an untimed barrier after each iteration (0)\n"
    "  -T, --timeout SECONDS   end when nothing has finished for so long (0: never)\n"
    "  -C, --report_cputime 0|1  report the thread's processor time (0)\n"
    "  -S, --report_timestamps 0|1  end each line with the time of day (0)\n"
    "  -J, --output_file FILE  JSON as well, into FILE.json or FILE.json.0 ...\n"
    "  -a, --average 0|1|2|3   the time of rank 0, the mean, least or most of all (1)\n"
    "  -R, --local_register 0|1|2  1, 2: buffers that peers can map (0)\n"
    "  -M, --memory 0|1        report memory at the end (0)\n"
    "  -u, --unalign N         shift buffers by N elements (0)\n"
    "  -I, --per_iter_timing 0|1  time each iteration (0)\n"
    "  -K, --per_iter_skip N   samples left out of the -I columns (0)\n"
    "      --walk 0|1          1: each operation uses the next stretch of the "
    "buffers,\n"
    "                          as nccl-tests does, so that caches are cold (0)\n"
    "  -h, --help\n"
    "Flags about GPUs (-G -x -D -V -y) are accepted with the value 0.\n";

void
perf_help_print(const char *program)
{
    printf("usage: rondo-run -n PROCESSES %s [flags]\n       %s -t THREADS [flags]\n",
           program, program);
    fputs(text, stdout);
}
