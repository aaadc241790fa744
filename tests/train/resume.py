# resume.py - checkpoints: a run that is stopped and goes on is the same run, bit for bit;
# what is damaged or foreign is named; a kill loses nothing that was complete.
# ctest: timeout=240 label=slow
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from crew import Crew  # noqa: E402
from launching import marked  # noqa: E402
from training import launch, refused, small_data, train  # noqa: E402

OPTIMISERS = ("sgd", "momentum", "nesterov", "adamw", "lars", "lamb")
# 600 images: 15 steps an epoch, 45 in all.
BASE = ["--hidden", 16, "--global-batch", 40, "--epochs", 3, "--log-every", 1]
COUNTED = ("steps", "images", "used", "dropped", "staleness_counts", "payload_bytes",
           "parameters_hash", "test_accuracy")


class Checkpoints(unittest.TestCase):
    def setUp(self):
        self.keeper = tempfile.TemporaryDirectory()
        self.addCleanup(self.keeper.cleanup)
        self.base = ["--data", self.data, *BASE]
        self.place = os.path.join(self.keeper.name, "states")

    @classmethod
    def setUpClass(cls):
        cls.data_keeper = tempfile.TemporaryDirectory()
        cls.data = small_data(cls.data_keeper.name)

    @classmethod
    def tearDownClass(cls):
        cls.data_keeper.cleanup()

    def kept(self, *more):
        return ["--checkpoint", self.place, *more]

    def clear(self):
        shutil.rmtree(self.place, ignore_errors=True)

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.place)
                      for folder, _, names in os.walk(self.place) for name in names)

    def same_end(self, whole, resumed, note):
        for name in COUNTED:
            self.assertEqual(whole.final[name], resumed.final[name], (name, note))


