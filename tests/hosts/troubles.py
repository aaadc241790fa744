# troubles.py - ranks die, stop, disagree or leave, and cables are pulled, between hosts:
# everybody is told who and where, in time, and nothing hangs.
# ctest: timeout=400 label=slow serial
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from bed import Bed, need_bed  # noqa: E402
from launching import Job  # noqa: E402

SHAPE = (2, 2)  # ranks 0 (the hub) and 1 on node0, 2 (a leader) and 3 on node1
TIMEOUT = 3     # of operations, where it is to strike
SLACK = 4.0     # asking around, a busy machine


def host_of(rank):
    return rank // 2


class Play:
    """A job of failing.c, watched while it runs."""

    def __init__(self, bed, mode, count=1000, odd=7, shape=SHAPE, options=(),
                 **settings):
        self.keeper = tempfile.TemporaryDirectory()
        self.folder = self.keeper.name
        path = os.path.join(self.folder, "hosts")
        with open(path, "w") as file:
            file.write("".join(f"node{host} slots={slots}\n"
                               for host, slots in enumerate(shape)))
        self.out = open(os.path.join(self.folder, "out"), "w+b")
        self.size = sum(shape)
        program = os.path.join(os.environ["RONDO_BUILD"], "tests", "hosts",
                               "hosts_failing")
        module = os.path.join(os.environ["RONDO_LIB"], "librondo_ucx.so")
        self.job = Job("--hosts", path, "--agent", bed.agent, "--grace", 30,
                       "--timeout", 60, *options, program, mode, count, odd, self.path("flag"),
                       stdout=self.out, env={"RONDO_UCX_MODULE": module, **settings})

    def path(self, name):
        return os.path.join(self.folder, name)

    def flag(self, suffix=""):
        open(self.path("flag" + suffix), "w").close()

    def said(self, what):
        """What the ranks have said of this so far, by rank."""
        with open(self.path("out")) as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
        return {line["rank"]: line for line in lines if line["what"] == what}

    def wait(self, what, ranks=None, seconds=30):
        ranks = set(range(self.size)) if ranks is None else set(ranks)
        self.job.wait_for(lambda: ranks <= set(self.said(what)), seconds)
        return self.said(what)

    def finish(self):
        code = self.job.finish(40)
        self.out.close()
        return code


TAKEN = """
import socket, time
door = socket.create_server(("0.0.0.0", 7011))
print("ready", flush=True)
while True:
    held = door.accept()
"""


def now_ms():
    return time.clock_gettime(time.CLOCK_MONOTONIC) * 1000


class OnBed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = Bed(4).__enter__()
        cls.addClassCleanup(cls.bed.__exit__)

    def play(self, *arguments, **more):
        play = Play(self.bed, *arguments, **more)
        self.addCleanup(play.keeper.cleanup)
        begun = play.wait("begun")
        for rank in begun.values():
            self.assertEqual(rank["status"], "RONDO_OK", rank)
        return play

    def told(self, play, ranks, since, within, status="RONDO_ERR_PEER"):
        """The errors of these ranks, which came in time; and nobody hangs at the end."""
        ended = play.wait("ended", ranks, within + 20)
        for rank in ranks:
            self.assertEqual(ended[rank]["status"], status, ended[rank])
            self.assertLess(ended[rank]["at"] - since, within * 1000, ended[rank])
        left = play.wait("destroyed", ranks)
        for rank in ranks:
            self.assertLess(left[rank]["took"], 2000, left[rank])
        return {rank: ended[rank]["text"] for rank in ranks}

    def names(self, text, rank):
        """Names the rank and its host, and nobody else."""
        front, _, sentence = text.partition(": ")
        self.assertRegex(front, r"^world, rank \d of \d$")
        self.assertRegex(sentence, rf"rank {rank}\b", text)
        self.assertIn(f"node{host_of(rank)}", sentence, text)
        for other in set(range(4)) - {rank}:
            self.assertNotIn(f"rank {other}", sentence, text)


