# matrix.py - every collective on every number of ranks and hosts: exact results, and no
# byte on a way that is not its own.
# ctest: timeout=600 label=slow serial
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from bed import Bed, need_bed  # noqa: E402
from launching import run  # noqa: E402

# Calls of ranks.c: what they do to each element of 7 counts in 2 types.
CHECKS = 7 * 2

# A connection's own bytes: headers, acknowledgements, credits, the barriers around.
TALK = 150000


def spread(ranks, hosts):
    """3 ranks on 2 hosts: (2, 1)."""
    return tuple((ranks + hosts - 1 - host) // hosts for host in range(hosts))


SHAPES = sorted({spread(ranks, hosts) for ranks in range(1, 9)
                 for hosts in range(1, min(ranks, 4) + 1)} | {(3, 1), (1, 3), (5, 2, 1)})


def ranks_program():
    return os.path.join(os.environ["RONDO_BUILD"], "tests", "hosts", "hosts_ranks")


class Way:
    """One measured call: its rows of all ranks, summed by host."""

    def __init__(self, shape, rows, index):
        self.name = rows[0]["ways"][index]["name"]
        self.shape = shape
        self.bytes = rows[0]["ways"][index]["bytes"]
        self.rows = [row["ways"][index] for row in rows]
        self.hosts = []
        for group in range(len(shape)):
            mine = [row for row in rows if row["group"] == group]
            leader = [row for row in mine if row["local"] == 0][0]["ways"][index]
            self.hosts.append({
                "net": sum(row["ways"][index]["net"] for row in mine),
                "shm": sum(row["ways"][index]["shm"] for row in mine),
                **{name: leader[name]
                   for name in ("transmitted", "received", "loopback")}})

    def least_received(self, host):
        """What must come in from other hosts, whatever the algorithm."""
        inside, total = self.shape[host], sum(self.shape)
        if inside == total:
            return 0
        return {"all_reduce": self.bytes, "reduce_scatter": inside * self.bytes,
                "all_gather": (total - inside) * self.bytes,
                "broadcast": self.bytes if host > 0 else 0,
                "reduce": self.bytes if host == 0 else 0,
                "shift": self.bytes}[self.name]

    def must_use_memory(self, host):
        """Whether a rank of this host must have heard something from a neighbour: any
        algorithm worth its name does it here. A tree may go round by other hosts."""
        return self.shape[host] > 1 and self.name in ("all_reduce", "all_gather",
                                                      "reduce_scatter")


class Matrix(unittest.TestCase):
    options = ()
    shapes = SHAPES

    def rows(self, bed, shape):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hosts")
            with open(path, "w") as file:
                file.write("".join(f"node{host} slots={count}\n"
                                   for host, count in enumerate(shape)))
            module = os.path.join(os.environ["RONDO_LIB"], "librondo_ucx.so")
            job, code = run("--hosts", path, "--agent", bed.agent, "--timeout", 100,
                            ranks_program(), env={"RONDO_UCX_MODULE": module})
        self.assertEqual((code, job.err), (0, ""), job.out)
        rows = sorted((json.loads(line) for line in job.out.splitlines()),
                      key=lambda row: row["rank"])
        self.assertEqual([row["rank"] for row in rows], list(range(sum(shape))))
        return rows

    def test_all(self):
        with Bed(max(map(len, self.shapes)), *self.options) as bed:
            for shape in self.shapes:
                with self.subTest(shape):
                    rows = self.rows(bed, shape)
                    self.exact(shape, rows)
                    for index in range(len(rows[0]["ways"])):
                        self.ways(Way(shape, rows, index))

    def exact(self, shape, rows):
        calls = len(rows[0]["ways"])
        self.assertEqual(calls, 6 if sum(shape) > 1 else 5)
        for row in rows:
            self.assertEqual((row["wrong"], row["first"]), (0, ""))
            self.assertEqual(row["checks"], calls * CHECKS + calls)
            self.assertEqual(row["hosts"], len(shape))

    def ways(self, way):
        for row in way.rows:
            self.assertEqual(row["sent"], row["shm"] + row["net"], way.name)
        if len(way.shape) == 1:
            self.assertEqual([row["net"] for row in way.rows], [0] * len(way.rows))
        if max(way.shape) == 1:
            self.assertEqual([row["shm"] for row in way.rows], [0] * len(way.rows))
        for host, sums in enumerate(way.hosts):
            words = f"{way.name} on node{host}: {sums}"
            # What is counted as sent to other hosts left by the interface, no more did.
            self.assertGreaterEqual(sums["transmitted"], sums["net"], words)
            self.assertLessEqual(
                sums["transmitted"],
                1.08 * sums["net"] + 0.05 * sums["received"] + TALK, words)
            # What others know arrived by the interface: memory cannot have carried it.
            self.assertGreaterEqual(sums["received"], way.least_received(host), words)
            # Neighbours did not talk by TCP, which would go through the loopback.
            self.assertLess(sums["loopback"], TALK, words)
            if way.must_use_memory(host):
                self.assertGreater(sums["shm"], way.bytes // 4, words)
        if way.name == "all_reduce" and way.shape == (2, 2):
            for sums in way.hosts:
                self.assertLess(sums["transmitted"], 1.03 * way.bytes, sums)


class MatrixIPv6(Matrix):
    options = ("--ipv6",)
    shapes = ((1, 1), (2, 2), (3, 1), (1, 1, 1, 1))


if __name__ == "__main__":
    need_bed()
    unittest.main()
