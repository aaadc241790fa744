"""examples.py - the C example says 0 wrong on every rank, alone and started by rondo-run.
ctest: timeout=60
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["RONDO_SOURCE"], "tests/lib"))
import launching  # noqa: E402

EXAMPLE = os.path.join(os.environ["RONDO_BIN"], "examples/all_reduce")


def said(nranks):
    return sorted(f"rank {rank} of {nranks}: 0 wrong" for rank in range(nranks))


def alone():
    clean = {name: value for name, value in os.environ.items()
             if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    run = subprocess.run([EXAMPLE], env=clean, capture_output=True, text=True, timeout=20)
    assert run.returncode == 0, run
    assert run.stdout.splitlines() == said(1), run
    assert run.stderr == "", run


def by_the_launcher():
    for nranks in (1, 2, 3, 4, 8):
        job, code = launching.run("-n", nranks, EXAMPLE)
        assert code == 0, (code, job.out, job.err)
        assert sorted(job.out.splitlines()) == said(nranks), job.out


def a_wrong_environment_is_said():
    environment = dict(os.environ, RANK="5", WORLD_SIZE="2", MASTER_PORT="1")
    run = subprocess.run([EXAMPLE], env=environment, capture_output=True, text=True,
                         timeout=20)
    assert run.returncode == 1, run
    assert "RANK" in run.stderr and "5" in run.stderr, run.stderr


alone()
by_the_launcher()
a_wrong_environment_is_said()
print("the C example is right alone and on 1 to 8 ranks")
