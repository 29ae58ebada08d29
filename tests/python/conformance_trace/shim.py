"""The one file that names the package, its classes and its methods: the trace's calls as those of today's interface.

Who renames an interface changes this file; the recorded answers stay. Answers are plain values: bytes, numbers, lists
(steps.Answer).
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import Machine, has_torch, matrix, odd_key, odd_value, packed, split
from .steps import STATUSES, Act, Answer, Batch, Step, Wrong
from .tables import Kind

PACKAGE = next(importlib.import_module(name) for name in ("holdfastdb", "holdfast") if importlib.util.find_spec(name))
STATUS_CODES = np.full(256, 255, np.uint8)
for _status in PACKAGE.Status:
    STATUS_CODES[int(_status)] = STATUSES.index(_status.name.lower())

GPU_OPTIONS = ("bucket_cache", "value_cache", "cache_policy")


def machines() -> list[Machine]:
    """Those that are present."""
    if PACKAGE.cuda_devices()[0] == 0:
        return [Machine("cpu")]
    return [Machine("cpu"), Machine("cuda"), *([Machine("cuda", "torch")] if has_torch() else [])]


def able(kind: Kind, machine: Machine) -> bool:
    """Whether a machine can be given the arrays of that kind: bfloat16 is PyTorch's."""
    return kind.element != "bfloat16" or has_torch()


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    """Options of the trace as those of the package."""
    gpu = {name: value for name, value in given.items() if name in GPU_OPTIONS}
    others = {name: value for name, value in given.items() if name not in GPU_OPTIONS}
    return others | ({"gpu": PACKAGE.Gpu(**gpu)} if gpu else {})


def create(path: Path, kind: Kind, device: str) -> Any:
    levels, locations, slots = kind.shape
    sizes = (bytes, bytes) if kind.any_length else (kind.key, kind.value)
    options = {"capacity": 64, "seed": 1, "score": kind.score, **options_of(kind.options)}
    return PACKAGE.Table.create(
        path, *sizes, device=device, levels=levels, hash_locations=locations, slots=slots, **options
    )


def open_table(path: Path, kind: Kind, device: str, mode: str = "r+") -> Any:
    of_creation = ("capacity", "max_bytes")
    options = {name: value for name, value in options_of(kind.options).items() if name not in of_creation}
    if mode == "r":
        device = "cpu"  # a GPU takes no read-only pool
    return PACKAGE.Table.open(path, device=device, mode=mode, **options)


def message_of(error: Exception, folder: Path) -> str:
    """The class, Python's own class that it also is, and the message without what changes from run to run."""
    if not isinstance(error, PACKAGE.Error):
        return f"not an error of the package: {error!r}"
    builtin = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"]
    text = str(error).replace(str(folder), "<folder>")
    text = re.sub(r"process \d+ \(.*?, since \d\d:\d\d\)", "process <id>", text)
    text = re.sub(r"\.tmp-\d+-\d+", ".tmp", text)
    text = re.sub(r"\bholdfast(db)?\.(?=[A-Za-z])", "<package>.", text)
    return f"{type(error).__name__} ({builtin[0]}): {text}"


