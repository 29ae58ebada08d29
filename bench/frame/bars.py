"""`make bars`: every target of bench/bars/, a file a subject, with the committed result that answers it.

A bar's `file` is below bench/results/, its `field` a path inside it (bench.frame.results.field); one without a file is
unanswered. A `[[limit]]` is a bar that was found to be out of reach, and says `why`; it is measured and listed all the
same. Exits with 1 where a bar is missed, or a bar or limit unanswered, with 2 where there is no such subject or a file
is wrong.
"""

import argparse
import json
import operator
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.frame import code, machine, results

_HOLDS = {">=": operator.ge, "<=": operator.le}
NOT_NOTED = "it does not say what code it measured"
_REQUIRED = {"id": str, "text": str, "comparison": str, "target": float, "unit": str}


@dataclass(frozen=True)
class Bar:
    """One target. `file` is below bench/results; None: nothing answers it yet. `why`: it is a known limit."""

    id: str
    subject: str
    text: str
    comparison: str
    target: float
    unit: str
    file: str | None = None
    field: str | None = None
    why: str | None = None


@dataclass(frozen=True)
class Answer:
    """A bar and what was measured. `state` is met, missed, limit or unanswered; `why` says what is missing.

    `stale`: the layers that were measured and have changed since; `below`: folders that those include. A result that
    does not say what it measured is taken as it is.
    """

    bar: Bar
    state: str
    measured: float | None = None
    why: str = ""
    dirty: bool = False
    stale: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    @property
    def ratio(self) -> float | None:
        """How far past the target, over 1 is met: measured/target, or target/measured where less is better."""
        if self.measured is None:
            return None
        over, under = (
            (self.measured, self.bar.target) if self.bar.comparison == ">=" else (self.bar.target, self.measured)
        )
        return over / under if under > 0 and over >= 0 else None


def load(folder: Path) -> list[Bar]:
    """The bars of all files `<subject>.toml` of a folder. Raises ValueError where one is wrong, or there is none."""
    bars = [bar for path in sorted(folder.glob("*.toml")) for bar in _of_subject(path)]
    if not bars:
        raise ValueError(f"{folder}: holds no files of bars; they are named <subject>.toml")
    if len({bar.id for bar in bars}) != len(bars):
        raise ValueError(f"{folder}: two bars have one id")
    return bars


def _of_subject(path: Path) -> list[Bar]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error!r}") from error
    if unknown := set(tables) - {"bar", "limit"}:
        raise ValueError(f"{path}: unknown {', '.join(sorted(unknown))}")
    return [
        _bar(path.stem, table, f"{path}, {kind} {number}", {"why": str} if kind == "limit" else {})
        for kind in ("bar", "limit")
        for number, table in enumerate(tables.get(kind, []), 1)
    ]


def _bar(subject: str, table: dict[str, Any], where: str, more: dict[str, type]) -> Bar:
    required = _REQUIRED | more
    for name, kind in required.items():
        if not isinstance(table.get(name), kind):
            raise ValueError(f"{where}: {name} must be there and of type {kind.__name__}")
    if table["comparison"] not in _HOLDS:
        raise ValueError(f"{where}: comparison must be one of {', '.join(_HOLDS)}")
    if unknown := set(table) - {*required, "file", "field"}:
        raise ValueError(f"{where}: unknown {', '.join(sorted(unknown))}")
    if ("file" in table) != ("field" in table):
        raise ValueError(f"{where}: file and field go together")
    return Bar(subject=subject, **{**table, "id": f"{subject}.{table['id']}"})


def answer(bar: Bar, folder: Path, root: Path | None = None) -> Answer:
    """Compares a bar with the result below `folder` that answers it, and its code with the checkout at `root`."""
    if bar.file is None or bar.field is None:
        return Answer(bar, "unanswered", why="no result yet")
    path = folder / bar.file
    try:
        content = results.read(path, of_tests=True)
        measured = results.field(content, bar.field)
    except FileNotFoundError:
        return Answer(bar, "unanswered", why=f"no file {bar.file}")
    except KeyError:
        return Answer(bar, "unanswered", why=f"no field {bar.field}")
    except ValueError as error:
        return Answer(bar, "unanswered", why=str(error))
    if isinstance(measured, bool) or not isinstance(measured, int | float):
        return Answer(bar, "unanswered", why=f"{bar.field} is {measured!r}, not a number")
    state = "met" if _HOLDS[bar.comparison](measured, bar.target) else "limit" if bar.why else "missed"
    stale, below = code.changed(root, content["code"]) if root and "code" in content else ([], [])
    if root and "code" not in content:
        stale = [NOT_NOTED]
    return Answer(
        bar,
        state,
        float(measured),
        dirty=bool(content.get("dirty")),
        stale=tuple(stale),
        below=tuple(below),
    )


def _print(console: Console, answers: Sequence[Answer]) -> None:
    grid = Table(title="bars", show_lines=False)
    for name, justify in (("bar", "left"), ("what", "left"), ("target", "right"), ("measured", "right")):
        grid.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    grid.add_column("ratio", justify="right")
    grid.add_column("", justify="left")
    grid.add_column("file", justify="left", overflow="fold")
    colours = {"met": "green", "limit": "blue", "missed": "red", "unanswered": "yellow"}
    for a in answers:
        measured = "–" if a.measured is None else f"{a.measured:.4g} {a.bar.unit}"
        source = (a.bar.file or "") + (" (uncommitted code)" if a.dirty else "")
        if a.stale:
            source += f" (stale: {', '.join(a.stale)}{'' if NOT_NOTED in a.stale else ' changed'})"
        elif a.below:
            source += f" ({', '.join(a.below)} changed)"
        if a.bar.why:
            source += f": {a.bar.why}"
        grid.add_row(
            a.bar.id,
            a.bar.text,
            f"{'≥' if a.bar.comparison == '>=' else '≤'} {a.bar.target:g} {a.bar.unit}",
            measured,
            "–" if a.ratio is None else f"{a.ratio:.2f}",
            f"[{colours[a.state]}]{a.state}[/]",
            source if a.state != "unanswered" else a.why,
        )
    console.print(grid)
    counted = {state: sum(a.state == state for a in answers) for state in colours}
    stale = sum(bool(a.stale) for a in answers)
    named = ", ".join(f"{n} {'known limits' if state == 'limit' else state}" for state, n in counted.items())
    console.print(named + (f"; {stale} older than their code" if stale else ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    root = machine.ROOT
    parser = argparse.ArgumentParser(prog="python -m bench bars", description=__doc__)
    parser.add_argument("--subject", action="append", help="only bars of this file; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--bars", type=Path, default=root / "bench" / "bars", help="the folder of bars")
    parser.add_argument("--results", type=Path, default=root / "bench" / "results", help="the folder of results")
    given = parser.parse_args(arguments)
    try:
        bars = load(given.bars)
        if missing := set(given.subject or ()) - {bar.subject for bar in bars}:
            raise ValueError(f"{given.bars}: no bars of {', '.join(sorted(missing))}")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    answers = [answer(bar, given.results, root) for bar in bars if not given.subject or bar.subject in given.subject]
    if given.json:
        print(json.dumps([{**asdict(a), "ratio": a.ratio} for a in answers], indent=1))
    else:
        _print(Console(width=None if sys.stdout.isatty() else 160), answers)
    return 0 if all(a.state in ("met", "limit") for a in answers) else 1


if __name__ == "__main__":
    sys.exit(main())
