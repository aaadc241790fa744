# behaviour.py - options, exit codes, JSON, and dumps that are loaded again.
# ctest: timeout=300
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "lib"))
from asking import MACHINES, PROGRAM, answers, ask, clean, need  # noqa: E402

# Every field of --json, as --help lists them.
FIELDS = {
    "rondo_info", "version", "host", "origin", "machine", "ranks", "interfaces", "rdma",
    "choice", "pairs", "reach", "environment", "problems"}
INTERFACE = {
    "name", "address", "prefix", "family", "mtu", "speed_mbit", "default_route", "usable",
    "chosen", "verdict", "reason"}
MACHINE = {
    "model", "packages", "nodes", "cores", "processors", "usable", "quota", "caches",
    "memory"}
RANKS = {"count", "cores", "spins", "waits", "binding"}


def decisions(found):
    """All but where the facts came from."""
    return {name: value for name, value in found.items() if name != "origin"}


class Options(unittest.TestCase):
    def test_help_and_version(self):
        for option in ("--help", "-h"):
            done = ask(option)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("usage: rondo-info"))
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)
        self.assertRegex(ask("--version").stdout, r"^rondo-info \d+\.\d+\.\d+\n$")

    def test_misuse(self):
        for arguments in (
                ("-n", "0"), ("-n", "4097"), ("-n", "x"), ("-n", "-1"), ("-n", ""), ("-n",),
                ("--to", ""), ("--to", ":22"), ("--to", "host:0"), ("--to", "host:65536"),
                ("--to", "host:"), ("--to", "[::1"), ("--to", "[::1]22"),
                ("--to", "x" * 200), ("--unknown",), ("more",),
                ("--load", "x", "--to", "host")):
            done = ask(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("rondo-info", done.stderr)

    def test_documented_fields(self):
        text = ask("--help").stdout
        for field in (FIELDS - {"rondo_info", "version"}) | INTERFACE | MACHINE | RANKS:
            self.assertRegex(text, rf"\b{field}\b")


class Here(unittest.TestCase):
    def test_json_has_its_fields(self):
        found = answers()
        self.assertEqual(set(found), FIELDS)
        self.assertEqual(set(found["machine"]), MACHINE)
        self.assertEqual(set(found["ranks"]), RANKS)
        self.assertTrue(found["interfaces"])
        for interface in found["interfaces"]:
            self.assertEqual(set(interface), INTERFACE)
            self.assertEqual(interface["usable"], interface["reason"] == "")
            self.assertEqual(interface["usable"], interface["verdict"] == "usable")

    def test_processors_are_those_of_this_process(self):
        allowed = os.sched_getaffinity(0)
        for one in sorted(allowed)[:2]:
            done = subprocess.run(
                ["taskset", "-c", str(one), PROGRAM, "--json"],
                stdout=subprocess.PIPE, text=True, timeout=60, check=True, env=clean())
            found = json.loads(done.stdout)
            self.assertEqual(found["machine"]["usable"], str(one))
            self.assertEqual(found["ranks"]["cores"], 1)

    def test_binding_is_what_rondo_run_does(self):
        run = os.path.join(os.environ["RONDO_BIN"], "rondo-run")
        if not os.path.exists(run):
            self.skipTest("rondo-run was not built")
        for n in range(1, 2 + len(os.sched_getaffinity(0))):
            done = subprocess.run(
                [run, "-n", str(n), sys.executable, "-c",
                 "import os; print(os.environ['RANK'], *sorted(os.sched_getaffinity(0)))"],
                stdout=subprocess.PIPE, text=True, timeout=60, check=True, env=clean())
            real = {int(line.split()[0]): set(map(int, line.split()[1:]))
                    for line in done.stdout.splitlines()}
            binding = answers("-n", n)["ranks"]["binding"]
            for rank, processors in real.items():
                expected = os.sched_getaffinity(0)
                if binding:
                    expected = numbers(binding[rank]["processors"])
                self.assertEqual(processors, expected, (n, rank))

    def test_who_polls(self):
        cores = answers()["ranks"]["cores"]
        for n in (1, cores, cores + 1, 2 * cores, 4096):
            ranks = answers("-n", n)["ranks"]
            self.assertEqual(ranks["waits"], "poll" if n <= cores else "yield")
        self.assertEqual(answers("-n", 4096, env={"RONDO_SPIN": "7"})["ranks"]["spins"], 7)
        self.assertEqual(answers("-n", 1, env={"RONDO_SPIN": "0"})["ranks"]["waits"],
                         "yield")

    def test_bad_values_are_problems(self):
        for variable, value in (("RONDO_SPIN", "often"), ("RONDO_INTERFACE", "10.0.0.0/33"),
                                ("RONDO_RDMA", "nosuch0")):
            found = answers(env={variable: value})
            self.assertEqual(len(found["problems"]), 1, found["problems"])
            self.assertIn(variable, found["problems"][0])
            self.assertIn(value, found["problems"][0])

    def test_no_secret_is_shown(self):
        secret = "f00dcafe" * 4
        with tempfile.TemporaryDirectory() as folder:
            for arguments in ((), ("--json",), ("--dump", f"{folder}/dump")):
                done = ask(*arguments, env={"RONDO_SECRET": secret})
                self.assertEqual(done.returncode, 0)
                self.assertNotIn(secret, done.stdout + done.stderr)
            self.assertNotIn(secret, pathlib.Path(folder, "dump").read_text())


def numbers(text):
    """"0-2,5" as a set."""
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


class Dumps(unittest.TestCase):
    def round_trip(self, folder, load, env):
        path = pathlib.Path(folder, "dump.json")
        first = answers(*load, "--dump", path, "-n", 3, env=env)
        # The environment is in the dump, so it need not be given again.
        second = answers("--load", path, "-n", 3)
        self.assertEqual(decisions(first), decisions(second))
        again = pathlib.Path(folder, "again.json")
        answers("--load", path, "--dump", again, "-n", 3)
        self.assertEqual(json.loads(path.read_text()), json.loads(again.read_text()))

    def test_a_dump_gives_the_same_decisions(self):
        with tempfile.TemporaryDirectory() as folder:
            for env in ({}, {"RONDO_INTERFACE": "lo", "RONDO_SPIN": "5"},
                        {"RONDO_RDMA": "off", "MASTER_ADDR": "fd00::1"}):
                self.round_trip(folder, (), env)
                for machine in sorted(MACHINES.glob("*.json")):
                    with self.subTest(machine.name):
                        self.round_trip(folder, ("--load", machine), env)

    def test_what_is_set_counts_more(self):
        path = MACHINES / "vmhost.json"
        for value, chosen in (("br0", "br0"), ("lo", "lo"), ("virbr0", "virbr0")):
            found = answers("--load", path, env={"RONDO_INTERFACE": value})
            self.assertEqual(found["choice"]["interface"], chosen)

    def test_a_file_that_cannot_be_written(self):
        done = ask("--dump", "/nonexistent/file")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("/nonexistent/file", done.stderr)


def places(value, path=()):
    """Every path to a value inside a dump, but not into the lines of XML."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            if name != "hwloc":
                yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))


def changed(dump, path, value):
    copy = json.loads(json.dumps(dump))
    if not path:
        return value
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return copy


class Damage(unittest.TestCase):
    """A file from elsewhere may hold anything: an answer or a clear refusal."""

    def load(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            done = ask("--load", file.name)
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        if done.returncode == 2:
            self.assertIn("--load", done.stderr)
            self.assertEqual(done.stdout, "")
        return done.returncode

    def test_not_a_dump(self):
        for text in ("", "{", "[]", "{}", "null", "x" * 100000, '{"rondo_dump": 2}',
                     '{"rondo_dump": 1}'):
            self.assertEqual(self.load(text), 2, text[:40])
        self.assertEqual(ask("--load", "/nonexistent/file").returncode, 2)
        self.assertEqual(ask("--load", "/").returncode, 2)

    def test_any_value_anywhere(self):
        dump = json.loads((MACHINES / "roce.json").read_text())
        for path in places(dump):
            for value in (None, -1, 1 << 40, "", "x" * 300, [], {}):
                self.load(json.dumps(changed(dump, path, value)))

    def test_broken_xml(self):
        dump = json.loads((MACHINES / "lonely.json").read_text())
        lines = dump["hwloc"]
        for count in range(0, len(lines), 3):
            dump["hwloc"] = lines[:count]
            self.load(json.dumps(dump))
        dump["hwloc"] = [1, None, {}]
        self.assertEqual(self.load(json.dumps(dump)), 2)


if __name__ == "__main__":
    need()
    unittest.main(verbosity=2)
