"""Threads that wait for one another, and handlers of signals that call the table whose batch they interrupt.

Each case runs in a process of its own with a watchdog: what hangs prints the stacks of all threads and fails."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

WATCHDOG_S = 120

PRELUDE = """
import faulthandler, os, signal, sys, threading, time
import numpy as np
import holdfastdb as hf
from holdfastdb import MemoryTable, Pool, Status, Table
faulthandler.dump_traceback_later({watchdog}, exit=True)
folder, device, *arguments = sys.argv[1:]
n = 400_000
keys = np.arange(n, dtype=np.uint64)
values = np.repeat(keys[:, None], 2, axis=1)

def signal_during(work, handler, number=signal.SIGTERM, tries=200):
    "Runs `work` until `handler` was called in the midst of it, and returns what it gave, or its error."
    where = []
    def handle(number, frame):
        where.append(frame.f_code.co_filename.endswith(("batch.py", "contents.py"))
                     and frame.f_code.co_name in ("run", "erase_if"))
        if where[-1]:
            handler()
    signal.signal(number, handle)
    for attempt in range(tries):
        where.clear()
        ended = threading.Event()
        def send():
            time.sleep(0.002 + 0.003 * (attempt % 20))
            os.kill(os.getpid(), number)
            ended.set()
        thread = threading.Thread(target=send)
        thread.start()
        try:
            done = work()
        except (hf.Error, KeyboardInterrupt, ZeroDivisionError) as error:
            done = error
        ended.wait()
        thread.join()
        time.sleep(0)
        if any(where):
            return done
    sys.exit("the signal always came between two calls")
