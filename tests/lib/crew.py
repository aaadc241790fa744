"""crew.py - ranks of rondo-train as processes of their own, without rondo-run, which
would end them all when one dies: to be killed and started again."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

from launching import program


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Crew:
    """Ends what it has started; files are in crew.directory."""

    def __init__(self, ranks, *options, env=None):
        self.ranks, self.options = ranks, [str(option) for option in options]
        self.folder = tempfile.TemporaryDirectory()
        self.directory = self.folder.name
        self.env = dict(os.environ, **(env or {}), WORLD_SIZE=str(ranks),
                        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
        self.process, self.lives = {}, {}

    def __enter__(self):
        for rank in range(self.ranks):
            self.start(rank)
        return self

    def __exit__(self, *_):
        for process in self.process.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, rank, *more):
        life = self.lives.get(rank, 0)
        self.lives[rank] = life + 1
        command = [program("rondo-train"), "--metrics", self.path("metrics.jsonl"),
                   *self.options, *more]
        with open(self.path(f"out-{rank}-{life}"), "wb") as out, \
                open(self.path(f"err-{rank}-{life}"), "wb") as err:
            self.process[rank] = subprocess.Popen(
                command, env=dict(self.env, RANK=str(rank), LOCAL_RANK=str(rank)),
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.directory)

    def kill(self, rank):
        """By SIGKILL; returns when, by the clock of the step records' order alone."""
        self.process[rank].send_signal(signal.SIGKILL)
        self.process[rank].wait()
        return time.monotonic()

    def come_back(self, rank):
        self.start(rank, "--return")

    def text(self, kind, rank, life=0):
        with open(self.path(f"{kind}-{rank}-{life}")) as file:
            return file.read()

    def errors(self):
        """The standard error of all processes there were."""
        return "".join(f"--- rank {rank}, life {life}\n{self.text('err', rank, life)}"
                       for rank in range(self.ranks) for life in range(self.lives[rank]))

    def codes(self, seconds=60):
        """Waits for all that run; exit codes by rank."""
        end = time.monotonic() + seconds
        for rank, process in self.process.items():
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise AssertionError(f"rank {rank} hangs\n{self.errors()}") from None
        return [self.process[rank].returncode for rank in range(self.ranks)]

    def wait_for(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"waited in vain\n{self.errors()}"
            time.sleep(0.01)

    def records(self, rank=None):
        """Of the leading rank, or of another one's own file; whole lines only."""
        name = "metrics.jsonl" if rank is None else f"metrics.rank{rank}.jsonl"
        try:
            with open(self.path(name)) as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def steps(self, rank=None):
        return [r for r in self.records(rank) if r["event"] == "step"]

    def reach(self, step, seconds=30):
        """Until the leading rank has done so many steps."""
        def there():
            steps = self.steps()
            return bool(steps) and steps[-1]["step"] >= step
        self.wait_for(there, seconds)

    @property
    def final(self):
        record = self.records()[-1]
        assert record["event"] == "final", record
        return record


def largest_gap(steps):
    """Seconds between two step records in a row."""
    elapsed = [record["elapsed"] for record in steps]
    return max(b - a for a, b in zip(elapsed, elapsed[1:]))
