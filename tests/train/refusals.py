# refusals.py - what rondo-train refuses, in which words, and that no rank waits in vain.
# ctest: timeout=240
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import program  # noqa: E402
from training import refused, small_data  # noqa: E402


class Alone(unittest.TestCase):
    """Without a launcher: one rank."""

    def run_alone(self, *options, **more):
        return subprocess.run([program("rondo-train"), *map(str, options)], text=True,
                              capture_output=True, timeout=60, **more)

    def test_help_and_version(self):
        run = self.run_alone("--help")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("--canonical", run.stdout)
        run = self.run_alone("--version")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"^rondo-train \d+\.\d+\.\d+\n$")

    def test_usage_is_exit_code_2(self):
        for options, words in (
                (["--epochs", "0"], "--epochs: '0' is not a whole number from 1 to"),
                (["--fast"], "unknown option '--fast'"),
                (["--optimiser", "sgd", "--momentum", "0"], "its formula has none"),
                (["--mode", "none", "--canonical"], "--canonical with --mode none")):
            run = self.run_alone(*options)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertEqual(run.stderr.count("\n"), 1)
            self.assertIn("rondo-train: ", run.stderr)
            self.assertIn(words, run.stderr)

    def test_full_disk_is_a_failure(self):
        with tempfile.TemporaryDirectory() as directory:
            data = small_data(directory)
            run = self.run_alone("--data", data, "--metrics", "/dev/full")
            self.assertEqual(run.returncode, 1)
            self.assertIn("--metrics /dev/full: No space left on device", run.stderr)
            with open("/dev/full", "w") as full:
                run = subprocess.run([program("rondo-train"), "--data", data], text=True,
                                     stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(run.returncode, 1)
            self.assertIn("standard output", run.stderr)


class Together(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.keeper.name)
        cls.data = small_data(cls.folder / "data")
        cls.other_data = small_data(cls.folder / "other", seed=2)
        cls.options = ["--data", cls.data, "--epochs", 2]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def check(self, job, code, *words, exit_code=1, seconds=20):
        self.assertEqual(code, exit_code, job.err)
        self.assertLess(job.seconds, seconds)
        for word in words:
            self.assertIn(word, job.err)

    def test_ranks_given_different_options(self):
        for different, words in (
                ("--seed $((RANK / 2 + 40))",
                 "ranks differ in --seed: rank 2 has 41, rank 0 has 40"),
                ("--hidden $((RANK / 3 + 8)),4",
                 "ranks differ in --hidden: rank 3 has 9,4, rank 0 has 8,4"),
                ("--lr 0.$((RANK / 1 + 1))",
                 "ranks differ in --lr: rank 1 has 0.2, rank 0 has 0.1"),
                ("$(test $RANK = 1 && echo --steps 3)",
                 "ranks differ in --steps: rank 1 has 3, rank 0 has (not given)"),
                ("$(test $RANK = 2 && echo --mode none)",
                 "ranks differ in --mode: rank 2 has none, rank 0 has sync"),
                ("$(test $RANK = 0 && echo --canonical)",
                 "ranks differ in --canonical: rank 1 has off, rank 0 has on")):
            job, code = refused(4, *self.options, different=different)
            self.check(job, code, "rondo-train: " + words)
            # All ranks know it; one says it.
            self.assertEqual(job.err.count("ranks differ"), 1, job.err)

    def test_ranks_given_different_data(self):
        job, code = refused(
            3, "--epochs", 2,
            different=f"--data $(test $RANK = 1 && echo {self.other_data} ||"
                      f" echo {self.data})")
        self.check(job, code, "ranks differ in the data (fingerprint): rank 1 has")

    def test_a_rank_without_data_stops_the_others(self):
        job, code = refused(
            3, "--epochs", 2,
            different=f"--data $(test $RANK = 1 && echo /nowhere || echo {self.data})")
        self.check(job, code, "rank 1: no train-images-idx3-ubyte.gz")

    def test_batches_that_do_not_fit(self):
        for options, exit_code, words in (
                (["--global-batch", 2], 2, "--global-batch 2 on 3 ranks"),
                (["--canonical"], 2, "--canonical on 3 ranks"),
                (["--batch", 2, "--accumulate", 3], 2, "each pass needs an image"),
                (["--batch", 500], 1, "a global batch of 1500 from 600 training images")):
            job, code = refused(3, *options, *self.options)
            self.check(job, code, words, exit_code=exit_code)

    def test_metrics_that_cannot_be_written_stop_all(self):
        for path in ("/nowhere/metrics", "/dev/full"):
            job, code = refused(3, "--metrics", path, *self.options)
            self.check(job, code, f"rank 0: --metrics {path}: ")

    def test_a_run_that_diverges_says_so(self):
        for n in (1, 3):
            for mode in ("sync", "none"):
                job, code = refused(n, "--lr", 1000, "--mode", mode, *self.options)
                self.check(job, code, "is not finite after step",
                           "a lower --lr than 1000 may help")


if __name__ == "__main__":
    unittest.main(verbosity=2)
