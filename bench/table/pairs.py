"""Keys and values of any length: how much of the heap churn leaves unused, and how long recovery takes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.frame import machine
from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import rounded, spread
from bench.table.targets import pool_folder
from holdfastdb import Status
from holdfastdb import Table as Pairs
from holdfastdb.libraries import NUMPY
from holdfastdb.strings import on_host

_STEP = 1 << 16
_MOST = 4096


def _strings(lengths: np.ndarray, data: np.ndarray) -> Any:
    """Byte strings of these lengths, cut from `data` one after another, as the package has them within."""
    offsets = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=offsets[1:])
    return on_host("keys", offsets, NUMPY.pointer(data), data)


def _keys(numbers: np.ndarray) -> Any:
    """Numbers as keys of 8 to 16 bytes."""
    lengths = 8 + (numbers % np.uint64(9)).astype(np.uint64)
    rows = np.zeros((len(numbers), 16), np.uint8)
    rows[:, :8] = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)
    return _strings(lengths, rows[np.arange(16) < lengths[:, None]])


def churn(capacity: int, times: int, where: Path | None, progress: Progress) -> Json:
    """Fills a table with `capacity` bytes of values of random sizes, 1 to 4096 bytes, and replaces or exchanges random
    ones until `times` as many bytes were written. Every item is read in the end."""
    random = np.random.default_rng(1)
    noise = random.integers(0, 256, _STEP * _MOST // 16, np.uint8)
    items = capacity * 2 // _MOST
    begins, lengths = np.zeros(items, np.int64), np.zeros(items, np.int64)
    names = np.arange(items, dtype=np.uint64)
    written, batch = 0, min(_STEP // 16, items)
    with pool_folder(where) as folder, Pairs.create(folder / "t.hold", bytes, bytes, items, device="cpu") as table:
        worst = 0.0

        def write(rows: np.ndarray) -> int:
            sizes = random.integers(1, _MOST + 1, len(rows))
            first = int(random.integers(0, len(noise) - int(sizes.sum())))
            lengths[rows], begins[rows] = sizes, first + np.cumsum(sizes) - sizes
            statuses = table.insert_or_assign(_keys(names[rows]), _strings(sizes, noise[first : first + sizes.sum()]))
            if (statuses > Status.UPDATED).any():
                raise WrongAnswer("churn: an insert or an update was refused")
            return int(sizes.sum())

        for first in range(0, items, batch):
            write(np.arange(first, min(first + batch, items)))
        while written < times * capacity:
            rows = np.unique(random.integers(0, items, batch))
            gone = rows[::2]  # these leave for others
            table.erase(_keys(names[gone]))
            names[gone] += np.uint64(items)
            written += write(rows)
            stats = table.stats()
            worst = max(worst, (stats["slab_bytes"] - stats["live_bytes"]) / stats["slab_bytes"])
            progress(f"churn: {written / capacity:.1f} of {times} times {capacity:,} bytes")
        for first in range(0, items, batch):
            rows = np.arange(first, min(first + batch, items))
            values, _ = table.find(_keys(names[rows]))
            for row, value in zip(rows, values, strict=True):
                if value != noise[begins[row] : begins[row] + lengths[row]].tobytes():
                    raise WrongAnswer(f"churn: the value of key {names[row]} is wrong")
        stats, report = table.stats(), table.check()
        if not report.ok:
            raise WrongAnswer(f"churn: {report.errors[0]}")
    slabs, live, rounding = stats["slab_bytes"], stats["live_bytes"], stats["rounding_bytes"]
    return {
        "capacity_bytes": capacity,
        "written_bytes": written,
        "items": stats["size"],
        "heap_bytes": stats["heap_bytes"],
        "slab_bytes": slabs,
        "live_bytes": live,
        "rounding_bytes": rounding,
        "unused_percent": rounded(100 * (slabs - live) / slabs),
        "worst_unused_percent": rounded(100 * worst),
        "rounding_percent": rounded(100 * rounding / live),
    }


def die(path: str, items: int) -> None:
    """In the child: fills a table with pairs of 40 bytes on average, and kills itself without closing it."""
    random = np.random.default_rng(2)
    noise = random.integers(0, 256, _STEP * 32, np.uint8)
    table = Pairs.create(path, bytes, bytes, items, device="cpu")
    for first in range(0, items, _STEP):
        numbers = np.arange(first, min(first + _STEP, items), dtype=np.uint64)
        table.insert(_keys(numbers), _strings((numbers % np.uint64(25)).astype(np.uint64), noise), unique=True)
    os.kill(os.getpid(), signal.SIGKILL)


def recovery(items: int, repetitions: int, where: Path | None, progress: Progress) -> Json:
    """Recovery of that many pairs after a kill, which reads none of them. Items are counted, and some of them read."""
    runs = []
    with pool_folder(where) as folder:
        path = str(folder / "t.hold")
        progress(f"recovery: filling a table with {items:,} pairs")
        code = "import json, sys; from bench.table.pairs import die; die(*json.loads(sys.argv[1]))"
        order = [sys.executable, "-c", code, json.dumps([path, items])]
        done = subprocess.run(order, capture_output=True, text=True, check=False, cwd=machine.ROOT)
        if done.returncode != -signal.SIGKILL:
            raise RuntimeError(f"the child that was to be killed ended with {done.returncode}: {done.stderr.strip()}")
        for repetition in range(repetitions):
            progress(f"recovery of {items:,} pairs, repetition {repetition + 1} of {repetitions}")
            runs.append(_open_after_kill(path, items))
    recovered = spread(run["recovery_ms"] for run in runs)
    return {
        "items": items,
        "slots": runs[0]["slots"],
        "threads": runs[0]["threads"],
        "domain": runs[0]["domain"],
        "recovery_ms": recovered,
        "seconds": rounded(recovered["median"] / 1e3),
    }


def _open_after_kill(path: str, items: int) -> Json:
    """Opens it in a child that is killed again, so that each opening recovers."""
    code = (
        "import json, os, signal, sys; import numpy as np\n"
        "from holdfastdb import Table; from bench.table import pairs\n"
        "table = Table.open(sys.argv[1], device='cpu'); stats = table.stats()\n"
        "asked = np.arange(0, len(table), max(1, len(table) // 100_000), dtype=np.uint64)\n"
        "values, found = table.find(pairs._keys(asked))\n"
        "stats['right'] = bool(found.all()) and all(len(v) == n % 25 for v, n in zip(values, asked.tolist()))\n"
        "table.erase([b'nobody has this key'])\n"  # a change: the clean mark goes
        "print(json.dumps(stats), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False, cwd=machine.ROOT
    )
    if done.returncode != -signal.SIGKILL or not done.stdout:
        raise RuntimeError(f"opening it again ended with {done.returncode}: {done.stderr.strip()}")
    stats: Json = json.loads(done.stdout)
    if stats["size"] != items or stats["was_clean"] or not stats["right"]:
        raise WrongAnswer(f"after a kill: {stats['size']:,} items of {items:,}, or wrong values")
    stats["seconds_in_all"] = time.perf_counter() - begun
    return stats
