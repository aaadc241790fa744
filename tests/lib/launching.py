"""launching.py - runs rondo-run in tests and checks that it leaves nothing behind."""
import json
import os
import signal
import subprocess
import sys
import time
import uuid

MARK = "RONDO_TEST_MARK"


def program(name):
    """A program of the build; RONDO_BIN names the folder."""
    return os.path.join(os.environ["RONDO_BIN"], name)


def marked(mark):
    """Ids of living processes that were started with our mark in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if f"{MARK}={mark}".encode() in file.read():
                    found.append(int(entry))
        except OSError:
            pass
    return found


def restore_signals():
    """A test runner in the background has SIGINT ignored; rondo-run would keep that."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP,
                   signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


class Job:
    """One rondo-run with separate pipes; its descendants carry a mark."""

    def __init__(self, *arguments, env=None, **more):
        self.mark = uuid.uuid4().hex
        environment = dict(os.environ, **(env or {}))
        environment[MARK] = self.mark
        # Unbuffered, Python writes a line and its end apart, and ranks would mix.
        environment.pop("PYTHONUNBUFFERED", None)
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        more.setdefault("preexec_fn", restore_signals)
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            [program("rondo-run"), *map(str, arguments)], env=environment, **more)
        self.out = self.err = ""

    def finish(self, seconds=30):
        """Wait, collect the output and return the exit code; fail on what is left."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            for pid in marked(self.mark):
                os.kill(pid, signal.SIGKILL)
            raise
        self.seconds = time.monotonic() - self.start
        self.out, self.err = (out or b"").decode(), (err or b"").decode()
        left = marked(self.mark)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left, f"processes left behind: {left}\n{self.err}"
        return self.process.returncode

    def send(self, number):
        self.process.send_signal(number)

    def wait_for(self, condition, seconds=20):
        """Until condition() holds; what a test waits for must happen."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "did not happen in time"
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)

    def json(self):
        """The line --json writes last on stderr."""
        return json.loads(self.err.strip().splitlines()[-1])


def run(*arguments, **more):
    """Run to the end; returns the finished job and its exit code."""
    job = Job(*arguments, **more)
    return job, job.finish()


def python(text):
    """Arguments that run `text` in Python; sys and os are there."""
    return ["--", sys.executable, "-B", "-c", "import os, sys, time, signal\n" + text]
