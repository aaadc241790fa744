#!/usr/bin/env python3
"""numpy_all_reduce.py - how a framework links Rondo: ctypes, arrays, no copy.

    rondo-run -n 2 python3 examples/numpy_all_reduce.py

RONDO_LIBRARY names librondo.so where the loader does not find it by itself.
"""
import ctypes
import os
import sys

import numpy

# rondo/types.h: these values never change.
DTYPE = {"int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
         "float16": 6, "float32": 7, "float64": 8}
OP = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}

rondo = ctypes.CDLL(os.environ.get("RONDO_LIBRARY", "librondo.so.0"))
pointer = ctypes.c_void_p
for name, result, arguments in [
        ("rondo_comm_create", ctypes.c_int, [pointer, ctypes.POINTER(pointer)]),
        ("rondo_comm_destroy", None, [pointer]),
        ("rondo_comm_rank", ctypes.c_uint32, [pointer]),
        ("rondo_comm_nranks", ctypes.c_uint32, [pointer]),
        ("rondo_comm_error_text", ctypes.c_char_p, [pointer]),
        ("rondo_error_text", ctypes.c_char_p, []),
        ("rondo_status_name", ctypes.c_char_p, [ctypes.c_int]),
        ("rondo_all_reduce", ctypes.c_int, [pointer, pointer, pointer, ctypes.c_uint64,
                                            ctypes.c_int, ctypes.c_int]),
        ("rondo_broadcast", ctypes.c_int, [pointer, pointer, pointer, ctypes.c_uint64,
                                           ctypes.c_int, ctypes.c_uint32])]:
    function = getattr(rondo, name)
    function.restype, function.argtypes = result, arguments


class RondoError(RuntimeError):
    def __init__(self, status, text):
        self.name = rondo.rondo_status_name(status).decode()
        super().__init__(f"{self.name}: {text.decode()}")


class Comm:
    """All ranks of the job, found through the environment; ends with the block."""

    def __enter__(self):
        self.handle = pointer()
        status = rondo.rondo_comm_create(None, ctypes.byref(self.handle))
        if status != 0:
            raise RondoError(status, rondo.rondo_error_text())
        self.rank = rondo.rondo_comm_rank(self.handle)
        self.nranks = rondo.rondo_comm_nranks(self.handle)
        return self

    def __exit__(self, *_):
        rondo.rondo_comm_destroy(self.handle)

    def check(self, status):
        if status != 0:
            raise RondoError(status, rondo.rondo_comm_error_text(self.handle))

    def all_reduce(self, array, op="sum"):
        """In place; ctypes lets other Python threads run meanwhile."""
        at = self.place(array)
        self.check(rondo.rondo_all_reduce(self.handle, at, at, array.size,
                                          DTYPE[array.dtype.name], OP[op]))
        return array

    def broadcast(self, array, root=0):
        at = self.place(array)
        self.check(rondo.rondo_broadcast(self.handle, at, at, array.size,
                                         DTYPE[array.dtype.name], root))
        return array

    @staticmethod
    def place(array):
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise ValueError("the array must be contiguous and writeable")
        return array.ctypes.data


def main():
    with Comm() as comm:
        # Every rank starts from rank 0's weights and averages its gradient with others.
        weights = numpy.full(1000, float(comm.rank), numpy.float32)
        comm.broadcast(weights)
        gradient = numpy.arange(1000, dtype=numpy.float32) * (comm.rank + 1)
        comm.all_reduce(gradient, "avg")
        mean = numpy.arange(1000, dtype=numpy.float32) * ((comm.nranks + 1) / 2)
        wrong = int((weights != 0).sum() + (gradient != mean).sum())
        print(f"rank {comm.rank} of {comm.nranks}: {wrong} wrong", flush=True)
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
