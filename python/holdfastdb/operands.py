"""What every batch is checked for: the arrays that it reads and writes, the table that they must fit, the place and the
streams that they share. Each error says what, where and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from . import arrays
from .errors import InvalidArgument, InvalidType
from .libraries import HOST, Library
from .messages import shown
from .status import Op


class _Dlpack(Protocol):
    def __dlpack__(self) -> Any: ...


class _CudaArray(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...


class _HostArray(Protocol):
    @property
    def __array_interface__(self) -> Any: ...


class _ArrowArray(Protocol):
    def __arrow_c_array__(self) -> Any: ...


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self) -> Any: ...


Key: TypeAlias = int | np.integer | bytes | bytearray
"""One key."""
Keys: TypeAlias = (
    Key
    | Sequence[int | np.integer | bytes]
    | np.ndarray
    | tuple[Any, Any]
    | _Dlpack
    | _CudaArray
    | _HostArray
    | _ArrowArray
    | _ArrowStream
)
"""The keys of a batch, as a type checker knows them; `Table` says what they are."""
ANY = (1 << 32) - 1
"""In place of a length: any, up to 65536."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """What a batch must fit."""

    path: str
    key_bytes: int
    value_bytes: int
    device: str
    column: int = 0
    """Where a row's bytes begin in a value."""
    partial: bool = False
    """Rows are a column of the values: `value_bytes` is its size."""

    def column_of(self, start: int, stop: int) -> TableShape:
        """The shape of a column of such values."""
        return replace(self, value_bytes=stop - start, column=start, partial=True)

    @property
    def any_length(self) -> bool:
        """Whether keys and values are byte strings of any length (strings.py), not rows of a fixed one (rows.py)."""
        return self.key_bytes == ANY

    @property
    def host_only(self) -> str:
        """The path if the table takes no GPU memory, else empty."""
        return self.path if self.device == HOST else ""


@dataclass(slots=True)
class Operand:
    """An array that the batch reads or writes. Holds the memory while the batch runs. As keys or values: a row each."""

    name: str
    array: Any
    library: Library

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype_name(self) -> str:
        return self.library.dtype_name(self.array)

    @property
    def place(self) -> str:
        return self.library.place(self.array)

    @property
    def pointer(self) -> int:
        return self.library.pointer(self.array)

    @property
    def bytes(self) -> int:
        return self.shape[0] * self.library.row_bytes(self.array) if self.shape else 0

    @property
    def n(self) -> int:
        return int(self.array.shape[0])

    @property
    def offsets_at(self) -> int:
        """Rows of one length have no offsets."""
        return 0

    @property
    def operands(self) -> list[Operand]:
        return [self]

    def contiguous(self) -> Operand:
        made = self.library.contiguous(self.array)
        return self if made is self.array else Operand(self.name, made, self.library)

    def describe(self) -> str:
        return f"{self.name} is {self.dtype_name} of shape {self.shape}"


def take_bytes(name: str, value: Any, n: int, kinds: tuple[str, ...], wanted: str, shape: TableShape) -> Operand | None:
    """An array of one byte for each key: a mask, or operation codes."""
    if value is None:
        return None
    imported = arrays.import_array(name, value, shape.host_only)
    if imported is None:
        if not isinstance(value, list | tuple):
            raise InvalidType(f"{name} is of type {type(value).__name__}: give {wanted}")
        made = arrays.from_list(name, value)
        imported = arrays._from_numpy(name, made if made.size else made.astype(np.uint8))
    operand = Operand(name, *imported)
    if operand.dtype_name not in kinds:
        raise InvalidType(f"{operand.describe()}: give {wanted}")
    if operand.shape != (n,):
        raise InvalidArgument(f"{operand.describe()}, but there are {n} keys: give {wanted}, of shape ({n},)")
    return operand.contiguous()


def _code_of(op: Any) -> Op:
    asked = op.upper() if isinstance(op, str) else op
    try:
        return Op[asked] if isinstance(op, str) else Op(op)
    except Exception:  # an enumeration shows what it does not know, and that may fail
        raise InvalidArgument(
            f"ops has {shown(asked)}, which is no operation: give members of holdfastdb.Op or their names, as 'insert'"
        ) from None


