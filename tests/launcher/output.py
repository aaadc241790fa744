# output.py - --prefix: whole lines, kept apart, nothing lost, nobody blocked for ever.
# ctest: timeout=300
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, python, run  # noqa: E402


def lines_of(text, rank):
    start = f"[{rank}] "
    return [line[len(start):] for line in text.splitlines() if line.startswith(start)]


class Prefix(unittest.TestCase):
    def test_without_it_nothing_is_touched(self):
        job, code = run("-n", 1, "sh", "-c", "printf a; printf b >&2")
        self.assertEqual((code, job.out, job.err), (0, "a", "b"))

    def test_streams_are_kept_apart(self):
        job, code = run("-n", 3, "--prefix", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(code, 0)
        self.assertEqual(sorted(job.out.splitlines()), [f"[{r}] out" for r in range(3)])
        self.assertEqual(sorted(job.err.splitlines()), [f"[{r}] err" for r in range(3)])

    def test_lines_are_whole_and_in_order(self):
        job, code = run("-n", 4, "--prefix", *python(
            "for i in range(3000):\n"
            "    os.write(1, b'line %d %s\\n' % (i, b'x' * (i % 97)))\n"))
        self.assertEqual(code, 0)
        for rank in range(4):
            self.assertEqual(lines_of(job.out, rank),
                             [f"line {i} {'x' * (i % 97)}" for i in range(3000)])
        self.assertEqual(len(job.out.splitlines()), 12000)

    def test_a_line_in_pieces_and_a_partial_last_line(self):
        job, code = run("-n", 2, "--prefix", *python(
            "for piece in ('one ', 'line', '\\nlast', ' words'):\n"
            "    os.write(1, piece.encode()); time.sleep(0.05)\n"))
        self.assertEqual(code, 0)
        for rank in range(2):
            self.assertEqual(lines_of(job.out, rank), ["one line", "last words"])
        self.assertTrue(job.out.endswith("\n"))

    def test_empty_lines_and_no_output(self):
        job, _ = run("-n", 1, "--prefix", "printf", "\\n\\na\\n\\n")
        self.assertEqual(job.out, "[0] \n[0] \n[0] a\n[0] \n")
        job, _ = run("-n", 2, "--prefix", "true")
        self.assertEqual((job.out, job.err), ("", ""))

    def test_long_lines_stay_whole_up_to_a_mebibyte(self):
        for length in (4095, 4096, 65536, 300000, 1000000):
            job, code = run("-n", 2, "--prefix", *python(
                f"sys.stdout.write(os.environ['RANK'] * {length} + '\\n')"))
            self.assertEqual(code, 0)
            self.assertEqual(sorted(job.out.splitlines()),
                             [f"[{r}] " + str(r) * length for r in range(2)])

    def test_endless_lines_are_broken_not_kept(self):
        job, code = run("-n", 1, "--prefix", *python(
            "sys.stdout.write('y' * 5000000 + '\\n')"))
        self.assertEqual(code, 0)
        pieces = lines_of(job.out, 0)
        self.assertEqual("".join(pieces), "y" * 5000000)
        self.assertLess(max(map(len, pieces)), 2 << 20)

    def test_bytes_are_passed_as_they_are(self):
        data = bytes(range(256))
        job = Job("-n", 1, "--prefix", *python(
            f"sys.stdout.buffer.write({data!r})"), stdout=subprocess.PIPE)
        out, _ = job.process.communicate(timeout=20)
        self.assertEqual(out, b"[0] " + data[:11] + b"[0] " + data[11:] + b"\n")

    def test_killed_rank_keeps_what_it_wrote(self):
        job, code = run("-n", 1, "--prefix", *python(
            "os.write(1, b'before\\nhalf'); os.kill(os.getpid(), signal.SIGKILL)"))
        self.assertEqual(code, 137)
        self.assertEqual(job.out, "[0] before\n[0] half\n")
        self.assertIn("rank 0", job.err)

    def test_output_of_grandchildren_after_the_rank(self):
        job, code = run("-n", 1, "--prefix", "sh", "-c",
                        "(sleep 0.3; echo late) & echo early")
        self.assertEqual(code, 0)
        self.assertEqual(job.out, "[0] early\n[0] late\n")


class SlowReader(unittest.TestCase):
    def test_nothing_is_lost(self):
        job = Job("-n", 2, "--prefix", *python(
            "for i in range(60000): print('row', i)"))
        time.sleep(0.5)
        code = job.finish()
        self.assertEqual(code, 0)
        for rank in range(2):
            self.assertEqual(lines_of(job.out, rank), [f"row {i}" for i in range(60000)])

    def test_memory_stays_small_and_signals_work(self):
        job = Job("-n", 2, "--prefix", "yes", "a line of text that goes on and on")
        time.sleep(1.0)
        with open(f"/proc/{job.process.pid}/status") as file:
            resident = [int(l.split()[1]) for l in file if l.startswith("VmRSS")][0]
        if not os.environ.get("RONDO_SANITIZE"):
            self.assertLess(resident, 20000)
        # Nobody has read a byte: rondo-run must still listen to us.
        job.send(signal.SIGTERM)
        job.process.wait(timeout=10)
        self.assertEqual(job.process.returncode, 128 + signal.SIGTERM)
        job.finish()

    def test_reader_that_goes_away_ends_the_ranks(self):
        job = Job("-n", 2, "--prefix", "yes")
        job.process.stdout.read(100)
        job.process.stdout.close()
        job.process.stdout = None
        job.process.wait(timeout=10)
        self.assertEqual(job.process.returncode, 128 + signal.SIGPIPE)
        job.finish()

    def test_sleeping_job_uses_no_time(self):
        job = Job("-n", 4, "--prefix", "sleep", "1.5")
        time.sleep(1.0)
        with open(f"/proc/{job.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        ticks = int(fields[11]) + int(fields[12])
        self.assertLess(ticks, 10)
        self.assertEqual(job.finish(), 0)


class ClosedStreams(unittest.TestCase):
    def test_started_with_closed_streams(self):
        def close_all():
            for fd in range(3):
                os.close(fd)
        for options in ((), ("--prefix",)):
            job = Job("-n", 2, *options, "sh", "-c", "echo x; echo y >&2; exit 4",
                      preexec_fn=close_all, stdin=None, stdout=None, stderr=None)
            self.assertEqual(job.finish(), 4)


if __name__ == "__main__":
    unittest.main()
