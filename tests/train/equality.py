# equality.py - bits: of two runs, of all ranks, and of 1, 2 and 4 ranks.
# ctest: timeout=240
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from training import small_data, train  # noqa: E402

# Every step's loss and hash, on Fashion-MNIST with the default network.
STEPS = ["--global-batch", 256, "--steps", 50, "--log-every", 1, "--hash-every", 1]


class FirstSteps(unittest.TestCase):
    def test_loss_hardly_depends_on_the_number_of_ranks(self):
        runs = {n: train(n, *STEPS) for n in (1, 2, 4)}
        for n, run in runs.items():
            self.assertEqual(len(run.losses()), 50)
            self.assertEqual(len(run.hashes()), 50)
            self.assertLess(run.losses()[-1], 0.5 * run.losses()[0])
            for step, (one, many) in enumerate(zip(runs[1].losses(), run.losses())):
                self.assertLess(abs(one - many), 1e-5, f"{n} ranks, step {step + 1}")

    def test_two_runs_give_the_same_bits(self):
        for n in (1, 2, 4):
            first, second = train(n, *STEPS), train(n, *STEPS)
            self.assertEqual(first.hashes(), second.hashes(), f"{n} ranks")
            self.assertEqual(first.losses(), second.losses(), f"{n} ranks")

    def test_canonical_bits_do_not_depend_on_the_number_of_ranks(self):
        one = train(1, "--canonical", *STEPS)
        for n in (2, 4):
            many = train(n, "--canonical", *STEPS)
            self.assertEqual(one.hashes(), many.hashes(), f"{n} ranks")
            self.assertEqual(one.losses(), many.losses(), f"{n} ranks")
            self.assertEqual(one.final["test_accuracy"], many.final["test_accuracy"])


class SmallData(unittest.TestCase):
    """A data set of a moment, for what needs many runs."""

    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.options = ["--data", small_data(cls.keeper.name), "--hidden", "24,16",
                       "--epochs", 2, "--log-every", 1, "--hash-every", 1]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def test_canonical_for_every_split(self):
        for micro, batch in ((1, 8), (3, 24), (5, 40), (7, 56), (12, 96)):
            options = ["--canonical", "--micro-batch", micro, "--global-batch", batch]
            runs = [train(n, *options, *self.options) for n in (1, 2, 4, 8)]
            for run in runs[1:]:
                self.assertEqual(runs[0].hashes(), run.hashes(), options)
                self.assertEqual(runs[0].losses(), run.losses(), options)

    def test_canonical_for_every_network_and_optimiser(self):
        for model in ("softmax", "mlp", "cnn"):
            for optimiser in ("sgd", "nesterov", "adamw", "lars", "lamb"):
                options = ["--canonical", "--micro-batch", 5, "--global-batch", 40,
                           "--model", model, "--optimiser", optimiser, "--warmup", 1]
                data = [o for o in self.options if o not in ("--hidden", "24,16")]
                runs = [train(n, *options, *data) for n in (1, 2, 4)]
                for run in runs[1:]:
                    self.assertEqual(runs[0].hashes(), run.hashes(), options)

    def test_passes_hardly_change_the_losses(self):
        for model in ("mlp", "cnn"):
            options = ["--global-batch", 48, "--model", model, *self.options]
            one = train(2, *options)
            for passes in (2, 5, 24):
                more, again = (train(2, "--accumulate", passes, *options)
                               for _ in range(2))
                self.assertEqual(more.hashes(), again.hashes())
                self.assertNotEqual(one.hashes(), more.hashes())
                for a, b in zip(one.losses(), more.losses(), strict=True):
                    self.assertLess(abs(a - b), 1e-4, (model, passes))

    def test_any_number_of_ranks_with_parts_that_are_not_equal(self):
        one = train(1, "--global-batch", 50, *self.options)
        for n in (3, 5, 6, 7):
            many = train(n, "--global-batch", 50, *self.options)
            for a, b in zip(one.losses(), many.losses()):
                self.assertLess(abs(a - b), 1e-4, f"{n} ranks")

    def test_seeds_differ(self):
        hashes = {train(2, "--seed", seed, *self.options).final["parameters_hash"]
                  for seed in range(4)}
        self.assertEqual(len(hashes), 4)

    def test_the_number_of_steps_does_not_change_the_steps(self):
        whole = train(2, *self.options)
        for steps in (1, 3, 5):
            part = train(2, "--steps", steps, *self.options)
            self.assertEqual(part.losses(), whole.losses()[:steps])
            self.assertEqual(part.hashes(), whole.hashes()[:steps])
            self.assertEqual(part.final["steps"], steps)


if __name__ == "__main__":
    unittest.main(verbosity=2)
