# namespaces.py - real interfaces in network namespaces that end with the test: judged,
# ordered, and tried against a host that is there and one that is not.
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "lib"))
from asking import PROGRAM, clean, need  # noqa: E402

# The namespace has no name and goes with its last process. /sys still shows the
# interfaces of the machine, which must not matter.
INSIDE = ["unshare", "--net", "--kill-child", "--fork", "--", "bash", "-euc"]

# A second namespace, held by a process of which $peer is the id.
PEER = """
unshare --net sleep 50 & peer=$!
trap 'kill $peer' EXIT
until [ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
    sleep 0.01
done
there() { nsenter --net=/proc/$peer/ns/net "$@"; }
"""


def pair(name, *addresses, up=True):
    """A veth pair as a host's interface: its other end is up and has no address."""
    lines = [f"ip link add {name} type veth peer name far_{name}"]
    lines += [f"ip addr add {address} dev {name}" + (" nodad" if ":" in address else "")
              for address in addresses]
    lines += [f"ip link set far_{name} up"]
    if up:
        lines += [f"ip link set {name} up"]
    return "\n".join(lines) + "\n"


def run(script, *arguments, env=None):
    words = " ".join(map(str, (PROGRAM, "--json", *arguments)))
    done = subprocess.run(
        [*INSIDE, f"ip link set lo up\n{script}\n{words} || [ $? = 1 ]"],
        env=clean(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=60)
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)
    return json.loads(done.stdout)


def usable(found):
    return [f"{one['name']} {one['address']}" for one in found["interfaces"]
            if one["usable"]]


def verdicts(found, name):
    return {one["verdict"] for one in found["interfaces"] if one["name"] == name}


def possible(command):
    """Whether this kernel can make such an interface."""
    return subprocess.run([*INSIDE, command], stdout=subprocess.DEVNULL, env=clean(),
                          stderr=subprocess.DEVNULL, timeout=30).returncode == 0


class Judged(unittest.TestCase):
    def test_only_loopback(self):
        found = run("")
        self.assertEqual(usable(found), [])
        self.assertEqual({one["name"] for one in found["interfaces"]}, {"lo"})
        self.assertEqual(found["pairs"], {"same_host": "shm", "other_host": "none"})
        self.assertEqual(usable(run("", env={"RONDO_INTERFACE": "lo"}))[0], "lo 127.0.0.1")

    def test_each_verdict(self):
        script = (
            pair("e0", "10.1.0.1/24", "fd00:1::1/64") + pair("e1", "10.2.0.1/24", up=False)
            + pair("e2") + pair("e3", "169.254.9.1/16")
            + pair("veth9", "10.4.0.1/24")
            + "ip link add e5 type veth peer name far_e5; ip addr add 10.5.0.1/24 dev e5\n"
              "ip link set e5 up\n")
        found = run(script)
        self.assertEqual(usable(found), ["e0 10.1.0.1", "e0 fd00:1::1"])
        for name, expected in (
                ("lo", {"loopback"}), ("e0", {"usable", "link_local"}), ("e1", {"down"}),
                ("e2", {"link_local"}), ("e3", {"link_local"}), ("veth9", {"container", "link_local"}),
                ("e5", {"down"})):
            self.assertEqual(verdicts(found, name), expected, name)
        reasons = {one["name"]: one["reason"] for one in found["interfaces"]}
        self.assertEqual(reasons["e1"], "is down")
        self.assertEqual(reasons["e5"], "has no carrier")

    def test_kinds_the_kernel_names(self):
        script, expected = pair("e0", "10.1.0.1/24"), {}
        for name, kind, verdict in (
                ("d7", "type dummy", "virtual"),
                ("x7", "type vxlan id 7 dev e0 dstport 4789", "virtual"),
                ("w7", "type wireguard", "virtual"), ("g7", "type gretap local 10.1.0.1 remote 10.1.0.2", "virtual"),
                ("b7", "type bridge", "container")):
            make = f"ip link add {name} {kind}"
            if not possible(pair("e0", "10.1.0.1/24") + make):
                print(f"this kernel has no {kind.split()[1]}")
                continue
            expected[name] = verdict
            script += (f"{make}; ip addr add 10.{len(expected)}.9.1/24 dev {name}\n"
                       f"ip link set {name} up\n")
        if "b7" in expected:
            script += pair("p7") + "ip link set far_p7 master b7\n"
        if possible("ip tuntap add t7 mode tap"):
            expected["t7"] = "down"  # nobody has it open
            script += ("ip tuntap add t7 mode tap; ip addr add 10.99.9.1/24 dev t7\n"
                       "ip link set t7 up\n")
        self.assertTrue(expected)
        found = run(script + "sleep 0.3\n")
        self.assertEqual(usable(found), ["e0 10.1.0.1"])
        for name, verdict in expected.items():
            self.assertIn(verdict, verdicts(found, name), name)
        asked = ",".join(name for name in expected if name != "t7")
        found = run(script + "sleep 0.3\n", env={"RONDO_INTERFACE": asked})
        self.assertEqual({one.split()[0] for one in usable(found)}, set(asked.split(",")))

    def test_docker_bridges(self):
        if not possible("ip link add docker0 type bridge"):
            self.skipTest("this kernel has no bridges")
        script = pair("e0", "10.1.0.1/24")
        for number, name in enumerate(("docker0", "br-0123456789ab", "virbr0")):
            script += (f"ip link add {name} type bridge; ip link set {name} up\n"
                       f"ip addr add 172.17.{number}.1/24 dev {name}\n"
                       + pair(f"p{number}") + f"ip link set far_p{number} master {name}\n")
        found = run(script + "sleep 0.3\n")
        self.assertEqual(usable(found), ["e0 10.1.0.1"])
        for name in ("docker0", "br-0123456789ab", "virbr0"):
            self.assertIn("container", verdicts(found, name), name)

    def test_only_ipv6(self):
        found = run(pair("e0", "fd00:7::1/64"))
        self.assertEqual(usable(found), ["e0 fd00:7::1"])
        self.assertEqual(found["choice"]["devices"], "e0")

    def test_order(self):
        script = pair("e0", "10.1.0.1/24") + pair("e1", "10.2.0.1/24")
        for route, best in (
                ("", "e0"), ("ip route add default via 10.2.0.9", "e1"),
                ("ip route add default via 10.1.0.9 metric 7\n"
                 "ip route add default via 10.2.0.9 metric 5", "e1"),
                ("ip route add default via 10.1.0.9 metric 5\n"
                 "ip route add default via 10.2.0.9 metric 7", "e0"),
                ("ip -6 addr add fd00:2::1/64 dev e1 nodad\n"
                 "ip -6 route add default via fd00:2::9", "e1"),
                ("ip route add unreachable default", "e0"),
                ("ip route add 128.0.0.0/1 via 10.2.0.9", "e0")):
            found = run(script + route)
            self.assertEqual(found["choice"]["interface"], best, route)

    def test_addresses_with_labels(self):
        found = run(pair("e0", "10.1.0.1/24") + "ip addr add 10.1.0.2/24 dev e0 label e0:x\n")
        self.assertEqual(usable(found), ["e0 10.1.0.1", "e0 10.1.0.2"])

    def test_ipv6_addresses_that_do_not_last(self):
        script = (pair("e0", "fd00:7::1/64") +
                  "ip addr add fd00:6::1/64 dev e0 nodad preferred_lft 0\n")
        self.assertEqual(usable(run(script)), ["e0 fd00:7::1", "e0 fd00:6::1"])


