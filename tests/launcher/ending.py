# ending.py - every way a job can end: the code, the words, and nothing left behind.
# ctest: timeout=300 label=slow
import os
import pty
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, marked, python, run  # noqa: E402

STUBBORN = "for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\n"
SLEEP = "while True: time.sleep(1)\n"


def rank_is(rank, then, other):
    """Python text: `then` on one rank, `other` on the rest."""
    def indent(text):
        return "".join("    " + line + "\n" for line in text.splitlines())
    return (f"if os.environ['RANK'] == '{rank}':\n{indent(then)}"
            f"else:\n{indent(other)}")


class Folder:
    """Ranks say that they are ready by making files."""

    def __enter__(self):
        self.keeper = tempfile.TemporaryDirectory()
        self.path = self.keeper.name
        return self

    def __exit__(self, *_):
        self.keeper.cleanup()

    def ready(self, word="ready"):
        return (f"open({self.path!r} + '/{word}' + os.environ['RANK'], 'w').close()\n")

    def count(self, word="ready"):
        return sum(name.startswith(word) for name in os.listdir(self.path))


class Failure(unittest.TestCase):
    def test_exit_code_of_the_first(self):
        for code in (1, 5, 77, 255):
            job, got = run("-n", 3, *python(rank_is(2, f"sys.exit({code})", "pass")))
            self.assertEqual(got, code)
            self.assertRegex(job.err,
                             rf"^rondo-run: rank 2 \(pid \d+\) exited with code {code}\n")

    def test_signal_of_the_first(self):
        for number, name in ((9, "Killed"), (11, "Segmentation fault"), (6, "Aborted")):
            job, got = run("-n", 3, "--prefix", "sh", "-c",
                           f'ulimit -c 0; [ $RANK = 1 ] && kill -{number} $$; exit 0')
            self.assertEqual(got, 128 + number)
            self.assertRegex(job.err, rf"rondo-run: rank 1 \(pid \d+\) was killed by "
                                      rf"signal {number} \({name}")

    def test_later_failures_do_not_hide_the_first(self):
        job, code = run("-n", 4, *python(rank_is(
            3, "sys.exit(9)", "time.sleep(1.5); sys.exit(int(os.environ['RANK']) + 1)")))
        self.assertEqual(code, 9)
        self.assertIn("rank 3", job.err.splitlines()[0])
        self.assertIn("after it rank 0 exited with code 1", job.err)

    def test_many_equal_failures_are_one_line(self):
        job, code = run("-n", 64, "sh", "-c", "[ $RANK = 5 ] && exit 3; sleep 2; exit 4")
        self.assertEqual(code, 3)
        self.assertEqual(len(job.err.splitlines()), 2, job.err)
        self.assertIn("after it ranks 0-4, 6-63 exited with code 4", job.err)

    def test_an_early_0_is_no_failure(self):
        job, code = run("-n", 3, *python(rank_is(0, "sys.exit(0)", "time.sleep(0.7)")))
        self.assertEqual((code, job.err), (0, ""))
        self.assertGreater(job.seconds, 0.65)

    def test_the_rest_may_end_by_itself(self):
        job, code = run("-n", 3, "--grace", 20, *python(rank_is(
            1, "sys.exit(4)", "time.sleep(1); print('done')")))
        self.assertEqual(code, 4)
        self.assertEqual(job.out, "done\ndone\n")
        self.assertLess(job.seconds, 10)

    def test_then_sigterm(self):
        job, code = run("-n", 3, "--grace", 0.5, "--json",
                        *python(rank_is(1, "sys.exit(4)", SLEEP)))
        self.assertEqual(code, 4)
        self.assertTrue(0.5 < job.seconds < 8, job.seconds)
        self.assertIn("ranks 0, 2 did not end within 0.5 s: sending SIGTERM", job.err)
        ranks = job.json()["ranks"]
        self.assertEqual([r["signal"] for r in ranks], [15, None, 15])
        self.assertEqual([r["ended_by_rondo_run"] for r in ranks], [True, False, True])

    def test_then_sigkill(self):
        job, code = run("-n", 3, "--grace", 0.5, "--json",
                        *python(rank_is(1, "time.sleep(3); sys.exit(4)",
                                        STUBBORN + SLEEP)))
        self.assertEqual(code, 4)
        self.assertLess(job.seconds, 20)
        self.assertEqual([r["signal"] for r in job.json()["ranks"]], [9, None, 9])

    def test_default_grace_is_3_seconds(self):
        job, code = run("-n", 2, *python(rank_is(0, "sys.exit(1)", SLEEP)))
        self.assertEqual(code, 1)
        self.assertTrue(2.9 < job.seconds < 9, job.seconds)

    def test_stopped_ranks_are_ended_too(self):
        for text in (SLEEP, STUBBORN + SLEEP):
            job, code = run("-n", 2, "--grace", 0.3, *python(rank_is(
                0, "time.sleep(2); sys.exit(6)",
                text.replace("while", "os.kill(os.getpid(), signal.SIGSTOP)\nwhile"))))
            self.assertEqual(code, 6)

    def test_grandchildren_are_ended_with_their_rank(self):
        job, code = run("-n", 2, "--grace", 0.3, "sh", "-c",
                        "sleep 60 & [ $RANK = 0 ] && exit 8; sleep 60")
        self.assertEqual(code, 8)
        self.assertLess(job.seconds, 8)


