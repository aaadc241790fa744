# flags.py - every flag of the *_perf programs does what it says, or is refused.
# ctest: timeout=400 label=slow
import os
import re
import resource
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, program  # noqa: E402
from perf_table import OPS, PROGRAMS, REDUCING, ROOTED, TYPE_BYTES, Run  # noqa: E402

QUICK = ("-b", 4096, "-e", 4096, "-n", 3)


def sanitized():
    return bool(os.environ.get("RONDO_SANITIZE"))


class Sweeps(unittest.TestCase):
    def test_all_types_and_operators(self):
        for name in sorted(REDUCING):
            table = Run(name, "-b", 96, "-e", "48K", "-f", 512, "-d", "all", "-o", "all",
                        "-n", 1, "-w", 0, processes=3).table()
            seen = [(row["type"], row["redop"]) for row in table.rows]
            self.assertEqual(seen, [(t, o) for t in TYPE_BYTES for o in OPS
                                    for _ in range(2)])

    def test_all_types_of_copies(self):
        for name in sorted(set(PROGRAMS) - REDUCING):
            table = Run(name, "-b", 96, "-e", "48K", "-f", 512, "-d", "all", "-n", 1,
                        "-w", 0, processes=3).table()
            self.assertEqual([row["type"] for row in table.rows],
                             [t for t in TYPE_BYTES for _ in range(2)])

    def test_every_name_alone(self):
        for dtype in TYPE_BYTES:
            table = Run("all_reduce_perf", *QUICK, "-d", dtype, processes=2).table()
            self.assertEqual(table.rows[0]["type"], dtype)
        for op in OPS:
            table = Run("all_reduce_perf", *QUICK, "-o", op, processes=2).table()
            self.assertEqual(table.rows[0]["redop"], op)

    def test_roots(self):
        for name in sorted(ROOTED):
            for word in ("all", "-1"):
                table = Run(name, *QUICK, "-r", word, processes=4).table()
                self.assertEqual([row["root"] for row in table.rows], [0, 1, 2, 3])
            table = Run(name, *QUICK, "-r", 2, processes=4).table()
            self.assertEqual([row["root"] for row in table.rows], [2])
            run = Run(name, *QUICK, "-r", 4, processes=4)
            self.assertEqual(run.code, 6)
            self.assertIn("there are 4 ranks", run.err)

    def test_many_sizes_and_rank_counts(self):
        for name in PROGRAMS:
            for n in (2, 3, 4, 5, 7, 8):
                Run(name, "-b", 4, "-e", "256K", "-f", 3, "-n", 1, processes=n).table()


class Loops(unittest.TestCase):
    def test_iterations(self):
        for n, w in ((1, 0), (1, 1), (7, 3), (100, 0)):
            table = Run("all_reduce_perf", "-b", 8, "-e", 64, "-f", 8, "-n", n, "-w", w,
                        processes=2).table()
            self.assertIn(f"warmup iters: {w} iters: {n} ", table.setting_line)

    def test_aggregation_and_blocking(self):
        for name in PROGRAMS:
            for m in (1, 2, 9):
                for z in (0, 1, 2, 3):
                    run = Run(name, "-b", 64, "-e", "4K", "-f", 8, "-n", 3, "-m", m,
                              "-z", z, processes=2)
                    run.table()
                    self.assertEqual("# Blocking Enabled" in run.out, z > 0)
                    self.assertIn(f"agg iters: {m} ", run.out)

    def test_aggregation_of_several_ranks_per_thread(self):
        for z in (0, 1, 2, 3):
            Run("all_reduce_perf", "-g", 3, "-m", 4, "-z", z, *QUICK).table()

    def test_cycles(self):
        table = Run("all_reduce_perf", "-b", 8, "-e", 64, "-f", 8, "-n", 2, "-N", 3,
                    processes=2).table()
        self.assertEqual(table.sizes(), [8, 64] * 3)

    def test_checks(self):
        table = Run("all_reduce_perf", *QUICK, "-c", 0, processes=2).table()
        for half in ("out", "in"):
            self.assertIsNone(table.rows[0][half]["#wrong"])
        for c in (1, 5):
            table = Run("all_reduce_perf", *QUICK, "-c", c, processes=2).table()
            self.assertEqual(table.rows[0]["out"]["#wrong"], 0)
            self.assertIn(f"validation: {c} ", table.setting_line)

    def test_walk(self):
        for name in PROGRAMS:
            run = Run(name, "-b", 64, "-e", "64K", "-f", 8, "-n", 9, "--walk", 1,
                      processes=2)
            run.table()
            self.assertIn("# Walk Enabled", run.out)
        Run("all_reduce_perf", "-b", 64, "-e", "64K", "-f", 8, "-n", 9, "--walk", 1,
            "-m", 3, "-I", 1, "-t", 2).table()

    def test_averages(self):
        for a in range(4):
            Run("all_reduce_perf", *QUICK, "-a", a, processes=3).table()


