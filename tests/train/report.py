# report.py - rondo-report and rondo-compare: a page that needs nothing else, numbers that
# are those of the metrics, and clear words for files that are damaged.
# ctest: timeout=400
import collections
import html.parser
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, marked, program  # noqa: E402
from training import small_data  # noqa: E402

sys.path.insert(0, os.path.join(os.environ["RONDO_SOURCE"], "tools/rondo-report"))
from runs import FIELDS, check  # noqa: E402

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """A page with its tags in balance; what tests ask for is kept."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells, self.text = [], [], [], collections.Counter()
        self.row = None
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.row = []
            self.cells.append(self.row)
        if tag in ("td", "th"):
            self.row.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:], self.getpos())
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.row[-1] += data
        if self.open:
            self.text[self.open[-1]] += len(data.strip())

    def of(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def report(*arguments, code=0):
    run = subprocess.run([program("rondo-report"), *map(str, arguments)], text=True,
                         capture_output=True, timeout=100)
    assert run.returncode == code, (run.returncode, run.stdout, run.stderr)
    assert "Traceback" not in run.stderr, run.stderr
    return run


def records_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def line(**record):
    return json.dumps(record) + "\n"


RUN = {"event": "run", "started": 5000, "ranks": 3, "servers": 1, "mode": "async"}
STEP = {"event": "step", "step": 1, "epoch": 1, "loss": 2.5, "elapsed": 0.5, "images": 64}
WORKER = {"event": "worker", "worker": 0, "step": 2, "version": 3, "staleness": 1.5,
          "images": 64, "loss": 2.0, "elapsed": 0.5, "seconds": 0.5, "compute": 0.25,
          "communicate": 0.125, "wait": 0.125, "bytes": 4000,
          "step_seconds": [0.125, 0.375]}
EPOCH = {"event": "epoch", "epoch": 1, "step": 4, "loss": 1.5, "test_accuracy": 0.75,
         "seconds": 1.0, "elapsed": 1.0, "images": 256}
FINAL = {"event": "final", "test_accuracy": 0.75, "images_per_second": 256.0,
         "seconds": 1.0, "steps": 4, "images": 256, "used": 7, "dropped": 1,
         "staleness_counts": [1, 2, 4]}


class Made(unittest.TestCase):
    """Metrics written here, so that every number is known."""

    def setUp(self):
        self.keeper = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.keeper.name)

    def tearDown(self):
        self.keeper.cleanup()

    def write(self, name, *records):
        path = self.folder / name
        path.write_text("".join(r if isinstance(r, str) else line(**r) for r in records))
        return path

    def numbers(self, *arguments):
        return json.loads(report("--json", *arguments).stdout)["runs"]

    def test_numbers_of_a_run_in_several_files(self):
        path = self.write("a.jsonl", RUN, STEP, WORKER, EPOCH, FINAL)
        self.write("a.rank2.jsonl", {"event": "rank", "rank": 2, "started": 5000},
                   {**WORKER, "worker": 1, "step_seconds": [0.25, 0.25, 0.5],
                    "seconds": 1.0})
        # Of another run; and of a run whose name only begins like this one's.
        self.write("a.rank9.jsonl", {"event": "rank", "rank": 9, "started": 4000},
                   {**WORKER, "worker": 8, "bytes": 1e9})
        self.write("a.b.rank1.jsonl", "not even JSON\n")
        run = report("--json", path)
        self.assertIn("a.rank9.jsonl is of another run", run.stderr)
        row, = json.loads(run.stdout)["runs"]
        self.assertEqual(row, {
            "name": "a", "mode": "async", "ranks": 3, "workers": 2, "finished": True,
            "steps": 4, "images": 256, "seconds": 1.0, "test_accuracy": 0.75,
            "images_per_second": 256.0, "mean_staleness": 10 / 7, "used": 7, "dropped": 1,
            "bytes_per_step": 8000 / 5, "step_seconds_p50": 0.25,
            "step_seconds_p90": 0.375 + 0.6 * 0.125, "step_seconds_p95": 0.475,
            "step_seconds_p99": 0.495})

    def test_a_run_that_has_not_ended(self):
        path = self.write("a.jsonl", RUN, STEP, WORKER, EPOCH, '{"event": "step", "st')
        run = report("--json", path)
        self.assertIn("a.jsonl:5: cut off", run.stderr)
        row, = json.loads(run.stdout)["runs"]
        self.assertFalse(row["finished"])
        self.assertEqual((row["steps"], row["images"], row["seconds"]), (4, 256, 1.0))
        self.assertEqual(row["images_per_second"], 256.0)
        self.assertEqual(row["mean_staleness"], 1.5)
        self.assertIsNone(row["used"])
        # Nothing at all has happened yet.
        row, = self.numbers(self.write("b.jsonl", RUN))
        self.assertIsNone(row["test_accuracy"])
        report(self.folder / "b.jsonl", "-o", self.folder / "page.html")
        self.assertIn("not finished", (self.folder / "page.html").read_text())

    def test_every_field_that_is_missing_or_wrong_is_named(self):
        for record in (RUN, STEP, WORKER, EPOCH, FINAL):
            event = record["event"]
            self.assertIsNone(check(record))
            self.assertLessEqual(set(FIELDS[event]), set(record))
            for field in FIELDS[event]:
                without = {name: value for name, value in record.items() if name != field}
                self.assertIn(f"'{event}' without '{field}'", check(without))
                for value in ({"no": "number"}, "1.5", True, [None]):
                    if field == "mode" and isinstance(value, str):
                        continue
                    self.assertIn(f"'{field}'", check({**record, field: value}))
                nothing = check({**record, field: None})
                may_be = field in ("staleness", "staleness_counts")
                self.assertEqual(nothing is None, may_be, field)

    def test_damage_is_told_with_file_and_line(self):
        for damaged, words in (
                ("\n", "an empty line"), ("   \n", "an empty line"),
                ('{"event":\n', "not JSON"), ("[1,2]\n", "not an object"),
                ('"text"\n', "not an object"), ("\0\0\n", "not JSON"),
                ('{"step":1}\n', "not an object with 'event'"),
                (line(**STEP).replace("2.5", "NaN"), "NaN"),
                (line(**STEP).replace("2.5", "-Infinity"), "Infinity"),
                (line(**STEP).replace("2.5", "true"), "'loss'"),
                (line(**STEP).replace("2.5", '"2.5"'), "'loss'"),
                (line(**WORKER).replace("0.375", "null"), "'step_seconds'")):
            path = self.write("a.jsonl", RUN, STEP, damaged, EPOCH)
            run = report("--json", path, code=1)
            self.assertEqual(run.stdout, "")
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
            self.assertIn("a.jsonl:3: ", run.stderr)
            self.assertIn(words, run.stderr)
        page = self.folder / "page.html"
        self.assertIn("a.jsonl:3: ", report("--table", "-o", page, path, code=1).stderr)
        self.assertFalse(page.exists())
        # The file of another rank, too.
        path = self.write("a.jsonl", RUN)
        self.write("a.rank4.jsonl", {"event": "rank", "rank": 4, "started": 5000}, "{}\n")
        self.assertIn("a.rank4.jsonl:2: ", report("--json", path, code=1).stderr)

    def test_what_is_no_run(self):
        self.write("empty.jsonl")
        self.write("late.jsonl", STEP, RUN)
        (self.folder / "none").mkdir()
        (self.folder / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
        for name, words in (("empty.jsonl", "empty.jsonl:1: no record"),
                            ("late.jsonl", "late.jsonl:1: a run's file begins with"),
                            ("none", "a directory without metrics files"),
                            ("nowhere", "nowhere: No such file"),
                            ("bytes.jsonl", "bytes.jsonl: ")):
            self.assertIn(words, report("--json", self.folder / name, code=1).stderr)

    def test_wrong_usage(self):
        path = self.write("a.jsonl", RUN)
        for arguments in ([], [path], ["--json", "--table", path], ["--fast", path],
                          ["--json"]):
            self.assertIn("rondo-report: error: ", report(*arguments, code=2).stderr)

    def test_a_page_that_cannot_be_written(self):
        path = self.write("a.jsonl", RUN, STEP)
        taken = self.folder / "taken"
        taken.write_text("a file, not a directory")
        run = report(path, "-o", taken / "page.html", code=1)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name[0] == "."], [])

    def test_runs_of_a_directory_and_of_one_name(self):
        for folder in ("one", "two"):
            (self.folder / folder).mkdir()
            self.write(f"{folder}/b.jsonl", RUN, STEP)
            self.write(f"{folder}/a.jsonl", RUN, STEP)
            self.write(f"{folder}/a.rank1.jsonl",
                       {"event": "rank", "rank": 1, "started": 5000}, WORKER)
        self.assertEqual([row["name"] for row in self.numbers(self.folder / "one")],
                         ["a", "b"])
        rows = self.numbers(self.folder / "one", self.folder / "two/a.jsonl")
        self.assertEqual(rows[0]["name"], str(self.folder / "one/a"))
        self.assertEqual(rows[1]["name"], "b")
        self.assertEqual(rows[2]["name"], str(self.folder / "two/a"))

    def test_names_and_settings_cannot_break_the_page(self):
        nasty = "<b>&\"'x"
        path = self.write(f"{nasty}.jsonl", {**RUN, "mode": nasty, "lr": 1}, STEP, WORKER,
                          EPOCH, FINAL)
        other = self.write("plain.jsonl", {**RUN, "lr": nasty}, STEP, WORKER)
        page = self.folder / "page.html"
        report(path, other, "-o", page, "--title", nasty)
        cells = Page(page.read_text()).cells
        self.assertIn(nasty, {cell for row in cells for cell in row})
        self.assertIn(["lr", "1", nasty], cells)

    def test_many_runs_and_many_workers(self):
        paths = []
        for i in range(5):
            workers = [{**WORKER, "worker": w, "step_seconds": [0.001 * (w + 1)]}
                       for w in range(40)]
            steps = [{**STEP, "step": s, "images": 64 * s, "elapsed": 0.01 * s}
                     for s in range(1, 1000)]
            paths.append(self.write(f"run{i:02}.jsonl", RUN, *steps, *workers, EPOCH, FINAL))
        page = self.folder / "page.html"
        report(*paths, "-o", page)
        self.assertLess(page.stat().st_size, 3 << 20)
        labels = [a.get("aria-label") for a in Page(page.read_text()).of("figure")]
        self.assertEqual(len(labels), 7 + 5)


class Real(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.keeper.name)
        cls.data = ["--data", small_data(cls.folder / "data")]
        cls.runs = cls.folder / "runs"
        cls.runs.mkdir()
        for n, mode in ((3, "sync"), (2, "none"), (2, "local")):
            job = Job("-n", n, "--", program("rondo-train"), "--mode", mode, "--metrics",
                      cls.runs / f"{mode}.jsonl", "--epochs", 4, "--log-every", 5,
                      "--batch", 20, *cls.data)
            assert job.finish(60) == 0, job.err
        cls.page = cls.folder / "out/report.html"
        cls.table = report(cls.runs, "-o", cls.page, "--table").stdout

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def test_numbers_are_those_of_the_metrics(self):
        rows = json.loads(report("--json", self.runs).stdout)["runs"]
        self.assertEqual([row["name"] for row in rows], ["local", "none", "sync"])
        for row in rows:
            records = records_of(self.runs / f"{row['name']}.jsonl")
            final = records[-1]
            for name in ("steps", "images", "seconds", "test_accuracy", "used", "dropped",
                         "images_per_second", "ranks", "mode"):
                self.assertEqual(row[name], final[name], name)
            times = []
            for path in self.runs.glob(f"{row['name']}*.jsonl"):
                times += [t for r in records_of(path) if r["event"] == "worker"
                          for t in r["step_seconds"]]
            self.assertEqual(len(times), final["steps"] * final["ranks"])
            below = sum(t <= row["step_seconds_p90"] for t in times) / len(times)
            self.assertAlmostEqual(below, 0.9, delta=1.5 / len(times))

    def test_the_page_stands_alone(self):
        text = self.page.read_text()
        page = Page(text)
        # The names of the languages inside, and nothing that a browser would fetch.
        self.assertEqual(set(re.findall(r"\b(?:https?|ftp)://[^\"'\s<]*", text)),
                         {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"})
        for tag in ("script", "link", "img", "iframe", "image", "object"):
            self.assertEqual(page.of(tag), [], tag)
        self.assertNotIn("@import", text)
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
        names = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(set(used), set(names))

    def test_the_page_is_accessible(self):
        text = self.page.read_text()
        page = Page(text)
        self.assertEqual(page.of("html")[0]["lang"], "en")
        self.assertEqual(len(page.of("title")), 1)
        self.assertGreater(page.text["title"], 0)
        self.assertEqual(len(page.of("h1")), 1)
        self.assertIn("width=device-width", str(page.of("meta")))
        figures = page.of("figure")
        # Four curves, steps, bytes, and three runs' shares; nothing is stale here.
        self.assertEqual(len(figures), 4 + 2 + 3)
        self.assertEqual(len(page.of("svg")), len(figures))
        for attributes in figures:
            self.assertEqual(attributes["role"], "img")
            self.assertRegex(attributes["aria-label"], r"\d")
        for attributes in page.of("th"):
            self.assertIn(attributes["scope"], ("row", "col"))

    def test_the_table_of_the_page_and_of_the_terminal(self):
        rows = [row for row in Page(self.page.read_text()).cells
                if row[0] in ("sync", "none", "local")]
        self.assertEqual(len(rows), 3)
        for row in rows:
            final = records_of(self.runs / f"{row[0]}.jsonl")[-1]
            self.assertEqual(row[1:5], [final["mode"], str(final["ranks"]),
                                        str(final["ranks"]), str(final["steps"])])
            self.assertEqual(row[7], f"{100 * final['test_accuracy']:.2f} %")
        lines = self.table.splitlines()
        self.assertEqual(len(lines), 4)
        for row, text in zip(rows, lines[1:]):
            self.assertTrue(text.startswith(row[0]))
            self.assertIn(row[7], text)


class Death(unittest.TestCase):
    def setUp(self):
        self.keeper = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.keeper.name)
        self.data = small_data(self.folder / "data")

    def tearDown(self):
        self.keeper.cleanup()

    def kill(self, job, rank):
        for pid in marked(job.mark):
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            if name == "rondo-train" and f"RANK={rank}".encode() in variables:
                os.kill(pid, signal.SIGKILL)
                return
        self.fail(f"rank {rank} is not there")

    def test_what_the_first_worker_had_told_is_there_and_the_next_goes_on(self):
        path = self.folder / "run.jsonl"
        job = Job("-n", 3, "--grace", 50, "--", program("rondo-train"), "--mode", "async",
                  "--metrics", path, "--log-every", 10, "--epochs", 20, "--global-batch",
                  60, "--steps", 150, "--straggler", "fixed:base=10", "--data", self.data)
        job.wait_for(lambda: path.exists() and '"step":40' in path.read_text())
        self.kill(job, 1)
        self.assertNotEqual(job.finish(60), 0)  # rondo-run tells of the death.
        self.assertNotIn('"event":"final"', path.read_text())
        row, = json.loads(report("--json", path).stdout)["runs"]
        self.assertTrue(row["finished"])
        self.assertEqual(row["steps"], 150)
        page = self.folder / "page.html"
        report(path, "-o", page)
        shares = [a["aria-label"] for a in Page(page.read_text()).of("figure")
                  if a["id"].startswith("shares")]
        self.assertEqual(len(shares), 1)
        workers = {r["worker"]: r["step"] for file in self.folder.glob("run*.jsonl")
                   for r in map(json.loads, file.read_text().split("\n")[:-1])
                   if r["event"] == "worker"}
        self.assertEqual(set(workers), {0, 1})
        self.assertGreaterEqual(workers[0], 40)
        self.assertLess(workers[0], 150)
        self.assertEqual(workers[1], 150)


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.keeper.name)
        cls.data = ["--", "--data", small_data(cls.folder / "data"), "--log-every", 5]

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def compare(self, *arguments, code=0):
        run = subprocess.run([program("rondo-compare"), *map(str, arguments)], text=True,
                             capture_output=True, timeout=200)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        self.assertNotIn("Traceback", run.stderr)
        return run

    def test_modes_on_one_budget(self):
        page = self.folder / "deep/er/page.html"
        run = self.compare("-n", 2, "--modes", "sync,local", "--epochs", 2, "-o", page,
                           *self.data, "--local-steps", 4)
        self.assertIn("[2/2] local", run.stdout)
        self.assertTrue(run.stdout.endswith(f"The page: {page}\n"), run.stdout)
        Page(page.read_text())
        rows = json.loads(report("--json", page.with_suffix("")).stdout)["runs"]
        self.assertEqual([row["mode"] for row in rows], ["local", "sync"])
        self.assertEqual(rows[0]["images"], rows[1]["images"])
        # An option of one mode reached that one, and the other went without.
        sync, local = (math.ceil(r["bytes_per_step"]) for r in (rows[1], rows[0]))
        self.assertLess(local, sync)
        self.assertEqual(list(page.parent.glob(".*")), [])

    def test_a_mode_that_fails_is_told_and_the_others_are_drawn(self):
        page = self.folder / "some.html"
        run = self.compare("--modes", "sync,sink", "--epochs", 1, "-o", page, *self.data,
                           code=1)
        self.assertIn("sink", run.stderr)
        self.assertIn("--mode", run.stderr)
        Page(page.read_text())
        run = self.compare("--modes", "sink", "-o", self.folder / "no.html", code=1)
        self.assertFalse((self.folder / "no.html").exists())
        self.compare("--modes", "", code=2)
        self.compare("-n", 0, code=2)

    def test_in_virtual_time(self):
        page = self.folder / "virtual.html"
        self.compare("--virtual", "-n", 3, "--modes", "sync,async", "--epochs", 2,
                     "--straggler", "exp:base=10,mean=10", "-o", page, *self.data)
        rows = {row["mode"]: row for row in
                json.loads(report("--json", page.with_suffix("")).stdout)["runs"]}
        self.assertEqual(rows["sync"]["mean_staleness"], 0)
        self.assertGreater(rows["async"]["mean_staleness"], 1)
        for row in rows.values():
            self.assertGreater(row["step_seconds_p50"], 0.01)
        labels = [a["id"] for a in Page(page.read_text()).of("figure")]
        self.assertIn("staleness", labels)


if __name__ == "__main__":
    unittest.main(verbosity=2)