"""


def run(source: str, folder: Path, device: str, *arguments: str) -> str:
    child = subprocess.run(
        [
            sys.executable,
            "-c",
            PRELUDE.format(watchdog=WATCHDOG_S) + textwrap.dedent(source),
            str(folder),
            device,
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=5 * WATCHDOG_S,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


def test_a_search_a_sync_and_one_who_looks(folder: Path, device: str) -> None:
    """Nobody waits for the table with the interpreter, which the search needs now and then."""
    run(
        """
        table = Table.create(folder + "/x.hold", value=16, capacity=n, device=device)
        table.insert(keys, values)
        signal.signal(signal.SIGUSR1, lambda *unused: None)
        until = time.monotonic() + 2
        def sync():
            while time.monotonic() < until:
                table.sync()
        def look():
            while time.monotonic() < until:
                table.stats(), table.closed, repr(table), table.path, len(table), table.device, table.load_factor
        def send():
            while time.monotonic() < until:
                os.kill(os.getpid(), signal.SIGUSR1)
                time.sleep(0.001)
        threads = [threading.Thread(target=work) for work in (sync, look, send)]
        for thread in threads:
            thread.start()
        while time.monotonic() < until:
            assert table.contains(keys).all()
        for thread in threads:
            thread.join()
        """,
        folder,
        device,
    )


CALLS = {
    "sync": "table.sync()",
    "snapshot": "table.snapshot(folder + '/s.hold', overwrite=True)",
    "check": "table.check()",
    "insert": "table.insert_or_assign([n + 7], [[1, 2]])",
    "large": "table.insert_or_assign(keys[:100_000], values[:100_000])",
    "find": "table.contains([n + 9])",
    "erase_if": "table.erase_if(n + 8, where=lambda keys, values: np.ones(len(keys), bool))",
    "reserve": "table.reserve(n)",
    "look": "repr(table), len(table), table.stats(), table.closed",
    "export": "table.export_batch(10)",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_handler_calls_the_table(folder: Path, device: str, call: str) -> None:
    """The batch goes on where it stopped, and has done all of its rows once."""
    run(
        f"""
        table = Table.create(folder + "/x.hold", value=16, capacity=n, device=device, threads=2)
        def fresh():
            table.clear()
            return table.insert(keys, values)
        statuses = signal_during(fresh, lambda: ({call}))
        assert not isinstance(statuses, BaseException), statuses
        inserted = statuses == Status.INSERTED
        assert (inserted | (statuses == Status.EXISTS)).all()
        assert inserted.all() or {"large" in call or "keys[:" in call}
        got, found = table.find(keys, dtype=np.uint64)
        assert found.all() and (got == values).all() and table.check().ok
        """,
        folder,
        device,
    )


def test_a_handler_calls_a_table_in_memory(folder: Path) -> None:
    run(
        """
        for partitions, words in ((0, 1), (2, 1), (0, 2), (0, 4), (0, 8)):
            table = MemoryTable(value=8 * words, capacity=4 * n, partitions=partitions, threads=2)
            calls = []
            def handler():
                table.insert_or_assign([4 * n], np.ones((1, words), np.uint64))
                table.erase([4 * n])
                calls.append((table.stats(), len(table), repr(table)))
                if not partitions:
                    table.reserve(4 * n)
            more = np.arange(3 * n, dtype=np.uint64)
            rows = more[:, None] * 3 + np.arange(words, dtype=np.uint64)
            done = signal_during(lambda: table.insert_or_assign(more, rows), handler)
            assert ((done == Status.INSERTED) | (done == Status.UPDATED)).all() and calls
            got, found = table.find(more, dtype=np.uint64)
            assert found.all() and (got.reshape(rows.shape) == rows).all() and len(table) == 3 * n
        """,
        folder,
        "cpu",
    )


@pytest.mark.parametrize("what", ["close", "raise"])
def test_a_handler_ends_the_batch(folder: Path, device: str, what: str) -> None:
    """The error has the statuses: of rows that ran, and NOT_RUN, wherever the handler came."""
    run(
        """
        what, = arguments
        table = Table.create(folder + "/x.hold", value=16, capacity=n, device=device, threads=2)
        error = None
        def handle():
            if what == "close":
                table.close()
            else:
                raise ZeroDivisionError("mine")
        while getattr(error, "statuses", None) is None or not (error.statuses == Status.NOT_RUN).any():
            if table.closed:
                os.unlink(folder + "/x.hold")
                table = Table.create(folder + "/x.hold", value=16, capacity=n, device=device, threads=2)
            def fresh():
                table.clear()
                return table.insert(keys, values)
            error = signal_during(fresh, handle)
        assert isinstance(error, hf.ObjectClosed if what == "close" else ZeroDivisionError), error
        ran = error.statuses != Status.NOT_RUN
        assert ran.any() and (error.statuses[ran] == Status.INSERTED).all()
        if what == "close":
            assert table.closed
            table = Table.open(folder + "/x.hold", device=device)
        assert (table.contains(keys) == ran).all() and table.check().ok
        """,
        folder,
        device,
        what,
    )


def test_what_a_handlers_snapshot_holds(folder: Path, device: str) -> None:
    """What lies between two pieces of the batch: rows that ran, whole, and none of the others."""
    run(
        """
        table = Table.create(folder + "/x.hold", value=16, capacity=n, device=device, threads=2)
        copy = folder + "/s.hold"
        left = 0
        while not 0 < left < n:  # a handler may come before the first piece, or after the last
            def fresh():
                table.clear()
                return table.insert(keys, values)
            statuses = signal_during(fresh, lambda: table.snapshot(copy, overwrite=True))
            assert (statuses == Status.INSERTED).all()
            with Table.open(copy, device="cpu", mode="r") as taken:
                assert taken.check().ok
                got, found = taken.find(keys, dtype=np.uint64)
                assert (got[found] == values[found]).all() and len(taken) == found.sum()
                left = int((~found).sum())
        assert len(table) == n
        """,
        folder,
        device,
    )


def test_a_handler_during_a_snapshot(folder: Path, device: str) -> None:
    """It changes and closes the table that is copied; the copy is as the table was."""
    run(
        """
        for close in (False, True):
            table = Table.create(folder + "/x.hold", value=16, capacity=n, device=device, overwrite=True)
            table.insert(keys, values)
            def handle():
                table.close() if close else table.insert_or_assign(keys[:10], values[:10] + np.uint64(1))
            signal.signal(signal.SIGTERM, lambda *unused: handle())
            calls = []
            def progress(done, total):
                if not calls:
                    os.kill(os.getpid(), signal.SIGTERM)
                calls.append(done)
                assert close or len(table) == n  # and so may `progress`
            report = table.snapshot(folder + "/s.hold", overwrite=True, progress=progress)
            assert report.items == n and calls[0] == 0 and calls[-1] == report.bytes
            with Table.open(folder + "/s.hold", device="cpu") as copy:
                got, found = copy.find(keys, dtype=np.uint64)
                assert found.all() and (got == values).all()
            assert table.closed == close
            if not close:
                assert (table.find(keys[:10], dtype=np.uint64)[0] == values[:10] + np.uint64(1)).all()
                table.close()
        """,
        folder,
        device,
    )


def test_a_handler_during_a_selection(folder: Path, device: str) -> None:
    """Between two pieces it may do anything; inside of a predicate it is refused what would wait for itself."""
    run(
        """
        table = Table.create(folder + "/x.hold", value=16, capacity=n, device=device)
        def again():
            table.insert(keys, values)
            return table.erase_if(0, n - 2)
        assert signal_during(again, lambda: table.insert_or_assign([n + 7], [[1, 2]])) == n - 1
        assert len(table) == 2 and table.check().ok

        def raises(call):
            try:
                call()
            except hf.InvalidArgument as error:
                assert "predicate" in str(error), error
                return True
        refused = []
        def handle(*unused):
            refused.extend(raises(call) for call in (
                table.close, table.sync, table.clear, lambda: table.erase([1]),
                lambda: table.snapshot(folder + "/s.hold", overwrite=True),
            ))
            assert not table.contains([n + 9]).any() and len(table) == n + 1 and repr(table)
        signal.signal(signal.SIGTERM, handle)
        def where(some, rows):
            if not refused:
                os.kill(os.getpid(), signal.SIGTERM)
                for _ in range(1000):  # handlers run between two steps of Python's
                    pass
            return np.zeros(len(some), bool)
        table.insert(keys, values)
        assert table.erase_if(where=where) == 0 and refused == [True] * 5
        """,
        folder,
        device,
    )


def test_a_predicate_and_other_tables_of_its_pool(folder: Path) -> None:
    """A snapshot of the pool would keep one still, and wait for the other."""
    run(
        """
        pool = Pool.create(folder + "/p.hold")
        one, two = (pool.create_table(name, device="cpu") for name in ("one", "two"))
        one.insert(keys, keys)
        until = time.monotonic() + 1
        def copies():
            while time.monotonic() < until:
                pool.snapshot(folder + "/s.hold", overwrite=True)
        thread = threading.Thread(target=copies)
        thread.start()
        refused = 0
        while refused == 0 or time.monotonic() < until:
            def where(some, rows):
                global refused
                for call in (lambda: two.insert([1], [2]), lambda: pool.create_table("three", device="cpu")):
                    try:
                        call()
                    except hf.InvalidArgument:
                        refused += 1
                assert len(two) == 0 and not pool.closed and repr(pool)
                return np.zeros(len(some), bool)
            one.erase_if(0, 20_000, where=where)
        thread.join()
        assert refused > 0 and refused % 2 == 0
        """,
        folder,
        "cpu",
    )


def test_an_event_loop_gets_its_signals(folder: Path) -> None:
    """A batch listens where an event loop does, passes on what it hears, and leaves."""
    run(
        """
        import asyncio
        table = MemoryTable(capacity=n)
        heard = []
        async def main():
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, heard.append, 1)
            for _ in range(30):
                timer = threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGTERM))
                timer.start()
                table.insert_or_assign(keys, keys)
                timer.join()
                for _ in range(1000):
                    if heard:
                        break
                    await asyncio.sleep(0.01)
                assert heard
                heard.clear()
        asyncio.run(main())
        ours, theirs = os.pipe()
        os.set_blocking(theirs, False)
        assert signal.set_wakeup_fd(theirs) == -1
        table.insert_or_assign(keys, keys)
        assert signal.set_wakeup_fd(-1) == theirs
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(100):
            table.insert_or_assign(keys[:10_000], keys[:10_000])
        assert len(os.listdir("/proc/self/fd")) == before
        """,
        folder,
        "cpu",
    )