class Buffers(unittest.TestCase):
    def test_unaligned(self):
        for name in PROGRAMS:
            for u in (1, 3):
                for dtype in ("int8", "half", "double"):
                    table = Run(name, "-b", 100, "-e", "70K", "-f", 9, "-u", u, "-d",
                                dtype, "-n", 1, processes=3).table()
                    self.assertIn(f"unalign: {u}", table.setting_line)

    def test_mapped(self):
        for name in PROGRAMS:
            for r in (1, 2):
                Run(name, "-b", 4, "-e", "1M", "-f", 8, "-n", 2, "-R", r,
                    processes=2).table()
            Run(name, "-b", 4, "-e", "1M", "-f", 8, "-n", 2, "-R", 1, "-t", 3).table()
            Run(name, "-b", 4, "-e", "70K", "-f", 8, "-n", 2, "-R", 1, "-u", 1, "-m", 3,
                processes=2).table()

    def test_mapped_in_turns_is_refused(self):
        run = Run("all_reduce_perf", *QUICK, "-g", 2, "-R", 1)
        self.assertEqual(run.code, 5)
        self.assertIn("-R", run.err)


class Reports(unittest.TestCase):
    def test_processor_time(self):
        run = Run("all_reduce_perf", "-b", "1M", "-e", "1M", "-C", 1, processes=2)
        half = run.table().rows[0]["out"]
        self.assertIn("cputime", half)
        self.assertGreater(half["cputime"], 0)

    def test_timestamps(self):
        before = time.strftime("%Y-%m-%d %H:%M:%S")
        table = Run("all_reduce_perf", "-b", 8, "-e", 64, "-f", 8, "-S", 1,
                    processes=2).table()
        after = time.strftime("%Y-%m-%d %H:%M:%S")
        for row in table.rows:
            self.assertTrue(before <= row["timestamp"] <= after)

    def test_per_iteration(self):
        for skip in (0, 4):
            run = Run("all_reduce_perf", "-b", 8, "-e", 4096, "-f", 8, "-n", 30, "-I", 1,
                      *(("-K", skip) if skip else ()), "-S", 1, processes=2)
            table = run.table()
            self.assertIn("# Per-Iteration Report", run.out)
            self.assertEqual("skips first 4 iterations" in run.out, skip == 4)
            for row in table.rows:
                for half in (row["out"], row["in"]):
                    self.assertTrue(0 < half["i_min"] <= half["i_p99"] <= half["i_max"])
                    self.assertGreaterEqual(half["i_cv%"], 0)

    def test_memory(self):
        run = Run("all_reduce_perf", "-b", "1M", "-e", "1M", "-n", 1, "-M", 1,
                  processes=2)
        run.table()
        line = [x for x in run.out.split("\n") if x.startswith("# Memory usage")]
        self.assertEqual(len(line), 1)
        self.assertRegex(line[0], r"^# Memory usage +: Initialization [\d.]+ [KMG]?B \| "
                                  r"User-Allocated [\d.]+ [KMG]?B \| Total  [\d.]+ "
                                  r"[KMG]?B ?$")
        self.assertIn("User-Allocated 2.01 MB", line[0])

    def test_bandwidth_gate(self):
        good = Run("all_reduce_perf", "-b", "1M", "-e", "1M", processes=2,
                   env={"NCCL_TESTS_MIN_BW": "0.001"})
        self.assertEqual(good.code, 0)
        self.assertEqual(good.table().bandwidth_verdict, "OK")
        bad = Run("all_reduce_perf", "-b", "1M", "-e", "1M", processes=2,
                  env={"NCCL_TESTS_MIN_BW": "100000"})
        self.assertEqual(bad.code, 7)
        self.assertRegex(bad.out, r"# Avg bus bandwidth +: \S+ FAILED\n")

    def test_help(self):
        for option in ("-h", "--help"):
            run = Run("all_gather_perf", option)
            self.assertEqual((run.code, run.err), (0, ""))
            for flag in "tgbeifnwmNpcodrzTCSJaRMuIK":
                self.assertIn(f"-{flag}, --", run.out)

    def test_long_names(self):
        Run("all_reduce_perf", "--nthreads", 2, "--ngpus", 1, "--minbytes", "1K",
            "--maxbytes", "4K", "--stepfactor", 2, "--iters", 3, "--warmup_iters", 1,
            "--agg_iters", 1, "--run_cycles", 1, "--parallel_init", 1, "--check", 1,
            "--op", "max", "--datatype", "half", "--root", 0, "--blocking", 0,
            "--timeout", 60, "--report_cputime", 0, "--report_timestamps", 1,
            "--average", 1, "--local_register", 0, "--memory", 1, "--unalign", 0,
            "--per_iter_timing", 1, "--per_iter_skip", 1, "--cudagraph", 0,
            "--stream_null", 0, "--cta_policy", 0, "--device_implementation", 0,
            "--device_cta_count", 0).table()


