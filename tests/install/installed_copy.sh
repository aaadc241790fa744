#!/usr/bin/env bash
# installed_copy.sh - C and C++ programs build against `cmake --install` and run.
# ctest: timeout=300
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
copy=$scratch/copy
user=$RONDO_SOURCE/tests/install/user
example=$RONDO_SOURCE/examples/all_reduce.c

fail() {
    echo "FAILED: $*"
    exit 1
}

cmake --install "$RONDO_BUILD" --prefix "$copy" >"$scratch/install.log" ||
    fail "cmake --install: $(tail -5 "$scratch/install.log")"
libraries=$(dirname "$(find "$copy" -name librondo.a)")
export PKG_CONFIG_PATH=$libraries/pkgconfig
warnings=(-Wall -Wextra -Wpedantic -Werror)

# Words of pkg-config are meant to be split, hence no quotes around them.
flags=$(pkg-config --cflags rondo)
shared="$(pkg-config --libs rondo) -Wl,-rpath,$libraries"
archive=$(pkg-config --static --libs rondo | sed 's/-lrondo\b/-l:librondo.a/')
gcc -std=c11 "${warnings[@]}" "$example" $flags $shared -o "$scratch/c_shared"
gcc -std=c11 "${warnings[@]}" "$example" $flags $archive -o "$scratch/c_static"
g++ -std=c++11 "${warnings[@]}" "$user/user.cc" $flags $shared -o "$scratch/cc_shared"
g++ -std=c++11 "${warnings[@]}" "$user/user.cc" $flags $archive -o "$scratch/cc_static"

cmake -G Ninja -S "$user" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$copy" \
    -DEXAMPLE="$example" >"$scratch/cmake.log" 2>&1 || fail "$(cat "$scratch/cmake.log")"
cmake --build "$scratch/cmake" >"$scratch/cmake.log" 2>&1 ||
    fail "$(cat "$scratch/cmake.log")"

# Which library a program got is part of what is tested.
needs() {
    local needed
    needed=$(ldd "$1")
    grep -q -- "$2" <<<"$needed"
}
for program in "$scratch"/c{,c}_shared "$scratch"/cmake/c{,c}_rondo; do
    needs "$program" "librondo.so.0.1 => $libraries" ||
        fail "$program does not use the installed librondo.so: $(ldd "$program")"
done
for program in "$scratch"/c{,c}_static "$scratch"/cmake/c{,c}_rondo_static; do
    needs "$program" libc.so.6 || fail "$program: ldd does not know it"
    if needs "$program" librondo; then
        fail "$program was meant to hold librondo.a"
    fi
done
for program in "$scratch"/c{,c}_{shared,static} "$scratch"/cmake/c{,c}_rondo{,_static}; do
    output=$(timeout 60 "$copy/bin/rondo-run" -n 2 "$program" 2>&1) ||
        fail "$program: $output"
    (($(grep -c 'of 2: 0 wrong' <<<"$output") == 2)) || fail "$program said: $output"
done

# A public header stands alone, in both languages.
for header in "$copy"/include/rondo/*.h; do
    for compiler in "gcc -std=c11 -xc" "g++ -std=c++11 -xc++"; do
        $compiler "${warnings[@]}" -fsyntax-only -I"$copy/include" - \
            <<<"#include <rondo/$(basename "$header")>" || fail "$header with $compiler"
    done
done

# The copy can be moved: nothing in it names the build folder.
if grep -rqI -- "$RONDO_BUILD" "$copy"/include "$libraries"/pkgconfig "$libraries"/cmake; then
    fail "the installed copy names the build folder"
fi
echo "eight programs built against the installed copy and ran on 2 ranks"
