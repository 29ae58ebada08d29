"""What each step must answer: a dict, one row after another, in array order. It knows nothing of the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .draw import as_element
from .steps import READS_VALUE, STATUSES, Act, Answer, Batch, Step, Wrong
from .tables import Kind

CODE = {name: code for code, name in enumerate(STATUSES)}


def numbers_of(data: bytes, element: str) -> np.ndarray:
    """The elements of a value, 16-bit floats as float32."""
    if element == "bfloat16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    numbers = np.frombuffer(data, element)
    return numbers.astype(np.float32) if element == "float16" else numbers


def combined(old: bytes, new: bytes, element: str, combine: str, scale: float) -> bytes:
    """What `accumulate` makes of two values. Integers wrap."""
    a, b = numbers_of(old, element), numbers_of(new, element)
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[combine]
    with np.errstate(over="ignore"):
        made = function(a, b if scale == 1 else b * b.dtype.type(scale))
    return as_element(made, element).tobytes()


def marked(keys: list[bytes], values: list[bytes], where: str | None) -> list[bool]:
    """Which items a predicate chooses; shim.py has the same over arrays."""
    if where is None:
        return [True] * len(keys)
    return [bool((key if where == "odd key" else value)[0] & 1) for key, value in zip(keys, values, strict=True)]


@dataclass
class Item:
    value: bytes
    score: int


@dataclass
class Oracle:
    """A table of that kind as a dict."""

    kind: Kind
    items: dict[bytes, Item] = field(default_factory=dict)
    step: int = 0
    serial: int = 0
    """Of the step that is answered; the score `time` of what it writes."""

    def answer(self, serial: int, step: Step) -> Answer:
        """Applies a step; what it must return."""
        self.serial = serial
        if isinstance(step, Wrong):
            return {"error": step.error}
        if isinstance(step, Act):
            return getattr(self, f"act_{step.name}")(**step.given)
        return self.scores(step) if step.op == "scores" else self.batch(step)

    # Batches.

    def batch(self, batch: Batch) -> Answer:
        n = len(batch.keys)
        statuses, found = bytearray([CODE["not_run"]] * n), bytearray(n)
        nothing = None if self.kind.any_length else bytes(self.width(batch))
        values: list[bytes | None] = [nothing] * n
        for row, key in enumerate(batch.keys):
            if batch.mask is not None and not batch.mask[row]:
                continue
            op = batch.ops[row] if batch.ops is not None else batch.op
            found[row] = key in self.items
            given = batch.values[row] if batch.values is not None else self.initial(batch)
            statuses[row] = CODE[self.one(batch, op, key, given)]
            if op in READS_VALUE and key in self.items:
                start, stop = batch.column or (0, None)
                values[row] = self.items[key].value[start:stop]
        parts = {"statuses": bytes(statuses), "found": bytes(found), "values": values}
        answer = {name: parts[name] for name in self.parts(batch.op)}
        if batch.missing:
            answer["missing"] = [row for row in range(n) if statuses[row] == CODE["not_found"]]
        return answer

    def parts(self, op: str) -> tuple[str, ...]:
        """What a call returns."""
        two = {"find": ("values", "found"), "find_or_insert": ("values", "found"), "contains": ("found",)}
        return {**two, "insert_and_find": ("values", "statuses"), "apply": ("statuses", "values")}.get(
            op, ("statuses",)
        )

    def width(self, batch: Batch) -> int:
        return batch.column[1] - batch.column[0] if batch.column else self.kind.value

    def initial(self, batch: Batch) -> bytes:
        if batch.init is None:
            return b""
        size = 2 if batch.element in ("float16", "bfloat16") else np.dtype(batch.element).itemsize
        return as_element(np.full(self.width(batch) // size, batch.init), str(batch.element)).tobytes()

    def one(self, batch: Batch, op: str, key: bytes, given: bytes) -> str:
        """Applies one row; its status."""
        there = key in self.items
        if op in ("find", "contains"):
            return "found" if there else "not_found"
        if op == "erase":
            return "not_found" if self.items.pop(key, None) is None else "erased"
        if not there:
            if op == "assign":
                return "not_found"
            self.write(batch, key, self.summed(batch, None, given) if op == "accumulate" else given)
            return "inserted"
        if op in ("insert", "insert_and_find"):
            return "exists"
        if op == "find_or_insert":
            return "found"
        self.write(batch, key, self.summed(batch, key, given) if op == "accumulate" else given)
        return "updated"

    def summed(self, batch: Batch, key: bytes | None, given: bytes) -> bytes:
        if not given or (key is None and batch.scale == 1):
            return given
        start, stop = batch.column or (0, len(given))
        old = bytes(len(given)) if key is None else self.items[key].value[start:stop]
        return combined(old, given, str(batch.element), batch.combine, batch.scale)

    def write(self, batch: Batch, key: bytes, part: bytes) -> None:
        """Replaces a value, or the bytes of a column in it; and its score."""
        old = self.items.get(key)
        if batch.column:
            whole = bytearray(old.value if old else bytes(self.kind.value))
            whole[batch.column[0] : batch.column[1]] = part
            part = bytes(whole)
        before = old.score if old else 0
        score = {"step": self.step, "time": self.serial, "frequency": before + 1}.get(self.kind.score or "", 0)
        self.items[key] = Item(part, score)

    def scores(self, batch: Batch) -> Answer:
        asked = [key if batch.mask is None or batch.mask[row] else None for row, key in enumerate(batch.keys)]
        there = [self.items.get(key) if key is not None else None for key in asked]
        return {
            "scores": [item.score if item else 0 for item in there],
            "found": bytes(item is not None for item in there),
        }

    # All of the table.

    def listed(self, keys: list[bytes], scores: bool = False) -> list[tuple]:
        return [(k, self.items[k].value, *([self.items[k].score] if scores else [])) for k in sorted(keys)]

    def chosen(self, first: Any, last: Any, where: str | None, score: Any) -> list[bytes]:
        """8-byte keys are compared as numbers, wider ones byte by byte."""

        def rank(key: bytes) -> bytes:
            return key[::-1] if self.kind.key == 8 else key

        low, high = (None, None) if score is None else score
        keys = [
            key
            for key, item in self.items.items()
            if (first is None or rank(first) <= rank(key))
            and (last is None or rank(key) <= rank(last))
            and (low is None or low <= item.score)
            and (high is None or item.score <= high)
        ]
        marks = marked(keys, [self.items[key].value for key in keys], where)
        return [key for key, mark in zip(keys, marks, strict=True) if mark]

    def act_size(self) -> Answer:
        """`size`, `len`, and whether `load_factor` is size over capacity."""
        return {"size": len(self.items), "len": len(self.items), "load is size over capacity": True}

    def act_describe(self) -> Answer:
        """What a table says of itself."""
        kind = self.kind
        return {"key": kind.key or 0, "value": 0 if kind.any_length else kind.value, "any length": kind.any_length,
                "score": kind.score, "closed": False, "mode": "r+"}  # fmt: skip

    def act_clear(self) -> Answer:
        self.items.clear()
        return {}

    def act_reserve(self, items: int) -> Answer:
        return {"room": True}

    def act_grown(self, items: int) -> Answer:
        return {"room": True}

    def act_sync(self) -> Answer:
        return {"clean": True}

    def act_check(self) -> Answer:
        return {"errors": [], "items": len(self.items)}

    def act_contents(self) -> Answer:
        return {"items": self.listed(list(self.items), self.kind.score is not None)}

    def act_keys(self) -> Answer:
        return {"keys": sorted(self.items)}

    def act_contains_one(self, key: bytes) -> Answer:
        return {"in": key in self.items}

    def act_export(self, n: int, values: bool) -> Answer:
        listed = [(key, value if values else None) for key, value in self.listed(list(self.items))]
        return {"items": listed, "no piece is longer than asked for": True}

    def act_export_if(self, first: Any, last: Any, where: Any, score: Any, n: int) -> Answer:
        keys = self.chosen(first, last, where, score)
        return {"items": self.listed(keys, self.kind.score is not None), "no piece is longer than asked for": True}

    def act_size_if(self, first: Any, last: Any, where: Any, score: Any) -> Answer:
        return {"count": len(self.chosen(first, last, where, score))}

    def act_erase_if(self, first: Any, last: Any, where: Any, score: Any) -> Answer:
        keys = self.chosen(first, last, where, score)
        for key in keys:
            del self.items[key]
        return {"count": len(keys)}

    def act_set_step(self, step: int) -> Answer:
        before, self.step = self.step, step
        return {"before": before, "after": step}

    def act_close(self) -> Answer:
        return {"closed": True}

    def act_reopen(self, mode: str = "r+") -> Answer:
        """Closes and opens; the step of a table that was just opened is 0."""
        self.step = 0
        return {"size": len(self.items), "mode": mode}

    def act_snapshot(self) -> Answer:
        """Copies the pool, opens the copy and reads it, and goes on with the original."""
        return {"reported": len(self.items), "items": self.listed(list(self.items), self.kind.score is not None),
                "errors": [], "another pool": True}  # fmt: skip

    def act_fill(self, keys: list[bytes], values: list[bytes]) -> Answer:
        """Inserts more than fits; what was inserted is there, updates go on, and all of it is erased again."""
        return {"statuses": ["inserted", "no_space"], "what was inserted is there": True, "updates go on": True,
                "erased makes room": True, "left": len(self.items)}  # fmt: skip
