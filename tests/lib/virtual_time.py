"""virtual_time.py - runs rondo-train --virtual in tests: one process, no launcher."""
import json
import os
import subprocess
import tempfile

from launching import program

EXPONENTIAL = "exp:base=40,mean=40"


def harmonic(n):
    return sum(1 / i for i in range(1, n + 1))


def order_statistic(k, n, base=0.040, mean=0.040):
    """Mean of the k-th smallest of n times base + an exponential of `mean`."""
    return base + mean * (harmonic(n) - harmonic(n - k))


class Played:
    """A virtual run that went well: its records."""

    def __init__(self, text):
        self.text = text
        self.records = [json.loads(line) for line in text.splitlines()]
        self.final = self.records[-1]
        assert self.final["event"] == "final", self.final
        self.virtual = self.final["virtual"]

    def of(self, event):
        return [record for record in self.records if record["event"] == event]


def environment():
    """Without what a launcher would set."""
    return {name: value for name, value in os.environ.items()
            if name not in ("RANK", "WORLD_SIZE")}


def start(*options, env=None, seconds=120):
    return subprocess.run([program("rondo-train"), "--virtual", *map(str, options)],
                          text=True, capture_output=True, timeout=seconds,
                          env={**environment(), **(env or {})})


def play(mode, workers, *options, seconds=120):
    """A whole run, which must be a good one; `mode` may bring options along."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as metrics:
        run = start("--mode", *mode.split(), "--workers", workers, "--quiet", "--metrics",
                    metrics.name, *options, seconds=seconds)
        assert run.returncode == 0, f"exit code {run.returncode}: {run.stderr}"
        with open(metrics.name) as file:
            return Played(file.read())


def time_steps(mode, workers, steps, straggler=EXPONENTIAL, *options):
    """Times alone, nothing is computed."""
    return play(mode, workers, "--virtual-timing", "--batch", 1, "--steps", steps,
                "--log-every", 0, "--straggler", straggler, *options)
