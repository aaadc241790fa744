# virtual_training.py - real gradients in virtual time: bits that must be equal, runs that
# repeat, and what staleness does to accuracy.
# ctest: timeout=180
import json
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from training import small_data, train  # noqa: E402
from virtual_time import EXPONENTIAL, play  # noqa: E402

MODES = ("sync", "backup", "backup --policy finish", "async", "async --staleness-aware",
         "async --compensate 0.04", "async --compensate 0.5 --compensate-adaptive",
         "ssp --bound 0", "ssp --bound 2", "ssp --bound 2 --staleness-aware", "gossip",
         "gossip --graph exponential", "ad-gossip", "local --local-steps 4",
         "local --local-steps 4 --local-from 10", "diloco --local-steps 5")


class Bits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.options = ["--data", small_data(cls.keeper.name), "--hidden", 12, "--epochs", 3,
                       "--log-every", 1, "--straggler", EXPONENTIAL]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def play(self, mode, workers, *options):
        return play(mode, workers, *self.options, "--batch", 8, *options)

    def test_same_options_same_records(self):
        for mode in MODES:
            one, other = (re.sub(r'"total_seconds":[^,]*,', "", self.play(mode, 5).text)
                          for _ in range(2))
            self.assertEqual(one, other, mode)
            different = self.play(mode, 5, "--seed", 2)
            self.assertNotEqual(json.loads(one.splitlines()[-1])["parameters_hash"],
                                different.final["parameters_hash"], mode)

    def test_bound_0_is_sync(self):
        for workers in (1, 2, 3, 4, 5, 8):
            for more in ([], ["--optimiser", "adamw"], ["--optimiser", "sgd"]):
                sync = self.play("sync", workers, *more)
                bound = self.play("ssp --bound 0", workers, *more)
                hashes = [[e["parameters_hash"] for e in run.of("epoch")]
                          for run in (sync, bound)]
                self.assertEqual(*hashes, workers)
                self.assertEqual([e["elapsed"] for e in sync.of("epoch")],
                                 [e["elapsed"] for e in bound.of("epoch")])

    def test_waiting_for_all_is_sync(self):
        for workers in (2, 5):
            sync, all_ = (self.play(mode, workers).final["parameters_hash"]
                          for mode in ("sync", "backup --backups 0"))
            self.assertEqual(sync, all_)

    def test_one_worker_is_sync(self):
        sync = self.play("sync", 1).final["parameters_hash"]
        for mode in ("async", "async --staleness-aware", "ssp --bound 1", "ssp --bound 7",
                     "gossip", "ad-gossip", "local", "backup --backups 0"):
            self.assertEqual(self.play(mode, 1).final["parameters_hash"], sync, mode)

    def test_real_ranks_have_the_same_bits(self):
        """Two ranks: the order of two terms does not matter."""
        for n in (1, 2):
            for more in ([], ["--optimiser", "adamw"], ["--model", "softmax"]):
                shared = ["--batch", 16, *self.options[:2], "--epochs", 2, *more]
                real = train(n, *shared, "--log-every", 1)
                run = play("sync", n, *shared, "--log-every", 1, "--straggler",
                           EXPONENTIAL)
                self.assertEqual([e["parameters_hash"] for e in run.of("epoch")],
                                 [e["parameters_hash"] for e in real.of("epoch")])
                for mine, other in zip(run.of("step"), real.of("step")):
                    self.assertAlmostEqual(mine["loss"], other["loss"], 6)
                self.assertEqual(run.final["test_accuracy"], real.final["test_accuracy"])

    def test_averages_that_are_equal(self):
        """An outer update with rate 1 and no momentum is a plain average; local steps of
        1 are sync, but for rounding."""
        plain = ["--optimiser", "sgd"]
        for workers in (2, 5):
            local = self.play("local --local-steps 5", workers, *plain)
            outer = self.play("diloco --local-steps 5 --outer-lr 1 --outer-momentum 0",
                              workers, *plain)
            self.assertEqual(local.final["parameters_hash"], outer.final["parameters_hash"])
            one = self.play("local --local-steps 1", workers, *plain)
            sync = self.play("sync", workers, *plain)
            for mine, other in zip(one.of("step"), sync.of("step")):
                self.assertAlmostEqual(mine["loss"], other["loss"], 5)
            late = self.play("local --local-from 1000", workers)
            self.assertEqual(late.final["test_accuracy"],
                             self.play("sync", workers).final["test_accuracy"])

    def test_all_learn(self):
        for mode in MODES:
            rate = ["--lr", 0.01] if "diloco" in mode or "async" in mode else []
            run = self.play(mode, 4, *rate, "--epochs", 6)
            first, last = run.of("epoch")[0], run.of("epoch")[-1]
            self.assertLess(last["loss"], first["loss"], mode)
            self.assertGreater(last["test_accuracy"], 0.5, mode)
            self.assertEqual(run.final["used"], 6 * (600 // 32) * (
                3 if "backup" in mode else 4), mode)

    def test_workers_records(self):
        network = ["--virtual-latency", 0.001, "--virtual-bandwidth", 1e7]
        for mode in MODES:
            run = self.play(mode, 4, "--log-every", 7, *network)
            whole, total = {}, run.final["seconds"]
            for record in run.of("worker"):
                worker = whole.setdefault(record["worker"], [0, 0, 0, 0])
                parts = [record[name] for name in ("compute", "communicate", "wait")]
                self.assertTrue(all(part >= 0 for part in parts), record)
                self.assertAlmostEqual(sum(parts), record["seconds"], 6)
                self.assertAlmostEqual(sum(record["step_seconds"]), record["seconds"], 6)
                self.assertLessEqual(len(record["step_seconds"]), 7)
                worker[0] += len(record["step_seconds"])
                worker[1] += record["seconds"]
                worker[2] += record["wait"]
                worker[3] += record["communicate"]
                self.assertEqual(worker[0], record["step"])
                self.assertLessEqual(record["elapsed"], total + 1e-9)
                # Steps follow one another without a gap.
                self.assertAlmostEqual(worker[1], record["elapsed"], 5)
            self.assertEqual(sorted(whole), [0, 1, 2, 3])
            waits = sum(worker[2] for worker in whole.values())
            sends = sum(worker[3] for worker in whole.values())
            self.assertAlmostEqual(waits / total / 4, run.virtual["wait_share"], 6)
            self.assertAlmostEqual(sends / total / 4, run.virtual["communicate_share"], 6)
            self.assertGreater(sends, 0)

    def test_trace(self):
        for mode in MODES:
            path = os.path.join(self.keeper.name, "trace.json")
            self.play(mode, 3, "--trace", path, "--trace-steps", 5, "--virtual-latency",
                      0.001)
            with open(path) as file:
                events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
            steps = [e for e in events if e["name"].startswith("step ")]
            self.assertEqual({e["pid"] for e in steps}, {0, 1, 2}, mode)
            for rank in range(3):
                mine = sorted((e["ts"], e["dur"]) for e in steps if e["pid"] == rank)
                self.assertEqual(len(mine), 5, mode)
                self.assertAlmostEqual(mine[0][0], 0)
                for (begin, length), (after, _) in zip(mine, mine[1:]):
                    self.assertAlmostEqual(begin + length, after, 0)

    def test_hundreds_of_workers(self):
        run = play("async", 300, *self.options, "--batch", 1, "--lr", 1e-4)
        self.assertEqual(run.virtual["workers"], 300)
        self.assertEqual(run.final["used"], 3 * 2 * 300)


