"""The dict that a table must agree with: one operation after another, in array order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from holdfastdb import Op, Status


def combined(combine: str, old: bytes, new: bytes, dtype: np.dtype) -> bytes:
    """What `accumulate` makes of two values; integers wrap."""
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[combine]
    with np.errstate(over="ignore"):
        return function(np.frombuffer(old, dtype), np.frombuffer(new, dtype)).tobytes()


@dataclass
class Answer:
    """What a batch must give: statuses (n,), values (n, value_bytes) with zeroes where nothing is read, found (n,)."""

    statuses: np.ndarray
    values: np.ndarray
    found: np.ndarray


@dataclass
class Model:
    value_bytes: int
    items: dict[int | bytes, bytes] = field(default_factory=dict)

    def one(self, op: Op, key: int | bytes, value: bytes, combine: str, dtype: np.dtype) -> tuple[Status, bytes | None]:
        """Applies one operation; its status, and what it read."""
        old = self.items.get(key)
        if op in (Op.FIND, Op.CONTAINS):
            return (Status.NOT_FOUND if old is None else Status.FOUND), old if op is Op.FIND else None
        if op is Op.ERASE:
            return (Status.ERASED, None) if self.items.pop(key, None) is not None else (Status.NOT_FOUND, None)
        if old is None:
            if op is Op.ASSIGN:
                return Status.NOT_FOUND, None
            self.items[key] = value
            return Status.INSERTED, value if op.reads_value else None
        if op is Op.INSERT:
            return Status.EXISTS, None
        if op is Op.INSERT_AND_FIND:
            return Status.EXISTS, old
        if op is Op.FIND_OR_INSERT:
            return Status.FOUND, old
        self.items[key] = combined(combine, old, value, dtype) if op is Op.ACCUMULATE else value
        return Status.UPDATED, None

    def run(
        self,
        ops: Op | Sequence[int],
        keys: np.ndarray,
        values: np.ndarray | None = None,
        mask: np.ndarray | None = None,
        combine: str = "add",
    ) -> Answer:
        """Applies a batch in array order."""
        n = len(keys)
        dtype = np.dtype(np.uint8) if values is None else values.dtype
        rows = [b""] * n if values is None else [row.tobytes() for row in values]
        answer = Answer(
            np.full(n, Status.NOT_RUN, np.uint8), np.zeros((n, self.value_bytes), np.uint8), np.zeros(n, bool)
        )
        for i in range(n):
            if mask is not None and not mask[i]:
                continue
            op = Op(ops if isinstance(ops, Op) else int(ops[i]))
            key = int(keys[i].astype(np.uint64)) if keys.ndim == 1 else keys[i].tobytes()
            answer.found[i] = key in self.items
            status, read = self.one(op, key, rows[i], combine, dtype)
            answer.statuses[i] = status
            if read is not None and self.value_bytes:
                answer.values[i] = np.frombuffer(read, np.uint8)
        return answer
