"""SIGINT during a long call, the interpreter lock, and several threads on one table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import PATIENCE_S, Machine, Make

import holdfastdb as hf
from holdfastdb import Status, Table

INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import holdfastdb as hf
from holdfastdb import Status
path, device, what = sys.argv[1:]
n = 1_000_000
table = hf.Table.create(path, value=64, capacity=n, device=device, threads=1)
keys = np.arange(n, dtype=np.uint64)
values = np.repeat(keys[:, None], 8, axis=1)
if what == "find":
    table.insert(keys, values)

class Own(Exception):
    pass

def handler(number, frame):
    raise Own("mine")

# A shell's background job inherits SIGINT as ignored, and so would its Python.
signal.signal(signal.SIGINT, handler if what == "own" else signal.default_int_handler)

def interrupt(after, done):
    time.sleep(after)
    os.kill(os.getpid(), signal.SIGINT)
    while not done.wait(5):  # it came inside an import's callback, say, where Python swallows what a handler raises
        os.kill(os.getpid(), signal.SIGINT)

def run_until_interrupted(after):
    done = threading.Event()
    thread = threading.Thread(target=interrupt, args=(after, done))
    try:
        thread.start()
        for _ in range(1000):
            out = table.find(keys) if what == "find" else table.insert_or_assign(keys, values)
        sys.exit("was not interrupted")
    except (KeyboardInterrupt, Own) as error:
        done.set()
        assert isinstance(error, Own) == (what == "own"), error
        return getattr(error, "statuses", None)
    finally:
        done.set()
        thread.join()

# The signal may come between two calls, which then know nothing of it: once more, at another time.
tries = (run_until_interrupted(0.01 + 0.007 * i) for i in range(60))
statuses = next(filter(lambda found: found is not None, tries), None)
assert statuses is not None, "always interrupted between two calls"
ran = statuses != Status.NOT_RUN
print("not run:", int((~ran).sum()))
if what != "find":
    found = table.contains(keys)
    assert found[ran].all()
    got, _ = table.find(keys[ran])
    assert (got == values[ran].view(np.uint8)).all()
assert table.check().ok
table.insert_or_assign(keys, values)
assert len(table) == n
table.close()
"""


@pytest.mark.parametrize("what", ["insert", "find", "own"])
def test_interrupts(folder: Path, device: str, what: str) -> None:
    child = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(folder / "x.hold"), device, what],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.startswith("not run:")


def test_the_interpreter_runs_while_a_batch_does(device: str, make: Make) -> None:
    table = make(Machine(device), value=128, capacity=500_000).table
    keys, values = np.arange(500_000, dtype=np.uint64), np.zeros((500_000, 128), np.uint8)
    ticks, done = [0], threading.Event()
    most, deadline = 0, time.monotonic() + PATIENCE_S

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    with ThreadPoolExecutor(1) as pool:
        ticking = pool.submit(tick)
        while most <= 5 and time.monotonic() < deadline:  # on a busy machine the other thread may miss a whole batch
            before = ticks[0]
            table.insert_or_assign(keys, values)
            most = max(most, ticks[0] - before)
        done.set()
        ticking.result()
    assert most > 5


def test_threads_on_different_keys(device: str, make: Make) -> None:
    checked = make(Machine(device), value=16, capacity=100)

    def work(thread: int) -> None:
        rng = np.random.default_rng(thread)
        keys = np.arange(thread * 10_000, thread * 10_000 + 2000, dtype=np.uint64)
        for round_ in range(10):
            values = rng.integers(0, 2**63, (2000, 2))
            table = checked.table
            assert (table.insert_or_assign(keys, values) == (Status.UPDATED if round_ else Status.INSERTED)).all()
            got, found = table.find(keys, dtype=np.int64)
            assert found.all() and (got == values).all()
        assert (checked.table.erase(keys[:1000]) == Status.ERASED).all()
        for key, value in zip(keys[1000:].tolist(), values[1000:], strict=True):
            checked.model.items[key] = value.tobytes()

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work, thread) for thread in range(4)]:
            future.result()
    checked.agree()


def test_threads_on_the_same_keys(device: str, make: Make) -> None:
    """Every value that is read is one that was written, and whole; counters lose nothing."""
    table = make(Machine(device), value=64, capacity=100).table
    counters = make(Machine(device), value=8, capacity=100).table
    keys = np.arange(200, dtype=np.uint64)
    stop = threading.Event()

    def read() -> int:
        seen, deadline = 0, time.monotonic() + PATIENCE_S
        while not (stop.is_set() and (seen or time.monotonic() > deadline)):
            values, found = table.find(keys, dtype=np.uint64)
            rows = values[found]
            assert (rows == rows[:, :1]).all()
            assert not values[~found].any()
            seen += int(found.sum())
        return seen

    def write(thread: int) -> None:
        rng = np.random.default_rng(thread)
        for round_ in range(60):
            some = rng.permutation(keys)
            table.insert_or_assign(some, np.repeat(rng.integers(1, 2**63, (200, 1)), 8, axis=1))
            counters.accumulate(some, np.ones(200, np.uint64))
            if round_ % 10 == thread:
                table.erase(some[:50])

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        writers = [pool.submit(write, thread) for thread in range(4)]
        try:
            for writer in writers:
                writer.result()
        finally:
            stop.set()
        assert all(reader.result() > 0 for reader in readers)
    values, found = counters.find(keys, dtype=np.uint64)
    assert found.all() and (values == 240).all()
    assert table.check().ok and counters.check().ok


def test_two_inserters_of_one_key(device: str, make: Make) -> None:
    table = make(Machine(device), value=8, capacity=16).table
    keys = np.arange(20_000, dtype=np.uint64)
    barrier = threading.Barrier(4)

    def insert(thread: int) -> np.ndarray:
        barrier.wait()
        return table.insert(keys, np.full(len(keys), thread))

    with ThreadPoolExecutor(4) as pool:
        statuses = np.array([f.result() for f in [pool.submit(insert, thread) for thread in range(4)]])
    assert ((statuses == Status.INSERTED).sum(axis=0) == 1).all()
    assert ((statuses == Status.EXISTS).sum(axis=0) == 3).all()
    winner = (statuses == Status.INSERTED).argmax(axis=0)
    values, _ = table.find(keys, dtype=np.int64)
    assert (values == winner).all()
    assert len(table) == len(keys) and table.check().ok


def test_closing_under_a_running_batch(device: str, make: Make) -> None:
    """close() waits for what runs; later calls are refused."""
    checked = make(Machine(device), value=8)
    filled, refused = threading.Event(), threading.Event()

    def work() -> None:
        keys = np.arange(5000, dtype=np.uint64)
        try:
            while True:
                checked.table.insert_or_assign(keys, keys)
                filled.set()
        except hf.ObjectClosed:
            refused.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert filled.wait(PATIENCE_S)
    time.sleep(0.02)
    checked.table.close()
    thread.join(PATIENCE_S)
    assert refused.is_set()
    with Table.open(checked.table.path, device=device) as table:
        assert len(table) == 5000 and table.check().ok


def test_a_handler_that_does_not_raise(device: str, make: Make) -> None:
    checked = make(Machine(device), value=8, capacity=300_000)
    calls: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: calls.append(number))
    try:
        timer = threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        keys = np.arange(300_000, dtype=np.uint64)
        assert (checked.table.insert(keys, keys) == Status.INSERTED).all()
        timer.join()
        deadline = time.monotonic() + PATIENCE_S
        while not calls and time.monotonic() < deadline:
            time.sleep(0.001)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls == [signal.SIGUSR1]
    assert len(checked.table) == 300_000
