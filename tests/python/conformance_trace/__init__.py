"""The conformance trace: what the public Python API answered once, replayed.

    shim.py      the one file that names the package, its classes and methods
    arrays.py    rows of bytes as arrays, and back
    steps.py     what a program is made of
    draw.py      seeded numbers, the same on every machine and with every version of NumPy
    tables.py    the tables: kinds of key and value, shapes, scores
    programs.py  a table and a seed as a list of steps
    wrong.py     arguments that are refused, with the type of the error and a part of what it says
    oracle.py    a dict that says what each step must answer
    replay.py    runs programs against a machine, the oracle and tests/data/conformance-trace.json

`scripts/conformance-trace record` writes the file, and only if the oracle agrees with every answer; `replay` compares
with it. tests/python/test_conformance_trace.py replays it on every machine that is present.
"""
