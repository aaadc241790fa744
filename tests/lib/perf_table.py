"""perf_table.py - reads the table of the *_perf programs by its description alone."""
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from launching import program, restore_signals  # noqa: E402

TYPE_BYTES = {"int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
              "half": 2, "float": 4, "double": 8, "bfloat16": 2}
OPS = ["sum", "prod", "max", "min", "avg"]
PROGRAMS = ["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf",
            "broadcast_perf", "reduce_perf", "sendrecv_perf"]
ROOTED = {"broadcast_perf", "reduce_perf"}
REDUCING = {"all_reduce_perf", "reduce_scatter_perf", "reduce_perf"}


def bus_factor(name, n):
    if name == "all_reduce_perf":
        return 2 * (n - 1) / n
    if name in ("all_gather_perf", "reduce_scatter_perf"):
        return (n - 1) / n
    return 1.0


def bytes_of_call(name, row, n):
    """What the algorithm's bandwidth counts."""
    size = row["count"] * TYPE_BYTES[row["type"]]
    return size * n if name in ("all_gather_perf", "reduce_scatter_perf") else size


class Table:
    """Rows split at white space, as parsers of nccl-tests' output do it."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.rows, self.devices, self.settings = [], [], {}
        self.columns = []
        self.errors = self.average = None
        self.verdict = ""
        self.concluded = None
        self.started = None
        for line in self.lines:
            self.read(line)

    def read(self, line):
        if line.startswith("# nThread"):
            self.settings = dict(re.findall(r"(\S+?):? (\S+)(?= |$)", line[2:]))
            self.setting_line = line
        elif line.startswith("# Collective test starting: "):
            self.started = line.split(": ")[1]
        elif line.startswith("# Collective test concluded: "):
            self.concluded = line.split(": ")[1]
        elif line.startswith("#  Rank"):
            self.devices.append(line)
        elif line.startswith("# Out of bounds values"):
            words = line.split(":")[1].split()
            self.errors, self.verdict = int(words[0]), words[1]
        elif line.startswith("# Avg bus bandwidth"):
            words = line.split(":")[1].split()
            self.average = float(words[0])
            self.bandwidth_verdict = words[1] if len(words) > 1 else ""
        elif re.match(r"#\s+size\s+count", line):
            self.columns = line[1:].split()
        elif line and not line.startswith("#"):
            self.rows.append(self.row(line.split()))

    def row(self, words):
        titles = self.columns
        assert words[0].isdigit(), words
        # A time of day is two words under one title.
        if titles[-1] == "timestamp":
            words = words[:-2] + [" ".join(words[-2:])]
        assert len(words) == len(titles), (titles, words)
        row = {"size": int(words[0]), "count": int(words[1]), "type": words[2],
               "redop": words[3], "root": int(words[4])}
        width = (len(titles) - 5 - (titles[-1] == "timestamp")) // 2
        names = titles[5:5 + width]
        for half, start in (("out", 5), ("in", 5 + width)):
            row[half] = {}
            for name, word in zip(names, words[start:start + width]):
                value = None if word == "N/A" else float(word)
                assert value is None or math.isfinite(value), words
                row[half][name] = value
        if titles[-1] == "timestamp":
            row["timestamp"] = words[-1]
        return row

    def sizes(self):
        return [row["size"] for row in self.rows]


class Run:
    """One run of a program; processes=0 starts it without rondo-run."""

    def __init__(self, name, *arguments, processes=0, env=None, timeout=100, launch=()):
        command = [program(name), *map(str, arguments)]
        if processes:
            command = [program("rondo-run"), "-n", str(processes), *launch, "--",
                       *command]
        environment = dict(os.environ)
        for variable in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
            environment.pop(variable, None)
        environment.update(env or {})
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment, timeout=timeout, stdin=subprocess.DEVNULL,
                              preexec_fn=restore_signals)
        self.command = command
        self.code = done.returncode
        self.out, self.err = done.stdout.decode(), done.stderr.decode()

    def table(self):
        """Of a run that went well."""
        assert self.code == 0, (self.command, self.code, self.out, self.err)
        table = Table(self.out)
        assert table.concluded == table.started is not None, self.out
        assert table.errors == 0 and table.verdict == "OK", self.out
        for row in table.rows:
            for half in ("out", "in"):
                assert row[half]["#wrong"] in (0, None), (self.command, row)
        return table
