"""Single arguments as they are given: each returned as it is meant, or refused with what to give instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import InvalidArgument, InvalidType
from .messages import shown
from .operands import ANY, TableShape

MOST = (1 << 64) - 1
"""The largest whole number that a 64-bit argument takes."""


def whole(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidType(f"{name} is {shown(value)}, of type {type(value).__name__}: give a whole number")
    if not least <= value <= most:
        raise InvalidArgument(f"{name} is {shown(value)}: give {least} to {most:,}")
    return int(value)


def length(name: str, value: Any, most: int, least: int = 0) -> int:
    """Of keys or values: a number of bytes, or the type `bytes` for any."""
    return ANY if value is bytes else whole(name, value, least, most)


def number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidType(f"{name} is {shown(value)}, of type {type(value).__name__}: give a number")
    try:
        return float(value)
    except OverflowError:
        raise InvalidArgument(
            f"{name} is {shown(value)}, more than a floating-point number holds: give a finite number"
        ) from None


def flag(name: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int | np.integer) and value in (0, 1)):
        return bool(value)
    raise InvalidType(f"{name} is {shown(value)}, of type {type(value).__name__}: give True or False")


def text_of(name: str, value: Any, example: str) -> str:
    """A str that can be written in UTF-8."""
    if not isinstance(value, str):
        raise InvalidType(f"{name} is {shown(value)}, of type {type(value).__name__}: give a str, as {example!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} is {shown(value)}, which has surrogates: give text, as {example!r}") from None
    return value


def one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    choice = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
    if not isinstance(value, str):
        raise InvalidType(f"{name} is {shown(value)}, of type {type(value).__name__}: give {choice}")
    if value not in choices:
        raise InvalidArgument(f"{name} is {shown(value)}: give {choice}")
    return value


def pair_of(out: Any) -> tuple[Any, Any]:
    """`out=` of an operation with two results: a pair, or the array for the first alone."""
    if not isinstance(out, tuple):
        return out, None
    if len(out) != 2:
        raise InvalidArgument(f"out has {len(out)} arrays: give one for the first result, or a pair")
    return out


def given_of(name: str, value: Any) -> Any:
    if value is None:
        raise InvalidType(
            f"{name} is None: give an operation for each key, codes of holdfastdb.Op as uint8 or a list of them"
        )
    return value


def word(name: str, value: Any, choices: str, example: str) -> str:
    """One of several words that C++ knows."""
    if not isinstance(value, str):
        raise InvalidType(f"{name} is of type {type(value).__name__}: give {choices}")
    return text_of(name, value, example)


def result_of(result: Any, shape: TableShape, kinds: tuple[str, ...] = ("numpy", "arrow", "device")) -> str:
    """`result=`: how values of any length are given; others come in one way."""
    result = one_of("result", result, kinds)
    if result != "numpy" and not shape.any_length:
        raise InvalidArgument(
            f"result={shown(result)} is for values of any length, and {shape.path} has {shape.value_bytes} bytes"
        )
    return result


def function_of(given: Any, name: str = "progress", of: str = "two numbers") -> Any:
    if given is not None and not callable(given):
        raise InvalidType(f"{name} is of type {type(given).__name__}: give a function of {of}")
    return given


def key_word(key: int) -> int | None:
    """The 8 bytes of a whole number as a key: itself, or key + 2**64 if it is negative. None if it does not fit."""
    return key % (1 << 64) if -(1 << 63) <= key <= MOST else None
