"""between.py - runs contestants on a bed of tests/hosts: Rondo, Open MPI, Gloo, and what
the wire itself does.

Every program starts inside the namespaces of the bed: Rondo and Gloo by rondo-run, Open
MPI by its own mpirun on node0, which reaches the other hosts by an agent.
"""
import functools
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/lib"))
from bed import Bed  # noqa: E402
from turns import compile_peer, peer_times, perf_time  # noqa: E402

PACKAGES = ["openmpi-bin", "libopenmpi-dev", "libgloo-dev", "g++", "ucx-utils", "iperf3",
            "iproute2"]
UCX = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "eth0", "UCX_WARN_UNUSED_ENV_VARS": "n"}
SECONDS = 300  # No run of a contestant takes longer.


def bytes_per_second(rate):
    """Of tc's words for a rate: 1gbit, 200mbit."""
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if rate.endswith(unit):
            return float(rate[:-len(unit)]) * factor / 8
    raise ValueError(f"a rate such as 1gbit, not '{rate}'")


def build_peers(build):
    peers = ROOT / "bench/peers"
    compile_peer(build / "peers", "openmpi", peers / "mpi_all_reduce.c", "mpicc.openmpi",
                 "-O3", "SOURCE")
    compile_peer(build / "peers", "gloo", peers / "gloo_all_reduce.cc", "g++", "-O3",
                 "SOURCE", "-lgloo", "-pthread")


