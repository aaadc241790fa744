# modes_lockstep.py - local, diloco and gossip against sync: what they send, what they
# come to.
# ctest: timeout=300 label=slow
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from training import small_data, train  # noqa: E402

RANKS = 4
# An epoch of Fashion-MNIST, in a whole number of rounds.
BUDGET = ["--hidden", 64, "--batch", 16, "--epochs", 1, "--log-every", 0]


def run(mode, steps, *options):
    result = train(RANKS, "--mode", mode, "--steps", steps, *BUDGET, *options)
    return result.final, result.of("epoch")[-1]["loss"]


class Fashion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sync, _ = run("sync", 896)

    def test_fewer_averages_send_less_and_cost_some_accuracy(self):
        accuracy = [self.sync["test_accuracy"]]
        for steps in (16, 64):
            local, _ = run("local", 896, "--local-steps", steps)
            self.assertEqual(local["payload_bytes"] * steps, self.sync["payload_bytes"])
            accuracy.append(local["test_accuracy"])
        self.assertGreater(accuracy[0], 0.84)
        # Within 2 points after a single epoch, and never better for being lazier.
        self.assertGreater(accuracy[1], accuracy[0] - 0.02)
        self.assertGreater(accuracy[2], accuracy[0] - 0.03)
        self.assertLess(accuracy[2], accuracy[0])

    def test_an_outer_optimiser_makes_up_for_long_rounds(self):
        sync, sync_loss = run("sync", 900, "--optimiser", "adamw")
        local, local_loss = run("local", 900, "--optimiser", "adamw", "--local-steps", 50)
        diloco, loss = run("diloco", 900, "--local-steps", 50)
        self.assertEqual(diloco["payload_bytes"] * 50, sync["payload_bytes"])
        self.assertEqual(diloco["payload_bytes"], local["payload_bytes"])
        self.assertLess(loss, local_loss)
        self.assertLess(loss, 1.15 * sync_loss)
        self.assertGreater(diloco["test_accuracy"], local["test_accuracy"] - 0.005)

    def test_gossip_comes_as_far_as_sync(self):
        accuracy, sent = self.sync["test_accuracy"], self.sync["payload_bytes"]
        for graph, of_sync in (("ring", 2), ("exponential", 1.5)):
            gossip, _ = run("gossip", 896, "--graph", graph)
            self.assertGreater(gossip["test_accuracy"], accuracy - 0.01)
            self.assertAlmostEqual(gossip["payload_bytes"] / sent, of_sync, delta=0.01)
        pairs, _ = run("ad-gossip", 896)
        self.assertGreater(pairs["test_accuracy"], accuracy - 0.025)


class Pace(unittest.TestCase):
    """--straggler in real runs: nobody is faster than the slowest of its step."""

    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.options = ["--data", small_data(cls.keeper.name), "--hidden", 8, "--steps", 40,
                       "--batch", 10, "--epochs", 9]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def test_steps_take_the_time_that_is_drawn(self):
        for mode in ("sync", "local", "diloco", "gossip", "ad-gossip"):
            result = train(3, "--mode", mode, "--straggler", "fixed:base=10", *self.options)
            self.assertGreater(result.final["seconds"], 0.4, mode)
            self.assertLess(result.final["seconds"], 2.0, mode)

    def test_one_slow_rank_holds_up_those_that_go_in_step(self):
        for mode in ("sync", "gossip", "local"):
            result = train(3, "--mode", mode, "--straggler",
                           "slow:base=4,worker=1,factor=10", *self.options)
            self.assertGreater(result.final["seconds"], 1.6, mode)


if __name__ == "__main__":
    unittest.main(verbosity=2)
