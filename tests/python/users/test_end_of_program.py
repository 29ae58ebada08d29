"""Programs that end while a daemon thread is inside a call: exit code 0, nothing printed, nothing acknowledged lost.

Python ends such a thread where it next asks for the interpreter lock. In C++ that aborted the process.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import PATIENCE_S

import holdfastdb as hf

NATIVE = Path(__file__).resolve().parents[3] / "python" / "native"

PROGRAM = """
import os, sys, threading, time
import numpy as np
import holdfastdb as hf
path, device, part = sys.argv[1:]
keys = np.arange(200_000, dtype=np.uint64)
started = threading.Event()

def acknowledge(i):
    os.write(1, b"%d\\n" % i)
    started.set()

def repeat(call):
    for i in range(1_000_000):
        call(i)
        acknowledge(i)

def table(**options):
    return hf.Table.create(path, value=16, capacity=400_000, device=device, **options)

def work():
    if part == "insert":
        t = table()
        repeat(lambda i: t.insert_or_assign(keys[: 5000], np.full((5000, 2), i, np.uint64)))
    elif part == "memory":
        m = hf.MemoryTable(value=8, capacity=400_000)
        repeat(lambda i: m.insert_or_assign(keys, keys))
    elif part == "save":
        c = hf.Checkpoint(path)
        repeat(lambda i: c.save({"x": np.full(100_000, i)}, step=i).wait())
    elif part == "restore":
        c = hf.Checkpoint(path)
        c.save({"x": np.zeros(100_000)}, step=0).wait()
        repeat(lambda i: c.restore())
    elif part == "open":
        table().close()
        repeat(lambda i: hf.Table.open(path, device=device).close())
    elif part == "drop":  # the handle ends with the last reference, in the thread
        table().close()
        repeat(lambda i: hf.Table.open(path, device=device))
    else:
        t = table()
        t.insert(keys, np.stack([keys, keys], axis=1))
        slow = lambda *_: time.sleep(0.001)
        repeat({
            "find": lambda i: t.find(keys),
            "sync": lambda i: t.sync(),
            "stats": lambda i: t.stats(),
            "check": lambda i: t.check(),
            "snapshot": lambda i: t.snapshot(path + ".copy", overwrite=True),
            "snapshot with progress": lambda i: t.snapshot(path + ".copy", overwrite=True, progress=slow),
            "where": lambda i: t.erase_if(where=lambda keys, values: np.zeros(len(keys), bool)),
        }[part])

threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep(0.02)
"""

PARTS = ["insert", "memory", "save", "restore", "open", "drop", "find", "sync", "stats", "check", "snapshot"]
CALLING_BACK = ["snapshot with progress", "where"]


def run(code: str, *arguments: object) -> list[str]:
    """What it printed; it must have ended well, without a word on stderr."""
    child = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (child.returncode, child.stderr) == (0, "")
    return child.stdout.split()


@pytest.mark.parametrize("part", PARTS + CALLING_BACK)
def test_a_daemon_thread_inside_a_call(folder: Path, device: str, part: str) -> None:
    path = folder / "x.hold"
    last = int(run(PROGRAM, path, device, part)[-1])
    if part == "memory":
        return
    assert hf.check(path, repair=True).ok
    if part in ("save", "restore"):
        state, step = hf.Checkpoint(path).restore()
        assert step in ((last, last + 1) if part == "save" else (0,)) and (state["x"] == step).all()
        return
    with hf.Table.open(path, device=device) as table:
        if part == "insert":
            values, found = table.find(np.arange(5000, dtype=np.uint64), dtype=np.uint64)
            assert found.all() and np.isin(values, (last, last + 1)).all()
        elif part not in ("open", "drop"):
            assert len(table) == 200_000


CALLED_BACK = """
import sys, threading, time
import numpy as np
import holdfastdb as hf
path, device = sys.argv[1:]
pool = hf.Pool.create(path)
first, second = (pool.create_table(name, value=16, capacity=100_000, device=device) for name in ("a", "b"))
first.insert(np.arange(100_000), np.zeros((100_000, 2), np.uint64))
inside = threading.Event()

def progress(done, total):
    inside.set()
    time.sleep(0.005)

def work():
    while True:
        pool.snapshot(path + ".copy", overwrite=True, progress=progress)

threading.Thread(target=work, daemon=True).start()
inside.wait()
del first  # the thread holds the pool alone, whose lock it may have
"""


def test_tables_that_end_beside_a_snapshot(folder: Path, device: str) -> None:
    for _ in range(3):
        (folder / "x.hold").unlink(missing_ok=True)
        run(CALLED_BACK, folder / "x.hold", device)
    assert hf.check(folder / "x.hold", repair=True).ok


WORKER = """
import multiprocessing, os, sys, threading, time
import holdfastdb as hf
path, how = sys.argv[1:]

def hold():
    held = threading.Event()

    def work():
        table = hf.Table.open(path, device="cpu")
        table.insert([2], [2])
        held.set()
        time.sleep(1000)

    threading.Thread(target=work, daemon=True).start()
    held.wait()

if __name__ == "__main__":
    with hf.Table.create(path, device="cpu") as table:
        table.insert([1], [1])
    if how == "own":
        hold()
    elif how == "fork":  # the child does not have the thread
        hold()
        if (child := os.fork()) == 0:
            sys.exit()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    else:
        worker = multiprocessing.get_context(how).Process(target=hold)
        worker.start()
        worker.join()
        assert worker.exitcode == 0
"""


@pytest.mark.parametrize("how", ["own", "fork", "spawn", "forkserver"])
def test_workers_that_end_with_an_open_table(folder: Path, how: str) -> None:
    program = folder / "program.py"  # spawned workers import it
    program.write_text(WORKER)
    # From 3.12 on Python warns of every fork beside other threads.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", program, folder / "x.hold", how]
    child = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (child.returncode, child.stderr) == (0, "")
    with hf.Table.open(folder / "x.hold", device="cpu") as table:
        assert table.contains([1, 2]).all() and table.check().ok


def test_every_binding_uses_our_guards() -> None:
    """gil.hpp alone releases and takes the interpreter lock: others abort when the interpreter ends."""
    others = re.compile(
        r"gil_scoped_\w+|cleanup_guard|PyEval_\w+Thread|PyGILState_(?:Ensure|Release)|Py_\w+_ALLOW_THREADS"
    )
    used = {
        f"{path.name}: {found}"
        for path in NATIVE.iterdir()
        if path.name not in ("gil.hpp", "gil.cpp")
        for found in others.findall(path.read_text(encoding="utf-8"))
    }
    assert not used