class Leftovers(unittest.TestCase):
    def test_background_process(self):
        job, code = run("-n", 2, "--grace", 0.3, "sh", "-c", "sleep 60 & exit 0")
        self.assertEqual(code, 0)
        self.assertIn("left behind", job.err)

    def test_process_in_a_session_of_its_own(self):
        job, code = run("-n", 1, "--grace", 0.3, *python(
            "import subprocess\n"
            "subprocess.Popen(['sh', '-c', 'trap \"\" TERM; setsid sleep 60 & sleep 61'],"
            " start_new_session=True)\n"))
        self.assertEqual(code, 0)
        self.assertLess(job.seconds, 8)

    def test_it_has_time_to_finish(self):
        job, code = run("-n", 1, "sh", "-c", "(sleep 0.5; echo written) & exit 0")
        self.assertEqual((code, job.out, job.err), (0, "written\n", ""))

    def test_children_of_a_former_life_are_not_ours(self):
        job = Job("-n", 1, "true")
        job.finish()
        import subprocess
        done = subprocess.run(
            ["sh", "-c", f"sleep 1.5 & echo $!; exec {job.process.args[0]} -n 1 true"],
            stdout=subprocess.PIPE, timeout=20)
        self.assertEqual(done.returncode, 0)


class Signals(unittest.TestCase):
    def start(self, folder, text, n=3, *options):
        job = Job("-n", n, *options, *python(text))
        job.wait_for(lambda: folder.count() == n)
        return job

    def test_each_ending_signal_reaches_every_rank(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with Folder() as folder:
                job = self.start(folder, (
                    "def end(n, f):\n"
                    f"    open({folder.path!r} + '/got%d-' % n + os.environ['RANK'], 'w')"
                    ".close(); sys.exit(0)\n"
                    f"signal.signal({int(number)}, end)\n") + folder.ready() + SLEEP)
                job.send(number)
                self.assertEqual(job.finish(), 0)
                self.assertEqual(folder.count(f"got{int(number)}-"), 3)
                self.assertIn("passed on to 3 ranks", job.err)

    def test_default_action_gives_128_plus_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Folder() as folder:
                job = self.start(
                    folder, f"signal.signal({int(number)}, signal.SIG_DFL)\n"
                    + folder.ready() + SLEEP)
                job.send(number)
                self.assertEqual(job.finish(), 128 + number)
                self.assertLess(job.seconds, 10)

    def test_ranks_that_do_not_listen_are_killed(self):
        with Folder() as folder:
            job = self.start(folder, STUBBORN + folder.ready() + SLEEP, 2,
                             "--grace", "0.3")
            job.send(signal.SIGINT)
            self.assertEqual(job.finish(), 130)

    def test_second_ctrl_c_kills_at_once(self):
        with Folder() as folder:
            job = self.start(folder, STUBBORN + folder.ready() + SLEEP, 2,
                             "--grace", "60")
            job.send(signal.SIGINT)
            time.sleep(0.3)
            self.assertIsNone(job.process.poll())
            job.send(signal.SIGINT)
            self.assertEqual(job.finish(5), 130)

    def test_user_signals_reach_the_ranks_alone(self):
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            with Folder() as folder:
                job = self.start(folder, (
                    "import subprocess\n"
                    "helper = subprocess.Popen(['sleep', '30'])\n"
                    "def note(n, f):\n"
                    "    time.sleep(0.2)\n"
                    "    alive = helper.poll() is None\n"
                    "    helper.kill(); helper.wait()\n"
                    "    os._exit(0 if alive else 1)\n"
                    f"signal.signal({int(number)}, note)\n") + folder.ready() + SLEEP)
                job.send(number)
                self.assertEqual(job.finish(), 0, job.err)

    def test_stop_and_continue(self):
        with Folder() as folder:
            job = self.start(folder, folder.ready() + "time.sleep(1); " + (
                "open(%r + '/end' + os.environ['RANK'], 'w').close()" % folder.path))
            ranks = [p for p in marked(job.mark) if p != job.process.pid]
            self.assertEqual(len(ranks), 3)
            job.send(signal.SIGTSTP)
            job.wait_for(lambda: all(state(p) == "T" for p in
                                     ranks + [job.process.pid]))
            time.sleep(1.2)
            self.assertEqual(folder.count("end"), 0)
            job.send(signal.SIGCONT)
            self.assertEqual(job.finish(), 0)
            self.assertEqual(folder.count("end"), 3)

    def test_ignored_at_the_start_stays_ignored(self):
        with Folder() as folder:
            job = Job("-n", 2, *python(folder.ready() + "time.sleep(1)"),
                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
            job.wait_for(lambda: folder.count() == 2)
            job.send(signal.SIGHUP)
            self.assertEqual(job.finish(), 0)

    def test_kill_9_takes_the_ranks_along(self):
        with Folder() as folder:
            job = self.start(folder, STUBBORN + folder.ready() + SLEEP)
            job.send(signal.SIGKILL)
            end = time.monotonic() + 5
            while marked(job.mark) and time.monotonic() < end:
                time.sleep(0.02)
            self.assertEqual(job.finish(), -signal.SIGKILL)

    def test_ctrl_c_on_a_terminal(self):
        """The terminal signals rondo-run's group only, and once."""
        with Folder() as folder:
            text = ("count = 0\n"
                    "def note(n, f):\n"
                    "    global count\n"
                    "    count += 1\n"
                    "signal.signal(2, note)\n" + folder.ready() +
                    "end = time.monotonic() + 1.5\n"
                    "while time.monotonic() < end: time.sleep(0.05)\n"
                    "sys.exit(40 + count)\n")
            pid, terminal = pty.fork()
            if pid == 0:
                for number in (signal.SIGINT, signal.SIGQUIT):
                    signal.signal(number, signal.SIG_DFL)
                path = os.path.join(os.environ["RONDO_BIN"], "rondo-run")
                os.execv(path, ["rondo-run", "-n", "2", *python(text)])
            end = time.monotonic() + 20
            while folder.count() < 2 and time.monotonic() < end:
                time.sleep(0.02)
            os.write(terminal, b"\x03")
            said = b""
            try:
                while True:
                    piece = os.read(terminal, 4096)
                    if not piece:
                        break
                    said += piece
            except OSError:
                pass
            _, status = os.waitpid(pid, 0)
            os.close(terminal)
            self.assertEqual(os.waitstatus_to_exitcode(status), 41, said)


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


class Timeout(unittest.TestCase):
    def test_code_124_and_who_was_running(self):
        job, code = run("-n", 3, "--timeout", 4, "--json",
                        *python(rank_is(1, "pass", SLEEP)))
        self.assertEqual(code, 124)
        self.assertIn("time-out after 4 s: ending ranks 0, 2", job.err)
        self.assertTrue(3.95 < job.seconds < 20, job.seconds)
        self.assertTrue(job.json()["timed_out"])

    def test_stubborn_ranks(self):
        job, code = run("-n", 2, "--timeout", 0.5, *python(STUBBORN + SLEEP))
        self.assertEqual(code, 124)
        self.assertLess(job.seconds, 6)

    def test_nobody_reads(self):
        job = Job("-n", 2, "--prefix", "--timeout", 1, "yes")
        job.process.wait(timeout=12)
        self.assertEqual(job.process.returncode, 124)
        job.finish()

    def test_not_reached(self):
        job, code = run("-n", 2, "--timeout", 20, "true")
        self.assertEqual((code, job.err), (0, ""))


if __name__ == "__main__":
    unittest.main()
