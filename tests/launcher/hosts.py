# hosts.py - rondo-run --hosts, with agents that stay on this machine: order, words, ends.
# ctest: timeout=400 label=slow
import os
import re
import signal
import socket
import stat
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from launching import Job, marked, program, python, run  # noqa: E402

HERE = ("--agent", "env ON_HOST={host}", "--master-addr", "127.0.0.1")
SLEEP = "while True: time.sleep(1)\n"
STUBBORN = "for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\n"


class Case(unittest.TestCase):
    def setUp(self):
        self.keeper = tempfile.TemporaryDirectory()
        self.folder = self.keeper.name
        self.addCleanup(self.keeper.cleanup)

    def file(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def hosts(self, *slots):
        return self.file("hosts", "".join(
            f"node{i} slots={count}\n" for i, count in enumerate(slots)))

    def agent(self, text):
        """An agent that is a shell script; $1 is the host, the rest the command."""
        path = self.file("agent", '#!/bin/sh\nexport ON_HOST="$1"; host=$1; shift\n'
                         + text + '\nexec "$@"\n', stat.S_IRWXU)
        return ("--agent", f"{path} {{host}}", "--master-addr", "127.0.0.1")

    def run_on(self, slots, *arguments, agent=HERE, **more):
        return run("--hosts", self.hosts(*slots), *agent, *arguments, **more)

    def job_on(self, slots, *arguments, agent=HERE, **more):
        return Job("--hosts", self.hosts(*slots), *agent, *arguments, **more)

    def ready(self):
        return f"open({self.folder!r} + '/ready' + os.environ['RANK'], 'w').close()\n"

    def count_ready(self):
        return sum(name.startswith("ready") for name in os.listdir(self.folder))


def show(*names):
    return python(f"print(' '.join(os.environ.get(n, '-') for n in {names!r}))")


def places(*slots):
    """RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK and the host."""
    world, rank, lines = sum(slots), 0, []
    for group, count in enumerate(slots):
        for local in range(count):
            lines.append(f"{rank} {world} {local} {count} {group} node{group}")
            rank += 1
    return lines


PLACE = show("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
             "ON_HOST")


class Places(Case):
    def test_slots(self):
        for slots in ((1,), (4,), (1, 1), (2, 2), (3, 1), (1, 3), (1, 1, 1, 1),
                      (2, 1, 3)):
            job, code = self.run_on(slots, *PLACE)
            self.assertEqual((code, job.err), (0, ""), slots)
            self.assertEqual(sorted(job.out.splitlines()), places(*slots))

    def test_fewer_ranks_than_slots(self):
        for n in range(1, 7):
            job, code = self.run_on((2, 3, 1), "-n", n, *PLACE)
            self.assertEqual(code, 0)
            dealt = [min(2, n), max(0, min(3, n - 2)), max(0, min(1, n - 5))]
            self.assertEqual(sorted(job.out.splitlines()),
                             places(*[count for count in dealt if count]))

    def test_per_host(self):
        job, code = self.run_on((1, 5), "--per-host", 2, *PLACE)
        self.assertEqual((code, sorted(job.out.splitlines())), (0, places(2, 2)))
        job, code = self.run_on((1, 5), "--per-host", 2, "-n", 3, *PLACE)
        self.assertEqual((code, sorted(job.out.splitlines())), (0, places(2, 1)))

    def test_the_file(self):
        path = self.file("hosts", "# all of them\n\n  node0 slots=2 # two\n"
                                  "\tnode1\tinterface=eth7\r\nme@node2")
        job, code = run("--hosts", path, *HERE, *show("RANK", "RONDO_INTERFACE",
                                                      "ON_HOST"))
        self.assertEqual(code, 0, job.err)
        self.assertEqual(sorted(job.out.splitlines()),
                         ["0 - node0", "1 - node0", "2 eth7 node1", "3 - me@node2"])

    def test_errors_of_the_file(self):
        for text, line, words in (
                ("a\nb slots=x\n", 2, "'x'"), ("a slots=0\n", 1, "'0'"),
                ("a slots=5000\n", 1, "'5000'"), ("a slots=\n", 1, "slots="),
                ("a 2\n", 1, "'2'"), ("a slot=2\n", 1, "'slot=2'"),
                ("a\n\nb\na\n", 4, "line 1"), ("-oProxyCommand=x\n", 1, "-oProxy"),
                ("a;b\n", 1, "'a;b'"), ("$(a)\n", 1, "$(a)"), ("me@\n", 1, "name"),
                ("a interface=\n", 1, "interface="),
                ("a interface=" + "x" * 64, 1, "63 bytes"), ("x" * 300, 1, "255")):
            path = self.file("hosts", text)
            job, code = run("--hosts", path, *HERE, "true")
            self.assertEqual(code, 2, text)
            self.assertTrue(job.err.startswith(f"rondo-run: {path}:{line}: "), job.err)
            self.assertIn(words, job.err)
            self.assertEqual(len(job.err.splitlines()), 1)

    def test_no_hosts(self):
        for path, words in ((self.file("hosts", "# nobody\n"), "names no host"),
                            (self.folder + "/none", "No such file"),
                            (self.folder, "cannot read")):
            job, code = run("--hosts", path, *HERE, "true")
            self.assertEqual(code, 2)
            self.assertIn(words, job.err)

    def test_misuse(self):
        path = self.hosts(1, 1)
        for arguments in (("--agent", "env {host}", "-n", 1, "true"),
                          ("--per-host", 1, "-n", 1, "true"),
                          ("--export", "A", "-n", 1, "true"),
                          ("--hosts", path), ("--hosts", path, "-n", 3, "true"),
                          ("--hosts", path, "--agent", "env", "true"),
                          ("--hosts", path, "--agent", "env 'x {host}", "true"),
                          ("--hosts", path, "--export", "A=1", "true"),
                          ("--hosts", path, "--export", "", "true"),
                          ("--hosts", path, "--export", "RONDO_NOT_SET_XY", "true"),
                          ("--hosts", path, "--answer", "0", "true"),
                          ("--hosts", path, "--per-host", "0", "true"),
                          ("--hosts", path, "--remote-path", "/a b", "true"),
                          ("--hosts", path, "--env", "GROUP_RANK=1", "true"),
                          ("--on-host", "true")):
            job, code = run(*arguments)
            self.assertEqual((code, job.out), (2, ""), arguments)
            self.assertIn("rondo-run", job.err)

    def test_on_one_machine_too(self):
        job, code = run("-n", 2, *show("GROUP_RANK", "MASTER_ADDR"))
        self.assertEqual((code, job.out), (0, "0 127.0.0.1\n" * 2))


class Order(Case):
    def test_variables(self):
        job, code = self.run_on(
            (1, 1), "--export", "PLAIN,OTHER", "--env", "RONDO_LOG=info", "--env",
            "MORE=x=y", *show("RONDO_TIMEOUT", "PLAIN", "OTHER", "LEFT", "RONDO_LOG",
                              "MORE", "RONDO_LAUNCHER"),
            agent=self.agent("unset PLAIN OTHER LEFT RONDO_TIMEOUT"),
            env={"RONDO_TIMEOUT": "77", "PLAIN": "a b", "OTHER": "$x\n\"", "LEFT": "z",
                 "RONDO_LOG": "warn"})
        self.assertEqual(code, 0, job.err)
        self.assertEqual(job.out, "77 a b $x\n\" - info x=y rondo-run\n" * 2)

    def test_interface_of_the_file_is_nearer_than_ours(self):
        path = self.file("hosts", "node0 interface=eth5\nnode1\n")
        for more, expected in (((), ["0 eth5", "1 eth1"]),
                               (("--env", "RONDO_INTERFACE=eth9"), ["0 eth9", "1 eth9"])):
            job, _ = run("--hosts", path, *HERE, *more, *show("RANK", "RONDO_INTERFACE"),
                         env={"RONDO_INTERFACE": "eth1"})
            self.assertEqual(sorted(job.out.splitlines()), expected)

    def test_arguments_arrive_unchanged(self):
        odd = ["", "a b", "$HOME", "'\"", "--", "-n", "\n", "x=y", "ü", "a\\b", "*"]
        job, code = self.run_on((1,), *python("print(sys.argv[1:])"), *odd)
        self.assertEqual((code, eval(job.out)), (0, odd))

    def test_many_arguments(self):
        odd = [str(i) * 50 for i in range(8000)]
        job, code = self.run_on((1, 1), *python("print(len(sys.argv), "
                                                "sum(map(len, sys.argv[1:])))"), *odd)
        self.assertEqual((code, job.out), (0, f"8001 {sum(map(len, odd))}\n" * 2))

    def test_folder(self):
        job, code = self.run_on((1, 1), "pwd", agent=self.agent("cd /"),
                                cwd=self.folder)
        self.assertEqual((code, job.out), (0, os.path.realpath(self.folder) + "\n" + (
            os.path.realpath(self.folder) + "\n")))

    def test_input_is_empty(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"words\n")
            file.seek(0)
            job, code = self.run_on((2, 1), *python("print(repr(sys.stdin.read()))"),
                                    stdin=file)
        self.assertEqual((code, job.out), (0, "''\n" * 3))

    def test_secret_is_seen_by_ranks_alone(self):
        for given in (None, "f00dfacec0ffee11"):
            env = {"RONDO_SECRET": given} if given else {}
            job = self.job_on((2, 1), *python(
                "print(os.environ['RONDO_SECRET'], os.getpid(), flush=True)\n"
                + self.ready() + SLEEP), env=env)
            job.wait_for(lambda: self.count_ready() == 3)
            lines = [job.process.stdout.readline().split() for _ in range(3)]
            self.assertEqual(len({line[0] for line in lines}), 1)
            secret = lines[0][0].decode()
            ranks = {int(line[1]) for line in lines}
            # What was in its own environment before, rondo-run cannot take back.
            ranks.add(job.process.pid)
            looked = 0
            for pid in marked(job.mark):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    self.assertNotIn(secret.encode(), file.read())
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if pid not in ranks:
                        looked += 1
                        self.assertNotIn(secret.encode(), file.read())
            self.assertEqual(looked, 2)
            for name in os.listdir(self.folder):
                with open(os.path.join(self.folder, name), "rb") as file:
                    self.assertNotIn(secret.encode(), file.read())
            job.send(signal.SIGTERM)
            job.finish()
            for name in os.listdir(self.folder):
                if name.startswith("ready"):
                    os.remove(os.path.join(self.folder, name))

    def test_secret_is_shared_and_new(self):
        seen = set()
        for _ in range(2):
            job, _ = self.run_on((1, 2), *show("RONDO_SECRET"))
            self.assertEqual(len(set(job.out.split())), 1)
            self.assertRegex(job.out.split()[0], "^[0-9a-f]{64}$")
            seen.add(job.out.split()[0])
        self.assertEqual(len(seen), 2)

    def test_port(self):
        listen = python(
            "import socket\n"
            "port = int(os.environ['MASTER_PORT'])\n"
            "for address in ('127.0.0.1', '0.0.0.0'):\n"
            "    if os.environ['RANK'] == '0':\n"
            "        s = socket.socket()\n"
            "        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
            "        s.bind((address, port)); s.listen(1); s.close()\n"
            "print(port)\n")
        job, code = self.run_on((1, 1, 1), *listen)
        self.assertEqual(code, 0, job.err)
        self.assertEqual(len(set(job.out.split())), 1)
        job, code = self.run_on((1, 1), "--port", 23457, *show("MASTER_PORT"))
        self.assertEqual((code, job.out), (0, "23457\n" * 2))

    def test_nobody_else_is_given_the_port(self):
        job = self.job_on((1, 1), "sh", "-c", "echo $MASTER_PORT; exec sleep 30")
        port = int(job.process.stdout.readline())
        others = []
        for _ in range(300):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
            others.append(one)
        self.assertNotIn(port, [one.getsockname()[1] for one in others])
        for one in others:
            one.close()
        job.send(signal.SIGTERM)
        job.finish()

    def test_alone_the_first_host_needs_no_name(self):
        job, code = run("--hosts", self.hosts(2), "--agent", "env X={host}",
                        *show("MASTER_ADDR"))
        self.assertEqual((code, job.out), (0, "127.0.0.1\n" * 2), job.err)

    def test_name_of_the_first_host_is_unknown_or_local(self):
        for name, words in (("no-such-name.invalid", "cannot find the address"),
                            ("localhost", "only a loopback address")):
            path = self.file("hosts", f"{name}\nnode1\n")
            job, code = run("--hosts", path, "--agent", "env X={host}", "true")
            self.assertEqual(code, 1)
            self.assertIn("node1: ", job.err)
            self.assertIn(words, job.err)
            self.assertIn("--master-addr", job.err)

    def test_bind(self):
        usable = sorted(os.sched_getaffinity(0))
        job, code = self.run_on((1, 1), *python("print(sorted(os.sched_getaffinity(0)))"))
        self.assertEqual((code, job.out), (0, f"{usable}\n" * 2))
        if len(usable) >= 2:
            job, code = self.run_on((2, 1), "--bind", "core", *python(
                "print(len(os.sched_getaffinity(0)))"))
            self.assertEqual((code, job.out), (0, "1\n" * 3))


class Reached(Case):
    """Hosts that do not come along: who, why, and nothing started anywhere."""

    def refused(self, text, *expected, code=1, slots=(1, 1, 1), more=()):
        touch = self.folder + "/started"
        job, got = self.run_on(slots, *more, "sh", "-c", f"touch {touch}",
                               agent=self.agent(text))
        self.assertEqual(got, code, job.err)
        for words in expected:
            self.assertIn(words, job.err)
        self.assertEqual(job.out, "")
        self.assertFalse(os.path.exists(touch), "a rank was started")
        self.assertLess(job.seconds, 20)
        return job

    def test_agent_fails(self):
        job = self.refused('[ $host = node1 ] && { echo "no route to $host" >&2; '
                           'echo "try later" >&2; exit 255; }',
                           "node1 (" + self.folder + "/hosts:2) cannot be reached: "
                           "no route to node1; try later; the agent exited with code 255")
        self.assertEqual(len(job.err.splitlines()), 1, job.err)

    def test_agent_is_killed(self):
        self.refused("[ $host = node2 ] && kill -9 $$",
                     "node2", "the agent was killed by signal 9")

    def test_agent_is_not_there(self):
        job, code = run("--hosts", self.hosts(1), "--agent", "/no/such/agent {host}",
                        "true")
        self.assertEqual(code, 1)
        self.assertIn("cannot start the agent '/no/such/agent' for node0", job.err)

    def test_rondo_run_is_not_there(self):
        job, code = self.run_on((1, 1), "--remote-path", "/no/such/rondo-run", "true")
        self.assertEqual(code, 1)
        self.assertIn("/no/such/rondo-run", job.err)
        self.assertIn("cannot be reached", job.err)

    def test_program_is_not_there(self):
        for path, code in (("./none", 127), ("/etc/passwd", 126)):
            job, got = self.run_on((1,), path)
            self.assertEqual(got, code)
            self.assertIn(f"rondo-run: node0: cannot execute '{path}'", job.err)
        job, got = self.run_on((1, 1), "there-is-no-such-program")
        self.assertEqual(got, 127)
        self.assertEqual(len(job.err.splitlines()), 1, job.err)

    def test_no_answer(self):
        job = self.refused("[ $host = node0 ] || exec sleep 60",
                           "node1, node2: no answer within 3 s",
                           more=("--answer", "3"))
        self.assertNotIn("node0", job.err)

    def test_another_answer(self):
        for says, words in ((r"printf 'rondo-run-host protocol 9\n'", "another version"),
                            (r"printf 'rondo-run-host protocol 1\n"
                             r"some bytes that make no sense'", "does not answer as"),
                            ("head -c 100000 /dev/zero", "does not answer as")):
            self.refused(f"[ $host = node1 ] && {{ {says}; exec sleep 60; }}",
                         "node1", words)

    def test_closed_but_alive(self):
        self.refused("[ $host = node1 ] && exec sleep 60 >&-",
                     "node1", "cannot be reached")

    def test_greetings_are_no_harm(self):
        job, code = self.run_on((1, 1), "echo", "ok", agent=self.agent(
            "echo Welcome to $host; echo; [ $host = node1 ] && echo 'mind the gap' >&2"))
        self.assertEqual((code, job.out), (0, "ok\nok\n"))
        self.assertEqual(job.err, "rondo-run: node1: mind the gap\n")

    def test_interrupted_before_the_start(self):
        job = self.job_on((1, 1), "true", agent=self.agent(
            f"touch {self.folder}/ready$host; exec sleep 60"))
        job.wait_for(lambda: self.count_ready() == 2)
        job.send(signal.SIGINT)
        self.assertEqual(job.finish(), 130)
        self.assertLess(job.seconds, 20)
        self.assertIn("giving up", job.err)

    def test_timeout_before_the_start(self):
        job, code = self.run_on((1, 1), "--timeout", 0.5, "true",
                                agent=self.agent("exec sleep 60"))
        self.assertEqual(code, 124)
        self.assertLess(job.seconds, 20)


class Ends(Case):
    def rank_is(self, rank, then, other):
        def indent(text):
            return "".join("    " + line + "\n" for line in text.splitlines())
        return python(f"if os.environ['RANK'] == '{rank}':\n{indent(then)}"
                      f"else:\n{indent(other)}")

    def test_code_of_the_first(self):
        for rank, host in ((0, "node0"), (2, "node0"), (3, "node1")):
            job, code = self.run_on((3, 1), *self.rank_is(rank, "sys.exit(3)", "pass"))
            self.assertEqual(code, 3)
            self.assertRegex(job.err, rf"^rondo-run: rank {rank} on {host} \(pid \d+\) "
                                      r"exited with code 3\n")

    def test_signal_of_the_first(self):
        job, code = self.run_on((2, 2), "--json", *self.rank_is(
            3, "os.kill(os.getpid(), 9)", "time.sleep(1.5); sys.exit(4)"))
        self.assertEqual(code, 137)
        self.assertRegex(job.err, r"rank 3 on node1 \(pid \d+\) was killed by signal 9 ")
        self.assertIn("after it ranks 0-2 exited with code 4", job.err)
        ranks = job.json()["ranks"]
        self.assertEqual([r["host"] for r in ranks],
                         ["node0", "node0", "node1", "node1"])
        self.assertEqual([r["signal"] for r in ranks], [None, None, None, 9])
        self.assertEqual([r["code"] for r in ranks], [4, 4, 4, None])
        self.assertEqual(len({r["pid"] for r in ranks}), 4)

    def test_the_rest_is_ended(self):
        for stubborn, number in (("", 15), (STUBBORN, 9)):
            job, code = self.run_on((2, 1), "--grace", 0.7, "--json", *self.rank_is(
                2, "time.sleep(2); sys.exit(4)", stubborn + SLEEP))
            self.assertEqual(code, 4)
            self.assertLess(job.seconds, 20)
            self.assertIn("ranks 0-1 did not end within 0.7 s: sending SIGTERM", job.err)
            self.assertIn("after it ranks 0-1 on node0 were killed", job.err)
            self.assertEqual([r["signal"] for r in job.json()["ranks"]],
                             [number, number, None])
            self.assertEqual([r["ended_by_rondo_run"] for r in job.json()["ranks"]],
                             [True, True, False])

    def test_leftovers(self):
        job, code = self.run_on((1, 1), "--grace", 0.3, "sh", "-c",
                                "setsid sleep 60 & exit 0")
        self.assertEqual(code, 0, job.err)
        for host in ("node0", "node1"):
            self.assertIn(f"{host}: processes left behind by the ranks", job.err)
        self.assertLess(job.seconds, 20)

    def test_timeout(self):
        job, code = self.run_on((2, 1), "--timeout", 1, "sleep", 60)
        self.assertEqual(code, 124)
        self.assertIn("time-out after 1 s: ending ranks 0-2", job.err)
        self.assertLess(job.seconds, 20)

    def started(self, slots, text, *options, **more):
        job = self.job_on(slots, *options, *python(text + self.ready() + SLEEP), **more)
        job.wait_for(lambda: self.count_ready() == sum(slots))
        return job

    def test_signals_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.setUp()
                job = self.started((2, 1), "def end(n, f): sys.exit(40 + n)\n"
                                   f"signal.signal({int(number)}, end)\n")
                job.send(number)
                self.assertEqual(job.finish(), 40 + number)
                self.assertIn("passed on to 3 ranks", job.err)

    def test_ctrl_c(self):
        job = self.started((1, 2), "signal.signal(2, signal.SIG_DFL)\n")
        job.send(signal.SIGINT)
        self.assertEqual(job.finish(), 130)
        self.assertLess(job.seconds, 20)

    def test_second_ctrl_c_kills_at_once(self):
        job = self.started((1, 1), STUBBORN, "--grace", 60)
        job.send(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(job.process.poll())
        job.send(signal.SIGINT)
        self.assertEqual(job.finish(5), 130)

    def test_user_signal(self):
        job = self.started((1, 1), "signal.signal(10, lambda n, f: os._exit(0))\n")
        job.send(signal.SIGUSR1)
        self.assertEqual(job.finish(), 0, job.err)

    def test_stop_and_continue(self):
        job = self.started((1, 1), "signal.signal(10, lambda n, f: os._exit(0))\n")
        ranks = self.ranks(job)
        job.send(signal.SIGTSTP)
        job.wait_for(lambda: all(state(p) == "T" for p in ranks + [job.process.pid]))
        job.send(signal.SIGCONT)
        job.wait_for(lambda: all(state(p) != "T" for p in ranks))
        job.send(signal.SIGUSR1)
        self.assertEqual(job.finish(), 0, job.err)

    @staticmethod
    def ranks(job):
        return [p for p in marked(job.mark) if command(p)[0] == sys.executable]

    @staticmethod
    def remotes(job):
        return [p for p in marked(job.mark) if command(p)[-1:] == ["--on-host"]]

    def test_kill_9_of_the_launching_side(self):
        """Also of ranks that do not listen, and of what they have started."""
        job = self.started((2, 1), STUBBORN + "import subprocess\n"
                           "subprocess.Popen(['sleep', '60'], start_new_session=True)\n")
        self.assertEqual(len(self.ranks(job)), 3)
        job.send(signal.SIGKILL)
        end = time.monotonic() + 12
        while marked(job.mark) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(job.finish(), -signal.SIGKILL)

    def test_host_is_lost(self):
        """Its rondo-run dies: the ranks there with it, the others are ended."""
        job = self.started((1, 2), "", "--grace", 0.5, "--json")
        one = [p for p in self.remotes(job) if environment(p)["ON_HOST"] == "node1"]
        os.kill(one[0], signal.SIGKILL)
        self.assertEqual(job.finish(), 1)
        self.assertIn("hosts:2) was lost with its ranks: the agent was killed by "
                      "signal 9", job.err)
        ranks = job.json()["ranks"]
        self.assertEqual([r["signal"] for r in ranks], [15, None, None])
        self.assertEqual([r["code"] for r in ranks], [None] * 3)

    def test_host_hangs(self):
        """It is left alone after its time, and named."""
        job = self.started((1, 1), "", "--timeout", 1.5)
        one = [p for p in self.remotes(job) if environment(p)["ON_HOST"] == "node1"][0]
        os.kill(one, signal.SIGSTOP)
        job.process.wait(timeout=20)
        self.assertEqual(job.process.returncode, 124)
        job.finish()
        self.assertIn("node1: no answer", job.err)
        self.assertNotIn("node0: no answer", job.err)

    def test_nobody_listens_any_more(self):
        job = self.job_on((1, 1), "yes")
        job.process.stdout.read(100)
        job.process.stdout.close()
        job.process.stdout = None
        job.process.wait(timeout=10)
        self.assertEqual(job.process.returncode, 128 + signal.SIGPIPE)
        job.finish()


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def command(pid):
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().split("\0")[:-1]


def environment(pid):
    with open(f"/proc/{pid}/environ") as file:
        return dict(one.split("=", 1) for one in file.read().split("\0") if "=" in one)


class Output(Case):
    def test_lines_are_whole_and_in_order(self):
        for options in ((), ("--prefix",)):
            job, code = self.run_on((2, 1), *options, *python(
                "r = os.environ['RANK']\n"
                "for i in range(3000):\n"
                "    os.write(1, f'{r}: line {i} {\"x\" * (i % 97)}\\n'.encode())\n"))
            self.assertEqual(code, 0)
            lines = job.out.splitlines()
            self.assertEqual(len(lines), 9000)
            for rank in range(3):
                start = f"[{rank}] {rank}: " if options else f"{rank}: "
                self.assertEqual(
                    [line[len(start):] for line in lines if line.startswith(start)],
                    [f"line {i} {'x' * (i % 97)}" for i in range(3000)])

    def test_streams_are_kept_apart(self):
        job, code = self.run_on((1, 1), "--prefix", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(code, 0)
        self.assertEqual(sorted(job.out.splitlines()), ["[0] out", "[1] out"])
        self.assertEqual(sorted(job.err.splitlines()), ["[0] err", "[1] err"])

    def test_a_last_line_without_end(self):
        job, _ = self.run_on((1, 1), "--prefix", "printf", "one\\ntwo")
        self.assertEqual(sorted(job.out.splitlines()),
                         ["[0] one", "[0] two", "[1] one", "[1] two"])

    def test_much(self):
        job = self.job_on((1, 1), "sh", "-c", "yes | head -c 6000000")
        time.sleep(0.5)
        self.assertEqual(job.finish(), 0)
        self.assertEqual(job.out, "y\n" * 6000000)

    def test_slow_reader_costs_no_memory_and_signals_work(self):
        job = self.job_on((1, 2), "--prefix", "yes", "a line of text that goes on")
        time.sleep(1.0)
        pids = [job.process.pid, *Ends.remotes(job)]
        self.assertEqual(len(pids), 3)
        if not os.environ.get("RONDO_SANITIZE"):
            for pid in pids:
                with open(f"/proc/{pid}/status") as file:
                    resident = re.search(r"VmRSS:\s+(\d+)", file.read())
                self.assertLess(int(resident[1]), 20000)
        job.send(signal.SIGTERM)
        job.process.wait(timeout=10)
        self.assertEqual(job.process.returncode, 128 + signal.SIGTERM)
        job.finish()

    def test_sleeping_job_uses_no_time(self):
        job = self.job_on((1, 1), "sleep", "1.5")
        time.sleep(1.0)
        for pid in [job.process.pid, *Ends.remotes(job)]:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            self.assertLess(int(fields[11]) + int(fields[12]), 10)
        self.assertEqual(job.finish(), 0)


class Many(Case):
    def test_64_hosts(self):
        job, code = self.run_on((1,) * 64, "sh", "-c", "echo $RANK")
        self.assertEqual(code, 0, job.err)
        self.assertEqual(sorted(map(int, job.out.split())), list(range(64)))

    def test_64_ranks_on_4_hosts(self):
        job, code = self.run_on((16,) * 4, "--prefix", "sh", "-c", "echo $RANK; exit 5")
        self.assertEqual(code, 5)
        self.assertEqual(sorted(job.out.splitlines()),
                         sorted(f"[{r}] {r}" for r in range(64)))


if __name__ == "__main__":
    assert os.path.exists(program("rondo-run"))
    unittest.main()
