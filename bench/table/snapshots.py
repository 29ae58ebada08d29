"""Snapshots: their rate against the disk's own, and what is left to searches meanwhile. Each one is opened and read."""

import contextlib
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import _bench

from bench.frame.results import Json
from bench.frame.running import Progress, WrongAnswer
from bench.frame.timing import rounded, spread
from bench.table.measure import Load, run_once
from bench.table.targets import Table, pool_folder, target
from bench.table.workloads import MICRO

_CHUNK = 8 << 20
_STEP = 1 << 20  # a snapshot leaves out steps of zeros
_SLICE_S = 0.05
_MOST = (
    8 << 30
)  # bytes of a snapshot that are kept for the disk's own turn; a longer one is written from their beginning again
_LEAST_SLICES = 3


@contextlib.contextmanager
def _space(size: int) -> Iterator[memoryview]:
    """Private memory in huge pages: from small shared ones a disk was measured at two thirds of its rate."""
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        view = memoryview(memory)
        try:
            yield view
        finally:
            view.release()


def _read_steps(path: Path, into: memoryview) -> int:
    """Reads what a snapshot wrote of its file, and returns how many bytes. The disk is compared by the same ones, in
    case it compresses."""
    zeros, at = bytes(_STEP), 0
    with path.open("rb", buffering=0) as file:
        while at + _STEP <= len(into) and (got := file.readinto(into[at : at + _STEP])):
            at += got if into[at : at + got] != zeros[:got] else 0
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return at // mmap.PAGESIZE * mmap.PAGESIZE


