# records.py - the metrics file and what is printed: every field that is promised.
# ctest: timeout=180
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import program  # noqa: E402
from training import small_data, train  # noqa: E402

README = pathlib.Path(os.environ["RONDO_SOURCE"]) / "trainer/README.md"
HASH = re.compile(r"^[0-9a-f]{16}$")


def promised(event):
    """The fields that README.md lists for a record."""
    text = README.read_text()
    part = text[text.index(f"### `{event}`"):]
    rows = re.findall(r"^\| `(\w+)` \|", part[:part.index("\n#", 1)], re.M)
    assert len(rows) > 2, event
    return {"event", *rows}


class Records(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.data = ["--data", small_data(cls.keeper.name)]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def test_every_promised_field_and_no_other(self):
        for n in (1, 2, 3):
            for mode in (["--mode", "none"], ["--mode", "sync", "--hash-every", 1]):
                run = train(n, "--epochs", 3, "--log-every", 1, *mode, *self.data)
                events = {record["event"] for record in run.records}
                self.assertEqual(events, {"run", "step", "epoch", "final"})
                for record in run.records:
                    fields = promised(record["event"])
                    if record["event"] == "step" and "none" in mode:
                        fields -= {"parameters_hash"}
                    self.assertEqual(set(record), fields, record)

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
                               r"loss \d\.\d{4}  \d+:\d\d left")
        self.assertTrue(text.endswith("\r\x1b[K"), text[-80:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
