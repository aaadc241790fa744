"""turns.py - contestants measured in turn, round after round; medians are compared.

A contestant is a function from sizes to {size: microseconds}. A size it has no answer
for is left out of its answer, and of every comparison with it.
"""
import os
import statistics
import subprocess
import sys
import time


def parse_size(text):
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1].upper(), 1)
    return int(text if factor == 1 else text[:-1]) * factor


def install(packages):
    """What of `packages` (Debian's names) is missing, is installed with apt."""
    missing = [name for name in packages if subprocess.run(
        ["dpkg-query", "-W", "-f", "${Status}", name], capture_output=True,
        text=True).stdout != "install ok installed"]
    if missing:
        print("installing", " ".join(missing), file=sys.stderr)
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", *missing], check=True,
                       stdout=subprocess.DEVNULL)


def compile_peer(folder, name, source, *command):
    """The program of a peer, made anew when its source is newer."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        at = command.index("SOURCE")
        subprocess.run([*command[:at], str(source), *command[at + 1:], "-o", str(target)],
                       check=True)
    return target


def load_line(load, what, rounds):
    warning = " (too high: ratios mean nothing)" if load > 0.5 else ""
    return (f"load {load:.2f}{warning}, {what}, {os.cpu_count()} cores, medians of "
            f"{rounds} rounds in microseconds, {time.strftime('%Y-%m-%d')}")


def perf_time(text, size):
    """The out-of-place time of a line of all_reduce_perf."""
    rows = [line.split() for line in text.splitlines()
            if line.split() and line.split()[0] == str(size)]
    return float(rows[0][5])


def peer_times(text):
    """Lines "bytes microseconds" of a peer's program."""
    return {int(size): float(time_us)
            for size, time_us in (line.split() for line in text.splitlines())}


def take_turns(rounds, sizes, contestants):
    """The median of each contestant at each size, and the rounds themselves."""
    samples = {name: {size: [] for size in sizes} for name in contestants}
    for number in range(rounds):
        for name, run in contestants.items():
            print(f"\rround {number + 1} of {rounds}: {name:<16}", end="",
                  file=sys.stderr, flush=True)
            for size, time_us in run(sizes).items():
                samples[name][size].append(time_us)
    print(file=sys.stderr)
    medians = {name: {size: statistics.median(values)
                      for size, values in row.items() if values}
               for name, row in samples.items()}
    return medians, samples


def table(sizes, medians, peers, mine="rondo"):
    """Prints a row per size; the rows, with the best peer's time over ours."""
    names = list(medians)
    print(f"{'bytes':>10} " + " ".join(f"{name:>13}" for name in names)
          + f" {'best peer/' + mine:>16}")
    rows = []
    for size in sizes:
        us = {name: medians[name][size] for name in names if size in medians[name]}
        best = min((us[name] for name in peers if name in us), default=None)
        ratio = None if best is None else best / us[mine]
        rows.append({"bytes": size, "us": us, "ratio": ratio})
        print(f"{size:>10} "
              + " ".join(f"{us[name]:>13.2f}" if name in us else f"{'-':>13}"
                         for name in names)
              + (f" {ratio:>16.2f}" if ratio else f" {'-':>16}"), flush=True)
    return rows
