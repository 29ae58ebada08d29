"""A pool used by several threads: snapshots of all tables at one moment, and who waits for whom."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_pool import fill, holds, names, two_tables

import holdfastdb as hf
from holdfastdb import Pool, Table


@pytest.fixture
def path(folder: Path) -> Path:
    return two_tables(folder / "a.hold")


def test_a_snapshot_takes_all_at_one_moment(path: Path, tmp_path: Path) -> None:
    """What is in two is in one first, so it is in every copy."""
    stop, copies = threading.Event(), tmp_path / "s.hold"
    with Pool.open(path) as pool:
        one, two = pool.table("one"), pool.table("two")
        pool.create_table("closed", value=16).close()

        def write() -> None:
            factor = 2
            while not stop.is_set():
                fill(one, factor)
                fill(two, factor)
                factor += 1

        fill(two, 1)
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(5):
                seen: list[tuple[int, int]] = []
                report = pool.snapshot(copies, overwrite=True, progress=lambda *at, seen=seen: seen.append(at))
                assert report.items == 2000 and report.path == str(copies) and seen[-1][0] == seen[-1][1] > 0
                with Pool.open(copies) as other:
                    assert names(other) == ["one", "two", "closed"] and all(found.clean for found in other.objects)
                    first, second = other.table("one"), other.table("two")
                    factors = [int(table.find([1], dtype=np.uint64)[0].reshape(-1)[0]) for table in (first, second)]
                    assert factors[0] - factors[1] in (0, 1)
                    assert holds(first, factors[0]) and holds(second, factors[1]) and other.check().ok
        finally:
            stop.set()
            writer.join()
    with pytest.raises(hf.ObjectClosed):
        pool.snapshot(copies, overwrite=True)


def test_a_progress_that_raises_leaves_no_copy(path: Path, tmp_path: Path) -> None:
    def refuse(done: int, total: int) -> None:
        raise ValueError("enough")

    with Pool.open(path) as pool:
        with pytest.raises(ValueError, match="enough"):
            pool.snapshot(tmp_path / "s.hold", progress=refuse)
        assert list(tmp_path.iterdir()) == [] and holds(pool.table("one"), 1)


CALLS: dict[str, Callable[[Pool, Table], Any]] = {
    "closed": lambda pool, one: pool.closed,
    "repr": lambda pool, one: repr(pool),
    "objects": lambda pool, one: pool.objects,
    "table": lambda pool, one: pool.table("two"),
    "create_table": lambda pool, one: pool.create_table("three"),
    "rename": lambda pool, one: pool.rename("two", "zwei"),
    "drop": lambda pool, one: pool.drop("two"),
    "check": lambda pool, one: pool.check(),
    "check one": lambda pool, one: pool.check("one"),
    "snapshot": lambda pool, one: pool.snapshot(pool.path + ".other"),
    "close": lambda pool, one: pool.close(),
    "close the table": lambda pool, one: one.close(),
    "change": lambda pool, one: one.insert([5000], [1]),
    "stats": lambda pool, one: one.stats(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_who_waits_holds_no_interpreter(path: Path, tmp_path: Path, call: Callable[[Pool, Table], Any]) -> None:
    """What waits for a snapshot must leave the interpreter to its `progress`."""
    pool = Pool.open(path)
    one = pool.table("one")
    begun: list[threading.Thread] = []
    ended: list[str] = []

    def work() -> None:
        call(pool, one)
        ended.append("well")

    def progress(done: int, total: int) -> None:
        if not begun:
            begun.append(threading.Thread(target=work, daemon=True))
            begun[0].start()
            begun[0].join(0.1)

    assert pool.snapshot(tmp_path / "s.hold", progress=progress).items == 1000
    begun[0].join(60)
    assert ended == ["well"]
    pool.close()


def test_threads_on_two_tables(path: Path) -> None:
    errors: list[BaseException] = []

    def work(table: Table) -> None:
        try:
            for factor in range(1, 20):
                fill(table, factor, 500 * factor)
                assert holds(table, factor, 500 * factor)
                if factor % 5 == 0:
                    table.sync()
        except BaseException as error:
            errors.append(error)

    with Pool.open(path) as pool:
        tables = [pool.create_table(name, capacity=16) for name in ("three", "four")]
        threads = [threading.Thread(target=work, args=(table,)) for table in tables]
        for thread in threads:
            thread.start()
        for index in range(20):  # beside them, the pool itself changes
            pool.create_table(f"t{index}").close()
            pool.rename(f"t{index}", f"u{index}")
            pool.drop(f"u{index}")
        for thread in threads:
            thread.join()
        assert not errors
        assert pool.check().ok and names(pool) == ["one", "two", "three", "four"]
        assert all(holds(table, 19, 9500) for table in tables)
