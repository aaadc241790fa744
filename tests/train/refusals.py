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


# Options of some modes, and which.
ONLY_IN = {
    "--servers 1": "backup async ssp", "--backups 1": "backup", "--policy cancel": "backup",
    "--bound 1": "ssp", "--staleness-aware": "async ssp", "--compensate 1": "async ssp",
    "--compensate-adaptive": "async ssp", "--graph ring": "gossip",
    "--local-steps 2": "local diloco", "--local-from 2": "local", "--outer-lr 1": "diloco",
    "--outer-momentum 0": "diloco", "--own-images 9": "sync async ssp",
    "--canonical": "sync",
}

# What else makes no sense together with a mode, with failures, or with virtual time.
MODE_USAGE = (
    ("--mode gossip --hash-every 1", "--hash-every 1 with --mode gossip: parameters of"),
    ("--mode async --hash-every 1", "--hash-every 1 with --mode async: "),
    ("--mode backup --servers 2", "--servers 2 with --mode backup: a gradient is taken"),
    ("--mode async --servers 2 --optimiser lamb", "--optimiser lamb with --servers 2"),
    ("--mode ssp --bound 0 --staleness-aware", "--staleness-aware with --bound 0: no"),
    ("--mode ssp --bound 0 --compensate 1", "--compensate with --bound 0: no gradient"),
    ("--mode async --compensate-adaptive", "--compensate-adaptive without --compensate"),
    ("--own-images 9 --canonical", "--own-images with --canonical: "),
    ("--own-images 9 --global-batch 8", "--own-images with --global-batch: "),
    ("--own-images 9 --accumulate 2", "--own-images with --accumulate: "),
    ("--own-images 9 --mode async --door d", "--own-images with --door: "),
    ("--own-images 9 --on-failure shrink", "--own-images with --on-failure shrink: "),
    ("--on-failure stop --mode none", "--on-failure with --mode none: ranks that"),
    ("--canonical --on-failure shrink", "--canonical with --on-failure shrink: the ranks"),
    ("--door d --mode none", "--door with --mode none: it takes no rank in again"),
    ("--door d", "--door with --on-failure stop: nobody is left to return to"),
    ("--return", "--return without --door: a rank returns through its file"),
    ("--return-timeout 9", "--return-timeout without --door: "),
    ("--resume", "--resume without --checkpoint: that names the directory"),
    ("--checkpoint-every 9", "--checkpoint-every without --checkpoint: "),
    ("--trace-steps 9", "--trace-steps without --trace: that names the file"),
    ("--status lines --quiet", "--status with --quiet: that prints the result alone"),
    ("--workers 9", "--workers without --virtual: "),
    ("--virtual-timing", "--virtual-timing without --virtual: "),
    ("--virtual-latency 9", "--virtual-latency without --virtual: "),
    ("--virtual-bandwidth 9", "--virtual-bandwidth without --virtual: "),
    ("--virtual --mode async --door d", "--door with --virtual: "),
    ("--virtual --return --door d --mode async", "with --virtual: only real ranks"),
    ("--virtual --on-failure stop", "--on-failure with --virtual: "),
    ("--virtual --resume --checkpoint d", "with --virtual: only real ranks"),
    ("--virtual --checkpoint d", "--checkpoint with --virtual: "),
    ("--virtual --own-images 9", "--own-images with --virtual: "),
    ("--virtual --canonical", "--canonical with --virtual: "),
    ("--straggler often", "--straggler"),
    ("--servers 0 --mode async", "--servers: '0' is not a whole number from 1 to 4096"),
)


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
                (["--mode", "none", "--canonical"], "--canonical with --mode none"),
                *(((option.split(), words)) for option, words in MODE_USAGE)):
            run = self.run_alone(*options)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertEqual(run.stderr.count("\n"), 1)
            self.assertIn("rondo-train: ", run.stderr)
            self.assertIn(words, run.stderr)

    def test_an_option_of_some_modes_is_refused_in_all_others(self):
        modes = ("sync none backup async ssp gossip ad-gossip local diloco").split()
        for option, known in ONLY_IN.items():
            for mode in modes:
                if mode in known.split():
                    continue
                run = self.run_alone("--mode", mode, *option.split())
                self.assertEqual(run.returncode, 2, (mode, option))
                self.assertIn(f"{option.split()[0]} with --mode {mode}: ", run.stderr)

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
                (["--batch", 500], 1, "a global batch of 1500 from 600 training images"),
                (["--mode", "async", "--servers", 3], 2,
                 "--mode async with --servers 3 on 3 rank(s): no worker is left"),
                (["--mode", "backup", "--backups", 2], 2,
                 "--backups 2 of 2 worker(s): a version must wait for one"),
                (["--own-images", 300], 1, "--own-images come to 900 in all")):
            job, code = refused(3, *options, *self.options)
            self.check(job, code, words, exit_code=exit_code)

    def test_images_of_ones_own_for_some_only(self):
        job, code = refused(3, *self.options,
                            different="$(test $RANK = 1 && echo --own-images 9)")
        self.check(job, code, "rank 1 has --own-images, rank 0 has not")
        job, code = refused(3, "--own-images", 0, *self.options)
        self.check(job, code, "--own-images come to 0 in all: allowed are 1 to 600")

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
