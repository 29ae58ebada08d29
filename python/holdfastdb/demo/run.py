"""The demo: a table is made, loaded, read, changed, killed in the middle of writes, reopened elsewhere, verified."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Error, PoolExists
from ..inspection import inspect
from ..pool import Pool
from ..status import Status
from ..table import Table
from . import csvfile, unicode
from .journal import Journal
from .lines import Lines
from .plan import Plan

SHARED_MEMORY = Path("/dev/shm")
_MOST_RANDOM_BYTES = 256 << 20
_WAIT_S = 120.0
_AHEAD = 3
"""Batches that a writer may begin beyond the one after which it is to be killed."""


@dataclass(frozen=True)
class Options:
    """What to do. `items` random pairs are written in batches of `batch`, by a process that is killed `kills` times.
    Then `lines` lines of text (0: none) likewise, into a second pool."""

    path: Path
    csv: Path | None = None
    device: str = "auto"
    items: int = 1_000_000
    batch: int = 8192
    kills: int = 5
    lines: int = 300_000
    overwrite: bool = False
    own: bool = False
    """Replace the pools of an earlier demo of this user, and no others."""
    seed: int | None = None


@dataclass
class Outcome:
    """What happened; `ok` is the demo's claim."""

    path: str
    device: str = ""
    domain: str = ""
    given_items: int = 0
    random_items: int = 0
    rates: dict[str, float] = field(default_factory=dict)
    """Operations a second, by name."""
    kills: list[dict[str, Any]] = field(default_factory=list)
    final: dict[str, Any] = field(default_factory=dict)
    example: str = ""
    """A key of the lines."""
    lines: Outcome | None = None

    @property
    def ok(self) -> bool:
        """Verifies that nothing acknowledged is lost, nothing is torn, and no item exists that was not written."""
        return (self.lines is None or self.lines.ok) and all(
            _is_whole(report) for report in [*(kill["verified"] for kill in self.kills), self.final]
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


class ChildFailed(Error):
    """A child process of the demo ended with an error."""


Say = Callable[[str], None]


def _is_whole(report: dict[str, Any]) -> bool:
    counts = ("lost", "torn", "given_wrong", "unexpected_items")
    return bool(report) and not any(report[name] for name in counts) and not report["check_errors"]


def _start(task: dict[str, Any], **pipes: Any) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-m", "holdfastdb.demo.worker"], stdin=subprocess.PIPE, text=True, **pipes
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps(task))
    child.stdin.close()
    child.stdin = None
    return child


