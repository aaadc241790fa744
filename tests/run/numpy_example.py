"""numpy_example.py - the numpy example is right on 1 to 4 ranks, and short.
ctest: timeout=60 label=noasan label=notsan
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["RONDO_SOURCE"], "tests/lib"))
import launching  # noqa: E402

EXAMPLE = os.path.join(os.environ["RONDO_SOURCE"], "examples/numpy_all_reduce.py")

try:
    import numpy  # noqa: F401
except ImportError:
    print("skipped: python3-numpy is not installed")
    sys.exit(77)

with open(EXAMPLE) as file:
    lines = len(file.readlines())
assert lines <= 100, f"{lines} lines are more than anybody reads"

library = {"RONDO_LIBRARY": os.path.join(os.environ["RONDO_LIB"], "librondo.so")}
for nranks in (1, 2, 3, 4):
    job, code = launching.run("-n", nranks, sys.executable, "-B", EXAMPLE, env=library)
    assert code == 0, (code, job.out, job.err)
    want = sorted(f"rank {rank} of {nranks}: 0 wrong" for rank in range(nranks))
    assert sorted(job.out.splitlines()) == want, job.out

# An error comes as an exception that says what the library says.
wrong = "import numpy_all_reduce as r, numpy\n" \
        "with r.Comm() as c:\n" \
        "    try:\n" \
        "        c.broadcast(numpy.zeros(3), 9)\n" \
        "    except r.RondoError as e:\n" \
        "        assert e.name == 'RONDO_ERR_ARG' and 'root' in str(e), e\n" \
        "        print('refused')\n"
environment = dict(library, PYTHONPATH=os.path.dirname(EXAMPLE))
job, code = launching.run("-n", 1, sys.executable, "-B", "-c", wrong, env=environment)
assert code == 0 and job.out.strip() == "refused", (code, job.out, job.err)
print(f"the numpy example has {lines} lines and is right on 1 to 4 ranks")
