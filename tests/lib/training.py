"""training.py - runs rondo-train in tests: on 1 or many ranks, on data sets made here."""
import gzip
import json
import os
import random
import re
import struct
import tempfile

from launching import Job, program

SIDE = 6
PIXELS = SIDE * SIDE


def write_array(path, magic, sizes, data):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(struct.pack(f">{1 + len(sizes)}I", magic, *sizes) + data)


def write_images(directory, prefix, count, source):
    """Ten classes: a bright row or column on noise, hard enough to take a few steps."""
    images, labels = bytearray(), bytearray()
    for _ in range(count):
        label = source.randrange(10)
        image = bytearray(source.randrange(160) for _ in range(PIXELS))
        for i in range(SIDE):
            place = label * SIDE + i if label < 5 else i * SIDE + label - 5
            image[place] = 160 + source.randrange(96)
        images += image
        labels.append(label)
    base = os.path.join(directory, prefix)
    write_array(f"{base}-images-idx3-ubyte.gz", 0x803, (count, SIDE, SIDE), bytes(images))
    write_array(f"{base}-labels-idx1-ubyte.gz", 0x801, (count,), bytes(labels))


def small_data(directory, train=600, test=200, seed=1):
    """A data set that is read and learnt in a moment."""
    source = random.Random(seed)
    os.makedirs(directory, exist_ok=True)
    write_images(directory, "train", train, source)
    write_images(directory, "t10k", test, source)
    return directory


class Trained:
    """A finished run: its job, the records of its metrics file, and by rank those of the
    files beside it."""

    def __init__(self, job, lines, beside=None):
        self.job, self.records = job, [json.loads(line) for line in lines]
        self.beside = {rank: [json.loads(line) for line in more]
                       for rank, more in (beside or {}).items()}

    def of(self, event):
        return [record for record in self.records if record["event"] == event]

    @property
    def final(self):
        assert self.records[-1]["event"] == "final", self.records[-1]
        return self.records[-1]

    def losses(self):
        return [record["loss"] for record in self.of("step")]

    def hashes(self):
        return [record["parameters_hash"] for record in self.of("step")]


def launch(ranks, options, different, env):
    """Starts rondo-train; `different` is shell text of options that name $RANK."""
    command = [program("rondo-train"), *map(str, options)]
    if different:
        command = ["sh", "-c", f'exec "$@" {different}', "sh", *command]
    return Job("-n", ranks, "--", *command, env=env)


def train(ranks, *options, seconds=120, different="", env=None):
    """Trains to the end, which must be a good one."""
    with tempfile.TemporaryDirectory() as directory:
        metrics = os.path.join(directory, "metrics.jsonl")
        job = launch(ranks, ["--metrics", metrics, *options], different, env)
        code = job.finish(seconds)
        assert code == 0, f"exit code {code}\n{job.out}\n{job.err}"
        beside = {}
        for name in os.listdir(directory):
            if match := re.fullmatch(r"metrics\.rank(\d+)\.jsonl", name):
                with open(os.path.join(directory, name)) as lines:
                    beside[int(match.group(1))] = lines.read().splitlines()
        with open(metrics) as lines:
            return Trained(job, lines.read().splitlines(), beside)


def refused(ranks, *options, seconds=60, different="", env=None):
    """Trains, which must fail; returns the job and its exit code."""
    job = launch(ranks, options, different, env)
    code = job.finish(seconds)
    assert code != 0, job.out
    return job, code
