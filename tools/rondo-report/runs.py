"""runs.py - reads runs of rondo-train: the metrics files that trainer/README.md lists."""
import json
import math
import pathlib
import re
import sys

import numpy

BESIDE = re.compile(r"\.rank(\d+)$")
NUMBER = (int, float)

# What is read of each record; more may be there. A tuple with None: may be null.
FIELDS = {
    "run": {"started": NUMBER, "ranks": int, "servers": int, "mode": str},
    "rank": {"rank": int, "started": NUMBER},
    "step": {"step": int, "loss": NUMBER, "elapsed": NUMBER, "images": int},
    "worker": {"worker": int, "step": int, "staleness": (*NUMBER, None), "images": int,
               "elapsed": NUMBER, "seconds": NUMBER, "compute": NUMBER,
               "communicate": NUMBER, "wait": NUMBER, "bytes": NUMBER,
               "step_seconds": list},
    "epoch": {"step": int, "loss": NUMBER, "test_accuracy": NUMBER, "elapsed": NUMBER,
              "images": int},
    "final": {"steps": int, "images": int, "test_accuracy": NUMBER, "seconds": NUMBER,
              "images_per_second": NUMBER, "used": int, "dropped": int,
              "staleness_counts": (list, None)},
}
SETTINGS = ["model", "parameters", "epochs", "global_batch", "optimiser", "lr", "momentum",
            "schedule", "warmup", "seed", "train_images", "data_fingerprint"]


class Damage(Exception):
    """A file that is not what it should be; the text names file and line."""


def refuse(text):
    raise ValueError(f"{text} is no number of JSON")


def is_of(value, kinds):
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if value is None or isinstance(value, bool):
        return value is None and None in kinds
    return isinstance(value, tuple(kind for kind in kinds if kind is not None))


def check(record):
    """What is wrong with a record, in words; None: nothing."""
    if not isinstance(record, dict) or not isinstance(record.get("event"), str):
        return "not an object with 'event'"
    event = record["event"]
    for name, kinds in FIELDS.get(event, {}).items():
        if name not in record:
            return f"a record '{event}' without '{name}'"
        if not is_of(record[name], kinds):
            return f"'{name}' of a record '{event}' is {json.dumps(record[name])}"
        if isinstance(record[name], list) and not all(
                is_of(value, NUMBER) for value in record[name]):
            return f"'{name}' of a record '{event}' holds what is no number"
    return None