class Refusals(unittest.TestCase):
    def refuse(self, code, *arguments, env=None):
        run = Run("all_reduce_perf", *arguments, env=env, timeout=20)
        self.assertEqual(run.code, code, (arguments, run.err))
        self.assertEqual(run.out, "", arguments)
        self.assertNotEqual(run.err, "", arguments)
        return run

    def test_misuse_is_6(self):
        for arguments in (("--nonsense",), ("-Q",), ("word",), ("-b",), ("-d", "foat"),
                          ("-d", ""), ("-o", "summ"), ("-f", 1), ("-f", 0), ("-f", -2),
                          ("-f", "two"), ("-f", "2.5"), ("-n", 0), ("-n", -1),
                          ("-n", "x"), ("-n", "5x"), ("-m", 0), ("-t", 0), ("-g", 0),
                          ("-w", -1), ("-N", -1), ("-c", -1), ("-z", 4), ("-a", 4),
                          ("-R", 3), ("-u", -1), ("-T", -1), ("-I", 2), ("-K", 1),
                          ("-I", 1, "-K", 20), ("-p", 2), ("-C", 2), ("-S", "yes"),
                          ("-M", 7), ("-r", "x"), ("-r", -2), ("-J", "file.txt"),
                          ("-J", ".json"), ("--walk", 2), ("-n", "99999999999")):
            self.refuse(6, *arguments)

    def test_sizes_are_255(self):
        for arguments in (("-b", "abc"), ("-b", -5), ("-e", "1X"), ("-b", "2M", "-e",
                          "1M"), ("-i", "abc"), ("-i", -5), ("-i", 0), ("-e", "1e9"),
                          ("-e", ""), ("-b", "nan"), ("-e", "9999999999T")):
            self.refuse(255, *arguments)

    def test_no_step_is_fine_with_a_factor(self):
        Run("all_reduce_perf", "-b", 8, "-e", 32, "-i", 0, "-f", 2, "-n", 1,
            processes=2).table()

    def test_what_only_a_gpu_has_is_5(self):
        for flag in "GxDVy":
            run = self.refuse(5, f"-{flag}", 1)
            self.assertIn(f"-{flag}", run.err)
            Run("all_reduce_perf", f"-{flag}", 0, *QUICK, processes=2).table()

    def test_what_the_library_lacks_is_5(self):
        self.refuse(5, "-o", "mulsum")
        self.refuse(5, "-d", "f8e4m3")
        self.refuse(5, "-d", "f8e5m2")
        self.refuse(5, env={"NCCL_TESTS_SPLIT": "MOD 2"})

    def test_bandwidth_that_is_none(self):
        self.refuse(6, env={"NCCL_TESTS_MIN_BW": "fast"})

    def test_misuse_under_the_launcher(self):
        run = Run("all_reduce_perf", "-f", 0, processes=3)
        self.assertEqual(run.code, 6)

    def test_ranks_with_different_shapes(self):
        job = Job("-n", 2, "--", "sh", "-c",
                  f"exec {program('all_reduce_perf')} -b 8 -e 8 -t $((RANK + 1))")
        self.assertEqual(job.finish(), 6)
        self.assertIn("different -t or -g", job.err)


