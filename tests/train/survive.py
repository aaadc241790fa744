# survive.py - ranks that are killed, and what becomes of the run; ranks that come back.
# ctest: timeout=300
import os
import random
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from crew import Crew, largest_gap  # noqa: E402
from training import small_data  # noqa: E402

# Steps of 4 ms, so that a death happens between others.
STEPS = ["--hidden", 16, "--batch", 4, "--epochs", 5, "--lr", 0.02, "--log-every", 1,
         "--straggler", "fixed:base=4"]
# How long a death on one host may stop the others, in seconds: it is seen within
# milliseconds, but cores may be few.
GAP = 2.0

BACKUP = ["--mode", "backup", "--backups", 1]
ASYNC = ["--mode", "async"]
BOUNDED = ["--mode", "ssp", "--bound", 2]
EQUAL = ["--mode", "ssp", "--bound", 0]


class Survive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = small_data(cls.folder.name, train=600)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def crew(self, ranks, *options):
        return Crew(ranks, "--data", self.data, *STEPS, *options)

    def ends_well(self, crew, dead=()):
        codes = crew.codes()
        for rank, code in enumerate(codes):
            self.assertEqual(code, -9 if rank in dead else 0, crew.errors())
        return codes

    def went_on(self, crew, allowed=GAP):
        """All steps, no long gap, and something learnt."""
        steps = crew.steps()
        self.assertGreater(crew.final["test_accuracy"], 0.9)
        self.assertEqual(steps[-1]["step"], crew.records()[0]["steps"])
        gap = largest_gap(steps)
        print(f"longest time without a step: {1000 * gap:.0f} ms")
        self.assertLess(gap, allowed)

    def test_a_worker_of_four_dies_and_comes_back(self):
        for mode in (BACKUP, ASYNC, BOUNDED):
            with self.subTest(mode=mode), self.crew(5, *mode, "--door", "door") as crew:
                crew.reach(40)
                crew.kill(3)
                crew.reach(70)
                crew.come_back(3)
                self.ends_well(crew)
                self.went_on(crew)
                self.assertIn("rank 3 is gone: 4 of 5 go on", crew.text("err", 0))
                self.assertIn("rank 3 is back: 5 of 5", crew.text("err", 0))
                # It has worked again: its file has steps of a second life.
                own = [r["step"] for r in crew.records(3) if r["event"] == "worker"]
                second = own[own.index(min(own), 1):]
                self.assertGreater(len(second), 10)
                self.assertFalse(os.path.exists(crew.path("door")))

    def test_a_worker_of_four_dies_for_good(self):
        for mode in (BACKUP, ASYNC, BOUNDED, EQUAL):
            with self.subTest(mode=mode), self.crew(5, *mode) as crew:
                crew.reach(40)
                crew.kill(4)
                self.ends_well(crew, dead=(4,))
                self.went_on(crew)

    def test_the_worker_that_reports_dies(self):
        with self.crew(4, *ASYNC) as crew:
            crew.reach(40)
            crew.kill(1)
            self.ends_well(crew, dead=(1,))
            # The next one's file has the rest.
            self.assertGreaterEqual(crew.steps()[-1]["step"], 40)
            final = crew.records(2)[-1]
            self.assertEqual(final["event"], "final")
            self.assertGreater(final["test_accuracy"], 0.9)

    def test_two_workers_die_at_once(self):
        with self.crew(5, *BACKUP) as crew:
            crew.reach(40)
            for rank in (2, 4):
                crew.process[rank].kill()
            self.ends_well(crew, dead=(2, 4))
            self.went_on(crew)

    def test_a_server_of_two_dies_and_the_other_takes_over(self):
        for mode, back in ((ASYNC, True), (BOUNDED, False)):
            with self.subTest(mode=mode), self.crew(
                    5, *mode, "--servers", 2, "--door", "door", "--checkpoint", "states",
                    "--checkpoint-every", 10) as crew:
                crew.reach(40)
                crew.kill(0)
                if back:
                    crew.reach(70)
                    crew.come_back(0)
                self.ends_well(crew, dead=() if back else (0,))
                self.went_on(crew)

    def test_the_only_server_dies_and_comes_back(self):
        for mode in (BACKUP, EQUAL):
            with self.subTest(mode=mode), self.crew(
                    4, *mode, "--door", "door", "--checkpoint", "states",
                    "--checkpoint-every", 10) as crew:
                crew.reach(40)
                crew.kill(0)
                time.sleep(0.2)
                crew.come_back(0)
                self.ends_well(crew)
                self.went_on(crew, allowed=20)  # A program starts, and is waited for.

    def test_the_only_server_dies_for_good(self):
        with self.crew(3, *ASYNC, "--door", "door", "--checkpoint", "states",
                       "--return-timeout", 0.5) as crew:
            crew.reach(40)
            crew.kill(0)
            self.assertEqual(crew.codes(), [-9, 1, 1])
            self.assertIn("no server is left, and none is back after 0.5 s",
                          crew.errors())
        with self.crew(3, *ASYNC) as crew:
            crew.reach(40)
            crew.kill(0)
            self.assertEqual(crew.codes(), [-9, 1, 1])
            self.assertIn("no server is left; with --door and --checkpoint one could "
                          "come back", crew.errors())

    def test_a_shard_that_nobody_has_ends_the_run(self):
        with self.crew(4, *ASYNC, "--servers", 2) as crew:
            crew.reach(40)
            crew.kill(0)
            self.assertEqual(crew.codes(), [-9, 1, 1, 1])
            self.assertIn("the parameters of server 0 are lost with it", crew.errors())

    def test_all_workers_die(self):
        with self.crew(3, *ASYNC) as crew:
            crew.reach(40)
            for rank in (1, 2):
                crew.kill(rank)
            self.assertEqual(crew.codes(), [1, -9, -9])
            self.assertIn("all workers are gone", crew.errors())

    def test_ranks_die_and_return_again_and_again(self):
        source = random.Random(1)
        with self.crew(6, *ASYNC, "--servers", 2, "--door", "door", "--checkpoint",
                       "states", "--checkpoint-every", 20, "--epochs", 40) as crew:
            crew.reach(20)
            for _ in range(6):
                # Two at once or nearly so, servers and those that report among them.
                dead = source.sample(range(6), 2)
                for rank in dead:
                    crew.kill(rank)
                    time.sleep(source.choice((0, 0.05)))
                time.sleep(source.choice((0, 0.2)))
                for rank in dead:
                    crew.come_back(rank)
                time.sleep(source.uniform(0.1, 0.6))
            self.ends_well(crew)

    def test_the_ticket_is_its_owners_alone(self):
        with self.crew(3, *ASYNC, "--door", "door") as crew:
            crew.reach(40)
            # Readable by its owner alone: whoever has the ticket can join.
            self.assertEqual(os.stat(crew.path("door")).st_mode & 0o777, 0o600)
            self.ends_well(crew)

    def test_sync_stops_and_names_the_rank(self):
        with self.crew(4, "--mode", "sync") as crew:
            crew.reach(40)
            crew.kill(2)
            codes = crew.codes()
            self.assertEqual(codes[2], -9)
            for rank in (0, 1, 3):
                self.assertEqual(codes[rank], 1)
            self.assertRegex(crew.errors(), r"rank 2 \(process \d+\) died")

    def test_modes_without_servers_go_on(self):
        for mode in (["sync", "--on-failure", "shrink"], ["gossip"], ["ad-gossip"],
                     ["local", "--local-steps", 4, "--on-failure", "shrink"]):
            with self.subTest(mode=mode), self.crew(4, "--mode", *mode) as crew:
                crew.reach(40)
                crew.kill(2)
                self.ends_well(crew, dead=(2,))
                self.went_on(crew)


if __name__ == "__main__":
    unittest.main(verbosity=2)
