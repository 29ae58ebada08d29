"""One run of a study, in a process of its own: `child.py STUDY PACKAGE FOLDER NUMBER…` prints JSON.

Only what packages of both sides have is used: `Table.create`, and `Pool` where the study is not compared.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 1 << 16
SECONDS = 2.0
FILL = 0.7


def first_change(package: Any, folder: Path, items: int, changes: int) -> dict[str, float]:
    """Microseconds of a change right after `sync`, and of one right after that change: medians."""
    path = folder / "first.hold"
    keys = np.arange(1, items + 1, dtype=np.uint64)
    first: list[float] = []
    second: list[float] = []
    with package.Table.create(path, capacity=items * 5 // 4, device="cpu", threads=1, overwrite=True) as table:
        medium = table.stats()["medium"]
        table.insert_or_assign(keys, keys)
        for at in range(changes):
            table.sync()
            one = keys[at : at + 1]
            for times in (first, second):
                begun = time.perf_counter_ns()
                table.insert_or_assign(one, one)
                times.append((time.perf_counter_ns() - begun) / 1e3)
    path.unlink()
    if medium != "file":
        raise SystemExit(f"{folder} is on medium {medium}: give a folder on a disk")
    return {"first_us": float(np.median(first)), "second_us": float(np.median(second))}


def rate(work: Sequence[Callable[[], int]]) -> float:
    """Changes a second, in millions, of threads that each do theirs again and again."""
    done, gate, stop = [0] * len(work), threading.Barrier(len(work) + 1), threading.Event()

    def run(which: int) -> None:
        gate.wait()
        while not stop.is_set():
            done[which] += work[which]()

    threads = [threading.Thread(target=run, args=(which,)) for which in range(len(work))]
    for one in threads:
        one.start()
    gate.wait()
    begun = time.perf_counter()
    time.sleep(SECONDS)
    stop.set()
    for one in threads:
        one.join()
    return sum(done) / (time.perf_counter() - begun) / 1e6


def changer(table: Any, keys: np.ndarray, seed: int) -> Callable[[], int]:
    """Batches that assign new values to keys that are there; every answer is checked."""
    random = np.random.default_rng(seed)

    def change() -> int:
        drawn = keys[random.integers(0, len(keys), BATCH)]
        if not table.assign(drawn, drawn).all():
            raise SystemExit("a key that is there was not found")
        return BATCH

    return change


def threads(package: Any, folder: Path, items: int) -> dict[str, float]:
    """Millions of changes a second: one thread on a table, two on a table each, two on one table as large as both."""
    path = folder / "threads.hold"
    keys = np.random.default_rng(1).permutation(np.arange(1, items + 1, dtype=np.uint64))
    halves = np.array_split(keys, 2)
    with package.Pool.create(path, overwrite=True) as pool:
        options: dict[str, Any] = {"device": "cpu", "threads": 1}
        both = pool.create_table("both", capacity=int(items / FILL), **options)
        each = [pool.create_table(name, capacity=int(items / 2 / FILL), **options) for name in ("one", "two")]
        both.insert(keys, keys)
        for table, half in zip(each, halves, strict=True):
            table.insert(half, half)
        found = {
            "one thread, one table": rate([changer(each[0], halves[0], 1)]),
            "two threads, a table each": rate([changer(each[i], halves[i], i) for i in range(2)]),
            "two threads, one table": rate([changer(both, halves[i], i) for i in range(2)]),
        }
    path.unlink()
    return found


def many(package: Any, folder: Path, count: int, pools: int, gib: int) -> dict[str, float]:
    """Tables open at once in several pools, changed and searched by eight threads beside some GiB of arrays."""
    paths = [folder / f"many{number}.hold" for number in range(pools)]
    opened = [package.Pool.create(path, overwrite=True) for path in paths]
    begun = time.perf_counter()
    shapes: list[dict[str, Any]] = [{}, {"value": 128}, {"value": 1000}, {"key": 32, "value": 24}]
    tables = [opened[i % pools].create_table(f"t{i}", device="cpu", **shapes[i % 4]) for i in range(count)]
    creating = time.perf_counter() - begun
    arrays = [np.ones(1 << 27) for _ in range(gib)]
    begun = time.perf_counter()

    def use(first: int) -> int:
        for table, number in zip(tables[first::8], range(first, count, 8), strict=True):
            words = np.arange(1, 101, dtype=np.uint64)[:, None] * np.uint64(number + 1)
            key, value = shapes[number % 4].get("key", 8) // 8, shapes[number % 4].get("value", 8) // 8
            keys, values = np.repeat(words, key, axis=1), np.repeat(words, value, axis=1)
            keys, values = (one[:, 0] if one.shape[1] == 1 else one.view(np.uint8) for one in (keys, values))
            table.insert(keys, values)
            read, found = table.find(keys, dtype=np.uint64)
            if not found.all() or not (read.reshape(100, -1) == words).all() or len(table) != 100:
                raise SystemExit(f"table {number} does not hold what was inserted")
        return 0

    failed: list[BaseException] = []

    def guarded(first: int) -> None:
        try:
            use(first)
        except BaseException as error:
            failed.append(error)

    users = [threading.Thread(target=guarded, args=(first,)) for first in range(8)]
    for one in users:
        one.start()
    for one in users:
        one.join()
    if failed:
        raise failed[0]
    using = time.perf_counter() - begun
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    found = {
        "tables": len(tables),
        "items": sum(len(table) for table in tables),
        "create_ms_each": creating / count * 1e3,
        "use_s": using,
        "array_gb": sum(array.nbytes for array in arrays) / 1e9,
        "address_space_tib": int(status["VmPeak"].split()[0]) / 2**30,
        "resident_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }
    for pool, path in zip(opened, paths, strict=True):
        pool.close()
        path.unlink()
    return found


def on_disk(path: Path) -> int:
    """Bytes that a file takes."""
    return path.stat().st_blocks * 512


def sizes(package: Any, folder: Path) -> dict[str, float]:
    """MiB on disk of a pool with one empty table."""
    found = {}
    shapes: dict[str, dict[str, Any]] = {
        "128-byte values": {"value": 128},
        "any length": {"key": bytes, "value": bytes},
    }
    for name, shape in shapes.items():
        path = folder / "empty.hold"
        package.Table.create(path, device="cpu", overwrite=True, **shape).close()
        found[name] = on_disk(path) / 2**20
        path.unlink()
    return found


def churn(package: Any, folder: Path, steps: int) -> dict[str, float]:
    """Tables are created, grown and dropped: the file's most bytes over the most that ever belonged to tables."""
    path = folder / "churn.hold"
    random = np.random.default_rng(1)
    largest = live = 0
    with package.Pool.create(path, overwrite=True) as pool:
        tables: dict[str, Any] = {}
        for step in range(steps):
            kind = random.integers(0, 5)
            if (kind < 2 and len(tables) < 40) or not tables:
                value = int(random.choice([8, 24, 128, 1000]))
                capacity = int(random.integers(10, 20_000))
                tables[f"t{step}"] = pool.create_table(f"t{step}", value=value, capacity=capacity, device="cpu")
            elif kind < 4:
                table = tables[str(random.choice(list(tables)))]
                table.reserve(int(random.integers(10, 40_000)))
            else:
                name = str(random.choice(list(tables)))
                tables.pop(name).close()
                pool.drop(name)
            largest = max(largest, on_disk(path))
            live = max(live, sum(found.bytes for found in pool.objects))
    path.unlink()
    return {"steps": steps, "most_file_mib": largest / 2**20, "most_live_mib": live / 2**20, "ratio": largest / live}


if __name__ == "__main__":
    studies: dict[str, Callable[..., dict[str, float]]] = {
        "first-change": first_change,
        "threads": threads,
        "many": many,
        "sizes": sizes,
        "churn": churn,
    }
    study = studies[sys.argv[1]]
    print(json.dumps(study(importlib.import_module(sys.argv[2]), Path(sys.argv[3]), *map(int, sys.argv[4:]))))