def take_ops(ops: Any, n: int, shape: TableShape) -> Operand:
    """Operation codes: an array of uint8, or a list of `Op` or of their names."""
    if isinstance(ops, list | tuple):
        ops = np.array([_code_of(op) for op in ops], np.uint8)
    operand = take_bytes(
        "ops", ops, n, ("uint8",), "codes of holdfastdb.Op as uint8, or a list of holdfastdb.Op", shape
    )
    if operand is None:
        raise InvalidType(
            "ops is None: give an operation for each key, codes of holdfastdb.Op as uint8 or a list of them"
        )
    if n and (highest := int(operand.array.max())) > max(Op):
        raise InvalidArgument(f"ops has the code {highest}: give codes of holdfastdb.Op, 0 to {int(max(Op))}")
    return operand


def take_out(name: str, out: Any, n: int, row_bytes: int, kinds: tuple[str, ...] | None, shape: TableShape) -> Operand:
    """An array of the caller's for results: `n` rows, writable, in order."""
    operand = Operand(name, *arrays.import_target(name, out, shape.host_only))
    if kinds is not None and operand.dtype_name not in kinds:
        raise InvalidType(f"{operand.describe()}: give an array of {' or '.join(kinds)}")
    rows = operand.shape[0] if operand.shape else -1
    row = operand.library.row_bytes(operand.array) if operand.shape else 0
    if rows != n or (n and row != row_bytes):
        raise InvalidArgument(f"{operand.describe()}, {row} bytes a row: give {n} rows of {row_bytes} bytes")
    if not operand.library.writable(operand.array):
        raise InvalidArgument(
            f"{name} is read-only (or a tensor that requires grad): give an array that can be written"
        )
    if not operand.library.is_contiguous(operand.array):
        raise InvalidArgument(
            f"{name} is not contiguous, so results cannot be written into it: give a contiguous array"
        )
    return operand


def one_place(operands: list[Operand], shape: TableShape) -> str:
    """Where all of them are, which must be where the table takes them."""
    first = operands[0]
    place = first.place
    for operand in operands[1:]:
        if operand.place != place:
            raise InvalidArgument(
                f"{operand.name} is on {operand.place}, but {first.name} is on {place}: give all arrays of a call in "
                "one place"
            )
    if place not in (HOST, shape.device):
        if shape.device == HOST:
            raise InvalidArgument(arrays.not_on_host(first.name, place, shape.path))
        raise InvalidArgument(
            f"{first.name} is on {place}, but {shape.path} is on {shape.device}: copy the arrays there, or open "
            f'the table with device="{place}"'
        )
    return place


def no_overlap(written: list[Operand], read: list[Operand]) -> None:
    """Refuses an array of the caller's for results that shares memory with another array of the batch."""
    others = [(other, other.pointer, other.pointer + other.bytes) for other in read] if written else []
    for target in written:
        begin = target.pointer
        end = begin + target.bytes
        for other, other_begin, other_end in others:
            if begin < other_end and other_begin < end:
                raise InvalidArgument(
                    f"{target.name} overlaps {other.name} in memory: give a separate array for results"
                )
        others.append((target, begin, end))


def streams_of(stream: Any, operands: list[Operand], place: str, shape: TableShape) -> tuple[int, list[int]]:
    """The stream that the batch runs on, and the other current streams of the arrays' libraries."""
    if shape.device == HOST:
        if stream is not None:
            raise InvalidArgument(
                f"stream= is for tables on a GPU, and {shape.path} is worked on by the cpu: leave it out"
            )
        return 0, []
    if place == HOST:
        return (0 if stream is None else arrays.stream_handle(stream)), []
    current = list(dict.fromkeys(operand.library.stream(place) for operand in operands))
    chosen = current[0] if stream is None else arrays.stream_handle(stream)
    return chosen, [other for other in current if other != chosen]
