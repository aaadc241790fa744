# launch.py - rondo-run --hosts where hosts are hosts: names, addresses, ports, ends.
# ctest: timeout=300 label=slow serial
import os
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from bed import Bed, need_bed  # noqa: E402
from launching import Job, marked, python, run  # noqa: E402

SHAPES = ((1,), (2,), (1, 1), (2, 2), (3, 1), (1, 1, 1), (1, 1, 1, 1), (2, 2, 2, 2))

MEET = """
import socket
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    family = socket.getaddrinfo(*address)[0][0]
    door = socket.socket(family)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(address)
    door.listen(64)
    door.settimeout(20)
    for _ in range(world - 1):
        door.accept()[0].sendall(b"hello")
    print(rank, socket.gethostname(), "all")
else:
    end = time.monotonic() + 20
    while True:
        try:
            one = socket.create_connection(address, 5)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.02)
    print(rank, socket.gethostname(), one.recv(5, socket.MSG_WAITALL).decode())
"""


class OnBed(unittest.TestCase):
    """One bed of four hosts for all tests of a class; each test has its hosts file."""

    options = ()

    @classmethod
    def setUpClass(cls):
        cls.bed = Bed(4, *cls.options).__enter__()
        cls.addClassCleanup(cls.bed.__exit__)

    def setUp(self):
        keeper = tempfile.TemporaryDirectory()
        self.addCleanup(keeper.cleanup)
        self.folder = keeper.name

    def file(self, *lines):
        path = os.path.join(self.folder, "hosts-file")
        with open(path, "w") as file:
            file.write("".join(f"{line}\n" for line in lines))
        return path

    def launch(self, shape, *arguments):
        path = self.file(*(f"node{host} slots={count}"
                           for host, count in enumerate(shape)))
        return ("--hosts", path, "--agent", self.bed.agent, *arguments)


def expected(shape):
    rank, lines = 0, []
    for host, count in enumerate(shape):
        for _ in range(count):
            lines.append(f"{rank} node{host} {'all' if rank == 0 else 'hello'}")
            rank += 1
    return sorted(lines)


class Meeting(OnBed):
    """Every rank reaches rank 0 by what it was given."""

    def meet(self, shape):
        job, code = run(*self.launch(shape, *python(MEET)))
        self.assertEqual(code, 0, job.err)
        self.assertEqual(sorted(job.out.splitlines()), expected(shape))
        self.assertEqual(job.err, "")

    def test_shapes(self):
        for shape in SHAPES:
            with self.subTest(shape):
                self.meet(shape)


class MeetingIPv6(Meeting):
    options = ("--ipv6",)


class MeetingBoth(Meeting):
    options = ("--both",)


class Addresses(OnBed):
    def test_own_name_is_a_loopback_address(self):
        """As Debian sets it up; what the others find must count."""
        space = [name for name in self.bed.namespaces() if name.endswith("node0")][0]
        path = f"/etc/netns/{space}/hosts"
        with open(path) as file:
            before = file.read()
        with open(path, "w") as file:
            file.write(before.replace("10.77.0.1 node0", "127.0.1.1 node0"))
        found = self.bed.run(0, "getent", "hosts", "node0").stdout
        job, code = run(*self.launch((1, 1), "sh", "-c", "echo $MASTER_ADDR"))
        with open(path, "w") as file:
            file.write(before)
        self.assertIn("127.0.1.1", found)
        self.assertEqual((code, job.out), (0, "10.77.0.1\n" * 2), job.err)

    def test_two_jobs_at_once(self):
        text = (MEET + "print(os.environ['MASTER_PORT'], file=sys.stderr)\n"
                       "time.sleep(0.5)\n")
        with Bed(2) as other:
            for second in (self.launch((1, 1)),
                           ("--hosts", other.file, "--agent", other.agent)):
                jobs = [Job(*self.launch((1, 1)), *python(text)),
                        Job(*second, *python(text))]
                for job in jobs:
                    self.assertEqual(job.finish(), 0, job.err)
                    self.assertEqual(sorted(job.out.splitlines()), expected((1, 1)))
                    self.assertEqual(len(set(job.err.split())), 1, job.err)
                if other.agent not in second:
                    self.assertNotEqual(*(job.err.split()[0] for job in jobs))

    def test_master_addr(self):
        job, code = run(*self.launch((1, 1), "--master-addr", "node0", "sh", "-c",
                                     "echo $MASTER_ADDR"))
        self.assertEqual((code, job.out), (0, "node0\n" * 2))