class Ranks(OnBed):
    def test_killed(self):
        for victim in range(4):
            for count in (4, 1 << 20):
                with self.subTest((victim, count)):
                    play = self.play("reduce", count)
                    time.sleep(0.1)
                    struck = now_ms()
                    os.kill(play.said("begun")[victim]["pid"], signal.SIGKILL)
                    others = set(range(4)) - {victim}
                    texts = self.told(play, others, struck, 2)
                    for text in texts.values():
                        self.names(text, victim)
                        self.assertIn("died", text)
                    self.assertEqual(play.finish(), 137)

    def test_stopped(self):
        for victim in range(4):
            with self.subTest(victim):
                play = self.play("reduce", 100000, RONDO_TIMEOUT=str(TIMEOUT))
                time.sleep(0.1)
                struck = now_ms()
                pid = play.said("begun")[victim]["pid"]
                os.kill(pid, signal.SIGSTOP)
                others = set(range(4)) - {victim}
                texts = self.told(play, others, struck, TIMEOUT + SLACK,
                                  "RONDO_ERR_TIMEOUT")
                for text in texts.values():
                    self.names(text, victim)
                    self.assertIn("does not answer", text)
                os.kill(pid, signal.SIGCONT)
                play.wait("destroyed", {victim})
                self.assertNotEqual(play.said("ended")[victim]["status"], "RONDO_OK")
                self.assertEqual(play.finish(), 0)

    def test_different_calls(self):
        words = {"count": ("1000 x", "999 x"), "type": ("int32", "fp32"),
                 "op": ("sum", "max"), "call": ("all_reduce", "broadcast")}
        for mode, parts in words.items():
            for odd in range(4):
                with self.subTest((mode, odd)):
                    began = now_ms()
                    play = self.play(mode, odd=odd)
                    texts = self.told(play, range(4), began, 10, "RONDO_ERR_MISMATCH")
                    for text in texts.values():
                        for part in (*parts, f"rank {odd}"):
                            self.assertIn(part, text)
                    self.assertEqual(play.finish(), 0)

    def test_leaves(self):
        for odd in range(4):
            with self.subTest(odd):
                began = now_ms()
                play = self.play("leave", odd=odd)
                texts = self.told(play, set(range(4)) - {odd}, began, 10)
                for text in texts.values():
                    self.assertRegex(text, rf"rank {odd}\b.* has destroyed its "
                                           "communicator", text)
                self.assertEqual(play.finish(), 0)


class Cables(OnBed):
    def cut_in(self, host, mode, count, odd=7):
        """Both sides name a rank beyond the cut and its host."""
        play = self.play(mode, count, odd=odd)
        time.sleep(0.3)
        self.bed.cut(host)
        self.addCleanup(self.bed.mend, host)
        cut = now_ms()
        if mode == "idle":
            time.sleep(8)
            play.flag()
        texts = self.told(play, set(range(4)) - {odd}, cut, 10)
        for rank, text in texts.items():
            there = 1 - host_of(rank)
            self.assertRegex(text, rf"rank [{2 * there}{2 * there + 1}]\b", text)
            self.assertIn(f"node{there}", text)
        if odd < 4:
            play.flag()
            self.told(play, {odd}, cut, 20)
        self.assertEqual(play.finish(), 0)
        self.bed.mend(host)

    def test_in_a_long_reduce(self):
        for host in (0, 1):
            self.cut_in(host, "reduce", 1 << 22)

    def test_when_idle(self):
        self.cut_in(1, "idle", 1000)

    def test_in_a_barrier(self):
        self.cut_in(1, "barrier", 1000, odd=3)

    def test_one_of_three(self):
        """Hosts that still reach each other name a rank of the one that is gone."""
        for host in (0, 2):
            play = self.play("reduce", 100000, shape=(1, 1, 1))
            self.bed.cut(host)
            self.addCleanup(self.bed.mend, host)
            texts = self.told(play, range(3), now_ms(), 10)
            for rank, text in texts.items():
                if rank != host and host != 0:
                    self.assertRegex(text.partition(": ")[2], rf"rank {host}\b", text)
                    self.assertIn(f"node{host}", text)
            self.bed.mend(host)
            self.assertEqual(play.finish(), 0)

    def test_mended(self):
        play = Play(self.bed, "reduce", 100000)
        self.addCleanup(play.keeper.cleanup)
        play.flag(".twice")
        play.wait("begun")
        self.bed.cut(1)
        self.addCleanup(self.bed.mend, 1)
        self.told(play, range(4), now_ms(), 10)
        self.bed.mend(1)
        play.flag(".again")
        for rank in play.wait("again").values():
            self.assertEqual(rank["status"], "RONDO_OK", rank)
        self.assertEqual(play.finish(), 0)