def run(command, **more):
    """The output of a command; where it fails, its own words."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=SECONDS, **more)
    if done.returncode != 0:
        print(done.stdout, done.stderr, file=sys.stderr)
        raise SystemExit(f"failed with {done.returncode}: {shlex.join(map(str, command))}")
    return done.stdout


class Hosts:
    """with Hosts(build, 4, "1gbit", 1) as hosts: hosts.rondo([8, 1024])"""

    def __init__(self, build, count, rate=None, per_host=1):
        self.build, self.count, self.rate, self.per_host = build, count, rate, per_host
        self.ranks = count * per_host
        shape = ["--slots", per_host] + (["--rate", rate] if rate else [])
        self.bed = Bed(count, *shape)
        self.port = 13400

    def __enter__(self):
        # A request to end goes through __exit__, too, so that no bed is left behind.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.bed.__enter__()
        try:
            self.folder = tempfile.TemporaryDirectory(prefix="rondo-bench-")
            self.agent = pathlib.Path(self.folder.name) / "agent"
            # Open MPI calls it as it calls rsh: a host, then the words of a shell line.
            command = shlex.join(self.bed.command(0)[:-1])
            self.agent.write_text(f'#!/bin/sh\nhost=$1\nshift\n'
                                  f'exec {command} "$host" sh -c "$*"\n')
            self.agent.chmod(0o755)
        except BaseException:
            self.bed.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.bed.__exit__()
        self.folder.cleanup()

    def says(self):
        each = f" x {self.per_host} ranks" if self.per_host > 1 else ""
        return f"{self.count} hosts{each}, {self.rate or 'unshaped'}"

    @property
    def spinning_is_dear(self):
        """More ranks than cores, and no peer can see it: each thinks it has its host."""
        return self.ranks > (os.cpu_count() or 1)

    def iterations(self, size):
        """About half a second's worth, by what a ring would need."""
        byte_time = 2 / bytes_per_second(self.rate) if self.rate else 2e-9
        each = (200e-6 if self.spinning_is_dear else 50e-6) + size * byte_time
        return int(min(2000, max(5, 0.5 / each)))

    # --- contestants ----------------------------------------------------------------

    def job(self, program, *arguments, env=(), launcher=()):
        """The output of a program on all hosts, started by rondo-run."""
        variables = [word for name, value in env for word in ("--env", f"{name}={value}")]
        return run([self.build / "bin/rondo-run", "--hosts", self.bed.file, "--agent",
                    self.bed.agent, "--timeout", SECONDS - 20, *variables, *launcher,
                    "--", program, *arguments])

    def rondo(self, sizes, env=()):
        times = {}
        for size in sizes:
            count = self.iterations(size)
            out = self.job("all_reduce_perf", "-b", size, "-e", size, "-n", count, "-w",
                           min(count, 100), "-c", 0, "-a", 3, env=env)
            times[size] = perf_time(out, size)
        return times

    def words(self, sizes):
        return [f"{size}:{self.iterations(size)}" for size in sizes]

    def openmpi(self, sizes, *more):
        hosts = ",".join(f"node{host}:{self.per_host}" for host in range(self.count))
        # Ranks of a host see each other's memory, so vader is for them as it is for us.
        command = ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "--host",
                   hosts, "-n", self.ranks, "--mca", "plm_rsh_agent", self.agent,
                   "--mca", "oob_tcp_if_include", "eth0", *more,
                   self.build / "peers/openmpi", *self.words(sizes)]
        return peer_times(run(self.bed.command(0, *command)))

    def gloo(self, sizes, algorithm):
        with tempfile.TemporaryDirectory(dir=self.folder.name) as store:
            return peer_times(self.job(self.build / "peers/gloo", algorithm, store, "eth0",
                                       *self.words(sizes)))

    def peers(self):
        """Each with its defaults over the wire and with what makes it fastest here."""
        btl = ["--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp", "--mca",
               "btl_tcp_if_include", "eth0"]
        give_way = ["--mca", "mpi_yield_when_idle", "1"] if self.spinning_is_dear else []
        found = {
            "openmpi": functools.partial(self.openmpi_with, [*btl, *give_way]),
            "gloo-ring": functools.partial(self.gloo, algorithm="ring"),
        }
        if not self.spinning_is_dear:
            found["gloo-halving"] = functools.partial(self.gloo, algorithm="halving")
        return found

    def openmpi_with(self, more, sizes):
        return self.openmpi(sizes, *more)

    # --- the wire -------------------------------------------------------------------

    def pair(self, server, client):
        """The client's output, once the server on node0 listens; both end."""
        with subprocess.Popen(self.bed.command(0, *server), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as other:
            try:
                self.await_port(other)
                return run(self.bed.command(1, *client))
            finally:
                other.kill()

    def await_port(self, server):
        end = time.monotonic() + 10
        while server.poll() is None and time.monotonic() < end:
            listening = self.bed.run(0, "cat", "/proc/net/tcp", "/proc/net/tcp6").stdout
            if any(f":{self.port:04X} " in line and " 0A " in line
                   for line in listening.splitlines()):
                return
            time.sleep(0.02)
        raise SystemExit("the server of a pair does not listen")

    def ucx(self, test, size, count):
        """What ucx_perftest found: microseconds of a message, bytes per second."""
        self.port += 1
        # Each rank of a bed has a namespace, so UCX's variables go through env.
        command = ["env", *(f"{name}={value}" for name, value in UCX.items()),
                   "ucx_perftest", "-p", self.port]
        out = self.pair(command, [*command, "node0", "-t", test, "-s", size, "-n", count,
                                  "-w", min(count, 100), "-f", "-v"])
        names, figures = out.splitlines()[-2:]
        row = dict(zip(names.split(","), map(float, figures.split(","))))
        return row["overall_lat"], row["overall_bw"] * (1 << 20)

    def one_way(self, sizes=(8,)):
        """What a message of UCX takes from host to host, in microseconds."""
        return {size: self.ucx("tag_lat", size, 5000)[0] for size in sizes}

    def tag_rate(self):
        """Bytes of UCX messages per second, one way."""
        rate = bytes_per_second(self.rate) if self.rate else 2e9
        return self.ucx("tag_bw", 1 << 20, int(max(20, rate / (1 << 20))))[1]

    def tcp_rate(self):
        """Bytes of a TCP stream per second."""
        self.port += 1
        out = self.pair(["iperf3", "-s", "-1", "-p", self.port],
                        ["iperf3", "-c", "node0", "-p", self.port, "-t", 2, "-J"])
        return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8

    # --- counters -------------------------------------------------------------------

    def sent_per_operation(self, size, env=(), few=5, many=25):
        """Bytes out of each host's interface for one all-reduce: two jobs that differ in
        the number of operations alone, so that their starts and ends cancel out."""
        def sent(count):
            before = [self.bed.bytes(host)[1] for host in range(self.count)]
            # Out of place and in place: twice as many operations as -n says.
            self.job("all_reduce_perf", "-b", size, "-e", size, "-n", count, "-w", 0,
                     "-c", 0, env=env)
            return [self.bed.bytes(host)[1] - was for host, was in enumerate(before)]
        return [(more - less) / (2 * (many - few))
                for less, more in zip(sent(few), sent(many))]