def _write(path: Path, data: memoryview, size: int, direct: bool, threads: int) -> float:
    """Writes a new file of `size` bytes in order, `data` again and again, in writes of 8 MiB by `threads` threads, and
    puts it on its device, as a snapshot does. Returns bytes a second."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | (os.O_DIRECT if direct else 0)
    offsets = iter(range(0, size, _CHUNK))
    written: list[int] = []
    begun = time.perf_counter()
    descriptor = os.open(path, flags, 0o600)

    def work() -> None:
        while (offset := next(offsets, None)) is not None:
            end = min(offset + _CHUNK, size)
            while offset < end:
                at = offset % len(data)
                wrote = os.pwrite(descriptor, data[at : at + end - offset], offset)
                written.append(wrote)
                offset += wrote

    try:
        os.posix_fallocate(descriptor, 0, size)
        team = [threading.Thread(target=work) for _ in range(threads)]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        os.fsync(descriptor)
        if sum(written) != size:
            raise OSError(f"{path}: {sum(written):,} of {size:,} bytes were written")
    finally:
        os.close(descriptor)
    return size / (time.perf_counter() - begun)


def disk_rate(folder: Path, data: memoryview, size: int) -> Json:
    """Ways to write a large file in order: through the page cache or past it, by one thread or more."""
    rates: Json = {}
    ways = (("cached", False, 1), ("direct", True, 1), ("direct_4_threads", True, 4), ("direct_8_threads", True, 8))
    for name, direct, threads in ways:
        path = folder / "sequential"
        try:
            rates[name] = rounded(_write(path, data, size, direct, threads) / 1e6)
        except OSError:  # no direct writes on this file system
            continue
        finally:
            path.unlink(missing_ok=True)
    return rates


def _write_to_disk(folder: Path, data: memoryview, size: int) -> tuple[Json, float]:
    """The disk's rates of the snapshot's own bytes, and its best rate of bytes that do not compress."""
    rates = disk_rate(folder, data, size)
    with _space(min(len(data), 256 << 20)) as noise:
        for at in range(0, len(noise), _STEP):
            noise[at : at + _STEP] = os.urandom(min(_STEP, len(noise) - at))
        return rates, max(disk_rate(folder, noise, size).values())


def _nothing() -> None:
    time.sleep(_SLICE_S)


class _Searches:
    """Searches in slices of time by threads of their own, each slice with its beginning, end and operations."""

    def __init__(self, made: _bench.Target, load: Load, version: int) -> None:
        self._made, self._load, self._version = made, load, version
        self.slices: list[tuple[float, float, int]] = []

    def run(self, until: Callable[[], bool]) -> None:
        operations = self._load.batch * self._load.callers
        while not until():
            begun = time.perf_counter()
            got = _bench.drive(
                self._made,
                items=self._load.items,
                operations=operations,
                batch=self._load.batch,
                callers=self._load.callers,
                shares={"read": 1.0},
                seed=len(self.slices) + 1,
                version=self._version,
            )
            if got["wrong"]:
                raise WrongAnswer(f"searches beside a snapshot: {got['wrong']:,} of {operations:,} answers are wrong")
            ended = time.perf_counter()
            self.slices.append((begun, ended, operations))
            operations = max(self._load.batch, int(operations * min(4.0, _SLICE_S / max(ended - begun, 1e-6))))

    def wait(self, thread: threading.Thread, least_s: float, meanwhile: Callable[[], None]) -> float:
        """Does something, again and again for so long and until some slices of searches lay wholly in that time;
        returns their M operations a second."""
        begun = time.perf_counter()
        while True:
            meanwhile()
            ended = time.perf_counter()
            inside = [(b, e, n) for b, e, n in list(self.slices) if begun <= b and e <= ended]
            if ended - begun >= least_s and len(inside) >= _LEAST_SLICES:
                return sum(n for _, _, n in inside) / sum(e - b for b, e, _ in inside) / 1e6
            if not thread.is_alive():
                raise RuntimeError("the searches beside a snapshot ended too early")


def _verify(path: Path, load: Load, version: int) -> None:
    copy = _bench.open(str(path))
    try:
        if not copy.stats()["was_clean"] or len(copy) != load.items:
            raise WrongAnswer(f"a snapshot has {len(copy):,} items of {load.items:,}")
        run_once(copy, MICRO["find"], load, 1, version)
    finally:
        copy.close()


def _beside_searches(
    made: _bench.Target, load: Load, version: int, path: Path, quiet_s: float
) -> tuple[Json, float, float]:
    """A snapshot while searches run: what it says, and the rates of searches before and after it, and during it. A
    table that is copied sooner than searches can be timed is copied again and again, and the last one speaks."""
    searches, done = _Searches(made, load, version), threading.Event()
    failed: list[BaseException] = []

    def search() -> None:
        try:
            searches.run(done.is_set)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=search)
    thread.start()
    try:
        before = searches.wait(thread, quiet_s, _nothing)
        taken: Json = {}
        during = searches.wait(thread, quiet_s, lambda: taken.update(made.snapshot(str(path))))
        after = searches.wait(thread, quiet_s, _nothing)
    finally:
        done.set()
        thread.join()
        if failed:
            raise failed[0]
    return taken, (before + after) / 2, during


def snapshot(
    load: Load, table: Table, repetitions: int, where: Path | None, disk: Path, quiet_s: float, progress: Progress
) -> Json:
    """The table in `where` (shared memory), its snapshots on `disk`: alone, then beside searches."""
    alone: list[float] = []
    sequential: list[Json] = []
    noise: list[float] = []
    shares: list[float] = []
    beside: list[float] = []
    quiet: list[float] = []
    ratios: list[float] = []
    held: list[float] = []
    with (
        pool_folder(where) as folder,
        pool_folder(disk) as out,
        target("holdfast", load.items, table, folder) as made,
        contextlib.ExitStack() as stack,
    ):
        progress(f"loading {load.items:,} items")
        version = run_once(made, MICRO["insert"], load, 1, 0)["version"]
        path = out / "snapshot.hold"
        taken = made.snapshot(str(path))
        _verify(path, load, version)
        space = stack.enter_context(_space(min(_MOST, max(_STEP, taken["written"]) + _STEP)))
        data = stack.enter_context(space[: _read_steps(path, space)])
        path.unlink()
        size = max(_CHUNK, len(data) if taken["written"] < _MOST else taken["written"])
        for repetition in range(repetitions):
            # Who goes first changes: a disk may be faster after a rest.
            turns = ("disk", "snapshot") if repetition % 2 == 0 else ("snapshot", "disk")
            for turn in turns:
                progress(f"{turn}, repetition {repetition + 1} of {repetitions}")
                if turn == "disk":
                    rates, incompressible = _write_to_disk(out, data, size)
                    sequential.append(rates)
                    noise.append(incompressible)
                else:
                    taken = made.snapshot(str(path))
                    alone.append(taken["written"] / taken["total_ms"] / 1e3)
                    path.unlink()
            shares.append(100 * alone[-1] / max(sequential[-1].values()))
            progress(f"snapshot beside searches, repetition {repetition + 1} of {repetitions}")
            with_searches, without, during = _beside_searches(made, load, version, path, quiet_s)
            _verify(path, load, version)
            path.unlink()
            beside.append(with_searches["written"] / with_searches["total_ms"] / 1e3)
            held.append(with_searches["held_ms"])
            quiet.append(without)
            ratios.append(during / without)
        sizes = {name: taken[name] for name in ("items", "bytes", "written")}
    return {
        "size": sizes,
        "snapshot_mb_per_second": spread(alone),
        "disk_mb_per_second": {name: spread(r[name] for r in sequential) for name in sequential[0]},
        "disk_incompressible_mb_per_second": spread(noise),
        "percent_of_disk": spread(shares),
        "beside_searches_mb_per_second": spread(beside),
        "changes_held_ms": spread(held),
        "searches_mops": spread(quiet),
        "searches_ratio": spread(ratios),
    }
