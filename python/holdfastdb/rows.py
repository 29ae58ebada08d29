"""Keys and values of fixed length, as rows of arrays: every form in which a caller may give them, checked against the
table, and the shape of the rows that come back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays
from .arrays import frames
from .checked import key_word
from .errors import InvalidArgument, InvalidType, NoSpace
from .libraries import HOST, NUMPY, Library
from .messages import shown
from .operands import Operand, TableShape

ELEMENTS = {"int32": 0, "uint32": 1, "int64": 2, "uint64": 3, "float32": 4, "float64": 5,
            "float16": 6, "bfloat16": 7}  # fmt: skip


def _is_record(array: Any, size: int) -> bool:
    """Whether an array is NumPy's, of records of so many bytes."""
    return isinstance(array, np.ndarray) and array.dtype.names is not None and array.dtype.itemsize == size


def _keys_from_list(values: list[Any]) -> np.ndarray:
    if values and all(isinstance(v, bytes) and len(v) == 8 for v in values):
        return np.frombuffer(b"".join(values), np.uint64).copy()
    words = np.empty(len(values), np.uint64)
    for position, value in enumerate(values):
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            if frames.is_null(value):
                frames.refuse_null(f"keys[{position}]")
            raise InvalidType(
                f"keys[{position}] is {shown(value)}, of type {type(value).__name__}: give whole numbers from "
                "-2**63 to 2**64 - 1, or an array of uint64 or int64"
            )
        word = key_word(int(value))
        if word is None:
            raise InvalidArgument(
                f"keys[{position}] is {shown(value)}, which does not fit into 8 bytes: give whole numbers from -2**63 "
                "to 2**64 - 1"
            )
        words[position] = word
    return words


def _wide_keys_from_list(values: list[Any], size: int) -> np.ndarray:
    for position, value in enumerate(values):
        if not isinstance(value, bytes | bytearray):
            if frames.is_null(value):
                frames.refuse_null(f"keys[{position}]")
            raise InvalidType(
                f"keys[{position}] is {shown(value)}, of type {type(value).__name__}: give bytes, {size} of them, or "
                f"an array of shape (n, {size}) of uint8"
            )
        if len(value) != size:
            raise InvalidArgument(
                f"keys[{position}] is {len(value)} bytes, and the table's keys have {size}: pad or hash it"
            )
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), size).copy()


def _listed(keys: Any) -> list[Any]:
    try:
        return list(keys)
    except (OverflowError, MemoryError):
        raise NoSpace(f"keys is {shown(keys)}, of more keys than fit into memory: give fewer at a time") from None


def take_keys(keys: Any, shape: TableShape) -> Operand:
    """The keys as contiguous words."""
    imported = arrays.import_array("keys", keys, shape.host_only)
    if imported is None:
        wide = shape.key_bytes > 8
        if isinstance(keys, int | np.integer) or (wide and isinstance(keys, bytes | bytearray)):
            keys = [keys]
        if not isinstance(keys, list | tuple | range):
            kinds = "uint8, a list of bytes, or bytes" if wide else "uint64 or int64, a list, or an int"
            raise InvalidType(f"keys is of type {type(keys).__name__}: give an array of {kinds}")
        listed = _listed(keys)
        made = _wide_keys_from_list(listed, shape.key_bytes) if wide else _keys_from_list(listed)
        imported = made, NUMPY
    operand = Operand("keys", *imported)
    size = shape.key_bytes
    numbers = ("uint64", "int64") if size == 8 else ()
    if operand.shape == () and operand.dtype_name in (*numbers, f"bytes{size}"):
        operand = Operand("keys", operand.array.reshape(1), operand.library)
    words = len(operand.shape) == 1 and (
        operand.dtype_name in (*numbers, f"bytes{size}") or _is_record(operand.array, size)
    )
    raw = len(operand.shape) == 2 and operand.shape[1] == size and operand.dtype_name == "uint8"
    if not words and not raw:
        if isinstance(operand.array, np.ndarray):
            frames.refuse_missing("keys", operand.array)
        kind = InvalidArgument if operand.dtype_name in ("uint64", "int64", "uint8") else InvalidType
        one = "uint64 or int64 (astype converts)" if size == 8 else f"dtype V{size} or S{size}"
        raise kind(
            f"{operand.describe()}, but {shape.path} has keys of {size} bytes: give an array of shape (n,) of {one}, "
            f"or of shape (n, {size}) of uint8"
        )
    operand = operand.contiguous()
    if operand.place == HOST and operand.pointer % 8 != 0:  # a view into bytes may begin anywhere
        copy = operand.array.clone() if operand.library.name == "torch" else operand.array.copy()
        operand = Operand("keys", copy, operand.library)
    return operand


