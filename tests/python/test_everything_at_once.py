"""Ten threads call everything of a table, durable or in memory, while signals come whose handlers call it too. What
hangs prints the stacks of all threads and fails. HOLDFAST_STRESS_S=60 makes it longer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("HOLDFAST_STRESS_S", "3"))
GRACE_S = 120
"""For what had begun when the time was over, on a busy machine."""

PRELUDE = """
import faulthandler, itertools, os, random, signal, sys, threading, time
import numpy as np
import holdfastdb as hf
from holdfastdb import MemoryTable, Pool, Status, Table
folder, device, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
faulthandler.dump_traceback_later(seconds + {grace}, exit=True)
until = time.monotonic() + seconds
n = 300_000  # rows of several pieces
rounds = {{}}
errors = []
expected = set()

def is_over():
    "Whether the time is, and everything has had its turn."
    return errors or (time.monotonic() > until and expected <= set(rounds))

def own(number):
    "Keys of one thread, which it alone changes."
    return np.arange(number * n, (number + 1) * n, dtype=np.uint64)

def again(name, work):
    def call():
        try:
            for round_ in itertools.count(1):
                if is_over():
                    return
                work(round_)
                rounds[name] = round_
        except BaseException as error:
            errors.append((name, error))
            raise
    return call

def write_and_read(table, number):
    keys = own(number)
    def work(round_):
        values = keys * np.uint64(1000) + np.uint64(round_)
        statuses = table.insert_or_assign(keys, values)
        assert (statuses == (Status.UPDATED if round_ > 1 else Status.INSERTED)).all()
        got, found = table.find(keys, dtype=np.uint64)
        assert found.all() and (got == values).all()
    return work

def come_and_go(table, number):
    keys = own(number)[:3000]
    def work(round_):
        assert (table.insert(keys, keys) == Status.INSERTED).all()
        assert (table.erase(keys) == Status.ERASED).all()
    return work

def run(works, handlers):
    "All works but the first in threads of their own; the first in this one, where handlers run, one after another."
    expected.update(works, (name for name, _ in handlers))
    calls = itertools.count()
    entered = []
    def handle(*unused):
        if entered:
            return
        entered.append(True)
        try:
            number = next(calls)
            name, call = handlers[number % len(handlers)]
            call()
            rounds[name] = rounds.get(name, 0) + 1
        finally:
            entered.clear()
    signal.signal(signal.SIGUSR1, handle)
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    def send():
        while not is_over():
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(random.random() / 100)
    (first, work), *others = works.items()
    threads = [threading.Thread(target=again(name, each)) for name, each in others]
    threads.append(threading.Thread(target=send))
    assert len(threads) >= 10
    for thread in threads:
        thread.start()
    again(first, work)()
    for thread in threads:
        thread.join()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert not errors, errors
    print(rounds)
"""

DURABLE = """
pool = Pool.create(folder + "/p.hold")
table = pool.create_table("one", device=device, threads=1)
def look(round_=0):
    repr(table), repr(pool), table.stats(), len(table), table.closed, table.path, table.load_factor, table.capacity
    assert not pool.closed and pool.objects
def snapshots(name):
    def work(round_=0):
        pool.snapshot(folder + "/" + name, overwrite=True, progress=(lambda *at: look()) if round_ % 2 else None)
        with Table.open(folder + "/" + name, device="cpu", mode="r") if len(pool.objects) == 1 else Pool.open(
            folder + "/" + name, mode="r"
        ) as copy:
            assert copy.check().ok
    return work
def another(round_):
    other = pool.create_table("other", device="cpu", overwrite=True)
    other.insert(own(0)[:100], own(0)[:100])
    other.clear()
    other.close()
    assert other.closed and "closed" in repr(other)
def choose(round_=0):
    table.erase_if(50 * n, 51 * n, where=lambda keys, values: np.arange(len(keys)) % 2 == 0)
