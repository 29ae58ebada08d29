"""How far a transfer has come, in a small file, so that it can go on after a kill.

A resume file speaks of one table, by its pool's id and its number there, and of one file. It is replaced in one step
after each acknowledged batch, so it is never ahead of the pool; what it does not know of is done once more.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import InvalidArgument
from ..inspection import ObjectInfo, PoolInfo, inspect
from ..table import Table

_FORMAT = 1


def boot_id() -> str:
    """Of the machine's present run."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def facts_of(table: Table) -> tuple[PoolInfo, ObjectInfo]:
    """What the file says of a table's pool, and of the table."""
    pool = inspect(table._pool_path)
    return pool, next(found for found in pool.objects if found.number == table._number)


class ResumeFile:
    """The file at `path`, or nothing yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any] | None:
        """What was written last, or None. Raises InvalidArgument for a file that is no resume file."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            if found["holdfast_resume"] != _FORMAT:
                raise ValueError
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise InvalidArgument(
                f"{self.path} is no resume file of this version: remove it, or name another"
            ) from None
        return dict(found)

    def write(self, content: dict[str, Any], *, lasting: bool = False) -> None:
        """Replaces it in one step; `lasting`: puts it on its device too."""
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"holdfast_resume": _FORMAT, **content}, file)
                if lasting:
                    file.flush()
                    os.fsync(file.fileno())
            draft.replace(self.path)
        finally:
            draft.unlink(missing_ok=True)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