class Demo:
    """One run of it, in a new folder for the journal and the arguments of the children."""

    what = "random pairs"
    lines = False
    name = "holdfast-demo"
    """Of the table: by it a later demo knows its own pool."""

    def __init__(self, options: Options, say: Say, folder: Path) -> None:
        self.options = options
        self.say = say
        self.outcome = Outcome(str(options.path))
        self.random = random.Random(options.seed)
        self._given = folder / "given.npz"
        self._address = folder / "address"
        self._journal = folder / "journal"
        self._plan = Plan(0, 1, 16, 0)

    def run(self) -> Outcome:
        self._make_and_load()
        with Journal(self._journal, create=True) as journal:
            for number in range(self.options.kills):
                if not self._kill_one(number, journal):
                    break
            self._finish(journal)
        self.outcome.final = self._verify(self._plan.batches, self._plan.batches)
        self._report_final()
        return self.outcome

    def _rate(self, what: str, count: int, seconds: float) -> str:
        self.outcome.rates[what] = count / seconds
        return f"{seconds:.2f} s, {count / seconds / 1e6:.2f} M/s"

    def _created(self, **shape: Any) -> Table:
        """The table in its new pool, under the demo's name."""
        path, device = self.options.path, self.options.device
        with Pool.create(path, overwrite=self.options.overwrite) as pool:
            pool.create_table(self.name, device=device, **shape).close()
        return Table.open(path, device)

    def _pairs(self) -> tuple[np.ndarray, np.ndarray, str]:
        if self.options.csv is not None:
            keys, values = csvfile.pairs(self.options.csv)
            return keys, values, f"rows of {self.options.csv}"
        keys, values = unicode.pairs(cases=False)
        return keys, values, "Unicode code points with name and properties"

    def _make_and_load(self) -> None:
        options, outcome = self.options, self.outcome
        keys, values, what = self._pairs()
        size = values.shape[1]
        items = min(options.items, _MOST_RANDOM_BYTES // size)
        seed = self.random.getrandbits(62)
        self._plan = Plan(items, min(options.batch, max(1, items // 32)), size, seed)
        with self._created(value=size, capacity=len(keys) + items) as table:
            stats = table.stats()
            outcome.device, outcome.domain, outcome.given_items = stats["device"], stats["domain"], len(keys)
            self.say(f"created {options.path}: keys of 8 bytes, values of {size}, on {stats['device']} "
                     f"({stats['device_reason']}), medium {stats['medium']}, survives {stats['domain']}")  # fmt: skip
            started = time.perf_counter()
            statuses = table.insert(keys, values)
            rate = self._rate("load", len(keys), time.perf_counter() - started)
            self._expect(statuses, Status.INSERTED, "insert")
            self.say(f"loaded {len(keys):,} pairs, {what}: {rate}")
            started = time.perf_counter()
            read, found = table.find(keys)
            rate = self._rate("find", len(keys), time.perf_counter() - started)
            if not found.all() or (read != values).any():
                raise ChildFailed(f"{options.path}: what was read is not what was written: please report this")
            self.say(f"read and compared them all: {rate}")
            values = self._change(table, keys, values)
        np.savez(self._given, keys=keys, values=values)

    def _change(self, table: Table, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Changes some pairs; returns all values as they are now."""
        if self.options.csv is None:
            _, after = unicode.pairs(cases=True)
            changed = (values != after).any(axis=1)
            started = time.perf_counter()
            self._expect(table.assign(keys[changed], after[changed]), Status.UPDATED, "assign")
            rate = self._rate("change", int(changed.sum()), time.perf_counter() - started)
            self.say(f"changed {changed.sum():,}: letters now have their upper and lower case: {rate}")
        else:
            after, changed = values, np.arange(len(keys)) % 10 == 0
            started = time.perf_counter()
            self._expect(table.erase(keys[changed]), Status.ERASED, "erase")
            self._expect(table.insert(keys[changed], after[changed]), Status.INSERTED, "insert")
            rate = self._rate("change", 2 * int(changed.sum()), time.perf_counter() - started)
            self.say(f"erased every tenth pair, {changed.sum():,}, and put it back: {rate}")
        read, found = table.find(keys)
        if not found.all() or (read != after).any():
            raise ChildFailed(f"{self.options.path}: a change is not what was asked for: please report this")
        return after

    def _expect(self, statuses: np.ndarray, wanted: Status, what: str) -> None:
        if (statuses == Status.NO_SPACE).any():
            raise ChildFailed(f"{self.options.path}: the medium is full: free some of it, or name another --path")
        if (statuses != wanted).any():
            raise ChildFailed(f"{self.options.path}: {what} gave other statuses than {wanted.name}: please report this")

    def _task(self, do: str) -> dict[str, Any]:
        return {
            "do": do,
            "pool": str(self.options.path),
            "device": self.options.device,
            "plan": asdict(self._plan),
            "journal": str(self._journal),
            "given": None if self.lines else str(self._given),
            "lines": self.lines,
            "address": str(self._address),
        }

    @contextmanager
    def _writer(self, journal: Journal) -> Iterator[subprocess.Popen[str]]:
        """The loading process; it is gone when the block ends."""
        self._address.unlink(missing_ok=True)
        child = _start({**self._task("load"), "first": journal.acknowledged}, stderr=subprocess.PIPE)
        try:
            yield child
        finally:
            child.kill()
            child.wait()
            if child.stderr is not None:
                child.stderr.close()

    def _child_error(self, child: subprocess.Popen[str]) -> ChildFailed:
        text = child.stderr.read().strip() if child.stderr is not None else ""
        return ChildFailed(
            f"the writing process ended with status {child.returncode}: {(text.splitlines() or ['no message'])[-1]}"
        )

    def _kill_one(self, number: int, journal: Journal) -> bool:
        """Lets the writer run to a random point, kills it there, verifies. False if it had finished."""
        left = self._plan.batches - journal.acknowledged
        if left <= 1:
            return False
        steps = max(1, left // (self.options.kills - number + 1))
        target = journal.acknowledged + self.random.randrange(1, steps + 1)
        # On a busy machine the writer could be done before it is killed: it waits there.
        limit = journal.limit = min(target + _AHEAD, self._plan.batches - 1)
        with self._writer(journal) as child:
            deadline = time.monotonic() + _WAIT_S
            while journal.acknowledged < target or journal.begun == journal.acknowledged < limit:
                if child.poll() is not None:
                    if child.returncode != 0:
                        raise self._child_error(child)
                    return False
                if time.monotonic() > deadline:
                    raise ChildFailed(f"the writing process acknowledged nothing for {_WAIT_S:.0f} s")
                time.sleep(0.0002)
            mean = journal.nanoseconds / max(1, journal.acknowledged) / 1e9
            time.sleep(self.random.random() * mean)
            child.kill()
            if child.wait() != -signal.SIGKILL:
                return False
        acknowledged, begun = journal.acknowledged, journal.begun
        wrote_at = self._address.read_text()
        verified = self._verify(acknowledged, begun)
        kill = {
            "acknowledged_batches": acknowledged,
            "inside_a_batch": begun > acknowledged,
            "written_at": wrote_at,
            "verified": verified,
        }
        self.outcome.kills.append(kill)
        self._report_kill(number, kill)
        return True

    def _verify(self, acknowledged: int, begun: int) -> dict[str, Any]:
        child = _start(
            {**self._task("verify"), "acknowledged": acknowledged, "begun": begun},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, errors = child.communicate()
        if child.returncode != 0:
            raise ChildFailed(f"the verifying process failed: {(errors.strip().splitlines() or ['no message'])[-1]}")
        report: dict[str, Any] = json.loads(out)
        return report

    def _finish(self, journal: Journal) -> None:
        journal.limit = self._plan.batches
        if journal.acknowledged < self._plan.batches:
            with self._writer(journal) as child:
                if child.wait() != 0:
                    raise self._child_error(child)
        self.outcome.random_items = self._plan.items
        self.outcome.rates["writes"] = journal.operations / (journal.nanoseconds / 1e9)
        self.say(f"wrote the rest: {self._plan.items:,} {self.what} in all, a quarter of them twice, "
                 f"{self.outcome.rates['writes'] / 1e6:.2f} M/s inside the batches")  # fmt: skip

    def _report_kill(self, number: int, kill: dict[str, Any]) -> None:
        seen = kill["verified"]
        where = "inside a batch" if kill["inside_a_batch"] else "between two batches"
        pending = seen["pending_applied"] + seen["pending_absent"]
        self.say(
            f"kill {number + 1}: SIGKILL {where}, after {kill['acknowledged_batches']} acknowledged; "
            f"pool was at {kill['written_at']}, reopened at {seen['address']}, "
            f"recovered in {seen['recovery_ms']:.1f} ms, {seen['repaired_slots']} slots mended"
        )
        items, lost = seen["given_items"] + seen["random_items"], seen["lost"] + seen["given_wrong"]
        self.say(
            f"        {items:,} pairs verified: {lost} lost, {seen['torn']} torn, {seen['unexpected_items']} unexpected"
            + (f"; of {pending:,} under way {seen['pending_applied']:,} are in, whole" if pending else "")
        )
        for error in seen["check_errors"]:
            self.say(f"        check: {error}")

    def _report_final(self) -> None:
        final, kills = self.outcome.final, self.outcome.kills
        inside = sum(kill["inside_a_batch"] for kill in kills)
        verdict = "nothing acknowledged was lost, nothing is torn" if self.outcome.ok else "FAILED: see above"
        items = final["given_items"] + final["random_items"]
        self.say(f"{items:,} pairs verified after {len(kills)} kills, {inside} of them inside a batch: {verdict}")


class LinesDemo(Demo):
    """The same with keys and values of any length: each line of Python's standard library, by file and number."""

    what = "lines"
    lines = True
    name = "holdfast-demo-lines"

    def _make_and_load(self) -> None:
        options, lines = self.options, Lines(self.options.lines)
        items = len(lines)
        (first,), _ = lines.rows(np.array([0]), np.array([1]))
        self.outcome.example = first.decode()
        self._plan = Plan(items, min(options.batch, max(1, items // 16)), 16, 0)
        with self._created(key=bytes, value=bytes, capacity=items) as table:
            stats = table.stats()
            self.outcome.device, self.outcome.domain = stats["device"], stats["domain"]
            self.say(f"created {options.path}: keys and values of any length, on {stats['device']}; a process writes "
                     f"{items:,} lines of Python's library, by file and number")  # fmt: skip


def lines_path(path: Path) -> Path:
    """Where the second part keeps its pool."""
    return path.with_name(f"{path.stem}-lines{path.suffix}")


def _left_by(demo: type[Demo], path: Path) -> bool:
    """Whether an earlier demo of this user made the pool."""
    try:
        return path.stat().st_uid == os.geteuid() and [one.name for one in inspect(path).objects] == [demo.name]
    except (Error, OSError):
        return False


def _may_replace(demo: type[Demo], options: Options) -> Options:
    """Raises PoolExists for a file that stays."""
    if options.overwrite or not os.path.lexists(options.path):
        return options
    if not options.own:
        raise PoolExists(f"{options.path} exists: open it, name another path, or overwrite it")
    if not _left_by(demo, options.path):
        raise PoolExists(f"{options.path} exists, and no demo of yours made it: name another path, or overwrite it")
    return replace(options, overwrite=True)


def run(options: Options, say: Say = lambda line: None) -> Outcome:
    """Runs the demo; `say` gets a line of its report at a time. Leaves the pool behind.

    Raises
    ------
    PoolExists
        Without `options.overwrite`, where the path exists.
    Error
        A child process failed, or the table gave something that was not asked for.
    """
    shared = str(SHARED_MEMORY) if SHARED_MEMORY.is_dir() else None
    second = replace(options, path=lines_path(options.path), kills=min(options.kills, 3), batch=options.batch // 2)
    options = _may_replace(Demo, options)
    if options.lines:
        second = _may_replace(LinesDemo, second)
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-", dir=shared) as folder:
        outcome = Demo(options, say, Path(folder)).run()
        if options.lines:
            outcome.lines = LinesDemo(second, say, Path(folder)).run()
        return outcome
