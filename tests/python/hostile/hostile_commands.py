"""Every command, found by the help that the command line makes, with arguments that it takes; then each argument and
option is given each hostile text in turn, and each flag once.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hostile_children
import hostile_values
import hostile_world
import typer

from holdfastdb.cli.main import app, main

Given = dict[str, list[str]]
GIVEN: dict[str, tuple[Given, ...]] = {
    "create": ({"target": ["new.hold"]},),
    "info": ({"target": ["pool.hold"]},),
    "stats": ({"target": ["table.hold"]},),
    "check": ({"target": ["pool.hold"]},),
    "recover": ({"target": ["table.hold"]},),
    "rename": ({"target": ["pool.hold:first"], "to": ["third"]},),
    "drop": ({"target": ["pool.hold:first"]},),
    "snapshot": ({"pool": ["table.hold"], "copy": ["copy.hold"]},),
    "load": ({"target": ["table.hold"], "file": ["table.csv"]},),
    "dump": ({"target": ["table.hold"], "file": ["out.csv"]},),
    "get": ({"target": ["table.hold"], "keys": ["3"]}, {"target": ["any.hold"], "keys": ["3"]},
            {"target": ["wide.hold"], "keys": ["00" * 16]}),
    "put": ({"target": ["table.hold"], "key": ["3"]}, {"target": ["any.hold"], "key": ["3"]},
            {"target": ["wide.hold"], "key": ["00" * 16]}),
    "del": ({"target": ["table.hold"], "keys": ["3"]}, {"target": ["any.hold"], "keys": ["3"]},
            {"target": ["wide.hold"], "keys": ["00" * 16]}),
    "kmer count": ({"files": ["reads.fa"], "out": ["out.txt"], "k": ["4"], "threads": ["1"]},),
    "kmer histo": ({"counts": ["kmers.txt"]},),
    "kmer dump": ({"counts": ["kmers.txt"]},),
    "kmer query": ({"counts": ["kmers.txt"], "wanted": ["ACGT"]},),
    "checkpoint list": ({"target": ["pool.hold"]},),
    "checkpoint drop": ({"target": ["pool.hold:checkpoint"]},),
    "checkpoint export": ({"target": ["pool.hold"], "out": ["out.safetensors"]},),
}  # fmt: skip
"""By command: what it takes, in one or several ways."""
NOT_RUN = {"demo": "each run kills processes for seconds; tests/python/test_demo.py gives it bad options"}
WAITS = {("kmer count", "files", "fifo")}
"""What may wait for ever: a pipe without a writer."""
OUTPUT_SHOWN = 400


@dataclass(frozen=True)
class Parameter:
    name: str
    option: str | None
    """As it is written; None of an argument."""
    is_flag: bool


@dataclass(frozen=True)
class Case:
    """One command line: as it is meant, or with one hostile argument."""

    command: str
    parameters: tuple[Parameter, ...]
    given: int
    parameter: str | None = None
    text: str | None = None

    def __str__(self) -> str:
        return f"holdfast {self.command} {self.parameter}={self.text}"

    def words(self) -> list[str]:
        """The command line."""
        given = dict(GIVEN[self.command][self.given])
        if self.parameter is not None and self.text is not None:
            given[self.parameter] = [hostile_values.ODD_TEXTS[self.text]]
        options: list[str] = []
        arguments: list[str] = []
        for one in self.parameters:
            if one.option is None:
                arguments += given.get(one.name, [])
            elif one.is_flag:
                options += [one.option] if one.name == self.parameter else []
            elif one.name in given:
                options += [f"{one.option}={given[one.name][0]}" if one.option.startswith("--") else one.option]
                options += [] if one.option.startswith("--") else given[one.name]
        return [*self.command.split(), *options, *arguments]

    def run(self, folder: Path) -> str:
        world = hostile_world.World(hostile_world.TEMPLATE, folder)
        for text in itertools.chain.from_iterable(GIVEN[self.command][self.given].values()):
            if (hostile_world.TEMPLATE / text.partition(":")[0]).is_file():
                world.file(text.partition(":")[0])
        (folder / "empty").touch()
        (folder / "text.csv").write_text("1,2\n\udcff,x\n", errors="surrogateescape")
        (folder / "folder").mkdir()
        os.mkfifo(folder / "fifo")
        status, printed = _run(self.words(), folder)
        shown = printed[-OUTPUT_SHOWN:]
        if status not in (0, 1, 2):
            raise hostile_children.Fault(f"status {status}: {shown}")
        if "Traceback" in printed or hostile_children.RAW.search(printed):
            raise hostile_children.Fault(f"no message of ours: {shown}")
        if status == 2 and not printed.strip():
            raise hostile_children.Fault("status 2 without a message")
        if self.parameter is None and status != 0:
            raise hostile_children.Fault(f"refused as it is meant: {shown}")
        return f"status {status}"


def _run(words: list[str], folder: Path) -> tuple[Any, str]:
    """Its exit status, and what it printed."""
    output = os.open(folder / "output", os.O_RDWR | os.O_CREAT, 0o600)
    kept = [os.dup(1), os.dup(2)]
    streams = sys.stdout, sys.stderr
    os.dup2(output, 1)
    os.dup2(output, 2)
    status: Any = 0
    try:
        with open(1, "w", closefd=False) as sys.stdout, open(2, "w", closefd=False) as sys.stderr:
            sys.argv = ["holdfast", *words]
            try:
                main()
            except SystemExit as ending:
                status = ending.code if ending.code is not None else 0
            except Exception as error:
                raise hostile_children.Fault(f"a traceback: {type(error).__name__}: {str(error)[:300]}") from error
    finally:
        sys.stdout, sys.stderr = streams
        for target, number in zip(kept, (1, 2), strict=True):
            os.dup2(target, number)
            os.close(target)
        printed = os.pread(output, 1 << 20, 0).decode(errors="replace")
        os.close(output)
    return status, printed


def _walk(command: Any, name: str) -> Iterator[tuple[str, tuple[Parameter, ...]]]:
    if hasattr(command, "commands"):
        for word, below in command.commands.items():
            yield from _walk(below, f"{name} {word}".strip())
        return
    found = []
    for one in command.params:
        is_option = one.param_type_name == "option"
        if one.name != "help":
            longest = max(one.opts, key=len) if is_option else None
            found.append(Parameter(one.name, longest, is_option and bool(getattr(one, "is_flag", False))))
    yield name, tuple(found)


def commands() -> dict[str, tuple[Parameter, ...]]:
    """All that `holdfast --help`, and the help of its groups, list."""
    found = dict(_walk(typer.main.get_command(app), ""))
    lacking = found.keys() - GIVEN.keys() - NOT_RUN.keys()
    if lacking:
        raise LookupError(f"hostile_commands.py has no arguments for {', '.join(sorted(lacking))}")
    return {name: parameters for name, parameters in found.items() if name not in NOT_RUN}


def every_case() -> list[Case]:
    cases = []
    for command, parameters in commands().items():
        for given in range(len(GIVEN[command])):
            cases.append(Case(command, parameters, given))
            for one, text in itertools.product(parameters, hostile_values.ODD_TEXTS):
                if one.is_flag and text != "":
                    continue
                if (command, one.name, text) not in WAITS:
                    cases.append(Case(command, parameters, given, one.name, text))
    return cases
