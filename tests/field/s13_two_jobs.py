#!/usr/bin/env python3
# s13_two_jobs.py - jobs that start at the same moment on one machine never see each other,
# and of two with the same port by accident the second says why it cannot be.
# ctest: timeout=240
import os
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, program  # noqa: E402

PERF = [program("all_reduce_perf"), "-b", "8", "-e", "4K", "-f", "8", "-w", "1", "-n", "2"]
QUICK = {"RONDO_START_TIMEOUT": "30"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Jobs(unittest.TestCase):
    def expect_good(self, job, code):
        self.assertEqual(code, 0, job.out + job.err)
        self.assertIn("Out of bounds values : 0 OK", job.out)

    def test_at_the_same_moment(self):
        for _ in range(5):
            jobs = [Job("-n", n, *PERF, env=QUICK) for n in (2, 3, 2, 4)]
            for job in jobs:
                self.expect_good(job, job.finish(60))
                self.assertNotIn("refused a connection", job.err)
                self.assertNotIn("secret", job.err)

    def test_the_port_of_a_job_that_is_meeting(self):
        port = free_port()
        with tempfile.TemporaryDirectory() as folder:
            go = os.path.join(folder, "go")
            first = Job("-n", 2, "--port", port, "sh", "-c",
                        f"if [ $RANK = 1 ]; then while [ ! -e {go} ]; do sleep 0.05; done;"
                        f" else echo begun >&2; fi; exec \"$@\"", "sh", *PERF, env=QUICK)
            self.assertIn("begun", first.process.stderr.readline().decode())
            first.wait_for(lambda: self.listens(port))
            second = Job("-n", 2, "--port", port, *PERF, env=QUICK)
            self.assertNotEqual(second.finish(60), 0)
            self.assertRegex(
                second.err,
                rf"127\.0\.0\.1:{port} cannot be opened: Address already in use, by "
                r"process \d+ \(all_reduce_perf\)"
                rf"|127\.0\.0\.1:{port} has another secret")
            open(go, "w").close()
            self.expect_good(first, first.finish(60))

    def listens(self, port):
        with open("/proc/net/tcp") as table:
            return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
                       for line in table)

    def test_the_same_port_at_the_same_moment(self):
        for _ in range(8):
            port = free_port()
            jobs = [Job("-n", 2, "--port", port, *PERF, env=QUICK) for _ in range(2)]
            codes = [job.finish(60) for job in jobs]
            self.assertIn(0, codes, jobs[0].err + jobs[1].err)
            for job, code in zip(jobs, codes):
                if code == 0:
                    self.expect_good(job, code)
                else:
                    self.assertRegex(
                        job.err, "Address already in use|has another secret")


if __name__ == "__main__":
    unittest.main()
