# trace.py - the timeline of --trace: JSON that Perfetto opens, spans one inside another.
# ctest: timeout=120
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, program  # noqa: E402
from training import refused, small_data, train  # noqa: E402

STEPS = 4
# Times are rounded to nanoseconds.
ROUNDING = 0.002


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.keeper.name)
        cls.data = ["--data", small_data(cls.folder / "data"), "--hidden", "24,16",
                    "--epochs", 2, "--batch", 20]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def trace(self, ranks, *options):
        path = self.folder / "trace.json"
        train(ranks, "--trace", path, "--trace-steps", STEPS, *self.data, *options)
        whole = json.loads(path.read_text())
        path.unlink()
        # Nothing is left beside it.
        self.assertEqual(list(self.folder.glob("trace*")), [])
        return whole

    def check_events(self, whole, ranks):
        lanes = collections.defaultdict(list)
        named = set()
        for event in whole["traceEvents"]:
            self.assertIn(event["ph"], ("X", "M"))
            self.assertIn(event["pid"], ranks)
            self.assertIsInstance(event["tid"], int)
            if event["ph"] == "M":
                named.add((event["name"], event["pid"], event["tid"]))
                self.assertTrue(event["args"]["name"])
                continue
            self.assertGreaterEqual(event["ts"], 0)
            self.assertGreaterEqual(event["dur"], 0)
            self.assertIn(event["cat"], ("compute", "communicate", "wait"))
            lanes[event["pid"], event["tid"]].append(event)
        for pid, tid in lanes:
            self.assertIn(("process_name", pid, 0), named)
            self.assertIn(("thread_name", pid, tid), named)
        for events in lanes.values():
            self.check_nesting(events)
        return lanes

    def check_nesting(self, events):
        """In the order of time; each ends before the one that it began in."""
        self.assertEqual([e["ts"] for e in events], sorted(e["ts"] for e in events))
        open_ends = []
        for event in events:
            end = event["ts"] + event["dur"]
            while open_ends and open_ends[-1] <= event["ts"] + ROUNDING:
                open_ends.pop()
            if open_ends:
                self.assertLessEqual(end, open_ends[-1] + ROUNDING, event)
            open_ends.append(end)

    def test_steps_of_mode_sync(self):
        for n in (1, 2, 4):
            lanes = self.check_events(self.trace(n), range(n))
            self.assertEqual(set(lanes), {(r, lane) for r in range(n) for lane in (0, 1)})
            for rank in range(n):
                names = collections.Counter(e["name"] for e in lanes[rank, 0])
                wanted = {f"step {k}": 1 for k in range(1, STEPS + 1)}
                wanted |= {name: STEPS for name in (
                    "forward", "wait", "update",
                    *(f"backward layer {k}" for k in range(3)),
                    *(f"exchange layer {k}" for k in range(3)))}
                self.assertLessEqual(wanted.items(), names.items())
                # Evaluations are in it though they are after its steps.
                self.assertEqual(set(names) - set(wanted), {"evaluate"})
                self.assertEqual([e["name"] for e in lanes[rank, 1]], ["exchange"] * STEPS)

    def test_the_parts_of_a_step_are_its_time(self):
        lanes = self.check_events(self.trace(2), range(2))
        for rank in range(2):
            events = lanes[rank, 0]
            for step in (e for e in events if e["name"].startswith("step ")):
                end = step["ts"] + step["dur"]
                inside = [e for e in events if step["ts"] <= e["ts"] < end and e is not step
                          and not e["name"].startswith("exchange layer")]
                self.assertLessEqual(sum(e["dur"] for e in inside), step["dur"] + 1)

    def test_other_modes(self):
        for mode, name in (("none", "forward"), ("local", "average"),
                           ("gossip", "average")):
            lanes = self.check_events(
                self.trace(2, "--mode", mode,
                           *(["--local-steps", 2] if mode == "local" else [])), range(2))
            for rank in range(2):
                self.assertIn(name, {e["name"] for e in lanes[rank, 0]}, mode)

    def test_a_server_and_its_workers(self):
        lanes = self.check_events(self.trace(3, "--mode", "async"), range(3))
        self.assertIn("update", {e["name"] for e in lanes[0, 0]})
        for rank in (1, 2):
            names = {e["name"] for e in lanes[rank, 0]}
            self.assertLessEqual({"pull", "push", "forward", "step 1"}, names)

    def test_virtual_time(self):
        path = self.folder / "virtual.json"
        run = subprocess.run(
            [program("rondo-train"), "--virtual", "--workers", "5", "--mode", "sync",
             "--straggler", "exp:base=10,mean=10", "--trace", path, "--trace-steps",
             str(STEPS), "--quiet", *map(str, self.data)], capture_output=True, text=True,
            timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        lanes = self.check_events(json.loads(path.read_text()), range(5))
        path.unlink()
        for rank in range(5):
            steps = [e for e in lanes[rank, 0] if e["name"].startswith("step ")]
            self.assertEqual(len(steps), STEPS)
            # No step is shorter than what all have in common.
            self.assertTrue(all(e["dur"] >= 10000 for e in steps))

    def test_ranks_of_a_run_that_ends_early_keep_theirs(self):
        """A rank whose steps are in it has written them, whatever comes after."""
        path = self.folder / "early.json"
        refused(3, "--trace", path, "--trace-steps", 1, "--lr", 1000, *self.data)
        for name in ("early.json", "early.rank1.json", "early.rank2.json"):
            self.check_events(json.loads((self.folder / name).read_text()), range(3))
            (self.folder / name).unlink()

    def test_parts_of_another_run_are_not_taken(self):
        path = self.folder / "trace.json"
        old = path.with_name("trace.rank7.json")
        old.write_text('{"otherData":{"started":1.5},"traceEvents":[{"pid":7}]}')
        train(2, "--trace", path, *self.data)
        self.check_events(json.loads(path.read_text()), range(2))
        self.assertTrue(old.exists())
        old.unlink()
        path.unlink()

    def test_where_it_cannot_be_written(self):
        for path, words in (("/nowhere/t.json", "No such file"),
                            ("/dev/full", "No space left")):
            job, code = refused(2, "--trace", path, *self.data)
            self.assertEqual(code, 1)
            self.assertIn(words, job.err)
            self.assertIn("--trace /", job.err)
        job = Job("-n", 2, "--", program("rondo-train"), "--trace", "/dev/null", "--quiet",
                  *self.data)
        self.assertEqual(job.finish(60), 0, job.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
