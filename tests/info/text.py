# text.py - what rondo-info says of machines that were written down, word for word.
#
# `text.py --write` writes the texts anew; look at the difference before it is committed.
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "lib"))
from asking import MACHINES, ask, need  # noqa: E402

# (name of the text, machine, further arguments, environment)
TEXTS = [
    ("laptop", "laptop", (), {}),
    ("laptop_virtual", "laptop", ("-n", 16), {"RONDO_INTERFACE": "wg*,virbr0,lo,172.18.0.0/16"}),
    ("cluster", "cluster", ("-n", 4), {}),
    ("cluster_ethernet", "cluster", ("-n", 1), {"RONDO_INTERFACE": "eth0,ib0"}),
    ("cluster_only_rdma", "cluster", ("-n", 64), {"RONDO_RDMA": "mlx5_0:1"}),
    ("cluster_no_rdma", "cluster", (), {"RONDO_RDMA": "off"}),
    ("cluster_wrong_rdma", "cluster", ("-n", 2), {"RONDO_RDMA": "mlx5_1:1"}),
    ("cluster_wrong_part", "cluster", ("-n", 2), {"RONDO_INTERFACE": "^ib0,eth0"}),
    ("roce", "roce", ("-n", 2), {}),
    ("roce_bond", "roce", ("-n", 20), {"RONDO_INTERFACE": "bond*"}),
    ("softroce", "softroce", (), {"RONDO_INTERFACE": "veth1"}),
    ("softroce_named", "softroce", (), {"RONDO_INTERFACE": "veth2", "RONDO_RDMA": "rxe2"}),
    ("softroce_auto", "softroce", (), {}),
    ("kubernetes", "kubernetes", (), {}),
    ("ipv6", "ipv6", (), {}),
    ("lonely", "lonely", (), {}),
    ("container", "container", (), {}),
    ("container_crowded", "container", ("-n", 4), {"RONDO_SPIN": "40"}),
    ("vmhost", "vmhost", ("-n", 6), {}),
    ("vmhost_secret", "vmhost", ("-n", 1), {"RONDO_SECRET": "hidden", "RONDO_SPIN": "auto"}),
]


def answer(machine, arguments, environment):
    """The text and the exit code, without the path of the file."""
    path = MACHINES / f"{machine}.json"
    done = ask("--load", path, *arguments, env=environment)
    return (done.stdout.replace(str(path), f"{machine}.json")
            + f"[exit code {done.returncode}]\n")


class Texts(unittest.TestCase):
    maxDiff = None

    def test_texts(self):
        for name, machine, arguments, environment in TEXTS:
            with self.subTest(name):
                golden = (MACHINES / f"{name}.txt").read_text()
                self.assertEqual(answer(machine, arguments, environment), golden)

    def test_every_machine_and_text_is_used(self):
        self.assertEqual({path.stem for path in MACHINES.glob("*.json")},
                         {machine for _, machine, _, _ in TEXTS})
        self.assertEqual({path.stem for path in MACHINES.glob("*.txt")},
                         {name for name, _, _, _ in TEXTS})


if __name__ == "__main__":
    need()
    if sys.argv[1:] == ["--write"]:
        for name, machine, arguments, environment in TEXTS:
            (MACHINES / f"{name}.txt").write_text(answer(machine, arguments, environment))
        sys.exit(0)
    unittest.main(verbosity=2)
