# bed.py - the test bed itself: hosts that meet, links that keep their rate, nothing left.
# ctest: timeout=300 label=slow serial
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from bed import COMMAND, Bed, hosts, need_bed  # noqa: E402

LISTEN = """
import socket, sys
family = socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET
one = socket.create_server(("::" if sys.argv[1] == "6" else "0.0.0.0", 7000),
                           family=family)
one.settimeout(20)
print("ready", flush=True)
other, _ = one.accept()
other.settimeout(20)
total = 0
while True:
    piece = other.recv(1 << 20)
    if not piece:
        break
    total += len(piece)
other.send(b"%d" % total)
"""

SEND = """
import socket, sys, time
one = socket.create_connection((sys.argv[1], 7000), 10)
start = time.monotonic()
one.sendall(bytes(int(sys.argv[2])))
one.shutdown(socket.SHUT_WR)
one.settimeout(20)
assert int(one.recv(64)) == int(sys.argv[2])
print(time.monotonic() - start)
"""

REACH = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 1)
except OSError as error:
    print(type(error).__name__)
"""


def python(text, *arguments):
    return [sys.executable, "-B", "-c", text, *map(str, arguments)]


def send(bed, sender, receiver, count, family="4"):
    """Seconds for `count` bytes between two hosts."""
    listener = subprocess.Popen(bed.command(receiver, *python(LISTEN, family)),
                                stdout=subprocess.PIPE, text=True)
    assert listener.stdout.readline() == "ready\n"
    done = bed.run(sender, *python(SEND, f"node{receiver}", count))
    listener.communicate(timeout=20)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def reach(bed, sender, receiver):
    """A port where nobody listens is refused by a host that can be reached."""
    name = bed.run(sender, *python(REACH, f"node{receiver}")).stdout.strip()
    return name == "ConnectionRefusedError"


class Hosts(unittest.TestCase):
    def test_everybody_reaches_everybody(self):
        for options in ((), ("--ipv6",), ("--both",)):
            with Bed(4, *options) as bed:
                for sender in range(4):
                    for receiver in range(4):
                        self.assertTrue(reach(bed, sender, receiver),
                                        (options, sender, receiver))

    def test_names_and_families(self):
        for options, families in (((), "4"), (("--ipv6",), "6"), (("--both",), "46")):
            with Bed(2, *options) as bed:
                done = bed.run("node1", "sh", "-c",
                               "hostname; ip -o addr show dev eth0 scope global")
                self.assertEqual(done.stdout.split()[0], "node1")
                self.assertEqual("inet " in done.stdout, "4" in families)
                self.assertEqual("inet6" in done.stdout, "6" in families)
                for family in families:
                    found = bed.run(0, "getent", f"ahostsv{family}", "node1")
                    self.assertIn("10.77.0.2" if family == "4" else "fd77:7::2",
                                  found.stdout)

    def test_hosts_file(self):
        with Bed(3, "--slots", "3,1") as bed, open(bed.file) as file:
            self.assertEqual(file.read(),
                             "node0 slots=3\nnode1 slots=1\nnode2 slots=1\n")

    def test_data_crosses_the_interface(self):
        for family in "46":
            with Bed(2, "--both") as bed:
                before = [bed.bytes(host) for host in range(2)]
                send(bed, 0, 1, 1000000, family)
                after = [bed.bytes(host) for host in range(2)]
                sent = after[0][1] - before[0][1]
                received = after[1][0] - before[1][0]
                self.assertTrue(1000000 < sent < 1150000, sent)
                self.assertTrue(1000000 < received < 1150000, received)

    def test_rate(self):
        """A bucket lets a little more through at first, never less at the end."""
        with Bed(2, "--rate", "100mbit") as bed:
            seconds = send(bed, 0, 1, 12500000)
        self.assertTrue(0.9 < seconds < 3.0, seconds)

    def test_a_cut_cable(self):
        with Bed(3) as bed:
            self.assertTrue(reach(bed, 0, 1))
            bed.cut(1)
            self.assertFalse(reach(bed, 0, 1))
            self.assertFalse(reach(bed, 1, 2))
            self.assertTrue(reach(bed, 0, 2))
            bed.mend(1)
            self.assertTrue(reach(bed, 0, 1))
        with Bed(2, "--ipv6") as bed:
            bed.cut("node0")
            self.assertFalse(reach(bed, 1, 0))
            bed.mend("node0")
            self.assertTrue(reach(bed, 1, 0))


class Lives(unittest.TestCase):
    def test_two_at_once_do_not_meet(self):
        with Bed(2) as first, Bed(3) as second:
            self.assertNotEqual(first.bed, second.bed)
            first.cut(1)
            self.assertFalse(reach(first, 0, 1))
            self.assertTrue(reach(second, 0, 1))
            done = hosts("exec", 0, "true", env={"PATH": os.environ["PATH"]})
            self.assertEqual(done.returncode, 1)
            self.assertIn("several beds are up", done.stderr)

    def test_nothing_is_left(self):
        with Bed(2) as bed:
            self.assertEqual(len(bed.namespaces()), 3)
            sleeper = subprocess.Popen(bed.command(1, "sleep", 60))
            time.sleep(0.3)
        self.assertEqual(bed.namespaces(), [])
        self.assertEqual(sleeper.wait(timeout=10), -signal.SIGKILL)
        self.assertFalse([name for name in os.listdir("/etc/netns")
                          if bed.bed in name])
        self.assertNotIn(bed.bed, hosts("list").stdout)

    def test_run(self):
        done = hosts("run", 2, "--", "sh", "-c",
                     'echo "$HOSTS_BED|$HOSTS_FILE|$HOSTS_AGENT"; exit 7')
        self.assertEqual(done.returncode, 7, done.stderr)
        bed, file, agent = done.stdout.strip().split("|")
        self.assertEqual(os.path.basename(os.path.dirname(file)), bed)
        self.assertRegex(agent, rf"hosts --bed {bed} exec {{host}}$")
        self.assertNotIn(bed, hosts("list").stdout)
        done = hosts("run", 1, "--", "/no/such/program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("/no/such/program", done.stderr)

    def interrupted(self, number):
        one = subprocess.Popen(
            [COMMAND, "run", "2", "--", "sh", "-c", "echo $HOSTS_BED $$; exec sleep 60"],
            stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        name, pid = one.stdout.readline().split()
        self.assertIn(name, hosts("list").stdout)
        one.send_signal(number)
        code = one.wait(timeout=20)
        one.stdout.close()
        if number == signal.SIGKILL:
            # Nobody was left to tell the command.
            os.kill(int(pid), signal.SIGKILL)
        return name, code

    def test_interrupted(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            name, code = self.interrupted(number)
            self.assertEqual(code, 128 + number)
            self.assertNotIn(name, hosts("list").stdout)

    def test_sweep_takes_only_what_has_no_owner(self):
        name, _ = self.interrupted(signal.SIGKILL)
        with Bed(1) as living:
            self.assertIn(f"{name} (stale)", hosts("list").stdout)
            swept = hosts("sweep").stdout
            self.assertIn(name, swept)
            self.assertNotIn(living.bed, swept)
            left = hosts("list").stdout
            self.assertIn(living.bed, left)
            self.assertNotIn(name, left)


class Words(unittest.TestCase):
    def test_misuse(self):
        for words in ((), ("up",), ("up", "0"), ("up", "65"), ("up", "x"),
                      ("up", "2", "--rate", "fast"), ("up", "2", "--slots", "0"),
                      ("run", "2"), ("run", "2", "--"), ("dance",),
                      ("up", "2", "--owner", "4194305")):
            done = hosts(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertRegex(done.stderr, "^hosts: ")
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_unknown_host(self):
        with Bed(2) as bed:
            for name in ("2", "node7", "nobody"):
                done = bed.run(name, "true")
                self.assertEqual(done.returncode, 2)
                self.assertIn("node0 to node1", done.stderr)

    def test_unknown_bed(self):
        done = hosts("--bed", "nosuch", "exec", 0, "true")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "hosts: there is no bed nosuch\n"))

    def test_needs_root(self):
        done = hosts("list", preexec_fn=lambda: os.setuid(65534))
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs root: ", done.stderr)

    def test_help(self):
        done = hosts("--help", preexec_fn=lambda: os.setuid(65534))
        self.assertEqual(done.returncode, 0)
        for word in ("up", "run", "exec", "cut", "mend", "bytes", "down", "sweep"):
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    need_bed()
    unittest.main()
