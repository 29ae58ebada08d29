"""Programs: a table and a seed as a list of steps. First every operation once, then a random sequence of them, in which
the table grows several times; what it holds is compared as a whole every few steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .draw import Draw, any_keys, any_values, fixed_keys, fixed_values
from .steps import CHANGES, READS, TAKES_VALUE, Act, Batch, Step
from .tables import Kind
from .wrong import refused, while_closed, while_read

RANDOM_STEPS = 30
LARGE = 20_000
"""Rows of the large batches: more than a GPU takes operation by operation."""
INTEGERS = {4: ("int32", "uint32"), 8: ("int64", "uint64", "int32", "uint32")}


@dataclass
class Writer:
    """Draws the steps of one program."""

    kind: Kind
    draw: Draw
    fresh: int = 1 << 20
    """The next number that no key has had."""

    # Keys and values.

    def numbers(self, n: int, unique: bool = False) -> np.ndarray:
        """Numbers of keys: some of a few hot ones, the reserved among them; most of some thousand; a few new ones."""
        if unique:
            self.fresh += n
            new = np.arange(self.fresh - n, self.fresh)
            old = np.arange(n) + self.draw.one(1000)
            return np.where(np.frombuffer(self.draw.bits(n, 50), np.uint8) == 1, new, old).astype(np.uint64)
        made = self.draw.below(4000, n)
        kinds = self.draw.below(100, n)
        made[kinds < 15] %= np.uint64(12)
        made[(kinds >= 15) & (kinds < 50)] %= np.uint64(300)
        new = kinds >= 90
        made[new] = np.arange(self.fresh, self.fresh + int(new.sum()), dtype=np.uint64)
        self.fresh += int(new.sum())
        return made

    def keys(self, numbers: np.ndarray) -> list[bytes]:
        return any_keys(numbers) if self.kind.any_length else fixed_keys(numbers, int(self.kind.key or 0))

    def values(self, n: int, width: int, element: str) -> list[bytes] | None:
        if self.kind.any_length:
            return any_values(self.draw, n)
        return fixed_values(self.draw, n, width, element) if width else None

    def form(self) -> str:
        if self.kind.any_length:
            return str(self.draw.choice(("list", "packed")))
        listed = [] if self.kind.element == "bfloat16" else ["list"]  # bfloat16 is PyTorch's, and so are its keys
        return str(self.draw.choice([*(("rows", "words", "signed") if self.kind.key == 8 else ("rows",)), *listed]))

    def element(self, width: int) -> str | None:
        """What `accumulate` takes a value of that width to be made of."""
        if self.kind.element != "bytes":
            return self.kind.element
        return str(self.draw.choice(INTEGERS[8 if width % 8 == 0 else 4])) if width else None

    # Batches.

    def batch(self, op: str, n: int, column: bool = False) -> Batch:
        kind, draw = self.kind, self.draw
        unique = draw.chance(15)
        part = kind.column if column else None
        width = part[1] - part[0] if part else kind.value
        element = self.element(width) if op in ("accumulate", "apply") else None
        given: dict[str, Any] = {"column": part, "unique": unique, "form": self.form()}
        if draw.chance(30):
            given["mask"] = draw.bits(n, 60)
        if op in TAKES_VALUE or op == "apply":
            given["values"] = self.values(n, width, kind.element if element is None else element)
            given["element"] = element
        if op == "apply":
            ops = [name for name in (*CHANGES, *READS) if name != "accumulate" or not kind.any_length]
            given["ops"] = [ops[i] for i in draw.below(len(ops), n).tolist()]
        if op in ("accumulate", "apply"):
            given["combine"] = str(draw.choice(("add", "add", "min", "max")))
        if op == "accumulate" and given["combine"] == "add" and kind.element != "bytes":
            given["scale"] = draw.choice((1.0, -1.0, 2.0))
        if op == "find" and "mask" not in given:
            given["missing"] = draw.chance(50)
        if op == "find_or_insert" and kind.element != "bytes" and draw.chance(50):
            given |= {"values": None, "init": 2.0, "element": kind.element}
        return Batch(op, self.keys(self.numbers(n, unique)), **given)

    def any_batch(self, n: int) -> Batch:
        ops = [*CHANGES, *READS, "apply", "apply", "insert", "erase"]
        if self.kind.any_length:
            ops.remove("accumulate")
        if self.kind.score is not None:
            ops += ["scores", "scores"]
        return self.batch(str(self.draw.choice(ops)), n, self.kind.column is not None and self.draw.chance(25))

    # Other calls.

    def end(self) -> bytes | None:
        """An end of a range of keys."""
        return None if self.draw.chance(30) else self.keys(self.numbers(1))[0]

    def score_range(self, serial: int) -> tuple[int | None, int | None] | None:
        """Scores of steps are small in these programs, those of time are numbers of steps before this one."""
        if self.kind.score is None or self.draw.chance(40):
            return None
        most = {"step": 40, "frequency": 6, "time": serial - 1}[self.kind.score]
        low, high = sorted(1 + self.draw.one(most) for _ in range(2))
        return (None if self.draw.chance(30) else low), (None if self.draw.chance(30) else high)

    def selection(self, serial: int) -> dict[str, Any]:
        predicates = (None, None, "odd key", "odd value") if self.kind.value else (None, "odd key")
        return {"first": self.end(), "last": self.end(), "where": self.draw.choice(predicates),
                "score": self.score_range(serial)}  # fmt: skip

    def other(self, serial: int) -> Act:
        """One of the calls that take no batch."""
        selects = [] if self.kind.any_length else ["size_if", "size_if", "export_if", "erase_if"]
        steps = ["set_step", "set_step"] if self.kind.score == "step" else []
        name = str(self.draw.choice(["size", "export", "sync", "reopen", "contains_one", "snapshot", *selects, *steps]))
        return self.act(name, serial)

    def act(self, name: str, serial: int) -> Act:
        if name == "export":
            return Act(name, {"n": 1 + self.draw.one(900), "values": self.draw.chance(70)})
        if name == "contains_one":
            return Act(name, {"key": self.keys(self.numbers(1))[0]})
        if name == "set_step":
            return Act(name, {"step": self.draw.one(40)})
        if name.endswith("_if"):
            pieces = {"n": 1 + self.draw.one(900)} if name == "export_if" else {}
            return Act(name, self.selection(serial) | pieces)
        return Act(name)


def steps_of(kind: Kind, seed: int) -> Iterator[Step]:
    """The steps of a program."""
    writer = Writer(kind, Draw(f"{kind.name} {seed}"))
    serial = 0

    def numbered(step: Step) -> Step:
        nonlocal serial
        serial += 1
        return step

    yield numbered(Act("describe"))
    if kind.score == "step":
        yield numbered(Act("set_step", {"step": 7}))
    reads = ["contains", *(["scores"] if kind.score else [])]
    changes = [op for op in CHANGES if op != "accumulate" or not kind.any_length]
    for op in ("insert", *reads, "find", *changes, "apply"):
        yield numbered(writer.batch(op, 300 + writer.draw.one(300)))
        if kind.column is not None and op != "scores":
            yield numbered(writer.batch(op, 200, column=True))
    if not kind.any_length:
        for name in ("size_if", "export_if", "erase_if"):
            yield numbered(writer.act(name, serial + 1))
    for name in ("contents", "check", "sync", "size", "keys", "export", "snapshot", "reopen"):
        yield numbered(writer.act(name, serial + 1))
    yield numbered(Act("reserve", {"items": 9000}))
    for size in (0, 1, LARGE if seed == 0 and not kind.any_length else 3000):
        yield numbered(writer.any_batch(size))
    for i in range(RANDOM_STEPS):
        sizes = (1, 5, 100, 700, 2500)
        yield numbered(writer.any_batch(int(str(writer.draw.choice(sizes)))))
        if writer.draw.chance(25):
            yield numbered(writer.other(serial + 1))
        if i % 10 == 9:
            yield numbered(Act("contents"))
    yield from ending(writer)


def ending(writer: Writer) -> Iterator[Step]:
    """Growth past what was reserved, reading only, after closing, and emptied."""
    grown = writer.fresh + np.arange(LARGE, dtype=np.uint64)
    yield Batch("insert", writer.keys(grown), writer.values(LARGE, writer.kind.value, writer.kind.element))
    yield Act("grown", {"items": LARGE})
    yield Batch("find", writer.keys(grown[::7]), missing=True)
    yield Act("contents")
    yield Act("check")
    yield Act("reopen", {"mode": "r"})
    yield Act("contents")
    yield from while_read(writer.kind)
    yield Act("reopen")
    yield from refused(writer.kind)
    yield Act("close")
    yield from while_closed(writer.kind)
    yield Act("reopen")
    yield Act("contents")
    yield Act("clear")
    yield Act("size")
    yield writer.batch("insert", 200)
    yield Act("check")
    yield Act("contents")


FULL = [
    Kind("full-k8", value=1000, options={"max_bytes": 1 << 20, "capacity": 16}),
    Kind("full-k32", key=32, value=1000, options={"max_bytes": 1 << 20, "capacity": 16}),
    Kind("full-pairs", key=None, options={"max_bytes": 1 << 25, "capacity": 16}),
]


def full_steps_of(kind: Kind, seed: int) -> Iterator[Step]:
    """A heap that fills up. How much fits is not said, what becomes of the rest is."""
    writer = Writer(kind, Draw(f"{kind.name} {seed}"))
    for _ in range(2):
        numbers = np.arange(writer.fresh, writer.fresh + (30_000 if kind.any_length else 4000), dtype=np.uint64)
        writer.fresh += len(numbers)
        yield Act("fill", {"keys": writer.keys(numbers), "values": [b"%1000d" % i for i in range(len(numbers))]})
        yield Act("check")
    few = [n.to_bytes(kind.key or 8, "little") for n in range(100)]  # of one size class: a full heap has few slabs
    yield Batch("insert", few, [b"%1000d" % i for i in range(100)], form="list")
    yield Act("contents")
    yield Act("reopen")
    yield Act("contents")
