# virtual.py - times of training modes in virtual time, against what can be derived.
# ctest: timeout=120
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from virtual_time import order_statistic, start, time_steps  # noqa: E402

ALL_STRAGGLERS = {  # and how much longer than the mean their longest step is, at most
    "fixed:base=10": 1, "exp:base=40,mean=40": 6, "rare:base=10,p=0.05,factor=8": 6,
    "slow:base=10,worker=0,factor=5": 5, "lognormal:base=10,sigma=0.6": 6}


class Derived(unittest.TestCase):
    def within(self, value, expected, share=0.02):
        self.assertLess(abs(value / expected - 1), share, (value, expected))

    def test_sync_waits_for_the_slowest(self):
        for n, milliseconds in ((4, 123.3), (16, 175.2)):
            mean = time_steps("sync", n, 20000).virtual["update_mean"]
            self.within(mean, order_statistic(n, n))
            self.within(mean, milliseconds / 1000)
        for n in (1, 2, 3, 8, 64):
            mean = time_steps("sync", n, 4000).virtual["update_mean"]
            self.within(mean, order_statistic(n, n), 0.03)

    def test_backup_workers_that_cancel(self):
        mean, rate = {}, {}
        for waited in (16, 15, 14, 13, 12, 11, 10, 9, 8):
            run = time_steps(f"backup --backups {16 - waited}", 16, 20000)
            mean[waited] = run.virtual["update_mean"]
            rate[waited] = waited / mean[waited]
            self.within(mean[waited], order_statistic(waited, 16))
            self.assertEqual(run.virtual["started"], 16 * 20000)
            self.assertEqual(run.final["used"], waited * 20000)
            self.assertEqual(run.virtual["given_up"], (16 - waited) * 20000)
            self.assertEqual(run.final["dropped"], 0)
            self.assertEqual(run.final["staleness_counts"], [waited * 20000])
        for waited, milliseconds in ((16, 175.2), (15, 135.2), (14, 115.2), (12, 91.9)):
            self.within(mean[waited], milliseconds / 1000)
        for waited, faster in ((15, 1.30), (14, 1.52), (12, 1.91)):
            self.within(mean[16] / mean[waited], faster)
        self.assertIn(max(rate, key=rate.get), (11, 12))
        self.within(rate[12], 131, 0.02)
        self.within(rate[16], 91, 0.02)

    def test_backup_workers_that_finish(self):
        for waited in (16, 15, 14, 12):
            run = time_steps(f"backup --policy finish --backups {16 - waited}", 16, 5000)
            v, final = run.virtual, run.final
            self.assertEqual(final["used"], waited * 5000)
            self.assertEqual(v["started"], final["used"] + final["dropped"] + v["given_up"])
            # Only what is on its way at the end is neither used nor dropped.
            self.assertLessEqual(v["given_up"], 16 - waited)
            self.assertEqual(v["staleness_largest"], 0)
            # Late ones join late, and so the times are those of the other policy or more.
            self.assertGreater(v["update_mean"], 0.99 * order_statistic(waited, 16))
            if waited < 16:
                self.assertGreater(final["dropped"], 0)
                self.assertLess(v["update_mean"], 0.95 * order_statistic(16, 16))

    def test_rare_stragglers(self):
        rare = "rare:base=10,p=0.05,factor=8"
        all_16 = time_steps("backup --backups 0", 16, 40000, rare).virtual
        most = time_steps("backup --backups 2", 16, 40000, rare).virtual
        none = 0.95 ** 16
        self.within(all_16["update_mean"], 0.010 * (none + 8 * (1 - none)))
        for name in ("p50", "p90", "p95", "p99"):
            self.assertAlmostEqual(all_16[f"update_{name}"], 0.080, 9)
        for name in ("p50", "p90", "p95"):
            self.assertAlmostEqual(most[f"update_{name}"], 0.010, 9)
        self.assertAlmostEqual(most["update_p99"], 0.080, 9)
        few = sum(c * 0.05 ** k * 0.95 ** (16 - k) for k, c in ((0, 1), (1, 16), (2, 120)))
        self.within(most["update_mean"], 0.010 * (few + 8 * (1 - few)))
        self.assertGreater(all_16["update_mean"] / most["update_mean"], 3)

    def test_async_does_not_wait(self):
        for n in (4, 16):
            run = time_steps("async", n, 4000)
            self.within(run.virtual["update_mean"], 0.080 / n)
            self.assertEqual(run.virtual["wait_share"], 0)
        sync = time_steps("sync", 16, 4000).final["seconds"]
        self.within(time_steps("async", 16, 4000).final["seconds"] / sync, 0.457, 0.03)

    def test_mean_staleness_is_n_less_one(self):
        for n in (1, 2, 4, 8, 16, 64, 256):
            for straggler, longest in ALL_STRAGGLERS.items():
                run = time_steps("async", n, 200, straggler)
                v, total = run.virtual, run.virtual["updates"]
                self.assertEqual(total, 200 * n)
                # To the last update, with what is on its way at the end.
                used = round(v["staleness_mean"] * total)
                self.assertEqual(used + v["staleness_open"], (n - 1) * total, straggler)
                edge = n * n / total * (1 if longest == 1 else longest / 2)
                self.assertLessEqual(abs(v["staleness_mean"] - (n - 1)), edge, straggler)
                self.assertEqual(sum(run.final["staleness_counts"]), total)

    def test_shape_of_staleness(self):
        # In turns: all at N - 1, but for the first round.
        run = time_steps("async", 16, 500, "fixed:base=10")
        counts = run.final["staleness_counts"]
        self.assertEqual(counts, [1] * 15 + [16 * 500 - 15])
        v = run.virtual
        self.assertEqual((v["staleness_p50"], v["staleness_p99"]), (15, 15))
        # A slow worker's gradients are a tail of their own: 5 times as stale.
        v = time_steps("async", 16, 500, "slow:base=10,worker=3,factor=5").virtual
        self.assertLess(v["staleness_p50"], 16)
        self.assertTrue(70 <= v["staleness_largest"] <= 90, v)
        # An exponential tail.
        v = time_steps("async", 16, 500).virtual
        self.assertTrue(11 <= v["staleness_p50"] <= 15, v)
        self.assertGreater(v["staleness_p99"], 2 * 15)

    def test_bound(self):
        slow = "slow:base=10,worker=2,factor=5"
        for straggler in ("exp:base=40,mean=40", slow):
            waits = []
            for bound in (0, 1, 3, 10, 10 ** 9):
                run = time_steps(f"ssp --bound {bound}", 8, 2000, straggler)
                v = run.virtual
                # Checked by the program at every push; this is the largest it has seen.
                self.assertLessEqual(v["spread"], bound + 1)
                if bound <= 10:
                    self.assertEqual(v["spread"], bound + 1)
                waits.append(v["wait_share"])
                rate = run.final["images"] / run.final["seconds"]
                if straggler == slow and bound <= 10:
                    # A slow worker that stays slow: all have its rate, whatever the bound.
                    self.within(rate, 8 / 0.050, 0.01)
                elif straggler == slow:
                    self.within(rate, 7 / 0.010 + 1 / 0.050, 0.01)
            self.assertEqual(waits, sorted(waits, reverse=True))
            self.assertEqual(len(set(waits)), len(waits), waits)
            self.assertEqual(waits[-1], 0)
        # Bound 0 has sync's times, to the last digit.
        one, other = time_steps("ssp --bound 0", 8, 1000), time_steps("sync", 8, 1000)
        self.assertEqual(one.virtual["update_mean"], other.virtual["update_mean"])
        self.assertEqual(one.virtual["update_p99"], other.virtual["update_p99"])

    def test_gossip_contracts(self):
        """By the second eigenvalue of the weights, a round."""
        for n, second in ((8, 0.805), (16, 0.949)):
            run = time_steps("gossip", n, 60, "fixed:base=10", "--log-every", 1)
            distance = [record["distance"] for record in run.of("step")]
            for at in range(29 if n == 8 else 40, 44):
                self.within(distance[at + 1] / distance[at], second)
        for n in (8, 16):
            run = time_steps("gossip --graph complete", n, 5, "fixed:base=10",
                             "--log-every", 1)
            self.assertLess(run.of("step")[0]["distance"], 1e-5)
            # All of a power of two have met after log2 n rounds, if not equally.
            run = time_steps("gossip --graph exponential", n, 12, "fixed:base=10",
                             "--log-every", 1)
            ring = time_steps("gossip", n, 12, "fixed:base=10", "--log-every", 1)
            self.assertLess(run.of("step")[-1]["distance"],
                            ring.of("step")[-1]["distance"] / 3)

    def test_gossip_waits_for_neighbours_only(self):
        seconds = {mode: time_steps(mode, 16, 4000).final["seconds"] for mode in
                   ("sync", "gossip", "gossip --graph exponential",
                    "gossip --graph complete")}
        self.assertEqual(seconds["gossip --graph complete"], seconds["sync"])
        self.assertLess(seconds["gossip"], 0.85 * seconds["sync"])
        self.assertLess(seconds["gossip"], seconds["gossip --graph exponential"])
        self.assertLess(seconds["gossip --graph exponential"], seconds["sync"])

    def test_pairs_with_one_slow_worker(self):
        slow = "slow:base=10,worker=0,factor=10"
        sync = time_steps("sync", 8, 4000, slow).final["seconds"]
        for place in (0, 1):
            slow = f"slow:base=10,worker={place},factor=10"
            run = time_steps("ad-gossip", 8, 4000, slow)
            # 7.1 of 8 workers' rate against a tenth of it.
            self.within(run.final["seconds"] / sync, 0.8 / 7.1, 0.02)
            # Two vectors a pair, and a pair for each step of an even worker.
            exchanges = run.final["payload_bytes"] * 8 / 2 / (4 * run.records[0]["parameters"])
            even = (3.1 if place == 0 else 4) / 7.1
            self.within(exchanges, even * 8 * 4000, 0.02)

    def test_local_steps(self):
        whole = time_steps("local --local-steps 1", 8, 640)
        for steps in (2, 4, 16, 64):
            run = time_steps(f"local --local-steps {steps}", 8, 640)
            self.assertEqual(run.final["payload_bytes"] * steps,
                             whole.final["payload_bytes"])
            self.assertLess(run.final["seconds"], whole.final["seconds"])
        self.assertEqual(whole.final["seconds"],
                         time_steps("sync", 8, 640).final["seconds"])
        for steps, meetings in ((50, 10), (64, 8)):
            run = time_steps(f"diloco --local-steps {steps}", 4, 500)
            self.assertEqual(run.final["payload_bytes"],
                             meetings * 4 * run.records[0]["parameters"])

    def test_transfers(self):
        """Seconds of a vector: latency + bytes / bandwidth; on a ring 2 (N - 1) pieces."""
        network = ("--virtual-latency", 0.001, "--virtual-bandwidth", 1e8)
        run = time_steps("async", 4, 500, "fixed:base=10", *network)
        vector = 0.001 + 4 * run.records[0]["parameters"] / 1e8
        self.within(run.final["seconds"], 500 * (0.010 + 2 * vector), 1e-6)
        self.within(run.virtual["communicate_share"], 2 * vector / (0.010 + 2 * vector), 1e-3)
        for n in (1, 2, 5, 8):
            run = time_steps("sync", n, 500, "fixed:base=10", *network)
            piece = 0.001 + 4 * run.records[0]["parameters"] / n / 1e8
            self.within(run.final["seconds"], 500 * (0.010 + 2 * (n - 1) * piece), 1e-6)
        run = time_steps("gossip", 8, 500, "fixed:base=10", *network)
        self.within(run.final["seconds"], 500 * (0.010 + vector), 1e-6)


class Refused(unittest.TestCase):
    def test_reasons(self):
        straggler = ["--straggler", "fixed:base=10"]
        for options, env, words in (
                ([], {}, "--virtual without --straggler"),
                (["--straggler", "some"], {}, "--straggler: 'some' is not one of"),
                (straggler, {"RANK": "0"}, "--virtual with RANK in the environment"),
                (straggler, {"WORLD_SIZE": "1"}, "--virtual with WORLD_SIZE in the"),
                ([*straggler, "--mode", "none"], {}, "--virtual with --mode none"),
                ([*straggler, "--canonical"], {}, "--canonical with --virtual"),
                ([*straggler, "--mode", "backup", "--backups", 4], {},
                 "--backups 4 of 4 worker(s)"),
                ([*straggler, "--mode", "async", "--servers", 2], {},
                 "--virtual with --servers"),
                (["--straggler", "slow:base=1,worker=4,factor=2", "--virtual-timing"], {},
                 "there is no worker 4, the last of 4 is 3"),
                ([*straggler, "--workers", 0], {}, "--workers: '0' is not a whole number")):
            run = start(*options, env=env)
            self.assertEqual((run.returncode, run.stdout), (2, ""), (options, run.stderr))
            self.assertIn(words, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
