"""A program that kills `holdfast load` and `holdfast dump` at chosen places, resumes them, and kills those too.

    transfer_kills.py KIND FOLDER SOURCE POOL POINTS SEED

Each command is a process of its own, forked from one that has imported everything. A place is an event of Python's
profiler in the package's transfer folder: before or after a call, of C functions too. Prints JSON: the events of a run
that nothing stops, and for each place how it ended after all kills, and what was left beside the files.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holdfastdb as hf
import holdfastdb.transfer.rows as rows
from holdfastdb.cli import main

ROWS_AT_ONCE = 500
NAMING = 10
"""The last events in `give_name`, where names are given and exchanged: a kill at each."""
LAST = 80
"""Events, in which a resume file goes: a third of the other kills is there."""
_TRANSFER = str(Path(rows.__file__).parent)
seen = [0]
named: list[int] = []


def killed_at(place: int) -> Callable[..., None]:
    """A profiler that ends the process at that event, and counts in `seen`."""
    seen[0] = 0
    named.clear()

    def profile(frame: Any, event: str, argument: object) -> None:
        if frame.f_code.co_filename.startswith(_TRANSFER):
            seen[0] += 1
            if frame.f_code.co_name == "give_name":
                named.append(seen[0])
            if seen[0] == place:
                os.kill(os.getpid(), signal.SIGKILL)

    return profile


def command(arguments: list[str], place: int) -> None:
    """In a process of its own, whose output is one line of JSON, and then the number of events."""
    rows._MOST_ROWS = ROWS_AT_ONCE
    sys.argv = ["holdfast", *arguments, "--json"]
    status: object = 0
    sys.setprofile(killed_at(place))
    try:
        main()
    except SystemExit as end:
        status = end.code
    except BaseException as error:
        status = repr(error)
    sys.setprofile(None)
    print(json.dumps({"status": status, "events": seen[0], "named": named[-NAMING:]}), flush=True)


def run(arguments: list[str], place: int = 0) -> dict[str, Any] | None:
    """What a command said, its status and its number of events; killed at that event: None (0: never)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        try:
            command(arguments, place)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        lines = pipe.read().splitlines()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL:
        return None
    end: dict[str, Any] = json.loads(lines[-1])
    end["said"] = json.loads(lines[-2]) if end["status"] in (0, None) else lines[:-1]
    return end


class Load:
    """A load of `source` into an empty table like that of the pool `like`, so small that the load makes it grow."""

    def __init__(self, folder: Path, source: Path, like: Path) -> None:
        self.folder, self.pool = folder, folder / "loaded.hold"
        self.command = ["load", str(self.pool), str(source), "--resume", "--device", "cpu"]
        self.command += ["--resume-file", str(folder / "resume")]
        with hf.Table.open(like, device="cpu", mode="r") as table:
            self._shape: Any = {"key": bytes, "value": bytes} if table.any_length else {"value": table.value_bytes}

    def begin(self) -> None:
        hf.Table.create(self.pool, capacity=100, device="cpu", overwrite=True, **self._shape).close()

    def outcome(self) -> str:
        """All items, each once."""
        with hf.Table.open(self.pool, device="cpu") as table:
            report = table.check()
            lines = sorted(repr(item) for item in table.items())
            assert report.ok and report.items == len(lines) == len(table), report
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def left(self) -> list[str]:
        return sorted({path.name for path in self.folder.iterdir()} - {self.pool.name})


class Dump:
    """A dump of the pool `like`, in place of an older one or of none."""

    def __init__(self, folder: Path, target: Path, like: Path, replaces: bool) -> None:
        self.folder, self.target, self._replaces = folder, target, replaces
        self.command = ["dump", str(like), str(target), "--resume", *(["--overwrite"] if replaces else [])]

    def begin(self) -> None:
        self.target.unlink(missing_ok=True)
        if self._replaces:  # longer than the new one, and nothing of it must come into that
            self.target.write_text("old," * 500_000)

    def outcome(self) -> str:
        return hashlib.sha256(self.target.read_bytes()).hexdigest()

    def left(self) -> list[str]:
        return sorted({path.name for path in self.folder.iterdir()} - {self.target.name})


def places(events: int, points: int, chance: random.Random) -> list[int]:
    """Spread over the whole run, and over its end."""
    last = points // 3
    at = [1 + (i * events + chance.randrange(events)) // (points - last) for i in range(points - last)]
    at += [events - (i * LAST + chance.randrange(LAST)) // last for i in range(last)]
    return [min(events, max(1, place)) for place in at]


def campaign(one: Load | Dump, points: int, seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    one.begin()
    with contextlib.redirect_stdout(io.StringIO()):  # imports what a command needs: its copies begin sooner
        command(one.command, 0)
    one.begin()
    whole = run(one.command)
    assert whole is not None and whole["status"] in (0, None), whole
    expected, ends = one.outcome(), []
    for place in places(whole["events"], points, chance) + whole["named"]:
        one.begin()
        end, kills, left = run(one.command, place), 0, [""]
        while end is None:
            kills, left = kills + 1, one.left()
            again = 1 + chance.randrange(whole["events"]) if chance.random() < 0.5 else 0
            end = run(one.command, again)  # which comes to an end sooner than `again`, or not
        ends.append(
            {
                "place": place,
                "kills": kills,
                "left_by_kill": left,
                **end,
                "same": one.outcome() == expected,
                "left": one.left(),
            }
        )
    return {"events": whole["events"], "said": whole["said"], "ends": ends}


if __name__ == "__main__":
    kind, folder, file, pool = sys.argv[1], *map(Path, sys.argv[2:5])
    chosen = Load(folder, file, pool) if kind == "load" else Dump(folder, file, pool, kind == "replace")
    print(json.dumps(campaign(chosen, int(sys.argv[5]), int(sys.argv[6]))))