class Accuracy(unittest.TestCase):
    """Fashion-MNIST, 784-64-10, in a minute less than it deserves: bench/training_study
    has all of it."""

    def accuracy(self, mode, workers, epochs, *options):
        run = play(mode, workers, "--hidden", 64, "--batch", 32, "--epochs", epochs,
                   "--log-every", 0, *options)
        return 100 * run.final["test_accuracy"], run

    def test_staleness_hurts_and_a_smaller_rate_mends(self):
        options = ("--optimiser", "sgd", "--lr", 0.2, "--straggler", EXPONENTIAL)
        (sync, slow), (stale, fast), (aware, _), (backup, quick) = (
            self.accuracy(mode, 16, 2, *options) for mode in
            ("sync", "async", "async --staleness-aware", "backup --backups 2"))
        self.assertGreater(sync, 78)
        self.assertLess(stale, sync - 2)
        self.assertGreater(aware - stale, 0.7 * (sync - stale))
        self.assertLess(fast.final["seconds"], 0.6 * slow.final["seconds"])
        self.assertAlmostEqual(fast.final["seconds"] / slow.final["seconds"], 0.457,
                               delta=0.02)
        # As many updates as sync, sooner, from fewer images.
        self.assertGreater(backup, sync - 1)
        self.assertGreater(slow.final["seconds"] / quick.final["seconds"], 1.3)
        self.assertEqual(quick.virtual["staleness_largest"], 0)

    def test_more_staleness_more_error(self):
        """All of a run's gradients are equally stale: workers that take turns."""
        accuracies = []
        for staleness in (0, 4, 16, 64):
            accuracy, run = self.accuracy("async", staleness + 1, 1, "--lr", 0.002,
                                          "--straggler", "fixed:base=10")
            self.assertEqual(run.virtual["staleness_p50"], staleness)
            self.assertEqual(run.virtual["staleness_p99"], staleness)
            accuracies.append(accuracy)
        for less, more in zip(accuracies, accuracies[1:]):
            self.assertGreater(less, more - 0.3, accuracies)
        self.assertGreater(accuracies[0] - accuracies[-1], 1, accuracies)


if __name__ == "__main__":
    unittest.main()
