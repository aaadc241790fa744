# uneven.py - ranks with different numbers of images: those that run out wait for the
# others without holding them up, and all end with the same parameters.
# ctest: timeout=180
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from training import small_data, train  # noqa: E402


class Uneven(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.options = ["--data", small_data(cls.keeper.name), "--hidden", "24,16",
                       "--batch", 10, "--epochs", 20]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def run_with(self, images, *options, first=0):
        """images: by rank, those before `first` have none and say nothing."""
        words = " ".join(map(str, [0] * first + images))
        share = f"--own-images $(set -- {words}; shift $RANK; echo $1)"
        return train(first + len(images), *options, *self.options, different=share)

    def test_in_step_the_longest_shard_gives_the_steps(self):
        # The last: an empty rank 0, and batches that are not full.
        for images, steps in (([100, 110], 220), ([100, 0, 110], 220), ([0, 55, 31], 120),
                              ([7], 20), ([1, 2, 200], 400)):
            run = self.run_with(images, "--hash-every", 1)
            self.assertEqual(run.final["steps"], steps, images)
            self.assertEqual(run.final["images"], 20 * sum(images))
            self.assertEqual(len(run.hashes()), steps)  # Each compared over the ranks.
            again = self.run_with(images, "--hash-every", 1)
            self.assertEqual(run.hashes(), again.hashes())

    def test_early_end(self):
        run = self.run_with([100, 110], "--steps", 33)
        self.assertEqual(run.final["steps"], 33)

    def test_with_a_server_each_worker_has_its_own_steps(self):
        for mode in (["async"], ["ssp", "--bound", 3], ["ssp", "--bound", 0]):
            for images in ([100, 110], [100, 0, 110]):
                run = self.run_with(images, "--mode", *mode, first=1)
                self.assertEqual(run.final["images"], 20 * sum(images), (mode, images))
                self.assertEqual(run.final["used"], 2 * sum(images), (mode, images))
                self.assertGreater(run.final["test_accuracy"], 0.8)


if __name__ == "__main__":
    unittest.main(verbosity=2)