def read_records(path):
    """The records of a file. A last line without an end was cut off with its writer."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Damage(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    records, lines = [], text.split("\n")
    for number, line in enumerate(lines, 1):
        last = number == len(lines)
        if last and line == "":
            break
        try:
            record = json.loads(line, parse_constant=refuse)
            wrong = check(record)
        except ValueError as error:
            if last:
                print(f"rondo-report: {path}:{number}: cut off while it was written, "
                      "left out", file=sys.stderr)
                break
            wrong = f"not JSON: {error}" if line.strip() else "an empty line"
        if wrong:
            raise Damage(f"{path}:{number}: {wrong}")
        records.append(record)
    if not records:
        raise Damage(f"{path}:1: no record")
    return records


class Run:
    """What one run has told, in all its files."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        records = read_records(path)
        if records[0]["event"] != "run":
            raise Damage(f"{path}:1: a run's file begins with a record 'run', not "
                         f"'{records[0]['event']}'")
        self.head = records[0]
        for beside in self.files_beside():
            records += beside
        self.steps, self.epochs = self.of(records, "step"), self.of(records, "epoch")
        finals = self.of(records, "final")
        self.final = finals[-1] if finals else None
        self.workers = {}
        for record in self.of(records, "worker"):
            self.workers.setdefault(record["worker"], []).append(record)
        self.workers = dict(sorted(self.workers.items()))

    @staticmethod
    def of(records, event):
        return [record for record in records if record["event"] == event]

    def files_beside(self):
        found = []
        for path in self.path.parent.glob(f"*{self.path.suffix}"):
            match = BESIDE.search(path.stem)
            if match and path.stem[:match.start()] == self.path.stem:
                found.append((int(match.group(1)), path))
        for _, path in sorted(found):
            records = read_records(path)
            if records[0]["event"] == "rank" and \
                    records[0]["started"] != self.head["started"]:
                print(f"rondo-report: {path} is of another run, left out",
                      file=sys.stderr)
                continue
            yield records

    # --- numbers --------------------------------------------------------------------

    def all_workers(self):
        return [record for records in self.workers.values() for record in records]

    def step_times(self):
        return [time for record in self.all_workers() for time in record["step_seconds"]]

    def percentiles(self, wanted):
        times = self.step_times()
        return [float(value) for value in numpy.percentile(times, wanted)] if times else None

    def staleness_counts(self):
        return self.final["staleness_counts"] if self.final else None

    def mean_staleness(self):
        counts = self.staleness_counts()
        if counts and sum(counts) > 0:
            return sum(i * count for i, count in enumerate(counts)) / sum(counts)
        weighed = [(record["staleness"], len(record["step_seconds"]))
                   for record in self.all_workers() if record["staleness"] is not None]
        total = sum(weight for _, weight in weighed)
        return sum(value * weight for value, weight in weighed) / total if total else None

    def bytes_per_step(self):
        """A worker's payload."""
        steps = len(self.step_times())
        return sum(record["bytes"] for record in self.all_workers()) / steps if steps else None

    def shares(self):
        """Of each worker: its time as parts of 1."""
        result = {}
        for worker, records in self.workers.items():
            total = sum(record["seconds"] for record in records)
            if total > 0:
                parts = [sum(record[name] for record in records) / total
                         for name in ("compute", "communicate", "wait")]
                result[worker] = [*parts, max(0.0, 1.0 - sum(parts))]
        return result

    def last(self, name):
        """Of the latest record that has it."""
        having = [record for record in self.steps + self.epochs if name in record]
        return max(having, key=lambda record: record["step"])[name] if having else None

    def numbers(self):
        """The row of the table; None: not known."""
        final, percentiles = self.final, self.percentiles([50, 90, 95, 99])
        seconds = final["seconds"] if final else self.last("elapsed")
        images = final["images"] if final else self.last("images")
        rate = final["images_per_second"] if final else images / seconds if seconds else None
        return {
            "name": self.name,
            "mode": self.head["mode"],
            "ranks": self.head["ranks"],
            "workers": self.head["ranks"] - self.head["servers"],
            "finished": final is not None,
            "steps": final["steps"] if final else self.last("step"),
            "images": images,
            "seconds": seconds,
            "test_accuracy": final["test_accuracy"] if final else self.last("test_accuracy"),
            "images_per_second": rate,
            "mean_staleness": self.mean_staleness(),
            "used": final["used"] if final else None,
            "dropped": final["dropped"] if final else None,
            "bytes_per_step": self.bytes_per_step(),
            **{f"step_seconds_p{p}": percentiles[i] if percentiles else None
               for i, p in enumerate((50, 90, 95, 99))},
        }


def curve(records, x, y, points=80):
    """Two lists; many records are averaged in groups."""
    records = [record for record in records if math.isfinite(record[y])]
    size = max(1, math.ceil(len(records) / points))
    groups = [records[i:i + size] for i in range(0, len(records), size)]
    return ([group[-1][x] for group in groups],
            [sum(record[y] for record in group) / len(group) for group in groups], size)


def differing(runs):
    """Settings that are not the same in all runs: name, and the value of each run."""
    found = []
    for name in SETTINGS:
        values = [run.head.get(name) for run in runs]
        if any(value != values[0] for value in values):
            found.append((name, values))
    return found


def paths_of(argument):
    path = pathlib.Path(argument)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.glob("*.jsonl") if not BESIDE.search(file.stem))
    if not files:
        raise Damage(f"{path}: a directory without metrics files (*.jsonl)")
    return files


def read_runs(arguments):
    paths = [path for argument in arguments for path in paths_of(argument)]
    runs = [Run(path) for path in paths]
    names = [run.name for run in runs]
    for run in runs:
        if names.count(run.name) > 1:
            run.name = str(run.path.with_suffix(""))
    return runs