def _values_from_plain(values: Any, shape: TableShape) -> np.ndarray:
    size = shape.value_bytes
    if isinstance(values, bytes | bytearray | memoryview):
        data = bytes(values)
        if size == 0 or len(data) % size:
            raise InvalidArgument(
                f"values is {len(data)} bytes, but {shape.path} has values of {size} bytes: "
                f"give {size} bytes a key, padded as you like"
            )
        return np.frombuffer(data, np.uint8).reshape(-1, size)
    if isinstance(values, list | tuple) and values and all(isinstance(v, bytes | bytearray) for v in values):
        for position, value in enumerate(values):
            if len(value) != size:
                raise InvalidArgument(
                    f"values[{position}] is {len(value)} bytes, but {shape.path} has values of {size} "
                    f"bytes: give {size} bytes a key, padded as you like"
                )
        return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), size)
    if not isinstance(values, list | tuple | int | float | np.generic):
        raise InvalidType(
            f"values is of type {type(values).__name__}: give an array with {size} bytes a row, a list of "
            "numbers, or bytes"
        )
    made = arrays.from_list("values", values)
    return made.reshape(1) if made.ndim == 0 else made


def take_values(values: Any, n: int, op_name: str, shape: TableShape) -> Operand | None:
    """The values as `n` contiguous rows of the table's size; None for a set, whose values have no bytes."""
    size = shape.value_bytes
    if values is None:
        if size == 0:
            return None
        raise InvalidType(
            f"{op_name} takes a value for each key, and {shape.path} has values of {size} bytes: give an "
            f"array with {n} rows of {size} bytes"
        )
    imported = arrays.import_array("values", values, shape.host_only)
    operand = Operand("values", *(imported or arrays._from_numpy("values", _values_from_plain(values, shape))))
    if operand.shape == ():
        operand = Operand("values", operand.array.reshape(1), operand.library)
    if operand.shape[0] != n:
        raise InvalidArgument(f"values has {operand.shape[0]} rows, but keys has {n}: give one value for each key")
    row = operand.library.row_bytes(operand.array)
    if row != size and not (n == 0 and 0 in operand.shape[1:]):
        raise InvalidArgument(
            f"{operand.describe()}, {row} bytes a row, but {shape.path} has values of {size} bytes: give rows of "
            f"{size} bytes, for example {_example_rows(size)}"
        )
    return operand.contiguous()


def _example_rows(size: int) -> str:
    if size == 0:
        return "none: values=None"
    return f"shape (n, {size // 4}) of float32" if size % 4 == 0 else f"shape (n, {size}) of uint8"


def result_rows(library: Library, n: int, dtype: Any, values: Operand | None, size: int) -> tuple[tuple[int, ...], Any]:
    """The shape and element type of `n` result values: as `dtype` says, else as the values given, else bytes."""
    if dtype is None:
        if values is not None and values.library.name == library.name:
            return values.shape, values.array.dtype
        return (n, size), library.dtype("uint8")[0]
    made, itemsize = library.dtype(dtype)
    if itemsize == 0 or size % itemsize or (size == 0 and itemsize > 1):
        raise InvalidArgument(
            f"dtype is {dtype}, of {itemsize} bytes, which does not divide a value of {size} bytes: give one that does"
        )
    return ((n,) if itemsize == size else (n, size // itemsize)), made


def element_of(values: Operand | None, shape: TableShape) -> int:
    """The code of the elements that accumulate combines."""
    if values is not None and values.dtype_name in ELEMENTS:
        return ELEMENTS[values.dtype_name]
    if shape.value_bytes == 0:
        return ELEMENTS["uint32"]  # of no bytes; nothing is combined
    kind = "None" if values is None else values.dtype_name
    raise InvalidType(f"values is {kind}, which accumulate cannot combine: give an array of {', '.join(ELEMENTS)}")