class BitForBit(Checkpoints):
    def stop_and_go_on(self, ranks, options, all_steps):
        """The whole run is the same as one in two parts."""
        options = [*options, "--hash-every", 1]
        whole = train(ranks, *self.base, *options)
        for steps in all_steps:
            self.clear()
            self.go_on(ranks, options, whole, steps)

    def go_on(self, ranks, options, whole, steps):
        first = train(ranks, *self.base, *options, "--steps", steps, *self.kept())
        second = train(ranks, *self.base, *options, *self.kept("--resume"))
        self.assertIn(f"going on after step {steps} of", second.job.err)
        self.assertEqual(first.losses() + second.losses(), whole.losses(), options)
        self.assertEqual(first.hashes() + second.hashes(), whole.hashes(), options)
        self.same_end(whole, second, (ranks, options, steps))
        epochs = {record["epoch"]: record for record in second.of("epoch")}
        for record in whole.of("epoch")[-2:]:
            for name in ("loss", "test_accuracy", "parameters_hash", "images"):
                self.assertEqual(record[name], epochs[record["epoch"]][name], options)

    def test_every_optimiser_on_one_and_two_ranks(self):
        for optimiser in OPTIMISERS:
            for ranks in (1, 2):
                options = ["--optimiser", optimiser, "--schedule", "cosine",
                           "--warmup", 1]
                self.stop_and_go_on(ranks, options, (7, 15))

    def test_other_models_and_gradients(self):
        base = [o for o in self.base if o not in ("--hidden", 16)]
        for options in (["--model", "softmax"], ["--model", "cnn", "--hidden", 8],
                        ["--accumulate", 3], ["--canonical", "--micro-batch", 10]):
            self.base = base
            self.stop_and_go_on(2, options, (20,))

    def test_modes_in_which_ranks_take_steps_together(self):
        for options in (["local", "--local-steps", 4],
                        ["local", "--local-steps", 4, "--local-from", 17],
                        ["diloco", "--local-steps", 4], ["gossip"],
                        ["gossip", "--graph", "exponential"]):
            options = ["--mode", *options]
            whole = train(4, *self.base, *options)
            for steps in (9, 18):
                self.clear()
                train(4, *self.base, *options, "--steps", steps, *self.kept())
                second = train(4, *self.base, *options, *self.kept("--resume"))
                self.assertEqual(second.losses(), whole.losses()[steps:], options)
                for name in ("steps", "images", "used", "parameters_hash"):
                    self.assertEqual(whole.final[name], second.final[name], options)

    def test_ranks_for_themselves(self):
        whole = train(3, *self.base, "--mode", "none")
        train(3, *self.base, "--mode", "none", "--steps", 11, *self.kept())
        second = train(3, *self.base, "--mode", "none", *self.kept("--resume"))
        self.assertEqual(whole.final["parameters_hash"],
                         second.final["parameters_hash"])

    def test_again_and_again_in_one_metrics_file(self):
        options = [*self.base, "--hash-every", 1]
        whole = train(2, *options)
        metrics = os.path.join(self.keeper.name, "all.jsonl")
        for steps in range(1, 46, 4):
            job = launch(2, [*options, "--steps", steps, "--metrics", metrics,
                             *self.kept("--resume", "--checkpoint-every", 3)], "", {})
            self.assertEqual(job.finish(60), 0, job.err)
        with open(metrics) as lines:
            records = [json.loads(line) for line in lines]
        self.assertEqual(sum(r["event"] == "run" for r in records), 1)
        steps = [r for r in records if r["event"] == "step"]
        self.assertEqual([r["step"] for r in steps], list(range(1, 46)))
        self.assertEqual([r["parameters_hash"] for r in steps], whole.hashes())
        times = [r["elapsed"] for r in steps]
        self.assertEqual(times, sorted(times))

    def test_pairs_go_on(self):
        options = [*self.base, "--mode", "ad-gossip"]
        train(4, *options, "--steps", 20, *self.kept())
        run = train(4, *options, *self.kept("--resume"))
        self.assertEqual(run.final["steps"], 45)
        self.assertEqual(run.of("step")[0]["step"], 21)

    def test_a_run_that_is_over_says_how_it_ended(self):
        options = [*self.base, "--schedule", "constant"]
        whole = train(2, *options, *self.kept())
        again = train(2, *options, *self.kept("--resume"))
        self.same_end(whole, again, "")
        self.assertEqual(again.losses(), [])
        # A longer one goes on from it, where the rate does not depend on the end.
        longer = train(2, *options, "--epochs", 4, *self.kept("--resume"))
        straight = train(2, *options, "--epochs", 4)
        self.same_end(straight, longer, "")


class OtherRanks(Checkpoints):
    def test_equal_parameters_serve_any_number_of_ranks(self):
        options = [*self.base, "--canonical", "--micro-batch", 5, "--hash-every", 1]
        whole = train(1, *options)
        for before, after in ((1, 4), (4, 1), (2, 4), (4, 2), (8, 1)):
            self.clear()
            train(before, *options, "--steps", 22, *self.kept())
            self.assertEqual(self.files(), ["step-15/rank-0", "step-22/rank-0"])
            second = train(after, *options, *self.kept("--resume"))
            self.assertEqual(second.hashes(), whole.hashes()[22:], (before, after))
            self.assertEqual(second.final["images"], whole.final["images"])
            self.assertEqual(second.final["used"], 22 * before + 23 * after)

    def test_any_number_of_ranks_in_modes_with_parameters_of_their_own(self):
        for mode in ("gossip", "local", "diloco", "ad-gossip"):
            for before, after in ((3, 2), (2, 5)):
                self.clear()
                options = [*self.base, "--mode", mode]
                train(before, *options, "--steps", 22, *self.kept())
                self.assertEqual(len(self.files()), 2 * before, self.files())
                second = train(after, *options, *self.kept("--resume"))
                self.assertEqual(second.final["steps"], 45)
                self.assertEqual(second.of("step")[0]["step"], 23)


