# records.py - the metrics file and what is printed: every field that is promised.
# ctest: timeout=300
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, program  # noqa: E402
from training import small_data, train  # noqa: E402

README = pathlib.Path(os.environ["RONDO_SOURCE"]) / "trainer/README.md"
HASH = re.compile(r"^[0-9a-f]{16}$")


def promised(event):
    """The fields that README.md lists for a record."""
    text = README.read_text()
    part = text[text.index(f"### `{event}`"):]
    rows = re.findall(r"^\| `(\w+)` \|", part[:part.index("\n#", 1)], re.M)
    assert len(rows) > 1, event
    return {"event", *rows}


def on_terminal(rows, columns, ranks, *options):
    """What rondo-train writes to a terminal of that size as its standard error."""
    keeper, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ,
                struct.pack("HHHH", rows, columns, 0, 0))
    job = Job("-n", ranks, "--", program("rondo-train"), *options, stderr=terminal)
    os.close(terminal)
    live = b""
    try:
        while chunk := os.read(keeper, 4096):
            live += chunk
    except OSError:
        pass  # How a terminal says that the other side is gone.
    os.close(keeper)
    code = job.finish(100)
    assert code == 0, live.decode()
    return live.decode()


class Records(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.data = ["--data", small_data(cls.keeper.name)]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def check_fields(self, records, mode):
        for record in records:
            fields = promised(record["event"])
            if record["event"] == "step" and "none" in mode:
                fields -= {"parameters_hash"}
            self.assertEqual(set(record), fields, record)

    def test_every_promised_field_and_no_other(self):
        for n in (1, 2, 3):
            for mode in (["--mode", "none"], ["--mode", "sync", "--hash-every", 1]):
                run = train(n, "--epochs", 3, "--log-every", 1, *mode, *self.data)
                events = {record["event"] for record in run.records}
                self.assertEqual(events, {"run", "step", "worker", "epoch", "final"})
                self.check_fields(run.records, mode)
                self.assertEqual(len(run.beside), n - 1)
                for records in run.beside.values():
                    self.assertEqual({r["event"] for r in records}, {"rank", "worker"})
                    self.check_fields(records, mode)

    def test_fields_of_every_mode(self):
        for mode in ("backup", "async", "ssp", "gossip", "ad-gossip", "local", "diloco"):
            run = train(3, "--epochs", 2, "--log-every", 4, "--mode", mode, "--batch", 20,
                        "--hidden", "16", *self.data)
            served = mode in ("backup", "async", "ssp")
            events = {record["event"] for record in run.records}
            self.assertEqual(events, {"run", "step", "worker", "epoch", "final"}, mode)
            self.check_fields(run.records, "none")
            # Rank 0 is a server and has no steps; the first worker's is the main file.
            self.assertEqual(set(run.beside), {2} if served else {1, 2}, mode)
            for records in run.beside.values():
                self.check_fields(records, "none")
            final = run.final
            self.assertEqual(final["mode"], mode)
            self.assertEqual(run.records[0]["servers"], 1 if served else 0)
            self.assertEqual(final["server"] is not None, served, mode)
            self.assertGreater(final["used"], 0)
            counts = final["staleness_counts"]
            self.assertEqual(sum(counts), final["used"]) if served else \
                self.assertIsNone(counts)
            workers = {r["worker"]: r for r in run.of("worker")} | {
                r["worker"]: r for records in run.beside.values() for r in records
                if r["event"] == "worker"}
            self.assertEqual(set(workers), {0, 1} if served else {0, 1, 2}, mode)
            for r in workers.values():
                self.assertAlmostEqual(r["compute"] + r["communicate"] + r["wait"],
                                       r["seconds"], 6)
                # Of a moment between two averages it may be none.
                self.assertGreaterEqual(r["bytes"], 0)
            self.assertGreater(sum(r["bytes"] for r in run.of("worker")), 0, mode)

    def test_what_workers_say(self):
        for every in (1, 7, 30):
            run = train(3, "--epochs", 2, "--batch", 20, "--log-every", every, *self.data)
            for rank in range(3):
                records = run.beside[rank] if rank else run.records
                if rank:
                    self.assertEqual(records[0], {
                        "event": "rank", "rank": rank,
                        "started": run.records[0]["started"]})
                records = [r for r in records if r["event"] == "worker"]
                # 10 steps an epoch, 20 in all; the last record has what is left.
                steps = [*range(every, 20, every), 20]
                self.assertEqual([r["step"] for r in records], steps)
                before = {"step": 0, "elapsed": 0.0}
                for r in records:
                    self.assertEqual(r["worker"], rank)
                    self.assertEqual(r["images"], 20 * r["step"])
                    self.assertEqual(r["staleness"], 0)
                    self.assertEqual(r["version"], r["step"] - 1)
                    self.assertEqual(len(r["step_seconds"]), r["step"] - before["step"])
                    self.assertAlmostEqual(sum(r["step_seconds"]), r["seconds"], 6)
                    self.assertAlmostEqual(r["elapsed"] - before["elapsed"],
                                           r["seconds"], 6)
                    self.assertAlmostEqual(r["compute"] + r["communicate"] + r["wait"],
                                           r["seconds"], 6)
                    self.assertGreater(r["compute"], 0)
                    self.assertEqual(r["bytes"], len(r["step_seconds"]) * 4 * (
                        run.records[0]["parameters"] + 1))
                    before = r
            self.assertEqual(run.final["used"], 60)
            self.assertEqual(run.final["dropped"], 0)
            self.assertEqual(run.final["staleness_counts"], [60])

    def test_no_worker_records_and_no_other_files(self):
        run = train(3, "--log-every", 0, "--epochs", 1, *self.data)
        self.assertEqual(run.of("worker"), [])
        self.assertEqual(run.beside, {})

    def test_a_device_is_one_file(self):
        job = Job("-n", 3, "--", program("rondo-train"), "--epochs", 1, "--quiet",
                  "--metrics", "/dev/null", *self.data)
        self.assertEqual(job.finish(60), 0, job.err)
        self.assertFalse(os.path.exists("/dev/null.rank1"))

    def test_more_steps_than_a_record_holds(self):
        run = train(1, "--epochs", 100, "--batch", 10, "--log-every", 1000000, *self.data)
        self.assertEqual([r["step"] for r in run.of("worker")], [4096, 6000])

    def test_values_fit_together(self):
        for n in (1, 2):
            run = train(n, "--epochs", 3, "--batch", 20, "--log-every", 7, *self.data)
            head, final = run.records[0], run.final
            self.assertEqual(head["event"], "run")
            self.assertEqual(head["ranks"], n)
            self.assertEqual(head["global_batch"], 20 * n)
            self.assertEqual(head["steps_per_epoch"], 600 // (20 * n))
            self.assertEqual(head["steps"], 3 * head["steps_per_epoch"])
            self.assertEqual((head["model"], head["optimiser"]), ("mlp", "momentum"))
            self.assertEqual(head["widths"], [36, 256, 128, 10])
            self.assertEqual(head["parameters"], 37 * 256 + 257 * 128 + 129 * 10)
            self.assertEqual([r["step"] for r in run.of("step")],
                             list(range(7, head["steps"] + 1, 7)))
            self.assertEqual([r["epoch"] for r in run.of("epoch")], [1, 2, 3])
            self.assertEqual(final["steps"], head["steps"])
            self.assertEqual(final["images"], head["steps"] * 20 * n)
            self.assertAlmostEqual(final["images_per_second"],
                                   final["images"] / final["seconds"], delta=1)
            self.assertGreater(final["total_seconds"], final["seconds"])
            self.assertEqual(final["test_accuracy"], run.of("epoch")[-1]["test_accuracy"])
            self.assertEqual(final["parameters_hash"],
                             run.of("epoch")[-1]["parameters_hash"])
            self.assertRegex(final["parameters_hash"], HASH)
            self.assertGreater(final["test_accuracy"], 0.9)

    def test_settings_of_the_update(self):
        head = train(1, "--optimiser", "lamb", "--schedule", "steps", "--lr-batch", 32,
                     "--warmup", 2, "--accumulate", 4, *self.data).records[0]
        for name, value in (("optimiser", "lamb"), ("momentum", None), ("trust", None),
                            ("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-6),
                            ("lr_batch", 32), ("warmup", 2), ("accumulate", 4),
                            ("decay_every", 4), ("decay_factor", 0.1)):
            self.assertEqual(head[name], value, name)

    def test_rates_of_the_steps(self):
        run = train(1, "--batch", 60, "--lr", 0.01, "--lr-batch", 20, "--warmup", 1,
                    "--epochs", 4, "--schedule", "steps", "--decay-every", 2,
                    "--decay-factor", 0.5, "--log-every", 1, *self.data)
        expected = [0.01 + 0.002 * (s + 1) for s in range(10)] + [0.03] * 10 + [0.015] * 20
        for record, rate in zip(run.of("step"), expected, strict=True):
            self.assertAlmostEqual(record["lr"], rate, places=9)

    def test_every_network_and_optimiser_learns(self):
        for model in ("softmax", "mlp", "cnn"):
            for optimiser, rate in (("momentum", 0.03), ("sgd", 0.1), ("nesterov", 0.03),
                                    ("adamw", 0.01), ("lars", 1), ("lamb", 0.02)):
                run = train(2, "--model", model, "--optimiser", optimiser, "--lr", rate,
                            "--batch", 16, "--warmup", 1, *self.data)
                self.assertEqual(run.records[0]["model"], model)
                self.assertGreater(run.final["test_accuracy"], 0.8, (model, optimiser))

    def test_mode_none_sends_nothing_and_ranks_part_ways(self):
        alone = train(1, "--mode", "none", *self.data)
        synced = train(1, "--mode", "sync", *self.data)
        self.assertEqual(alone.final["parameters_hash"], synced.final["parameters_hash"])
        two = train(2, "--mode", "none", *self.data)
        self.assertEqual(two.final["payload_bytes"], 0)
        self.assertNotEqual(two.final["parameters_hash"],
                            train(2, *self.data).final["parameters_hash"])

    def test_plain_lines_from_rank_0_alone(self):
        run = train(3, "--epochs", 2, *self.data)
        lines = run.job.out.splitlines()
        self.assertEqual(len(lines), 4, lines)
        self.assertRegex(lines[0], r"^3 ranks, mode sync: ")
        self.assertRegex(lines[1], r"^epoch 1/2  .* images/s  loss .* test accuracy ")
        self.assertRegex(lines[3], r"^test accuracy .* %  \d+ images/s")
        self.assertEqual(run.job.err, "")
        run = train(3, "--epochs", 2, "--quiet", *self.data)
        self.assertRegex(run.job.out, r"^test accuracy [^\n]*\n$")

    def test_live_line_on_a_terminal(self):
        keeper, terminal = pty.openpty()
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(
                [program("rondo-train"), "--epochs", "400", *self.data], stdout=out,
                stderr=terminal)
            os.close(terminal)
            live = b""
            try:
                while chunk := os.read(keeper, 4096):
                    live += chunk
            except OSError:
                pass  # How a terminal says that the other side is gone.
            os.close(keeper)
            self.assertEqual(process.wait(60), 0)
            out.seek(0)
            self.assertIn(b"epoch 400/400", out.read())
        text = live.decode()
        self.assertNotIn("\n", text)
        self.assertRegex(text, r"\r\x1b\[Kepoch \d+/400 +\d+ %  \d+ images/s  "
                               r"loss \d\.\d{4}  test \d+\.\d\d %  \d+:\d\d left")
        self.assertTrue(text.endswith("\r\x1b[K"), text[-80:])

    def test_a_line_for_each_worker(self):
        """On a terminal of 7 lines: a heading, workers, how many are left out, all."""
        for ranks, workers in ((3, 3), (8, 4)):
            text = on_terminal(7, 70, ranks, "--epochs", 300, "--batch", 20, *self.data)
            blocks = text.split("\x1b[Kworker ")[1:]
            self.assertGreater(len(blocks), 2)
            for block in blocks[2:]:
                lines = re.split(r"\r?\n", block)[:workers + 3]
                shown = [line for line in lines if re.match(r"\x1b\[K +\d+ ", line)]
                self.assertEqual(len(shown), workers, block)
                self.assertEqual("and 4 more" in block, ranks == 8, block)
                self.assertIn("images/s  loss", block)
                for line in lines:
                    # Nothing is longer than the terminal, and so nothing wraps.
                    plain = re.sub(r"\x1b\[\d*[A-Z]", "", line.split("\r")[0])
                    self.assertLess(len(plain), 70, line)
            # What stands there is taken away before anything else is said.
            self.assertRegex(text, r"\x1b\[\d+A\x1b\[J\Z")


if __name__ == "__main__":
    unittest.main(verbosity=2)
