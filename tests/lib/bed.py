"""bed.py - test hosts for Python tests: makes a bed, uses it and takes it away."""
import os
import re
import shutil
import subprocess
import sys

COMMAND = os.path.join(os.path.dirname(__file__), "..", "hosts", "hosts")


def reason_not_to():
    """Why no bed can be made here; empty when it can."""
    if os.geteuid() != 0:
        return "needs root: network namespaces are made by root only"
    for tool in ("ip", "tc", "unshare"):
        if shutil.which(tool) is None:
            return f"needs {tool}"
    done = subprocess.run(["ip", "netns", "add", f"rondo-probe-{os.getpid()}"],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return "no network namespaces here: " + done.stderr.strip()
    subprocess.run(["ip", "netns", "delete", f"rondo-probe-{os.getpid()}"])
    return ""


def need_bed():
    """Ends a test that cannot run here, as ctest wants it."""
    why = reason_not_to()
    if why:
        print(f"skipped: {why}")
        sys.exit(77)


def hosts(*words, **more):
    """Run the command `hosts`; the finished process with its output as text."""
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    more.setdefault("timeout", 60)
    return subprocess.run([COMMAND, *map(str, words)], text=True, **more)


class Bed:
    """with Bed(4, "--rate", "1gbit") as bed: ..."""

    def __init__(self, count, *options):
        self.count = count
        self.options = options

    def __enter__(self):
        made = hosts("up", self.count, "--owner", os.getpid(), *self.options)
        assert made.returncode == 0, made.stderr
        for name, value in re.findall(r"export (\w+)='(.*)'", made.stdout):
            setattr(self, name[len("HOSTS_"):].lower(), value)
        return self

    def __exit__(self, *_):
        done = hosts("--bed", self.bed, "down")
        assert done.returncode == 0, done.stderr

    def command(self, host, *words):
        """Words that run `words` on a host."""
        return [COMMAND, "--bed", self.bed, "exec", str(host), *map(str, words)]

    def run(self, host, *words, **more):
        return hosts("--bed", self.bed, "exec", host, *words, **more)

    def cut(self, host):
        assert hosts("--bed", self.bed, "cut", host).returncode == 0

    def mend(self, host):
        assert hosts("--bed", self.bed, "mend", host).returncode == 0

    def bytes(self, host):
        """Received and sent bytes of the host's interface."""
        return tuple(map(int, hosts("--bed", self.bed, "bytes", host).stdout.split()))

    def namespaces(self):
        listed = subprocess.run(["ip", "netns", "list"], stdout=subprocess.PIPE,
                                text=True).stdout
        return [line.split()[0] for line in listed.splitlines()
                if line.startswith(f"rondo-{self.bed}-")]