class Reached(unittest.TestCase):
    # e0 leads to a host that answers; e1 has a default route, and nobody behind it.
    SCRIPT = (
        PEER + pair("e1", "10.2.0.1/24", "fd00:2::1/64")
        + "ip route add default via 10.2.0.9\n"
          "ip link add e0 type veth peer name f0\n"
          "ip addr add 10.1.0.1/24 dev e0; ip addr add fd00:1::1/64 dev e0 nodad\n"
          "ip link set e0 up; ip link set f0 netns $peer\n"
          "there ip link set f0 up; there ip addr add 10.1.0.2/24 dev f0\n"
          "there ip addr add fd00:1::2/64 dev f0 nodad\n")

    def test_a_host_that_is_there(self):
        for target in ("10.1.0.2:29500", "[fd00:1::2]:29500"):
            self.assertEqual(run(self.SCRIPT)["choice"]["interface"], "e1")
            found = run(self.SCRIPT, "--to", f"'{target}'")
            reach = {one["interface"]: one for one in found["reach"]}
            self.assertEqual(set(reach), {"e0", "e1"})
            self.assertTrue(reach["e0"]["reached"], reach)
            self.assertFalse(reach["e1"]["reached"], reach)
            self.assertLess(reach["e1"]["ms"], 2100)
            self.assertEqual(found["choice"]["interface"], "e0")
            self.assertEqual(found["problems"], [])

    def test_a_host_that_is_not(self):
        for target in ("10.1.0.77", "fd00:1::77", "10.2.0.77:1"):
            found = run(self.SCRIPT, "--to", target)
            self.assertEqual([one["reached"] for one in found["reach"]], [False, False])
            self.assertEqual(found["choice"]["interface"], "")
            self.assertEqual(len(found["problems"]), 1)
            self.assertIn("cannot be reached", found["problems"][0])

    def test_no_interface_of_the_family(self):
        found = run(pair("e0", "10.1.0.1/24"), "--to", "fd00::1")
        self.assertEqual(found["reach"], [])
        self.assertEqual(len(found["problems"]), 1)

    def test_no_route(self):
        found = run(pair("e0", "10.1.0.1/24"), "--to", "10.7.0.1")
        self.assertIn("unreachable", found["reach"][0]["words"])

    def test_no_usable_interface(self):
        for target in ("127.0.0.1", "10.0.0.1", "::1"):
            found = run("", "--to", target)
            self.assertEqual(found["reach"], [])
            self.assertEqual(len(found["problems"]), 1)

    def test_a_dump_from_here_is_judged_alike_elsewhere(self):
        dump = f"/tmp/rondo-info-{os.getpid()}.json"
        try:
            here = run(pair("e0", "10.1.0.1/24") + pair("e1", "169.254.0.1/16"),
                       "--dump", dump)
            elsewhere = run("", "--load", dump)
            here.pop("origin")
            elsewhere.pop("origin")
            self.assertEqual(here, elsewhere)
        finally:
            pathlib.Path(dump).unlink(missing_ok=True)


if __name__ == "__main__":
    need()
    if os.geteuid() != 0 or not shutil.which("ip") or not possible(pair("e0")):
        print("skipped: network namespaces need root, iproute2 and veth")
        sys.exit(77)
    unittest.main(verbosity=2)
