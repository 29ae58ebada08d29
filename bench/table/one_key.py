"""Python's calls with one key: a loop over a table in cache. C++'s are the study `one-key` of bench/dramhit."""

import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import holdfastdb as hf
from bench.frame import code, options, text, timing
from bench.frame.results import Json
from bench.frame.running import WrongAnswer, running
from bench.table.targets import pool_folder

AnyTable = hf.Table | hf.MemoryTable
ITEMS = 16384
"""Of a table whose lines all fit into a cache."""


def _put(table: AnyTable, keys: Iterable[Any], value: bytes) -> None:
    for key in keys:
        table[key] = value


def _get(table: AnyTable, keys: Iterable[Any], value: bytes) -> None:
    for key in keys:
        if table[key] != value:
            raise WrongAnswer(f"key {key!r} has another value")


def _contains(table: AnyTable, keys: Iterable[Any], _: bytes) -> None:
    for key in keys:
        if key not in table:
            raise WrongAnswer(f"key {key!r} is not there")


def _erase(table: AnyTable, keys: Iterable[Any], _: bytes) -> None:
    for key in keys:
        del table[key]


CALLS: list[tuple[str, Callable[[AnyTable, Iterable[Any], bytes], None]]] = [
    ("put_new_us", _put),
    ("put_us", _put),
    ("get_us", _get),
    ("contains_us", _contains),
    ("erase_us", _erase),
]
"""In this order on a table that is empty before and after; the loop around the calls counts."""


def measure(table: AnyTable, keys: list[Any], value: bytes, repetitions: int) -> Json:
    """Microseconds a call, after a repetition that warms up."""
    times: dict[str, list[float]] = {name: [] for name, _ in CALLS}
    for repetition in range(repetitions + 1):
        for name, calls in CALLS:
            begun = time.perf_counter()
            calls(table, keys, value)
            if repetition > 0:
                times[name].append(1e6 * (time.perf_counter() - begun) / len(keys))
    return {name: timing.spread(values) for name, values in times.items()}


def tables(folder: Path) -> dict[str, tuple[AnyTable, list[Any], bytes]]:
    """By name: a table, its keys in another order than they would be made, and a value."""
    numbers = list(range(1, ITEMS + 1))
    random.Random(1).shuffle(numbers)
    words = [f"key {number}".encode() for number in numbers]
    size: dict[str, Any] = {"capacity": 2 * ITEMS}
    made: dict[str, AnyTable] = {
        "table": hf.Table.create(folder / "numbers.hold", value=8, device="cpu", **size),
        "cells": hf.Table.create(folder / "cells.hold", value=128, device="cpu", **size),
        "pairs": hf.Table.create(folder / "pairs.hold", key=bytes, value=bytes, device="cpu", **size),
        "memory": hf.MemoryTable(value=8, **size),
    }
    long = {"cells": 128, "pairs": 100}
    return {name: (table, words if name == "pairs" else numbers, bytes(range(long.get(name, 8))))
            for name, table in made.items()}  # fmt: skip


def python_keys(
    repeat: options.Repetitions = 7,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """One key a call from Python: a table in cache, one caller; keys and values of 8 bytes, cells of 128, pairs."""
    repetitions = 1 if quick else repeat
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        got: Json = {}
        for name, (table, keys, value) in tables(folder).items():
            progress(name)
            got[name] = measure(table, keys, value, repetitions)
        rows = [(name, *(text.figure(figures[call], 2) for call, _ in CALLS)) for name, figures in got.items()]
        text.print_rows(console, "µs a call", ("", *(call.removesuffix("_us") for call, _ in CALLS)), rows)
        parameters = {"items": ITEMS, "repetitions": repetitions}
        options.finish(console, "python-keys", parameters, got, json_file, save, (*code.CPU, "python/native"))


COMMANDS: dict[str, Callable[..., None]] = {"python-keys": python_keys}
SUITE: list[tuple[str, dict[str, Any]]] = [("python-keys", {})]
