# survive_lockstep.py - modes without servers: ranks are killed, also the one that
# reports, also several; and come back.
# ctest: timeout=240 label=slow
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from crew import Crew  # noqa: E402
from training import small_data  # noqa: E402

EPOCHS = 10
# 120 steps of at least 10 ms.
STEPS = ["--hidden", 16, "--global-batch", 50, "--epochs", EPOCHS, "--log-every", 1,
         "--straggler", "fixed:base=10", "--quiet"]
MODES = (["sync", "--on-failure", "shrink", "--hash-every", 7],
         ["local", "--local-steps", 4, "--local-from", 60],
         ["diloco", "--local-steps", 4, "--lr", 0.01], ["gossip"],
         ["gossip", "--graph", "exponential"], ["ad-gossip"])


class Survive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = small_data(cls.folder.name, train=600)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def crew(self, ranks, mode, *options):
        return Crew(ranks, "--data", self.data, *STEPS, "--mode", *mode, *options)

    def ends_well(self, crew, reporter, dead=()):
        """All that live end with 0; `reporter` has written the end. Its records."""
        for rank, code in enumerate(crew.codes()):
            self.assertEqual(code, -9 if rank in dead else 0, crew.errors())
        records = crew.records(reporter)
        self.assertEqual(records[-1]["event"], "final")
        self.assertEqual(records[-1]["steps"], 12 * EPOCHS)
        self.assertGreater(records[-1]["test_accuracy"], 0.9)
        printed = [rank for rank in range(crew.ranks)
                   if "test accuracy" in crew.text("out", rank, crew.lives[rank] - 1)]
        self.assertEqual(printed, [reporter or 0])
        return records

    def test_the_one_that_reports_and_another_die(self):
        for mode in MODES:
            with self.subTest(mode=mode), self.crew(4, mode) as crew:
                crew.reach(30)
                crew.kill(0)
                crew.kill(2)
                records = self.ends_well(crew, 1, dead=(0, 2))
                epochs = [r["epoch"] for r in records if r["event"] == "epoch"]
                self.assertEqual(epochs[-1], EPOCHS)
                self.assertEqual(epochs, sorted(set(epochs)))
                steps = [r["step"] for r in records if r["event"] == "step"]
                self.assertEqual(steps, list(range(steps[0], 12 * EPOCHS + 1)))

    def test_one_after_the_other_until_one_is_left(self):
        for mode in MODES:
            with self.subTest(mode=mode), self.crew(3, mode) as crew:
                crew.reach(30)
                crew.kill(2)
                crew.reach(50)
                crew.kill(1)
                self.ends_well(crew, None, dead=(1, 2))

    def test_ranks_come_back(self):
        for mode in MODES:
            for victim in (0, 2):
                with self.subTest(mode=mode, victim=victim), \
                        self.crew(3, mode, "--door", "door") as crew:
                    reporter = 1 if victim == 0 else None
                    crew.reach(25)
                    crew.kill(victim)
                    crew.come_back(victim)
                    self.ends_well(crew, reporter)
                    self.assertIn(f"rank {victim} is back: 3 of 3", crew.errors())

    def test_one_that_comes_back_with_other_options_harms_nobody(self):
        with self.crew(3, MODES[0], "--door", "door") as crew:
            crew.reach(25)
            crew.kill(2)
            crew.start(2, "--return", "--seed", "9")
            code = crew.process[2].wait(60)
            self.assertEqual(code, 1)
            self.assertIn("this rank has come back with other options",
                          crew.text("err", 2, 1))
            self.assertEqual([crew.process[rank].wait(60) for rank in (0, 1)], [0, 0])
            self.assertEqual(crew.final["steps"], 12 * EPOCHS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
