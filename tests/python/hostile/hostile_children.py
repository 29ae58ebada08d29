"""Runs cases in forked children, so that a crash, or a call that never ends, is seen and is one case's; and judges what
comes out of a call.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hostile_values import Mischief

import holdfastdb as hf

PATIENCE_S = 60
MEMORY = 6 << 30
"""Address space that a child may take beside what it begins with."""
FILE_BYTES = 256 << 20

RAW = re.compile(
    r"incompatible function arguments|Invoked with|nanobind|std::|holdfast::|object has no attribute|object is not "
    r"(iterable|callable|subscriptable)|unexpected keyword argument|must be real number, not|<unprintable"
)
"""What a message of ours does not have."""


class Runnable(Protocol):
    def run(self, folder: Path) -> str:
        """Runs it in an empty folder. Returns a word for what came of it; raises what must not come out."""


class Fault(Exception):
    """What a case must not do."""


def outcome_of(error: BaseException) -> str:
    """The word for an error that may come out of a call; raises Fault for one that may not."""
    text = ""
    with contextlib.suppress(Exception):
        text = str(error)
    if isinstance(error, hf.Error):
        if not text or RAW.search(text):
            raise Fault(f"{type(error).__name__} without a text of ours: {text[:300]}") from error
        return type(error).__name__
    if isinstance(error, Mischief):
        return "raised by the argument"
    raise Fault(f"{type(error).__name__}: {text[:300]}") from error


def is_foreign(error: BaseException) -> bool:
    """Whether no code of the package had been called: PyTorch checks what its operators are given."""
    return not any("/holdfastdb/" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


@dataclass
class Found:
    """What came of the cases."""

    outcomes: dict[str, int] = field(default_factory=dict)
    faults: list[dict[str, str]] = field(default_factory=list)
    cases: int = 0

    def add(self, other: Found) -> None:
        for word, number in other.outcomes.items():
            self.outcomes[word] = self.outcomes.get(word, 0) + number
        self.faults += other.faults
        self.cases += other.cases


def _where(error: BaseException) -> str:
    """The frames of the package through which it came, the innermost last."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    return " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(frames[-4:]))


def _in_child(cases: Sequence[Runnable], first: int, report: int, scratch: Path) -> None:
    """Runs them one by one. Each begins and ends with a line to `report`."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    faulthandler.disable()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(1000)
    warnings.simplefilter("ignore")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    for number in range(first, len(cases)):
        os.write(report, f"{number}\n".encode())
        folder = scratch / str(number)
        folder.mkdir()
        os.chdir(folder)
        line: dict[str, str]
        try:
            line = {"outcome": cases[number].run(folder)}
        except BaseException as error:
            kind = str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {str(error)[:300]}"
            line = {"fault": kind, "where": _where(error)}
        os.chdir(scratch)
        shutil.rmtree(folder, ignore_errors=True)
        os.write(report, (json.dumps(line) + "\n").encode())


class _Lines:
    """The lines of a child, each as soon as it comes."""

    def __init__(self, source: int) -> None:
        self._source, self._rest = source, b""

    def next(self, patience: float) -> str | None:
        """None at the end. Raises TimeoutError."""
        ends = time.monotonic() + patience
        while b"\n" not in self._rest:
            if not select.select([self._source], [], [], max(0.0, ends - time.monotonic()))[0]:
                raise TimeoutError
            read = os.read(self._source, 1 << 16)
            if not read:
                return None
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()


def run(cases: Sequence[Runnable], progress: Callable[[int], None] | None = None) -> Found:
    """All cases, in as few children as survive."""
    found, first = Found(), 0
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="holdfast-hostile-", dir=shared) as folder:
        while first < len(cases):
            scratch = Path(folder) / f"from-{first}"
            scratch.mkdir()
            first = _run_from(cases, first, scratch, found, progress)
            shutil.rmtree(scratch, ignore_errors=True)
    return found


def _run_from(
    cases: Sequence[Runnable], first: int, scratch: Path, found: Found, progress: Callable[[int], None] | None
) -> int:
    """One child's cases; returns the number of the next case."""
    source, report = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(source)
            _in_child(cases, first, report, scratch)
            status = 0
        finally:
            os._exit(status)
    os.close(report)
    lines, running = _Lines(source), first - 1
    why = ""
    try:
        while (line := lines.next(PATIENCE_S)) is not None:
            if not line.startswith("{"):
                running = int(line)
                continue
            _note(found, cases[running], json.loads(line))
            running += 1
            if progress is not None:
                progress(running)
    except TimeoutError:
        why = f"no end within {PATIENCE_S} s"
        os.kill(child, signal.SIGKILL)
    os.close(source)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 and not why:
        return len(cases)
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
    _note(found, cases[running], {"fault": why or f"the process ended with {how}", "where": ""})
    return running + 1


def _note(found: Found, case: Any, line: dict[str, str]) -> None:
    found.cases += 1
    if "fault" in line:
        found.faults.append({"case": str(case), **line})
        return
    found.outcomes[line["outcome"]] = found.outcomes.get(line["outcome"], 0) + 1