STRANGER = """
import os, socket, struct, sys, time
places = [(words.rsplit(":", 1)) for words in sys.argv[1:]]
held = []
def reach(place):
    one = socket.create_connection((place[0].strip("[]"), int(place[1])), 2)
    one.settimeout(0.2)
    return one
def send(one, data):
    try:
        one.sendall(data)
        while one.recv(65536):
            pass
    except OSError:
        pass
for place in places:
    for size in (0, 1, 7, 8, 16, 64, 200, 4096, 100000):
        for first in (b"", b"\\0" * 8, b"\\xff" * 8, b"GET / HTTP/1.0\\r\\n\\r\\n"):
            one = reach(place)
            send(one, first + os.urandom(size))
            if size % 2:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))
            one.close()
    for i in range(50):
        held.append(reach(place))
print(len(places), "reached", flush=True)
time.sleep(float(os.environ["HOLD"]))
"""


class Strangers(OnBed):
    def listening(self, host, pids):
        found = self.bed.run(host, "ss", "-ltnpH").stdout.splitlines()
        return [line.split()[3] for line in found
                if any(f"pid={pid}," in line for pid in pids)]

    def test_at_every_port(self):
        """Control links, UCX, what else there is: garbage and held connections."""
        play = self.play("steady", 20000)
        begun = play.said("begun")
        for host in (0, 1):
            pids = [begun[rank]["pid"] for rank in range(4) if host_of(rank) == host]
            ports = self.listening(host, pids)
            self.assertGreaterEqual(len(ports), len(pids), ports)
            done = self.bed.run(2, sys.executable, "-B", "-c", STRANGER, *ports,
                                env=dict(os.environ, HOLD="0.5"))
            self.assertEqual(done.stdout, f"{len(ports)} reached\n", done.stderr)
        self.assertEqual(play.said("ended"), {})
        play.flag(".end")
        for rank in play.wait("ended").values():
            self.assertEqual(rank["status"], "RONDO_OK", rank)
        self.assertEqual(play.finish(), 0)


class Rendezvous(OnBed):
    def test_port_is_taken(self):
        """Rank 0 says so, nobody waits for the stranger any longer than it must."""
        stranger = subprocess.Popen(
            self.bed.command(0, sys.executable, "-B", "-c", TAKEN),
            stdout=subprocess.PIPE)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        self.assertEqual(stranger.stdout.readline(), b"ready\n")
        play = Play(self.bed, "reduce", options=("--port", 7011),
                    RONDO_START_TIMEOUT="4")
        self.addCleanup(play.keeper.cleanup)
        self.assertEqual(play.finish(), 1)
        self.assertLess(play.job.seconds, 12)
        with open(play.path("out")) as file:
            texts = file.read()
        self.assertIn("7011", texts)
        self.assertIn("in use", texts)
        stranger.stdout.close()


class Jobs(unittest.TestCase):
    def together(self, bed, count, **settings):
        """Started at the same moment, they never see each other."""
        plays = [Play(bed, "steady", 5000, **settings) for _ in range(count)]
        for play in plays:
            self.addCleanup(play.keeper.cleanup)
        for play in plays:
            for rank in play.wait("begun").values():
                self.assertEqual(rank["status"], "RONDO_OK", rank)
        time.sleep(0.5)
        for play in plays:
            play.flag(".end")
            for rank in play.wait("ended").values():
                self.assertEqual(rank["status"], "RONDO_OK", rank)
            self.assertEqual(play.finish(), 0, play.job.err)

    def test_at_once(self):
        for options in ((), ("--ipv6",)):
            with Bed(2, *options) as bed:
                self.together(bed, 3)

    def test_ipv6_dies_well(self):
        with Bed(2, "--ipv6") as bed:
            play = Play(bed, "reduce", 1000)
            self.addCleanup(play.keeper.cleanup)
            play.wait("begun")
            os.kill(play.said("begun")[2]["pid"], signal.SIGKILL)
            for rank in (0, 1, 3):
                ended = play.wait("ended", {rank})[rank]
                self.assertEqual(ended["status"], "RONDO_ERR_PEER", ended)
                self.assertRegex(ended["text"], "rank 2 .*node1")
            self.assertEqual(play.finish(), 137)


if __name__ == "__main__":
    need_bed()
    unittest.main()