class Failing(OnBed):
    def ready(self):
        return (f"open({self.folder!r} + '/ready' + os.environ['RANK'], 'w').close()\n")

    def started(self, text, hosts=3):
        job = Job(*self.launch((1,) * hosts, *python(text + self.ready()
                                                     + "time.sleep(60)")))
        job.wait_for(lambda: sum(name.startswith("ready") for name in
                                 os.listdir(self.folder)) == hosts)
        return job

    def test_unknown_host(self):
        path = self.file("node0", "node7")
        job, code = run("--hosts", path, "--agent", self.bed.agent, "echo", "started")
        self.assertEqual((code, job.out), (1, ""))
        self.assertIn(f"node7 ({path}:2) cannot be reached: hosts: there is no host "
                      "'node7' here", job.err)

    def test_no_bed(self):
        agent = self.bed.agent.replace(self.bed.bed, "nosuch")
        job, code = run("--hosts", self.file("node0"), "--agent", agent, "true")
        self.assertEqual(code, 1)
        self.assertIn("there is no bed nosuch", job.err)

    def test_folder_is_not_there(self):
        agent = os.path.join(self.folder, "agent")
        inside = os.path.join(self.folder, "inside")
        work = os.path.join(inside, "work")
        os.makedirs(work)
        enter = self.bed.agent.replace("{host}", "$host")
        with open(agent, "w") as file:
            file.write('#!/bin/sh\nhost=$1; shift\n[ $host = node1 ] && set -- sh -c '
                       f'\'mount -t tmpfs none {inside} && exec "$@"\' x "$@"\n'
                       f'exec {enter} "$@"\n')
        os.chmod(agent, 0o700)
        job, code = run("--hosts", self.file("node0", "node1"), "--agent",
                        f"{agent} {{host}}", "echo", "started", cwd=work)
        self.assertEqual((code, job.out), (1, ""))
        self.assertEqual(
            job.err, f"rondo-run: node1: cannot work in the folder {work}: "
                     "No such file or directory\n")

    def test_a_rank_fails(self):
        for shape in ((1, 1), (3, 1), (1, 1, 1, 1)):
            last = sum(shape) - 1
            for how, code, words in (("exit 3", 3, "exited with code 3"),
                                     ("kill -9 $$", 137, "was killed by signal 9")):
                job, got = run(*self.launch(shape, "--grace", "0.5", "sh", "-c",
                                            f"[ $RANK = {last} ] && {how}; sleep 60"))
                self.assertEqual(got, code)
                self.assertRegex(job.err, rf"rank {last} on node{len(shape) - 1} "
                                          rf"\(pid \d+\) {words}")
                self.assertLess(job.seconds, 20)

    def test_interrupted(self):
        job = self.started("signal.signal(2, signal.SIG_DFL)\n")
        job.send(signal.SIGINT)
        self.assertEqual(job.finish(), 130)

    def test_killed(self):
        job = self.started("signal.signal(15, signal.SIG_IGN)\n")
        job.send(signal.SIGKILL)
        end = time.monotonic() + 20
        while marked(job.mark) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(job.finish(), -signal.SIGKILL)

    def test_bed_goes_away(self):
        """As if all machines were switched off: said, and nothing hangs."""
        with Bed(2) as other:
            job = Job("--hosts", other.file, "--agent", other.agent, *python(
                self.ready() + "time.sleep(60)"))
            job.wait_for(lambda: os.path.exists(self.folder + "/ready1"))
        self.assertEqual(job.finish(), 1)
        self.assertIn("was lost with its ranks", job.err)


if __name__ == "__main__":
    need_bed()
    unittest.main()