class TooLarge(unittest.TestCase):
    def check(self, run, ranks):
        self.assertEqual(run.code, 2, run.err)
        lines = [x for x in run.err.split("\n") if "too large" in x]
        self.assertEqual(len(lines), 1, run.err)
        self.assertRegex(lines[0], rf"-e \S+ is too large: [\d.]+ [KMGTP]iB wanted for "
                                   rf"{ranks} ranks \([\d.]+ [KMGTP]iB each\), [\d.]+ "
                                   rf"[KMG]iB available")
        self.assertNotIn("signal", run.err)

    def test_a_tebibyte(self):
        for name in PROGRAMS:
            self.check(Run(name, "-b", "1T", "-e", "1T", processes=2), 2)
            self.check(Run(name, "-b", "1T", "-e", "1T", "-t", 4), 4)
        self.check(Run("all_reduce_perf", "-b", 8, "-e", "1024T", "-f", 2, processes=4),
                   4)

    @unittest.skipIf(sanitized(), "sanitizers need the whole address space")
    def test_a_limited_address_space(self):
        def run(limit_gib, *arguments):
            job = Job("-n", 2, "--", program("all_reduce_perf"), *arguments,
                      preexec_fn=lambda: resource.setrlimit(
                          resource.RLIMIT_AS, (limit_gib << 30, limit_gib << 30)))
            job.code = job.finish()
            return job
        self.check(run(2, "-b", "100G", "-e", "200G"), 2)
        for mapped in (0, 1):
            job = run(2, "-b", "1M", "-e", "2G", "-f", 2, "-R", mapped)
            self.assertEqual(job.code, 2, job.err)
            self.assertIn("too large", job.err)
            job = run(2, "-b", "64M", "-e", "64M", "-n", 1, "-R", mapped)
            self.assertEqual(job.code, 0, job.err)


class Endings(unittest.TestCase):
    def job(self, *arguments, n=3):
        job = Job("-n", n, "--", program("all_reduce_perf"), "-b", "8", "-e", "1M", "-f",
                  "8", "-N", "0", *arguments)
        # A row on the screen: everybody is at work.
        while not re.match(rb" +\d+ ", job.process.stdout.readline()):
            self.assertIsNone(job.process.poll())
        return job

    def pids(self, job):
        with open(f"/proc/{job.process.pid}/task/{job.process.pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def test_a_killed_rank(self):
        for victim in range(3):
            job = self.job()
            os.kill(self.pids(job)[victim], signal.SIGKILL)
            start = time.monotonic()
            self.assertEqual(job.finish(), 128 + 9)
            self.assertLess(time.monotonic() - start, 6)
            self.assertIn(f"rank {victim}", job.err)
            failures = re.findall(r"^\S+: Test failure \S+\.c:\d+ '(RONDO_ERR_\w+) / .+'$",
                                  job.err, re.M)
            self.assertEqual(failures, ["RONDO_ERR_PEER"] * 2, job.err)
            self.assertIn("exited with code 3", job.err)

    def test_a_stopped_rank_and_a_timeout(self):
        job = self.job("-T", "2")
        victim = self.pids(job)[1]
        os.kill(victim, signal.SIGSTOP)
        start = time.monotonic()
        code = job.finish()
        self.assertEqual(code, 4, job.err)
        self.assertLess(time.monotonic() - start, 12)
        self.assertRegex(job.err, r"\S+: Test timeout \(2s\) \S+:\d+")

    def test_no_false_alarm(self):
        Run("all_reduce_perf", "-b", "1M", "-e", "1M", "-n", 2000, "-N", 2, "-T", 60,
            processes=2).table()
        Run("all_reduce_perf", "-b", 8, "-e", 8, "-n", 10, "-T", 1, "-t", 2).table()

    def test_timeout_with_threads(self):
        """A whole process is stopped with all its ranks; the other one notices."""
        job = Job("-n", 2, "--", program("all_reduce_perf"), "-t", "2", "-b", "8", "-e",
                  "8", "-N", "0", "-T", "2")
        while not re.match(rb" +\d+ ", job.process.stdout.readline()):
            self.assertIsNone(job.process.poll())
        os.kill(self.pids(job)[1], signal.SIGSTOP)
        self.assertEqual(job.finish(), 4, job.err)

    def test_json_that_cannot_be_written_ends_everybody(self):
        run = Run("all_reduce_perf", *QUICK, "-J", "/nonexistent/file.json", processes=3)
        self.assertEqual(run.code, 2, run.err)
        self.assertIn("/nonexistent/file.json", run.err)

    def test_ranks_that_differ(self):
        job = Job("-n", 2, "--", "sh", "-c",
                  f"exec {program('all_reduce_perf')} -b $((8 << RANK)) -e 64 -f 2")
        self.assertEqual(job.finish(), 3)
        self.assertIn("RONDO_ERR_MISMATCH", job.err)


if __name__ == "__main__":
    unittest.main()
