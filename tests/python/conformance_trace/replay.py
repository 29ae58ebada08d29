"""Runs programs against a machine and the oracle, and compares what came out with the recording."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import wrong
from .oracle import Oracle
from .programs import FULL, full_steps_of, steps_of
from .shim import Machine, Table
from .steps import STATUSES, Act, Answer, Batch, Step, Wrong, digest, input_digest
from .tables import KINDS, Kind

RECORDING = Path(__file__).resolve().parents[2] / "data" / "conformance-trace.json"
WRONG = Kind("k8-v16", value=16)
RECORDED_SEEDS = 8
"""Seed 0 is recorded step by step, of the others a digest of the whole."""


class Difference(AssertionError):
    """A machine, the oracle and the recording do not agree."""


@dataclass(frozen=True)
class Trace:
    """One program."""

    kind: Kind
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind.name} {self.seed}"

    def steps(self) -> Iterator[Step]:
        if self.kind is WRONG:
            yield Act("describe")
            yield Batch("insert", [bytes(8), b"\1" + bytes(7)], [bytes(16), bytes(range(16))])
            yield from wrong.made(wrong.OF_16_BYTES)
            yield from wrong.made(wrong.OF_POOLS)
            yield Act("contents")
            yield Act("close")
            yield from wrong.made(wrong.OF_CLOSED_POOLS)
            yield Act("reopen")
            yield Act("contents")
            yield Act("check")
        elif self.kind in FULL:
            yield from full_steps_of(self.kind, self.seed)
        else:
            yield from steps_of(self.kind, self.seed)


def traces(seeds: int) -> list[Trace]:
    """All programs of that many seeds."""
    once = [Trace(kind) for kind in (WRONG, *FULL)]
    return once + [Trace(kind, seed) for kind in KINDS for seed in range(seeds)]


def summary(step: Step, answer: Answer) -> str:
    """What a person reads of an answer in the recording."""
    if isinstance(step, Wrong):
        return str(answer["error"])
    words = []
    for part, value in answer.items():
        if part == "statuses" and isinstance(value, bytes):
            counts = np.bincount(np.frombuffer(value, np.uint8), minlength=len(STATUSES))
            words += [f"{name} {count}" for name, count in zip(STATUSES, counts.tolist(), strict=True) if count]
        elif part == "found":
            words.append(f"found {sum(value)} of {len(value)}")
        elif part in ("items", "missing", "keys") and isinstance(value, list):
            words.append(f"{part} {len(value)}")
        elif part not in ("values", "scores"):
            words.append(f"{part} {value}")
    return ", ".join(words)


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text):,} characters)"


def first_difference(expected: Answer, got: Answer) -> str:
    """The first row, or part, in which two answers differ."""
    for part in expected:
        a, b = expected[part], got.get(part)
        if a == b:
            continue
        if not isinstance(a, list | bytes) or not isinstance(b, list | bytes):
            return f"{part}: expected {shown(a)}, got {shown(b)}"
        rows = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        one, other = (c[rows] if rows < len(c) else "no such row" for c in (a, b))
        if part == "statuses" and isinstance(a, bytes):
            one, other = (STATUSES[c] if isinstance(c, int) and c < len(STATUSES) else c for c in (one, other))
        return f"{part}, row {rows}: expected {shown(one)}, got {shown(other)}"
    return f"parts: expected {list(expected)}, got {list(got)}"


def with_rows(step: Step, text: str) -> str:
    """Adds the key of the row that a difference names."""
    row = re.search(r", row (\d+):", text)
    if row is None or not isinstance(step, Batch) or int(row[1]) >= len(step.keys):
        return text
    op = f", {step.ops[int(row[1])]}" if step.ops else ""
    return f"{text} (key {shown(step.keys[int(row[1])])}{op})"


def agrees(step: Step, expected: Answer, got: Answer) -> bool:
    """Whether the oracle accepts an answer; of a refused call, the class and a part of the message."""
    if isinstance(step, Wrong):
        return str(got["error"]).startswith(step.error) and re.search(step.says, str(got["error"])) is not None
    return expected == got


def run(trace: Trace, machine: Machine, folder: Path) -> Iterator[tuple[Step, Answer]]:
    """The steps of a trace with what the machine answered. Raises Difference where the oracle says otherwise."""
    table, oracle = Table(trace.kind, machine, folder), Oracle(trace.kind)
    try:
        for serial, step in enumerate(trace.steps(), 1):
            where = f"{trace.name} on {machine.name}, step {serial} ({step.title})"
            try:
                got = table.answer(serial, step)
            except Exception as error:
                raise Difference(f"{where}: expected an answer, got {type(error).__name__}: {error}") from error
            expected = oracle.answer(serial, step)
            if not agrees(step, expected, got):
                what = first_difference(
                    expected | ({"error": f"{step.error}: {step.says}"} if isinstance(step, Wrong) else {}), got
                )
                raise Difference(f"{where}: {with_rows(step, what)}")
            yield step, got
    finally:
        table.close()


def recorded(trace: Trace, machine: Machine, folder: Path) -> Any:
    """What the recording keeps of a trace: its steps, or of later seeds a digest."""
    lines = [
        f"{step.title} [{input_digest(step)}]: {summary(step, got)} = {digest(got)}"
        for step, got in run(trace, machine, folder)
    ]
    return lines if trace.seed == 0 else digest(lines)


def compare(trace: Trace, machine: Machine, folder: Path, recording: dict[str, Any]) -> None:
    """Replays a trace. Raises Difference at the first step that is not as recorded."""
    known = recording["traces"].get(trace.name)
    made = recorded(trace, machine, folder)
    if known is None and trace.seed >= RECORDED_SEEDS:
        return  # the oracle alone has judged it
    if isinstance(made, str) or known is None:
        if made != known:
            raise Difference(
                f"{trace.name} on {machine.name}: recorded as {known}, got {shown(made)}; the oracle agrees with each "
                "answer, so the program or the oracle has changed: compare seed 0, which is recorded step by step"
            )
        return
    for serial, (expected, got) in enumerate(zip(known, made, strict=False), 1):
        if expected != got:
            raise Difference(
                f"{trace.name} on {machine.name}, step {serial}: expected as recorded\n  {expected}\ngot\n  {got}\n"
                "and the oracle agrees with what was got. A digest in brackets that differs: the program has changed"
            )
    if len(known) != len(made):
        raise Difference(f"{trace.name} on {machine.name}: recorded with {len(known)} steps, and has {len(made)}")


def read_recording() -> dict[str, Any]:
    return json.loads(RECORDING.read_text(encoding="utf-8"))


def record(machine: Machine, memory: str | None) -> int:
    """Writes the recording, if the oracle agrees with every answer; returns how many traces it holds."""
    made = {}
    for trace in traces(RECORDED_SEEDS):
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            made[trace.name] = recorded(trace, machine, Path(folder))
    about = "Written by scripts/conformance-trace record; see tests/python/conformance_trace/__init__.py."
    RECORDING.write_text(
        json.dumps({"about": about, "traces": made}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return len(made)
