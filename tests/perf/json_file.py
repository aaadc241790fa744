# json_file.py - the file of -J: version 3 of nccl-tests, valid, and no secret in it.
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from perf_table import PROGRAMS, Run  # noqa: E402


def strict(text):
    """JSON has no NaN and no Infinity; Python would accept them."""
    def refuse(word):
        raise ValueError(word)
    return json.loads(text, parse_constant=refuse)


class File(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "out.json")

    def tearDown(self):
        self.folder.cleanup()

    def measure(self, name, *arguments, processes=2, env=None):
        run = Run(name, *arguments, "-J", self.path, processes=processes, env=env)
        with open(self.path) as file:
            report = strict(file.read())
        return run, report

    def test_what_is_in_it(self):
        arguments = ("-b", 8, "-e", "1K", "-f", 8, "-n", 5)
        run, report = self.measure("all_reduce_perf", *arguments)
        table = run.table()
        self.assertIn(f"# Writing JSON output to {self.path}", run.out)
        self.assertEqual(report["version"], 3)
        self.assertEqual(report["args"][1:], [str(a) for a in arguments]
                         + ["-J", self.path])
        for key in ("start_time", "end_time"):
            self.assertRegex(report[key], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        self.assertIsInstance(report["nccl_version"], int)
        config = report["config"]
        devices = config.pop("devices")
        self.assertEqual(config, {
            "nthreads": 1, "ngpus": 1, "minimum_bytes": 8, "maximum_bytes": 1024,
            "step_factor": 8, "warmup_iters": 1, "iterations": 5,
            "aggregated_iterations": 1, "validation": 1, "graph": 0,
            "blocking_collectives": "false", "per_iter_timing": "false",
            "per_iter_skip": 0, "parallel_init": "false"})
        self.assertEqual([d["rank"] for d in devices], [0, 1])
        self.assertEqual(set(devices[0]), {"rank", "group", "pid", "hostname", "device",
                                           "device_hex", "device_info"})
        self.assertEqual(report["out_of_bounds"], {"count": 0, "okay": "true"})
        self.assertEqual(report["average_bus_bandwidth"]["okay"], "unchecked")
        self.assertAlmostEqual(report["average_bus_bandwidth"]["bandwidth"],
                               table.average, delta=1e-4)
        self.assertEqual(report["errors"], [])
        self.compare(table, report["results"])

    def compare(self, table, results):
        self.assertEqual(len(results), len(table.rows))
        for row, result in zip(table.rows, results):
            self.assertEqual([result[k] for k in ("size", "count", "type", "redop")],
                             [row[k] for k in ("size", "count", "type", "redop")])
            self.assertEqual(result["root"], "%6d" % row["root"])
            self.assertEqual(result["actual_iterations"], 5)
            self.assertEqual(result["experiment_name"], "")
            for key, half in (("out_of_place", "out"), ("in_place", "in")):
                self.assertEqual(set(result[key]), {"time", "alg_bw", "bus_bw",
                                                    "nwrong"})
                self.assertEqual(result[key]["nwrong"], row[half]["#wrong"])
                self.assertAlmostEqual(result[key]["time"], row[half]["time"],
                                       delta=0.0051 + result[key]["time"] * 0.005)

    def test_every_program(self):
        for name in PROGRAMS:
            os.path.exists(self.path) and os.remove(self.path)
            _, report = self.measure(name, "-b", 256, "-e", 256, "-n", 2, "-t", 2,
                                     processes=1)
            self.assertEqual(len(report["results"]), 1)
            self.assertEqual(len(report["config"]["devices"]), 2)
            wrong = report["results"][0]["in_place"]["nwrong"]
            self.assertEqual(wrong, None if name == "sendrecv_perf" else 0)

    def test_step_bytes_and_cpu_time(self):
        _, report = self.measure("all_reduce_perf", "-b", 64, "-e", 192, "-i", 64, "-n",
                                 2, "-C", 1, "-z", 1, "-c", 0)
        self.assertEqual(report["config"]["step_bytes"], 64)
        self.assertEqual(report["config"]["blocking_collectives"], "true")
        self.assertIn("cpu_time", report["results"][0]["out_of_place"])
        self.assertIsNone(report["results"][0]["out_of_place"]["nwrong"])

    def test_per_iteration(self):
        _, report = self.measure("all_reduce_perf", "-b", 64, "-e", 64, "-n", 12, "-I",
                                 1, "-K", 2)
        for key in ("out_of_place_per_iter", "in_place_per_iter"):
            told = report["results"][0][key]
            times = told["times_us"]
            self.assertEqual(told["skipped_iterations"], 2)
            self.assertEqual(len(times), 12)
            rows = told["per_process_max_times_us"]
            self.assertEqual([len(row) for row in rows], [12, 12])
            self.assertEqual(times, [max(pair) for pair in zip(*rows)])
            kept = sorted(times[2:])
            self.assertEqual((told["min_us"], told["max_us"]), (kept[0], kept[-1]))
            self.assertAlmostEqual(told["avg_us"], sum(kept) / 10, places=6)
            self.assertIn(told["p50_us"], kept)
            self.assertLessEqual(told["p50_us"], told["p95_us"])
            self.assertLessEqual(told["p95_us"], told["p99_us"])
            self.assertAlmostEqual(told["cv_pct"],
                                   told["stdev_us"] / told["avg_us"] * 100, places=6)

    def test_tiny_sizes(self):
        _, report = self.measure("all_gather_perf", "-b", 0, "-e", 8, "-i", 4, "-n", 2)
        for result in report["results"]:
            self.assertEqual(result["count"], 0)
            self.assertEqual(result["out_of_place"]["bus_bw"], 0.0)

    def test_secrets_stay_out(self):
        for processes in (0, 2):
            os.path.exists(self.path) and os.remove(self.path)
            _, report = self.measure(
                "all_reduce_perf", "-b", 8, "-e", 8, "-n", 1, processes=processes,
                env={"RONDO_SECRET": "c0ffee" * 11, "MY_PASSWORD": "hunter2",
                     "RONDO_LOG": "warn"})
            with open(self.path) as file:
                text = file.read()
            self.assertNotIn("c0ffee", text)
            self.assertNotIn("RONDO_SECRET", text)
            self.assertNotIn("hunter2", text)
            self.assertIn("RONDO_LOG=warn", report["env"])
            self.assertEqual("WORLD_SIZE=2" in report["env"], processes == 2)
            self.assertEqual("RANK=0" in report["env"], processes == 2)

    def test_a_file_that_exists_is_kept(self):
        with open(self.path, "w") as file:
            file.write("mine")
        for i in range(2):
            Run("all_reduce_perf", "-b", 8, "-e", 8, "-n", 1, "-J", self.path,
                processes=2).table()
            with open(f"{self.path}.{i}") as file:
                self.assertEqual(strict(file.read())["version"], 3)
        with open(self.path) as file:
            self.assertEqual(file.read(), "mine")

    def test_bandwidth_gate(self):
        run, report = self.measure("all_reduce_perf", "-b", "1M", "-e", "1M",
                                   env={"NCCL_TESTS_MIN_BW": "1000000"})
        self.assertEqual(run.code, 7)
        self.assertEqual(report["average_bus_bandwidth"]["okay"], "false")

    def test_after_a_failure_it_is_whole_and_says_why(self):
        from launching import Job, program
        job = Job("-n", 2, "--", "sh", "-c",
                  f"exec {program('all_reduce_perf')} -b $((8 << RANK)) -e 64 -f 2 "
                  f"-J {self.path}")
        self.assertEqual(job.finish(), 3)
        with open(self.path) as file:
            report = strict(file.read())
        self.assertEqual(len(report["errors"]), 1)
        self.assertIn("all_reduce", report["errors"][0])


if __name__ == "__main__":
    unittest.main()