def export(round_):
    cursor = 0
    while cursor is not None:
        keys, values, cursor = table.export_batch(20_000, cursor, dtype=np.uint64)
        mine = keys < 10 * n
        assert (values.reshape(-1)[mine] // 1000 == keys[mine]).all()
run(
    {
        "main": write_and_read(table, 0),
        "write": write_and_read(table, 1),
        "come and go": come_and_go(table, 12),
        "sync": lambda round_: table.sync(),
        "look": look,
        "snapshot": snapshots("s.hold"),
        "another": another,
        "choose": lambda round_: (table.insert(own(50)[:5000], own(50)[:5000]), choose()),
        "export": export,
        "check": lambda round_: (table.check(), pool.check(), table.reserve(1000 * (round_ % 100))),
    },
    [
        ("handler: sync", table.sync),
        ("handler: look", look),
        ("handler: small", lambda: come_and_go(table, 13)(0)),
        ("handler: large", lambda: table.insert_or_assign(own(14), own(14))),
        ("handler: snapshot", lambda: table.snapshot(folder + "/h.hold", overwrite=True)),
        ("handler: choose", choose),
        ("handler: check", table.check),
    ],
)
assert table.check().ok
pool.close()
assert table.closed and hf.check(folder + "/p.hold").ok
"""

IN_MEMORY = """
tables = [MemoryTable(capacity=100, threads=2), MemoryTable(capacity=20 * n, threads=2, partitions=2)]
tables += [MemoryTable(value=size, capacity=100, threads=2) for size in (16, 32, 64)]
def wide(table, number):
    "Writes, reads and exports values of several words, which all say the same."
    keys, words = own(number)[:20_000], table.value_bytes // 8
    def work(round_):
        table.insert_or_assign(keys, np.repeat(keys * np.uint64(1000) + np.uint64(round_), words).reshape(-1, words))
        cursor = 0
        while cursor is not None:
            some, values, cursor = table.export_batch(50_000, cursor, dtype=np.uint64)
            assert (values == values[:, :1]).all() and (values[:, 0] // 1000 == some).all()
    return work
def look(round_=0):
    for table in tables:
        repr(table), table.stats(), len(table), table.load_factor, table.capacity
def others(round_):
    table = MemoryTable(capacity=1000, partitions=round_ % 3)
    table.insert(own(0)[:100], own(0)[:100])
    table.clear()
    assert len(table) == 0
def export(round_):
    cursor = 0
    while cursor is not None:
        keys, values, cursor = tables[0].export_batch(50_000, cursor, dtype=np.uint64)
one, two, *several = tables
run(
    {
        "main": write_and_read(one, 0),
        "partitioned": write_and_read(two, 1),
        "write": write_and_read(one, 2),
        "come and go": come_and_go(one, 3),
        "come and go, partitioned": come_and_go(two, 4),
        "look": look,
        "look too": look,
        "others": others,
        "export": export,
        "reserve": lambda round_: one.reserve(1000 * (round_ % 1000)),
        **{f"wide {table.value_bytes} {i}": wide(table, 20 + i) for table in several for i in range(2)},
    },
    [
        ("handler: look", look),
        ("handler: small", lambda: (come_and_go(one, 5)(0), come_and_go(two, 6)(0))),
        ("handler: large", lambda: one.insert_or_assign(np.concatenate([own(7), own(8)]), np.zeros(2 * n, np.uint64))),
        ("handler: reserve", lambda: one.reserve(10 * n)),
        ("handler: wide", lambda: [wide(table, 30)(0) for table in several]),
    ],
)
"""


@pytest.mark.parametrize("source", [DURABLE, IN_MEMORY], ids=["durable", "in memory"])
def test_everything_at_once(folder: Path, source: str) -> None:
    child = subprocess.run(
        [sys.executable, "-c", PRELUDE.format(grace=GRACE_S) + source, str(folder), "cpu", str(SECONDS)],
        capture_output=True,
        text=True,
        timeout=SECONDS + 3 * GRACE_S,
    )
    assert child.returncode == 0, child.stderr[-20_000:]
    print(child.stdout)
