# layout.py - what the programs print, against the description of nccl-tests' output.
# ctest: timeout=300
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from perf_table import (PROGRAMS, REDUCING, ROOTED, TYPE_BYTES, Run,  # noqa: E402
                        Table, bus_factor, bytes_of_call)

QUICK = ("-n", 3, "-w", 1)


class Layout(unittest.TestCase):
    def test_every_line(self):
        run = Run("all_reduce_perf", "-b", 1024, "-e", 4096, "-f", 2, *QUICK,
                  processes=2)
        patterns = [
            r"# nccl-tests-compat version 2\.19\.6 rondo-headers=\d+ rondo-library=\d+",
            r"# Collective test starting: all_reduce_perf",
            r"# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2\(factor\) warmup "
            r"iters: 1 iters: 3 agg iters: 1 validation: 1 graph: 0 unalign: 0",
            r"#",
            r"# Using devices",
            r"#  Rank  0 Group  0 Pid [ 0-9]{6,} on +\S+ device  0 \[0000:00:00\] \S.*",
            r"#  Rank  1 Group  0 Pid [ 0-9]{6,} on +\S+ device  1 \[0000:00:00\] \S.*",
            r"#",
            r"#                                                              "
            r"out-of-place                       in-place          ",
            r"#       size         count      type   redop    root     time   algbw   "
            r"busbw  #wrong     time   algbw   busbw  #wrong ",
            r"#        \(B\)    \(elements\)                               \(us\)  "
            r"\(GB/s\)  \(GB/s\)             \(us\)  \(GB/s\)  \(GB/s\)         ",
            r"        1024           256     float     sum      -1( [ 0-9.e+]{7} "
            r"[ 0-9.e+]{7} [ 0-9.e+]{7} [ 0-9]{7}){2}",
            r"        2048           512     float     sum      -1( [ 0-9.e+]{7} "
            r"[ 0-9.e+]{7} [ 0-9.e+]{7} [ 0-9]{7}){2}",
            r"        4096          1024     float     sum      -1( [ 0-9.e+]{7} "
            r"[ 0-9.e+]{7} [ 0-9.e+]{7} [ 0-9]{7}){2}",
            r"# Out of bounds values : 0 OK",
            r"# Avg bus bandwidth    : [0-9.e+-]+ ",
            r"#",
            r"# Collective test concluded: all_reduce_perf",
            r"#",
            r"",
            r"",
        ]
        self.assertEqual(run.code, 0, run.err)
        lines = run.out.split("\n")
        self.assertEqual(len(lines), len(patterns), run.out)
        for line, pattern in zip(lines, patterns):
            # Each half's columns are 2 + 7 + 2 + 6 + 2 + 6 + 2 + 6 characters.
            pattern = pattern.replace(
                "( [ 0-9.e+]{7} [ 0-9.e+]{7} [ 0-9.e+]{7} [ 0-9]{7}){2}",
                "(  [ 0-9.e+]{7}  [ 0-9.e+]{6}  [ 0-9.e+]{6}  [ 0-9]{6}){2}")
            self.assertRegex(line, "^" + pattern + "$")

    def test_defaults(self):
        run = Run("all_reduce_perf", "-n", 1, "-t", 2)
        table = run.table()
        self.assertEqual(table.sizes(), [32 << 20])
        self.assertIn("step: 1048576(bytes) warmup iters: 1 iters: 1 agg iters: 1 "
                      "validation: 1", table.setting_line)

    def test_columns_of_every_program(self):
        for name in PROGRAMS:
            table = Run(name, "-b", 256, "-e", 4096, "-f", 4, *QUICK,
                        processes=2).table()
            self.assertEqual(table.started, name)
            for row in table.rows:
                self.assertEqual(row["redop"], "sum" if name in REDUCING else "none")
                self.assertEqual(row["root"], 0 if name in ROOTED else -1)
                self.assertEqual(row["out"]["#wrong"], 0)
                self.assertEqual(row["in"]["#wrong"],
                                 None if name == "sendrecv_perf" else 0)


class Numbers(unittest.TestCase):
    def test_bandwidths_follow_from_the_time(self):
        for name in PROGRAMS:
            for n in (1, 2, 3):
                table = Run(name, "-b", "256K", "-e", "1M", "-f", 2, *QUICK,
                            processes=n).table()
                for row in table.rows:
                    moved = bytes_of_call(name, row, n)
                    for half in (row["out"], row["in"]):
                        self.check(name, n, moved, half)

    def check(self, name, n, moved, half):
        # The printed time is rounded, and so are the bandwidths.
        algbw = moved / 1e9 / (half["time"] * 1e-6)
        slack = 0.005 / half["time"] * algbw + 0.0051
        self.assertAlmostEqual(half["algbw"], algbw, delta=slack + 0.005 * algbw)
        self.assertAlmostEqual(half["busbw"], half["algbw"] * bus_factor(name, n),
                               delta=0.011 + 0.001 * half["busbw"])

    def test_average_is_the_mean_of_all_halves(self):
        table = Run("broadcast_perf", "-b", "256K", "-e", "4M", "-f", 2, *QUICK,
                    processes=2).table()
        halves = [row[h]["busbw"] for row in table.rows for h in ("out", "in")]
        self.assertAlmostEqual(table.average, sum(halves) / len(halves), delta=0.006)