@dataclass
class Table:
    """A table as programs see it."""

    kind: Kind
    machine: Machine
    folder: Path
    table: Any = None
    windows: dict[int, tuple[int, int]] = field(default_factory=dict)
    """When each step ran, in nanoseconds since 1970: scores of time are said as the number of their step."""

    def __post_init__(self) -> None:
        self.path = self.folder / f"{self.kind.name}.hold"
        self.table = create(self.path, self.kind, self.machine.device)

    def answer(self, serial: int, step: Step) -> Answer:
        """Does a step, and returns what came of it."""
        before = time.time_ns()
        try:
            if isinstance(step, Wrong):
                return self.wrong(step)
            return getattr(self, f"act_{step.name}")(**step.given) if isinstance(step, Act) else self.batch(step)
        finally:
            self.windows[serial] = before, time.time_ns()

    def close(self) -> None:
        self.table.close()

    def wrong(self, step: Wrong) -> Answer:
        call = getattr(self, step.call, None) or getattr(self.table, step.call)
        try:
            call(*step.args, **step.options)
        except Exception as error:
            return {"error": message_of(error, self.folder)}
        return {"error": "none"}

    def create_another(self, name: str, **options: Any) -> None:
        PACKAGE.Table.create(self.folder / name, **options_of(options)).close()

    def open_another(self, name: str, **options: Any) -> None:
        PACKAGE.Table.open(self.folder / name, **options).close()

    def inspect_file(self, name: str) -> None:
        PACKAGE.inspect(self.folder / name)

    def pickle(self) -> None:
        self.table.__reduce_ex__(4)

    def use_column(self, start: Any, stop: Any, op: str = "find", *args: Any, **options: Any) -> None:
        getattr(self.table.column(start, stop), op)(*args, **options)

    # Batches.

    def put(self, array: np.ndarray) -> Any:
        return self.machine.tensor(array) if self.kind.element == "bfloat16" else self.machine.put(array)

    def keys_as(self, keys: list[bytes], form: str) -> Any:
        """rows: uint8 (n, size); words: uint64; signed: int64; list: numbers or bytes; packed: bytes and offsets. A
        list lies in host memory, as NumPy's arrays do."""
        form = "rows" if form == "list" and self.machine.library != "numpy" else form
        if self.kind.any_length:
            return keys if form == "list" else tuple(map(self.put, packed(keys)))
        if form == "list":
            return keys if self.kind.key != 8 else [int.from_bytes(key, "little") for key in keys]
        rows = matrix(keys, int(self.kind.key or 0))
        kinds = {"words": np.uint64, "signed": np.int64}
        return self.put(rows.view(kinds[form]).reshape(-1) if form in kinds else rows)

    def values_as(self, batch: Batch) -> Any:
        if batch.values is None:
            return None
        if self.kind.any_length:
            listed = batch.form == "list" and self.machine.library == "numpy"
            return batch.values if listed else tuple(map(self.put, packed(batch.values)))
        rows = matrix(batch.values, len(batch.values[0]) if batch.values else self.width(batch))
        if batch.element is None:
            return self.put(rows)
        if batch.element == "bfloat16":
            import torch

            return self.put(rows.view(np.int16)).view(torch.bfloat16)
        return self.put(rows.view(batch.element))

    def width(self, batch: Batch) -> int:
        return batch.column[1] - batch.column[0] if batch.column else self.kind.value

    def batch(self, batch: Batch) -> Answer:
        keys, values = self.keys_as(batch.keys, batch.form), self.values_as(batch)
        options: dict[str, Any] = {"unique": True} if batch.unique else {}
        if batch.mask is not None:
            options["mask"] = self.put(np.frombuffer(batch.mask, bool).copy())
        target = self.table.column(*batch.column) if batch.column else self.table
        n = len(batch.keys)
        if batch.op == "scores":
            scores, found = target.scores(keys, **options)
            return {
                "scores": self.steps_of(self.machine.get(scores).view(np.uint64).tolist()),
                "found": self.marks(found),
            }
        if batch.op == "apply":
            codes = np.array([int(PACKAGE.Op[op.upper()]) for op in batch.ops or []], np.uint8)
            statuses, rows = target.apply(self.put(codes), keys, values, combine=batch.combine, **options)
            return {"statuses": self.statuses(statuses), "values": self.rows(rows, n)}
        return self.plain(target, batch, keys, values, options)

    def plain(self, target: Any, batch: Batch, keys: Any, values: Any, options: dict[str, Any]) -> Answer:
        n = len(batch.keys)
        if batch.op == "find":
            got = target.find(keys, missing=batch.missing, **options)
            missing = {"missing": self.machine.get(got[2]).tolist()} if batch.missing else {}
            return {"values": self.rows(got[0], n), "found": self.marks(got[1]), **missing}
        if batch.op == "contains":
            return {"found": self.marks(target.contains(keys, **options))}
        if batch.op == "erase":
            return {"statuses": self.statuses(target.erase(keys, **options))}
        if batch.op == "accumulate":
            return {
                "statuses": self.statuses(
                    target.accumulate(keys, values, op=batch.combine, scale=batch.scale, **options)
                )
            }
        if batch.init is not None:
            options |= {"init": batch.init, "dtype": batch.element}
        got = getattr(target, batch.op)(keys, values, **options)
        if batch.op == "find_or_insert":
            return {"values": self.rows(got[0], n), "found": self.marks(got[1])}
        if batch.op == "insert_and_find":
            return {"values": self.rows(got[0], n), "statuses": self.statuses(got[1])}
        return {"statuses": self.statuses(got)}

    def statuses(self, got: Any) -> bytes:
        array = self.machine.get(got)
        assert array.dtype == np.uint8
        return STATUS_CODES[array].tobytes()

    def marks(self, got: Any) -> bytes:
        array = self.machine.get(got)
        assert array.dtype == bool
        return array.tobytes()

    def rows(self, got: Any, n: int) -> list[bytes | None]:
        if self.kind.any_length:
            return got.tolist()
        return split(self.machine.get(got), n)

    def steps_of(self, scores: list[int]) -> list[int]:
        """Scores as the trace says them."""
        if self.kind.score != "time":
            return scores
        times = sorted((before, after, serial) for serial, (before, after) in self.windows.items())
        starts = np.array([before for before, _, _ in times])
        said = []
        for score in scores:
            before, after, serial = times[int(np.searchsorted(starts, score, "right")) - 1]
            said.append(0 if score == 0 else serial if before <= score <= after else -1)
        return said

    # All of the table.

    def key(self, key: Any) -> bytes:
        return bytes(key) if isinstance(key, bytes) else int(key).to_bytes(8, "little")

    def listed(self, keys: Any, values: Any, scores: Any = None) -> list[tuple]:
        """Exported arrays as the trace has items, in no order."""
        n = len(keys)
        names = keys.tolist() if keys.ndim == 1 else [row.tobytes() for row in keys]
        rows = [None] * n if values is None else values.tolist() if self.kind.any_length else self.rows(values, n)
        marks = [] if scores is None else [self.steps_of(scores.tolist())]
        return list(zip(map(self.key, names), rows, *marks, strict=True))

    def pieces(self, call: Any, n: int, scores: bool, options: dict[str, Any]) -> Answer:
        items: list[tuple] = []
        cursor, fits = 0, True
        while cursor is not None:
            *part, cursor = call(n=n, cursor=cursor, **options, **({"scores": True} if scores else {}))
            fits &= len(part[0]) <= n
            items += self.listed(*part)
        return {"items": sorted(items), "no piece is longer than asked for": fits}

    def selection(self, first: Any, last: Any, where: str | None, score: Any) -> dict[str, Any]:
        options: dict[str, Any] = {"first": first, "last": last}
        if where is not None:
            options["where"] = odd_key if where == "odd key" else odd_value
        if score is not None:
            low, high = score
            if self.kind.score == "time":
                low, high = (None if at is None else self.windows[at][side] for side, at in enumerate((low, high)))
            options["score"] = low, high
        return options

    def act_size(self) -> Answer:
        size = self.table.size()
        load = abs(self.table.load_factor - size / self.table.capacity) < 1e-9
        return {"size": size, "len": len(self.table), "load is size over capacity": load}

    def act_describe(self) -> Answer:
        table = self.table
        sizes = {"key": table.key_bytes, "value": table.value_bytes, "any length": table.any_length}
        return {**sizes, "score": table.score, "closed": table.closed, "mode": table.mode}

    def act_clear(self) -> Answer:
        self.table.clear()
        return {}

    def act_reserve(self, items: int) -> Answer:
        self.table.reserve(items)
        return self.act_grown(items)

    def act_grown(self, items: int) -> Answer:
        return {"room": self.table.capacity >= items}

    def act_sync(self) -> Answer:
        self.table.sync()
        return {"clean": PACKAGE.inspect(self.path).objects[0].clean}

    def act_check(self) -> Answer:
        report = self.table.check()
        return {"errors": list(report.errors), "items": report.items}

    def act_contents(self) -> Answer:
        scores = self.kind.score is not None
        items = [
            (self.key(key), value, *score)
            for key, value, *score in self.table.items(**({"scores": True} if scores else {}))
        ]
        if scores:
            marks = self.steps_of([item[2] for item in items])
            items = [(key, value, mark) for (key, value, _), mark in zip(items, marks, strict=True)]
        return {"items": sorted(items)}

    def act_keys(self) -> Answer:
        return {"keys": sorted(map(self.key, self.table))}

    def act_contains_one(self, key: bytes) -> Answer:
        return {"in": (int.from_bytes(key, "little") if self.kind.key == 8 else key) in self.table}

    def act_export(self, n: int, values: bool) -> Answer:
        return self.pieces(self.table.export_batch, n, False, {"values": values})

    def act_export_if(self, first: Any, last: Any, where: Any, score: Any, n: int) -> Answer:
        scores = self.kind.score is not None
        return self.pieces(self.table.export_if, n, scores, self.selection(first, last, where, score))

    def act_size_if(self, **given: Any) -> Answer:
        return {"count": self.table.size_if(**self.selection(**given))}

    def act_erase_if(self, **given: Any) -> Answer:
        return {"count": self.table.erase_if(**self.selection(**given))}

    def act_set_step(self, step: int) -> Answer:
        before, self.table.step = self.table.step, step
        return {"before": before, "after": self.table.step}

    def act_close(self) -> Answer:
        self.table.close()
        return {"closed": self.table.closed}

    def act_reopen(self, mode: str = "r+") -> Answer:
        self.table.close()
        self.table = open_table(self.path, self.kind, self.machine.device, mode)
        return {"size": len(self.table), "mode": self.table.mode}

    def act_snapshot(self) -> Answer:
        copy = self.folder / "copy.hold"
        report = self.table.snapshot(copy, overwrite=True)
        original, self.table = self.table, open_table(copy, self.kind, self.machine.device)
        try:
            answer = {"reported": report.items, **self.act_contents(), "errors": self.act_check()["errors"]}
        finally:
            self.table.close()
            self.table = original
        return {**answer, "another pool": PACKAGE.inspect(copy).pool_id != PACKAGE.inspect(self.path).pool_id}

    def act_fill(self, keys: list[bytes], values: list[bytes]) -> Answer:
        codes = self.batch(Batch("insert", keys, values))["statuses"]
        fitted = [row for row in range(len(keys)) if codes[row] == 0]
        there = self.batch(Batch("contains", keys))["found"]
        some, others = [keys[row] for row in fitted], [keys[row] for row in range(len(keys)) if codes[row] != 0]
        updated = self.batch(Batch("assign", some[:8], [values[0]] * 8))["statuses"]
        self.batch(Batch("erase", some[:50]))
        again = self.batch(Batch("insert", others[:20], [values[0]] * 20))["statuses"]
        self.batch(Batch("erase", keys))
        return {"statuses": sorted(STATUSES[code] for code in set(codes)),
                "what was inserted is there": there == bytes(code == 0 for code in codes),
                "updates go on": set(updated) == {STATUSES.index("updated")}, "erased makes room": set(again) == {0},
                "left": len(self.table)}  # fmt: skip
