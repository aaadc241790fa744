# starting.py - what ranks are given, what rondo-run accepts and what it refuses.
import os
import resource
import socket
import stat
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, program, python, run  # noqa: E402


def variables(*names):
    return python(f"print(' '.join(os.environ.get(n, '-') for n in {names!r}))")


class Environment(unittest.TestCase):
    def test_each_rank_is_told_who_it_is(self):
        for n in (1, 2, 3, 5):
            job, code = run("-n", n, *variables(
                "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                "RONDO_LAUNCHER"))
            self.assertEqual(code, 0)
            self.assertEqual(
                sorted(job.out.splitlines()),
                [f"{r} {n} {r} {n} 127.0.0.1 rondo-run" for r in range(n)])

    def test_old_values_are_replaced(self):
        job, code = run("-n", 1, *python(
            "print([v for v in open('/proc/self/environ').read().split('\\0')"
            " if v.split('=')[0] in ('RANK', 'WORLD_SIZE', 'MASTER_ADDR',"
            " 'TORCHELASTIC_USE_AGENT_STORE')])"),
            env={"RANK": "7", "WORLD_SIZE": "9", "MASTER_ADDR": "elsewhere",
                 "TORCHELASTIC_USE_AGENT_STORE": "True"})
        self.assertEqual(code, 0)
        self.assertEqual(sorted(eval(job.out)),
                         ["MASTER_ADDR=127.0.0.1", "RANK=0", "WORLD_SIZE=1"])

    def test_secret_is_random_and_shared(self):
        seen = set()
        for _ in range(3):
            job, _ = run("-n", 3, *variables("RONDO_SECRET"))
            lines = set(job.out.split())
            self.assertEqual(len(lines), 1)
            self.assertRegex(lines.pop(), "^[0-9a-f]{64}$")
            seen.add(job.out.split()[0])
        self.assertEqual(len(seen), 3)

    def test_secret_that_is_given_stays(self):
        job, _ = run("-n", 2, *variables("RONDO_SECRET"), env={"RONDO_SECRET": "abc"})
        self.assertEqual(job.out.split(), ["abc", "abc"])
        job, _ = run("-n", 1, *variables("RONDO_SECRET", "RONDO_SECRET_FILE"),
                     env={"RONDO_SECRET_FILE": "/some/file"})
        self.assertEqual(job.out.split(), ["-", "/some/file"])

    def test_env_option(self):
        job, code = run("-n", 2, "--env", "A=1", "--env", "B=x=y", "--env", "A=2",
                        *variables("A", "B"), env={"B": "old"})
        self.assertEqual((code, job.out.splitlines()), (0, ["2 x=y"] * 2))
        for bad in ("A", "=1", "RANK=3", "WORLD_SIZE=1"):
            job, code = run("-n", 1, "--env", bad, "true")
            self.assertEqual(code, 2, bad)
            self.assertIn("--env", job.err)

    def test_standard_input_goes_to_rank_0(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"words\n")
            file.seek(0)
            job, code = run("-n", 2, *python(
                "print(os.environ['RANK'], repr(sys.stdin.read()))"), stdin=file)
        self.assertEqual(code, 0)
        self.assertEqual(sorted(job.out.splitlines()), ["0 'words\\n'", "1 ''"])

    def test_signals_are_as_they_were(self):
        job, _ = run("-n", 1, *python(
            "print([l.split()[1] for l in open('/proc/self/status')"
            " if l[:7] in ('SigBlk:', 'SigIgn:')])"))
        blocked, ignored = eval(job.out)
        self.assertEqual(int(blocked, 16), 0)
        # Python itself ignores SIGPIPE (13) and SIGXFSZ (25).
        self.assertEqual(int(ignored, 16) & ~(1 << 12 | 1 << 24), 0)


class Port(unittest.TestCase):
    listen = python(
        "import socket\n"
        "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "s.bind(('127.0.0.1', int(os.environ['MASTER_PORT']))); s.listen(1)\n"
        "print(os.environ['MASTER_PORT'])\n")

    def test_rank_0_can_listen(self):
        job, code = run("-n", 1, *self.listen)
        self.assertEqual(code, 0, job.err)

    def test_nobody_else_is_given_the_port(self):
        jobs = [Job("-n", 1, *variables("MASTER_PORT"), stdin=None) for _ in range(20)]
        ports = []
        for job in jobs:
            self.assertEqual(job.finish(), 0)
            ports.append(job.out.strip())
        sleeper = Job("-n", 1, "sh", "-c", "echo $MASTER_PORT; exec sleep 30")
        port = int(sleeper.process.stdout.readline())
        others = []
        for _ in range(200):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
            others.append(one)
        self.assertNotIn(port, [one.getsockname()[1] for one in others])
        sleeper.process.terminate()
        sleeper.finish()
        for one in others:
            one.close()

    def test_port_option(self):
        job, code = run("-n", 2, "--port", 23456, *variables("MASTER_PORT"))
        self.assertEqual((code, job.out.split()), (0, ["23456"] * 2))


class Program(unittest.TestCase):
    def test_not_found(self):
        for name in ("there-is-no-such-program", "/nowhere/at/all", "./nor-here"):
            job, code = run("-n", 8, name)
            self.assertEqual(code, 127, name)
            self.assertEqual(len(job.err.splitlines()), 1, job.err)
            self.assertIn(name, job.err)

    def test_cannot_be_executed(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "plain")
            empty = os.path.join(folder, "binary")
            lost = os.path.join(folder, "lost")
            for path, text in ((plain, "x"), (empty, "\x7fELF no"),
                               (lost, "#!/no/such/interpreter\n")):
                with open(path, "w", encoding="latin-1") as file:
                    file.write(text)
            for path in (empty, lost):
                os.chmod(path, stat.S_IRWXU)
            for path in (plain, empty, lost, folder):
                job, code = run("-n", 8, path)
                self.assertEqual(code, 126, path)
                self.assertEqual(len(job.err.splitlines()), 1, job.err)

    def test_beside_rondo_run_before_path(self):
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "rondo-run")
            with open(other, "w") as file:
                file.write("#!/bin/sh\necho wrong\n")
            os.chmod(other, stat.S_IRWXU)
            path = folder + ":" + os.environ["PATH"]
            job, code = run("-n", 1, "rondo-run", "--version", env={"PATH": path},
                            cwd=folder)
            self.assertEqual(code, 0)
            self.assertIn("rondo-run ", job.out)
            only = os.path.join(folder, "only-in-path")
            os.rename(other, only)
            job, code = run("-n", 1, "only-in-path", env={"PATH": path})
            self.assertEqual((code, job.out), (0, "wrong\n"))

    def test_arguments_arrive_unchanged(self):
        job, code = run("-n", 1, *python("print(sys.argv[1:])"), "-n", "5", "--prefix",
                        "", "a b", "--")
        self.assertEqual(code, 0)
        self.assertEqual(eval(job.out), ["-n", "5", "--prefix", "", "a b", "--"])


class Options(unittest.TestCase):
    def test_misuse(self):
        for arguments in ((), ("-n", 2), ("true",), ("-n", 0, "true"),
                          ("-n", -1, "true"), ("-n", "two", "true"),
                          ("-n", "2x", "true"), ("-n", 5000, "true"),
                          ("-n", "99999999999999999999", "true"), ("-n", "", "true"),
                          ("-n", 1, "--nonsense", "true"), ("-n", 1, ""),
                          ("-n", 1, "--grace", "-1", "true"),
                          ("-n", 1, "--grace", "nan", "true"),
                          ("-n", 1, "--grace", "1s", "true"),
                          ("-n", 1, "--timeout", "0", "true"),
                          ("-n", 1, "--timeout", "x", "true"),
                          ("-n", 1, "--port", "0", "true"),
                          ("-n", 1, "--port", "65536", "true"),
                          ("-n", 1, "--bind", "socket", "true")):
            job, code = run(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertEqual(job.out, "")
            self.assertIn("rondo-run", job.err)

    def test_help_and_version(self):
        job, code = run("--help")
        self.assertEqual((code, job.err), (0, ""))
        for option in ("-n", "--np", "--prefix", "--grace", "--port", "--timeout",
                       "--env", "--bind", "--json", "--help", "--version"):
            self.assertIn(option, job.out)
        job, code = run("--version")
        self.assertEqual(code, 0)
        self.assertRegex(job.out, r"^rondo-run \d+\.\d+\.\d+\n$")

    def test_spellings_of_n(self):
        for arguments in (("-n3",), ("--np", 3), ("--np=3",)):
            job, code = run(*arguments, *python("print('x')"))
            self.assertEqual((code, job.out), (0, "x\n" * 3))

    def test_json(self):
        job, code = run("-n", 3, "--json", *python(
            "sys.exit(5 if os.environ['RANK'] == '1' else 0)"))
        report = job.json()
        self.assertEqual(code, 5)
        self.assertEqual((report["nranks"], report["code"], report["first_failed"]),
                         (3, 5, 1))
        self.assertEqual([r["code"] for r in report["ranks"]], [0, 5, 0])
        self.assertEqual([r["signal"] for r in report["ranks"]], [None] * 3)
        self.assertEqual([r["rank"] for r in report["ranks"]], [0, 1, 2])
        self.assertEqual(len({r["pid"] for r in report["ranks"]}), 3)
        self.assertTrue(all(0 < r["seconds"] < 20 for r in report["ranks"]))

    def test_bind(self):
        usable = sorted(os.sched_getaffinity(0))
        show = python("print(os.environ['RANK'], sorted(os.sched_getaffinity(0)))")
        job, _ = run("-n", 2, "--bind", "none", *show)
        self.assertEqual(sorted(job.out.splitlines()),
                         [f"{r} {usable}" for r in range(2)])
        n = len(usable)
        for how, ranks in (("core", n), ("share", n), ("share", 1), ("share", n // 2)):
            if ranks == 0:
                continue
            job, code = run("-n", ranks, "--bind", how, *show)
            self.assertEqual(code, 0)
            places = [eval(line.split(" ", 1)[1]) for line in job.out.splitlines()]
            self.assertEqual(sorted(sum(places, [])), usable)
            self.assertLessEqual(max(map(len, places)) - min(map(len, places)), 1)
        job, code = run("-n", n + 1, *show)
        self.assertEqual((code, job.err), (0, ""))
        self.assertEqual({line.split(" ", 1)[1] for line in job.out.splitlines()},
                         {str(usable)})
        job, code = run("-n", n + 1, "--bind", "core", *show)
        self.assertEqual(code, 0)
        self.assertIn("not bound", job.err)
        self.assertEqual({line.split(" ", 1)[1] for line in job.out.splitlines()},
                         {str(usable)})


class Many(unittest.TestCase):
    def test_64_ranks_start_fast(self):
        best = 60.0
        for _ in range(5):
            start = time.monotonic()
            job, code = run("-n", 64, "true")
            best = min(best, time.monotonic() - start)
            self.assertEqual(code, 0, job.err)
        # A sanitizer makes each process slow to start; that is not ours to judge.
        if not os.environ.get("RONDO_SANITIZE"):
            self.assertLess(best, 0.5)

    def test_200_ranks_with_few_descriptors(self):
        job, code = run("-n", 200, "--prefix", "sh", "-c", "ulimit -n; echo here",
                        preexec_fn=lambda: resource.setrlimit(
                            resource.RLIMIT_NOFILE, (100, 1000)))
        self.assertEqual(code, 0, job.err)
        self.assertEqual(sorted(job.out.splitlines()), sorted(
            f"[{r}] {word}" for r in range(200) for word in ("100", "here")))

    def test_out_of_descriptors_is_said(self):
        job, code = run("-n", 200, "--prefix", "sleep", "30",
                        preexec_fn=lambda: resource.setrlimit(
                            resource.RLIMIT_NOFILE, (100, 100)))
        self.assertEqual(code, 1)
        self.assertIn("cannot start rank", job.err)
        self.assertIn("open files", job.err)
        self.assertLess(job.seconds, 10)


if __name__ == "__main__":
    assert os.path.exists(program("rondo-run"))
    unittest.main()