class Refused(Checkpoints):
    def fails(self, *more, ranks=1, words=()):
        job, code = refused(ranks, *self.base, *more)
        self.assertEqual(code, 1, job.err)
        for word in words:
            self.assertIn(word, job.err)
        return job

    def file(self, rank=0, step=20):
        return os.path.join(self.place, f"step-{step}", f"rank-{rank}")

    def change(self, path, change):
        with open(path, "rb") as file:
            data = bytearray(file.read())
        data = change(data)
        with open(path, "wb") as file:
            file.write(data)

    def test_damaged_files_are_named_with_their_fault(self):
        train(1, *self.base, "--optimiser", "adamw", "--steps", 20, *self.kept())
        path, kept = self.file(), self.file() + ".kept"
        shutil.copy(path, kept)
        size = os.path.getsize(path)

        def flip(at):
            def change(data):
                data[at] ^= 0x10
                return data
            return change
        # Head, table, the options, each vector, the checksum.
        places = [13, 17, 30, 200, 500, 1500, size // 4, size // 2, 3 * size // 4,
                  size - 40, size - 1]
        faults = [(flip(at), "damaged") for at in places]
        faults += [(flip(3), "no state of this program"), (flip(8), "of version"),
                   (lambda data: data[:size // 2], "damaged: it has"),
                   (lambda data: data[:10], "cut off"),
                   (lambda data: data[:0], "cut off"),
                   (lambda data: data + b"x", "damaged: it has"),
                   (lambda data: b"P5 6 6 255\n" + data, "no state of this program")]
        for change, words in faults:
            shutil.copy(kept, path)
            self.change(path, change)
            self.fails("--optimiser", "adamw", *self.kept("--resume"),
                       words=[f"{path}: ", words])
        shutil.move(kept, path)
        train(1, *self.base, "--optimiser", "adamw", *self.kept("--resume"))

    def test_one_of_several_files_is_enough(self):
        options = ["--mode", "gossip"]
        train(3, *self.base, *options, "--steps", 20, *self.kept())
        path = self.file(rank=2)
        self.change(path, lambda data: data[:-1])
        job = self.fails(*options, *self.kept("--resume"), ranks=3, words=[f"{path}: "])
        said = [line for line in job.err.splitlines()
                if line.startswith("rondo-train: ")]
        self.assertEqual(len(said), 1, job.err)
        # Without it the checkpoint before is the last one.
        os.remove(path)
        run = train(3, *self.base, *options, *self.kept("--resume"))
        self.assertIn("going on after step 15 of", run.job.err)

    def test_foreign_runs_are_told_by_their_options(self):
        other = small_data(os.path.join(self.keeper.name, "other"), seed=2)
        train(2, *self.base, "--steps", 20, *self.kept())
        for option, value, old, new in (
                ("--optimiser", "sgd", "momentum", "sgd"), ("--lr", 0.5, "0.03", "0.5"),
                ("--hidden", 17, "16", "17"), ("--seed", 5, "1", "5"),
                ("--momentum", 0.5, "0.9", "0.5"), ("--mode", "gossip", "sync", "gossip"),
                ("--weight-decay", 0.25, "0", "0.25"), ("--model", "cnn", "mlp", "cnn"),
                ("--schedule", "constant", "cosine", "constant"),
                ("--epochs", 4, "3", "4")):
            self.fails(option, value, *self.kept("--resume"), ranks=2,
                       words=[self.file(), f"{option} was {old}", f"is {new}"])
        self.fails("--global-batch", 60, *self.kept("--resume"), ranks=2,
                   words=[self.file(), "images-of-a-step was 40, and is 60"])
        self.fails("--data", other, *self.kept("--resume"), ranks=2,
                   words=[self.file(), "data-fingerprint was"])

    def test_a_directory_with_states_is_not_begun_anew(self):
        train(1, *self.base, "--steps", 20, *self.kept())
        self.fails(*self.kept(), words=[f"{self.place} has states up to step 20",
                                        "--resume"])
        self.fails("--steps", 10, *self.kept("--resume"),
                   words=["the state is of step 20, and the run ends with step 10"])

    def test_directories_that_cannot_be(self):
        blocked = os.path.join(self.keeper.name, "file")
        with open(blocked, "w"):
            pass
        for place, words in ((blocked, "Not a directory"),
                             (os.path.join(blocked, "x"), "Not a directory"),
                             ("/nowhere/x", "No such file")):
            for ranks in (1, 3):
                self.fails("--checkpoint", place, ranks=ranks,
                           words=[f"--checkpoint {place}: {words}"])

    def test_nothing_there_is_a_beginning(self):
        options = [*self.base, "--hash-every", 1]
        whole = train(2, *options)
        run = train(2, *options, *self.kept("--resume"))
        self.assertIn("has no complete state; beginning anew", run.job.err)
        self.assertEqual(run.hashes(), whole.hashes())


class Killed(Checkpoints):
    STEP = re.compile(r"going on after step (\d+) of")

    def rounds(self, ranks, options, rounds, seed):
        """Kills at moments that a seed decides; each start finds the last state."""
        source = random.Random(seed)
        last = 0
        for _ in range(rounds):
            job = launch(ranks, [*options, *self.kept("--resume",
                                                      "--checkpoint-every", 1)], "", {})
            time.sleep(source.uniform(0.05, 0.35))
            for pid in marked(job.mark):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            _, err = job.process.communicate()
            match = self.STEP.search(err.decode())
            if match:
                self.assertGreaterEqual(int(match.group(1)), last)
                last = int(match.group(1))
            else:
                self.assertNotIn("rank", err.decode())
        return last

    def go_through(self, ranks, mode, rounds, seed):
        self.clear()
        options = [*self.base, *mode, "--epochs", 12, "--log-every", 0,
                   "--straggler", "fixed:base=1"]
        whole = train(ranks, *options)
        self.rounds(ranks, options, rounds, seed)
        run = train(ranks, *options, *self.kept("--resume", "--checkpoint-every", 1))
        self.assertEqual(whole.final["parameters_hash"], run.final["parameters_hash"])
        self.assertEqual(whole.final["images"], run.final["images"])
        self.assertLessEqual(len(os.listdir(self.place)), 3)

    def test_one_rank(self):
        self.go_through(1, ["--optimiser", "adamw"], 25, seed=1)

    def test_ranks_with_a_file_each(self):
        self.go_through(3, ["--mode", "local", "--local-steps", 3], 15, seed=2)

    def test_the_living_save_for_themselves(self):
        options = [*self.base, "--epochs", 100, "--on-failure", "shrink",
                   "--straggler", "fixed:base=4", *self.kept("--checkpoint-every", 5)]
        with Crew(3, *options, "--steps", 300) as crew:
            until(lambda: len(self.files()) >= 2)
            crew.kill(0)
            until(lambda: any(name.endswith("/rank-1") for name in self.files()))
            crew.kill(2)
            until(lambda: crew.process[1].poll() is not None)
            self.assertEqual(crew.process[1].returncode, 0, crew.errors())
        self.assertIn("step-300/rank-1", self.files())
        run = train(2, *self.base, "--epochs", 100, "--steps", 310, "--on-failure",
                    "shrink", *self.kept("--resume"))
        self.assertEqual(len(run.losses()), 10)


class Servers(Checkpoints):
    def test_shards_and_workers_go_on(self):
        for mode in (["async"], ["ssp", "--bound", 2], ["backup", "--backups", 1]):
            self.clear()
            options = [*self.base, "--mode", *mode, "--epochs", 4]
            train(3, *options, "--steps", 30, *self.kept("--checkpoint-every", 5))
            run = train(3, *options, *self.kept("--resume"))
            self.assertEqual(run.final["steps"], 60, mode)
            first = run.of("step")[0]["step"]
            self.assertEqual(first, 31, mode)
            if mode[0] != "backup":  # Which gives some up.
                self.assertEqual(run.final["images"], 60 * 40, mode)
                self.assertEqual(run.final["used"], 60 * 2, mode)


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


if __name__ == "__main__":
    unittest.main(verbosity=2)
