"""Writes saved states to a file on an ordinary disk while the program runs: a pool in shared memory does not survive
a restart of the machine."""

from __future__ import annotations

import fcntl
import os
import re
import threading
from pathlib import Path

from .._native import Checkpoint as NativeCheckpoint
from .._native import SaveTicket as NativeTicket
from ..errors import PoolCorrupt
from ..transfer.files import errors_of, replaceable
from .safetensors import BEGINNING, write

_WHAT = "a drain"


class Drain:
    """Every so many saves a thread writes the newest durable state; while it reads that copy no save overwrites it.
    When it is slower than saves it leaves some out: at most one waits for it."""

    def __init__(self, native: NativeCheckpoint, path: Path, every: int) -> None:
        replaceable(path, _WHAT, True)
        _remove_left(path)
        self._native, self._path, self._every = native, path, every
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._saves = 0
        self._next: NativeTicket | None = None
        self._busy = False
        self._error: Exception | None = None
        self.step: int | None = None

    def after(self, ticket: NativeTicket) -> None:
        """A save was begun."""
        with self._changed:
            self._saves += 1
            if self._saves % self._every != 0:
                return
            self._next = ticket
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._work, name="holdfast-drain").start()

    def wait(self) -> None:
        """Until nothing is left to write."""
        if self._is_here():
            with self._changed:
                self._changed.wait_for(lambda: not self._busy)

    def raise_error(self) -> None:
        """Raises, once, what went wrong since the last call."""
        if not self._is_here():
            return
        with self._changed:
            error, self._error = self._error, None
        if error is not None:
            error.add_note(
                f"This was the drain to {self._path}. The states in the pool stand, and this call saved nothing."
            )
            raise error

    def _is_here(self) -> bool:
        """False in a forked child: the thread does not come along, and may have held the lock."""
        return os.getpid() == self._process

    def _work(self) -> None:
        while True:
            with self._changed:
                ticket, self._next = self._next, None
                if ticket is None:
                    self._busy = False
                    self._changed.notify_all()
                    return
            try:
                ticket.wait()
            except Exception:  # the program has the ticket, which reports it
                continue
            try:
                self._write()
            except Exception as error:
                with self._changed:
                    self._error = error

    def _write(self) -> None:
        saved = self._native.restore([])
        try:
            if damage := "; ".join(saved.damage):
                raise PoolCorrupt(f"{self._path} was not written, for the newest state is damaged: {damage}")
            write(self._path, replaceable(self._path, _WHAT, True), saved.step, saved.text, saved.tensors())
            self.step = saved.step
        finally:
            del saved  # the traceback of an error would hold its copy


def _remove_left(path: Path) -> None:
    """Removes what killed drains left; what is being written is locked."""
    name = re.compile(re.escape(path.name) + r"\.\d+\.partial")
    with errors_of(path.parent, "cannot be looked at"):
        for left in [found for found in path.parent.iterdir() if name.fullmatch(found.name) and found.is_file()]:
            with left.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                begin = file.read(8 + len(BEGINNING))[8:]
                if BEGINNING.startswith(begin):
                    left.unlink(missing_ok=True)
