#!/usr/bin/env python3
# scripts.py - scripts/setup, test and demo do what they say, with the world stubbed out.
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["RONDO_SOURCE"])

# A ctest that prints what the real one would, writes its report, and notes its arguments.
CTEST = """\
echo "ctest $*" >>"$LOG"
cat >tests.xml <<'END'
<testsuite><testcase name="field.s15" status="notrun"><skipped message="77"/>
<system-out>skipped: needs another mount namespace
</system-out></testcase><testcase name="unit.x" status="run"/></testsuite>
END
if [[ -n ${CTEST_FAILS-} && $PWD == *"$CTEST_FAILS" ]]; then
    echo "50% tests passed, 1 tests failed out of 2"
    exit 8
fi
echo "100% tests passed, 0 tests failed out of 2"
"""
RUN = """\
echo "rondo-run $*" >>"$LOG"
case $* in
*all_reduce_perf*) echo "# Out of bounds values : ${WRONG:-0 OK}" ;;
*rondo-train*)
    while [[ $1 != --metrics ]]; do shift; done
    echo '{"epoch": 1}' >"$2"
    printf '{"test_accuracy": %s, "images_per_second": 9.5, "seconds": 3.0}\\n' \\
        "${ACCURACY:-0.88}" >>"$2" ;;
esac
"""


class World:
    """A copy of the scripts beside stubs for every program they call."""

    def __init__(self, scratch):
        self.root = pathlib.Path(scratch) / "tree"
        self.stubs = pathlib.Path(scratch) / "stubs"
        self.log = pathlib.Path(scratch) / "log"
        shutil.copytree(SOURCE / "scripts", self.root / "scripts")
        self.program(self.root / "tools/check", 'echo "check" >>"$LOG"; exit ${CHECK:-0}')
        self.program(self.root / "build/bin/rondo-run", RUN)
        self.program(self.root / "build/bin/rondo-compare",
                     'echo "rondo-compare $*" >>"$LOG"; exit ${COMPARE:-0}')
        self.stub("cmake", 'echo "cmake $*" >>"$LOG"; exit ${CMAKE:-0}')
        self.stub("ctest", CTEST)
        self.stub("apt-get", 'echo "apt-get $*" >>"$LOG"; exit ${APT:-0}')
        self.stub("sudo", 'exec "$@"')
        self.stub("dpkg-query", """\
shift 2
for name; do
    [[ $name == "${ABSENT-}" ]] || echo "ii |$name"
    [[ $name != "${REMOVED-}" ]] || echo "rc |$name"
done
[[ -z ${ABSENT-} ]]
""")

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/usr/bin/env bash\n" + text)
        path.chmod(0o755)

    def stub(self, name, text):
        self.program(self.stubs / name, text)

    def run(self, script, *arguments, **switches):
        """(exit status, what it printed, what it called)"""
        self.log.write_text("")
        surroundings = dict(os.environ, LOG=str(self.log), **switches)
        surroundings["PATH"] = f"{self.stubs}:{surroundings['PATH']}"
        run = subprocess.run([str(self.root / "scripts" / script), *arguments], text=True,
                             env=surroundings, capture_output=True, timeout=60)
        return run.returncode, run.stdout + run.stderr, self.log.read_text()


def expect(fact, *context):
    if not fact:
        raise AssertionError("\n".join(str(item) for item in context))


def setup_installs_only_what_is_missing(world):
    status, said, calls = world.run("setup", "--packages", ABSENT="zlib1g-dev")
    expect(status == 0, said)
    install = [line for line in calls.splitlines() if " install " in line]
    expect(len(install) == 1 and install[0].endswith(" zlib1g-dev"), calls)
    expect(" update" in calls and "installing 1 missing" in said, calls, said)


def setup_counts_a_half_removed_package_as_missing(world):
    status, said, calls = world.run("setup", "--packages", ABSENT="g++", REMOVED="g++")
    expect(status == 0 and calls.splitlines()[-1].endswith(" g++"), said, calls)