class Sizes(unittest.TestCase):
    def test_size_and_count(self):
        for name in PROGRAMS:
            for dtype, width in TYPE_BYTES.items():
                table = Run(name, "-b", 1, "-e", 130, "-i", 43, "-d", dtype, "-n", 1,
                            "-w", 0, processes=3).table()
                for asked, row in zip((1, 44, 87, 130), table.rows, strict=True):
                    count = asked // width
                    size = count * width
                    if name in ("all_gather_perf", "reduce_scatter_perf"):
                        block = count * width // 3 // 16 * 16
                        # In elements, then to 16 bytes: as the original rounds.
                        block = (count // 3) * width // 16 * 16
                        count, size = block // width, block * 3
                    self.assertEqual((row["count"], row["size"]), (count, size),
                                     (name, dtype, asked))

    def test_tiny_sizes_are_honest(self):
        for name in PROGRAMS:
            table = Run(name, "-b", 1, "-e", 8, "-i", 1, "-n", 2, processes=4).table()
            self.assertEqual(len(table.rows), 8)
            for row in table.rows:
                if row["count"] == 0:
                    self.assertEqual(row["size"], 0)
                    for half in (row["out"], row["in"]):
                        self.assertEqual((half["algbw"], half["busbw"]), (0.0, 0.0))
            self.assertTrue(any(row["count"] == 0 for row in table.rows))

    def test_nothing_at_all(self):
        for name in PROGRAMS:
            run = Run(name, "-b", 0, "-e", 0, processes=2)
            table = run.table()
            self.assertEqual(table.sizes(), [0])
            self.assertEqual(table.average, 0)
            self.assertNotRegex(run.out, r"\b(nan|inf)\b")

    def test_from_nothing_by_a_factor(self):
        table = Run("all_reduce_perf", "-b", 0, "-e", 64, "-f", 4, *QUICK, "-d",
                    "double", processes=2).table()
        self.assertEqual(table.sizes(), [0, 8, 32])

    def test_an_increment_with_a_suffix(self):
        """An increment of 2M was once read as 2 bytes."""
        table = Run("all_reduce_perf", "-b", "64M", "-e", "70M", "-i", "2M", "-n", 1,
                    "-w", 0, processes=2).table()
        self.assertEqual(table.sizes(), [67108864, 69206016, 71303168, 73400320])
        table = Run("all_reduce_perf", "-b", "1K", "-e", "4K", "-i", "1K", "-n", 1,
                    processes=2).table()
        self.assertEqual(table.sizes(), [1024, 2048, 3072, 4096])

    def test_fractions(self):
        table = Run("all_reduce_perf", "-b", "1.5K", "-e", "0.0030M", "-i", "1.5k",
                    "-n", 1, processes=2).table()
        self.assertEqual(table.sizes(), [1536, 3072])


class Shapes(unittest.TestCase):
    """Processes, threads and ranks per thread, all right and all the same table."""

    def test_ranks_and_devices(self):
        for processes, threads, each in ((1, 3, 1), (0, 4, 1), (2, 2, 1), (1, 1, 3),
                                         (2, 1, 2), (2, 2, 2), (3, 1, 1)):
            run = Run("all_reduce_perf", "-b", 8, "-e", "64K", "-f", 8, "-t", threads,
                      "-g", each, *QUICK, processes=processes)
            table = run.table()
            n = max(processes, 1) * threads * each
            found = [re.match(r"#  Rank +(\d+) Group +0 Pid +(\d+) on +(\S+) "
                              r"device +(\d+) \[0000:00:00\] \S", line)
                     for line in table.devices]
            self.assertEqual([int(m[1]) for m in found], list(range(n)))
            self.assertEqual([int(m[4]) for m in found], list(range(n)))
            self.assertEqual(len({m[2] for m in found}), max(processes, 1))

    def test_every_program_with_threads_and_turns(self):
        for name in PROGRAMS:
            for shape in (("-t", 3), ("-g", 3), ("-t", 2, "-g", 2), ("-t", 2, "-p", 1)):
                Run(name, "-b", 4, "-e", "256K", "-f", 8, *shape, *QUICK).table()

    def test_one_rank_is_loud(self):
        run = Run("all_reduce_perf", "-b", 8, "-e", 8, *QUICK)
        self.assertIn("there is 1 rank", run.err)
        run.table()

    def test_a_foreign_launcher_is_not_taken_for_none(self):
        for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
            run = Run("all_reduce_perf", "-b", 8, "-e", 8, env={variable: "4"})
            self.assertEqual(run.code, 6)
            self.assertIn(variable + "=4", run.err)
            self.assertEqual(run.out.count("# Rank"), 0)

    def test_rows_appear_while_the_test_runs(self):
        import subprocess
        from launching import program
        process = subprocess.Popen(
            [program("all_reduce_perf"), "-t", "2", "-b", "8", "-e", "8", "-N", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        rows = 0
        for line in process.stdout:
            rows += not line.startswith(b"#")
            if rows == 5:
                break
        process.kill()
        process.wait()
        process.stdout.close()
        self.assertEqual(rows, 5)


class Parser(unittest.TestCase):
    def test_it_can_fail(self):
        good = Run("all_reduce_perf", "-b", 8, "-e", 8, *QUICK, processes=2).out
        self.assertEqual(len(Table(good).rows), 1)
        with self.assertRaises((AssertionError, ValueError)):
            Table(good.replace("     sum      -1", "     sum"))
        with self.assertRaises((AssertionError, ValueError)):
            Table(re.sub(r"(?m)^( +8 .*) 0$", r"\1 nan", good))


if __name__ == "__main__":
    unittest.main()
