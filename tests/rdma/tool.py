# tool.py - the guest's status, output and surroundings; its time-out; nothing left.
# ctest: timeout=500 label=slow serial label=noasan label=notsan
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

VM = os.path.join(os.environ["RONDO_SOURCE"], "tests", "rdma", "vm")
CACHE = ["--cache", os.path.join(os.environ["RONDO_BUILD"], "rdma-vm")]


def started(*arguments, folder, **more):
    """A running vm whose scratch folder is `folder`."""
    return subprocess.Popen(
        [VM, *CACHE, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=folder), **more)


def processes_of(folder):
    """Command lines that name the folder: qemu's do."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if folder in line:
            found.append(line)
    return found


class Tool(unittest.TestCase):
    def setUp(self):
        keeper = tempfile.TemporaryDirectory()
        self.addCleanup(keeper.cleanup)
        self.folder = keeper.name

    def run_vm(self, *arguments, seconds=120, **more):
        vm = started(*arguments, folder=self.folder, **more)
        out, err = vm.communicate(timeout=seconds)
        self.nothing_is_left()
        return vm.returncode, out, err

    def nothing_is_left(self):
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(processes_of(self.folder), [])

    def test_wrong_usage(self):
        for wrong in ([], ["--topology", "three", "true"], ["--timeout", "x", "true"],
                      ["--share", "/no/such/folder", "true"], ["--bogus"]):
            code, out, err = self.run_vm(*wrong, seconds=30)
            self.assertEqual((code, out), (2, ""), wrong)
            self.assertIn("usage: vm", err)
        code, out, _ = self.run_vm("--help", seconds=30)
        self.assertEqual(code, 0)
        self.assertIn("exit status", out)

    def test_what_goes_in_and_comes_out(self):
        share = tempfile.TemporaryDirectory()
        self.addCleanup(share.cleanup)
        lost = os.path.join(os.path.dirname(share.name), "lost-in-the-guest")
        script = f"""
            echo to stdout; echo to stderr >&2
            echo "$RONDO_ONE|$TWO|$THREE|$PWD|$1|$(id -u)"
            echo kept >"{share.name}/kept"
            echo lost >"{lost}" && cat "{lost}"
            cat /sys/class/infiniband/rxe*/ports/1/state
            for pair in "1 2" "2 1"; do
                set -- $pair
                timeout 30 ibv_rc_pingpong -d rxe$1 -g 1 -n 50 >/dev/null 2>&1 &
                sleep 2
                timeout 20 ibv_rc_pingpong -d rxe$2 -g 1 -n 50 10.99.0.$1 >/dev/null
                echo "pingpong $?"
                wait
            done
            exit 7"""
        os.environ.update(RONDO_ONE="1 '\"$", THREE="3")
        code, out, err = self.run_vm(
            "--timeout", "100", "--share", share.name, "--env", "TWO=2", "--env", "THREE",
            "--env", "NOT_THERE", "--", "bash", "-c", script, "bash", "an argument",
            cwd=share.name)
        self.assertEqual(err, "to stderr\n")
        self.assertEqual(out.splitlines(), [
            "to stdout", f"1 '\"$|2|3|{share.name}|an argument|0", "lost",
            "4: ACTIVE", "4: ACTIVE", "pingpong 0", "pingpong 0"])
        self.assertEqual(code, 7)
        self.assertEqual(pathlib.Path(share.name, "kept").read_text(), "kept\n")
        self.assertFalse(os.path.exists(lost))

    def test_the_time_is_up(self):
        code, _, err = self.run_vm("--timeout", "3", "--", "true", seconds=60)
        self.assertEqual(code, 124)
        self.assertIn("the time was up after 3", err)

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            vm = started("true", folder=self.folder)
            end = time.monotonic() + 60
            while not any("qemu" in line for line in processes_of(self.folder)):
                self.assertLess(time.monotonic(), end, "no guest was started")
                time.sleep(0.05)
            vm.send_signal(number)
            vm.communicate(timeout=20)
            self.assertEqual(vm.returncode, 128 + number)
            self.nothing_is_left()


if __name__ == "__main__":
    prepared = subprocess.run([VM, *CACHE, "--prepare"], stderr=subprocess.PIPE, text=True)
    if prepared.returncode == 125:
        print("skipped: " + prepared.stderr.strip().splitlines()[0])
        sys.exit(77)
    unittest.main(verbosity=2)
