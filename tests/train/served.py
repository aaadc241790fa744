# served.py - backup, async and ssp with real processes: identities that hold at any
# speed, exactly; times are printed, never judged.
# ctest: timeout=240
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from crew import Crew  # noqa: E402
from training import refused, small_data, train  # noqa: E402

SMALL = ["--hidden", 16, "--batch", 4, "--lr", 0.02, "--log-every", 1]


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = small_data(cls.folder.name, train=600)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def train(self, ranks, *options):
        return train(ranks, "--data", self.data, *SMALL, *options)

    def ends(self, ranks, *options):
        """The final record and the worker records of a crew, by worker."""
        with Crew(ranks, "--data", self.data, *SMALL, *options) as crew:
            self.assertEqual(set(crew.codes()), {0}, crew.errors())
            own = [r for name in (None, *range(ranks)) for r in crew.records(name)
                   if r["event"] == "worker"]
            return crew.final, own

    def test_bound_0_gives_the_bits_of_sync(self):
        options = ["--epochs", 2]
        # Two summands: their order does not matter.
        sync = self.train(2, "--mode", "sync", *options)
        for servers in (1, 2, 3):
            equal = self.train(2 + servers, "--mode", "ssp", "--bound", 0, "--servers",
                               servers, *options)
            self.assertEqual(equal.final["parameters_hash"],
                             sync.final["parameters_hash"], f"{servers} servers")
            self.assertEqual(equal.final["server"]["staleness_largest"], 0)

    def test_many_workers_meet_with_many_parameters(self):
        final, _ = self.ends(13, "--mode", "async", "--servers", 2, "--hidden", "512,512",
                             "--steps", 5)
        self.assertEqual(final["used"], 11 * 5)

    def test_every_optimiser_is_cut_into_shards(self):
        for optimiser, rate in (("sgd", 0.02), ("momentum", 0.02), ("nesterov", 0.02),
                                ("adamw", 0.001)):
            options = ["--mode", "ssp", "--bound", 0, "--epochs", 1,
                       "--optimiser", optimiser, "--lr", rate]
            one = self.train(3, *options)
            three = self.train(5, *options, "--servers", 3)
            self.assertEqual(one.final["parameters_hash"],
                             three.final["parameters_hash"], optimiser)

    def test_staleness_of_async(self):
        # A gradient's staleness is the number of others' updates since the worker's
        # pull, and its pull comes with its own update: so over all gradients of N
        # workers it adds up to (N - 1) updates, whatever the speeds, but for the ends,
        # where not all are there: what a worker misses before its first pull and after
        # its last push.
        workers = 4
        for pace in ("fixed:base=2", "exp:base=1,mean=2",
                     "slow:base=1,worker=0,factor=3"):
            final, own = self.ends(1 + workers, "--mode", "async", "--epochs", 3,
                                   "--straggler", pace)
            server, used = final["server"], final["used"]
            self.assertEqual(final["dropped"], 0)
            self.assertEqual(server["version"], used)
            self.assertEqual(server["pushes"], used)
            self.assertEqual(used, workers * final["steps"])
            counts = final["staleness_counts"]
            self.assertEqual(sum(counts), used)
            total = sum(s * count for s, count in enumerate(counts))
            if len(counts) < 256:  # the last place counts larger ones, too
                self.assertAlmostEqual(total / used, server["staleness_mean"], places=6)
            ends = 0
            for worker in range(workers):
                mine = [r for r in own if r["worker"] == worker]
                self.assertEqual(len(mine), final["steps"])
                ends += mine[0]["version"]
                # The last push's own update: the version it was of, those it met, one.
                last = mine[-1]["version"] + mine[-1]["staleness"] + 1
                ends += used - last
            self.assertEqual(total, (workers - 1) * used - ends, pace)
            print(f"{pace}: mean staleness {total / used:.3f} of {workers - 1}, at most "
                  f"{server['staleness_largest']}")

    def test_workers_stay_within_the_bound(self):
        for bound in (0, 1, 3):
            final, _ = self.ends(5, "--mode", "ssp", "--bound", bound, "--epochs", 2,
                                 "--straggler", "slow:base=1,worker=1,factor=4")
            self.assertLessEqual(final["server"]["spread"], bound + 1)
            self.assertEqual(final["used"], 4 * final["steps"])
            print(f"bound {bound}: {1000 * final['seconds'] / final['steps']:.1f} ms a "
                  f"step, at most {final['server']['spread']} apart")

    def test_backup_counts_every_gradient(self):
        for policy in ("cancel", "finish"):
            for backups in (0, 1, 2):
                final, own = self.ends(5, "--mode", "backup", "--backups", backups,
                                     "--policy", policy, "--epochs", 2, "--straggler",
                                     "exp:base=1,mean=3")
                server = final["server"]
                # A version is a step, and takes so many gradients, none of them stale.
                self.assertEqual(server["version"], final["steps"])
                self.assertEqual(final["used"], (4 - backups) * server["version"])
                self.assertEqual(server["staleness_largest"], 0)
                self.assertEqual(server["pushes"], final["used"] + final["dropped"])
                if backups == 0:
                    self.assertEqual(final["dropped"] + server["given_up"], 0)
                # Each one begun is used, dropped or given up; a version has at most one
                # of each worker.
                self.assertEqual(server["pushes"] + server["given_up"], len(own))
                self.assertLessEqual(len(own), 4 * server["version"])
                if policy == "finish":
                    self.assertEqual(server["given_up"], 0)
                print(f"{policy}, {4 - backups} of 4: "
                      f"{1000 * final['seconds'] / final['steps']:.1f} ms a step, "
                      f"{final['dropped']} dropped, {server['given_up']} given up")

    def test_stale_gradients_with_a_smaller_rate_or_mended(self):
        for more in (["--staleness-aware"], ["--compensate", 0.04],
                     ["--compensate", 0.5, "--compensate-adaptive", "--servers", 2]):
            for mode in ("async", "ssp"):
                run = self.train(5, "--mode", mode, *more, "--epochs", 6)
                self.assertGreater(run.final["test_accuracy"], 0.9, (mode, more))

    def test_going_on_from_the_shards_files(self):
        for mode in (["ssp", "--bound", 0], ["backup", "--backups", 1], ["async"]):
            for servers in (1, 2) if mode[0] != "backup" else (1,):
                options = ["--mode", *mode, "--servers", servers, "--epochs", 2]
                with tempfile.TemporaryDirectory() as folder:
                    states = ["--checkpoint", os.path.join(folder, "states")]
                    whole = self.train(3 + servers, *options)
                    part = self.train(3 + servers, *options, *states, "--steps", 37)
                    rest = self.train(3 + servers, *options, *states, "--resume")
                self.assertEqual(part.final["steps"], 37)
                self.assertEqual(rest.final["steps"], whole.final["steps"])
                self.assertEqual(rest.of("step")[0]["step"], 38)
                if mode[-1] == 0:
                    self.assertEqual(rest.final["parameters_hash"],
                                     whole.final["parameters_hash"])

    def test_going_on_with_other_workers(self):
        for mode in (["ssp", "--bound", 1], ["backup", "--backups", 1], ["async"]):
            options = ["--data", self.data, "--hidden", 16, "--lr", 0.02, "--log-every",
                       1, "--mode", *mode, "--epochs", 2, "--global-batch", 12]
            with tempfile.TemporaryDirectory() as folder:
                states = ["--checkpoint", os.path.join(folder, "states")]
                train(4, *options, *states, "--steps", 20)
                for ranks in (3, 6):
                    rest = train(ranks, *options, *states, "--resume")
                    self.assertEqual(rest.final["steps"], 100)
                    self.assertGreater(rest.final["test_accuracy"], 0.8)

    def test_states_that_do_not_fit(self):
        options = ["--data", self.data, *SMALL, "--mode", "async", "--steps", 10]
        with tempfile.TemporaryDirectory() as folder:
            states = ["--checkpoint", os.path.join(folder, "states")]
            train(3, *options, *states)
            path = os.path.join(folder, "states", "shard-0")
            for more, word in (([], "--resume goes on from there"),
                               (["--resume", "--hidden", 17], "--hidden was 16"),
                               (["--resume", "--mode", "ssp"], "--mode was async")):
                job, _ = refused(3, *options, *states, *more)
                self.assertIn(word, job.err)
            with open(path, "r+b") as file:
                file.seek(-100, os.SEEK_END)
                byte = file.read(1)
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte[0] ^ 1]))
            job, _ = refused(3, *options, *states, "--resume")
            self.assertIn(f"{path}: damaged", job.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