def setup_leaves_apt_alone_when_nothing_is_missing(world):
    for _ in range(2):
        status, said, calls = world.run("setup")
        expect(status == 0 and "apt-get" not in calls, said, calls)
        expect("--preset release" in calls and "Ready" in said, said, calls)


def setup_fails_when_apt_or_the_build_fails(world):
    status, said, _ = world.run("setup", ABSENT="gcc", APT="1")
    expect(status != 0 and "could not install: gcc" in said, said)
    status, said, _ = world.run("setup", CMAKE="1")
    expect(status != 0 and "build failed" in said and "Ready" not in said, said)


def test_runs_every_step(world):
    status, said, calls = world.run("test")
    expect(status == 0 and "everything passed" in said, said)
    for preset in ("release", "clang", "asan", "tsan"):
        expect(f"--build --preset {preset}" in calls, preset, calls)
    expect(calls.count("ctest ") == 3 and "check" in calls, calls)
    expect("field.s15: needs another mount namespace" in said, said)
    expect(said.count("100% tests passed, 0 tests failed out of 2") == 6, said)


def test_quick_leaves_the_slow_ones_out(world):
    status, said, calls = world.run("test", "--quick")
    expect(status == 0 and "-L quick" in calls, said, calls)
    expect("clang" not in calls and "asan" not in calls, calls)


def test_fails_when_any_step_fails(world):
    for switches, step in (({"CHECK": "1"}, "tools/check"), ({"CTEST_FAILS": "build"}, "ctest"),
                           ({"CTEST_FAILS": "build-asan"}, "asan"),
                           ({"CTEST_FAILS": "build-tsan"}, "tsan")):
        status, said, calls = world.run("test", **switches)
        last = said.strip().splitlines()[-1]
        expect(status != 0 and "FAILED" in last and step in last, said)
        expect(calls.count("ctest ") == 3, "one failure must not hide the next", calls)


def demo_says_what_came_out(world):
    status, said, calls = world.run("demo")
    expect(status == 0 and "success" in said and "88.00 %" in said, said)
    expect("rondo-run -n 2 all_reduce_perf -b 8 -e 64M -f 2" in calls, calls)
    page = world.root / "build/report/demo.html"
    expect(any(call.startswith("rondo-compare ") and f"-o {page}" in call
               for call in calls.splitlines()), calls)
    expect(str(page) in said.split("Result")[1], said)


def demo_fails_on_wrong_values_and_low_accuracy(world):
    status, said, _ = world.run("demo", WRONG="3 FAILED")
    expect(status != 0 and "0 wrong" in said and "success" not in said, said)
    status, said, _ = world.run("demo", ACCURACY="0.8699")
    expect(status != 0 and "below 87 %" in said and "success" not in said, said)
    status, said, _ = world.run("demo", COMPARE="1")
    expect(status != 0 and "rondo-compare failed" in said, said)


def every_script_explains_itself(world):
    for script in ("setup", "test", "demo"):
        status, said, calls = world.run(script, "--help")
        expect(status == 0 and f"usage: scripts/{script}" in said and not calls, said)
        status, said, calls = world.run(script, "--no-such-option")
        expect(status != 0 and "unknown option" in said and not calls, said, calls)


TESTS = [setup_installs_only_what_is_missing, setup_counts_a_half_removed_package_as_missing,
         setup_leaves_apt_alone_when_nothing_is_missing,
         setup_fails_when_apt_or_the_build_fails, test_runs_every_step,
         test_quick_leaves_the_slow_ones_out, test_fails_when_any_step_fails,
         demo_says_what_came_out, demo_fails_on_wrong_values_and_low_accuracy,
         every_script_explains_itself]


def main():
    failed = 0
    for test in TESTS:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                test(World(scratch))
            except AssertionError as error:
                failed += 1
                print(f"FAILED {test.__name__}: {error}")
    print(f"{len(TESTS) - failed} of {len(TESTS)} passed")
    return 1 if failed else 0


sys.exit(main())
