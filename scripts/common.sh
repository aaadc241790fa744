# common.sh - what scripts/setup, scripts/test and scripts/demo share. Sourced, not run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build

# Everything needed to build, check and test on Debian 12, one package a line.
packages=(
    gcc g++ libc6-dev clang-14 libclang-rt-14-dev cmake ninja-build pkg-config binutils
    clang-format-14 cppcheck valgrind
    libucx-dev libhwloc-dev libibverbs-dev
    libcmocka-dev libsodium-dev libjansson-dev zlib1g-dev libopenblas-serial-dev
    dataset-fashion-mnist python3 python3-numpy python3-matplotlib procps iproute2
    qemu-system-x86 busybox-static kmod cpio
    rdma-core ibverbs-providers ibverbs-utils ucx-utils
)

say() {
    printf '\n==> %s\n' "$*"
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Seconds as "1 min 05 s".
duration() {
    if (($1 < 60)); then
        printf '%d s' "$1"
    else
        printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
    fi
}

# Sets `missing` to the packages of the list that dpkg does not know as installed.
find_missing() {
    local have name
    # dpkg-query fails when it does not know one of the names; it still lists the others.
    have=$(dpkg-query -W -f='${db:Status-Abbrev}|${Package}\n' "${packages[@]}" \
        2>/dev/null || true)
    missing=()
    for name in "${packages[@]}"; do
        grep -q -- "^ii *|$name\$" <<<"$have" || missing+=("$name")
    done
}

# As root, or through sudo; DEBIAN_FRONTEND has to survive sudo, hence env.
as_root() {
    if ((EUID == 0)); then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

install_missing() {
    command -v dpkg-query >/dev/null ||
        die "this script knows Debian's packages only; install by hand: ${packages[*]}"
    local missing
    find_missing
    if ((${#missing[@]} == 0)); then
        say "Packages: all ${#packages[@]} are installed"
        return
    fi
    say "Packages: installing ${#missing[@]} missing: ${missing[*]}"
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        die "run as root, or install first: apt-get install ${missing[*]}"
    fi
    # Another apt may be at work (a machine just started): wait for it.
    local patience=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    as_root apt-get "${patience[@]}" update ||
        echo "apt-get update had trouble; trying with the lists there are"
    as_root apt-get "${patience[@]}" install -y --no-install-recommends "${missing[@]}" ||
        die "apt-get could not install: ${missing[*]}"
}

# build_preset NAME: configures when needed, then builds; ninja shows its progress.
build_preset() {
    local preset=$1 folder=$root/build
    [[ $preset == release ]] || folder=$root/build-$preset
    local fresh=()
    # A folder copied from another place would build that place.
    if [[ -f $folder/CMakeCache.txt ]] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
        fresh=(--fresh)
    fi
    mkdir -p "$folder"
    (
        # Two scripts started together must not build into one folder at once.
        exec 9>"$folder/.lock"
        flock 9
        cd "$root" &&
            cmake --preset "$preset" "${fresh[@]}" >"$folder/configure.log" 2>&1 || {
            cat "$folder/configure.log" >&2
            exit 1
        }
        cmake --build --preset "$preset" 9>&-
    )
}
