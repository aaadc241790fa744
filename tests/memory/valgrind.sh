#!/usr/bin/env bash
# valgrind.sh - no invalid access and no lost memory on 1 to 4 ranks.
# ctest: timeout=300 label=slow label=noasan
set -euo pipefail

if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PATH=$RONDO_BIN:$PATH
# A status of its own, so that valgrind's verdict is not taken for the program's.
under=(valgrind --quiet --error-exitcode=99 --leak-check=full
    --errors-for-leak-kinds=definite,indirect --child-silent-after-fork=yes)

# watch NAME RANKS PROGRAM ARGUMENTS...: every rank under valgrind.
watch() {
    local name=$1 ranks=$2
    shift 2
    if ! timeout 120 rondo-run -n "$ranks" "${under[@]}" "$@" >"$scratch/log" 2>&1; then
        echo "FAILED: $name on $ranks rank(s)"
        tail -n 60 "$scratch/log"
        exit 1
    fi
    echo "$name on $ranks rank(s): clean"
}

for ranks in 1 2 3 4; do
    watch example "$ranks" "$RONDO_BIN/examples/all_reduce"
    for program in "$RONDO_BIN"/*_perf; do
        name=$(basename "$program")
        # A send needs someone to send to.
        [[ $name == sendrecv_perf && $ranks == 1 ]] && continue
        watch "$name" "$ranks" "$program" -b 8 -e 64K -f 16 -n 2 -w 1
    done
done
watch "all_reduce_perf, 2 threads" 1 "$RONDO_BIN/all_reduce_perf" -t 2 -b 8 -e 64K -f 16 \
    -n 2 -w 1
