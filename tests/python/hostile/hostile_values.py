"""Hostile and merely unusual values, by name, each made anew: what `scripts/hostile` gives to every parameter."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import io
import itertools
import pathlib
import types
import uuid
import warnings
from collections import Counter, OrderedDict, UserList, deque
from collections.abc import Callable
from typing import Any

import numpy as np

import holdfastdb as hf

Made = Callable[[], Any]


class Mischief(Exception):
    """What a hostile object raises when it is asked for something."""


def _mischief(*_: Any, **__: Any) -> Any:
    raise Mischief("hostile")


def _raising(*names: str) -> Any:
    """An object whose methods of these names raise."""
    return type("Raising", (), dict.fromkeys(names, _mischief))()


def _having(**attributes: Any) -> Any:
    return type("Having", (), attributes)()


class _Bytes(bytes):
    pass


class _Text(str):
    __slots__ = ()


class _Number(int):
    def __index__(self) -> int:
        raise Mischief("hostile")


class _List(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 2**40


class _Array(np.ndarray):
    pass


class _Level(enum.IntEnum):
    ONE = 1


def _nested(levels: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


def _in_itself() -> list[Any]:
    made: list[Any] = [1]
    made.append(made)
    return made


LONG = 10**5000
WORDS = np.arange(4, dtype=np.uint64)

PLAIN: dict[str, Made] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    **{f"{number}": (lambda number=number: number) for number in (0, 1, -1, 2, 3, 7, 9, 64, 255, 65537)},
    **{f"2**{power}": (lambda power=power: 2**power) for power in (31, 32, 40, 53, 62, 63, 64, 100)},
    **{f"-2**{power}": (lambda power=power: -(2**power)) for power in (31, 63, 64)},
    "2**64-1": lambda: 2**64 - 1,
    "-2**63-1": lambda: -(2**63) - 1,
    "5,000 digits": lambda: LONG,
    "-5,000 digits": lambda: -LONG,
    **{f"{number}": (lambda number=number: number) for number in (0.0, -0.5, 1.5, 1e300, float("nan"), float("inf"))},
    "-inf": lambda: -float("inf"),
    "complex": lambda: 1j,
    "Decimal": lambda: decimal.Decimal("1.5"),
    "Fraction": lambda: fractions.Fraction(8, 1),
    "date": lambda: datetime.datetime(2026, 1, 1),
    "UUID": lambda: uuid.UUID(int=7),
    "IntEnum": lambda: _Level.ONE,
    "Op": lambda: hf.Op.INSERT,
    "int subclass": lambda: _Number(8),
}
TEXTS: dict[str, Made] = {
    "empty text": lambda: "",
    "text": lambda: "abc",
    "digit": lambda: "8",
    "zero byte": lambda: "a\0b",
    "lone surrogate": lambda: "a\ud800",
    "escaped byte": lambda: "a\udcff",
    "long text": lambda: "x" * 70_000,
    "emoji": lambda: "\U0001f600é",
    "format": lambda: "%s%n{}{0}",
    "new line": lambda: "a\nb\x1b[0m",
    "colons": lambda: "a:b:c",
    "folder up": lambda: "../x",
    "no folder": lambda: "no/such/folder/x",
    "a folder": lambda: ".",
    "text subclass": lambda: _Text("abc"),
    "empty bytes": lambda: b"",
    "bytes": lambda: b"abc",
    "8 bytes": lambda: b"\xff" * 8,
    "16 bytes": lambda: b"a" * 16,
    "many bytes": lambda: b"x" * 70_000,
    "bytearray": lambda: bytearray(b"abcdefgh"),
    "memoryview": lambda: memoryview(b"abcdefgh"),
    "strided memoryview": lambda: memoryview(bytes(64))[::2],
    "bytes subclass": lambda: _Bytes(b"abcdefgh"),
    "path": lambda: pathlib.Path("x.hold"),
    "path with a zero byte": lambda: pathlib.Path("a\0b"),
    "path with a surrogate": lambda: pathlib.Path("a\ud800"),
    "long path": lambda: pathlib.Path("x" * 5000),
}
CONTAINERS: dict[str, Made] = {
    "()": lambda: (),
    "(1,)": lambda: (1,),
    "(1, 2)": lambda: (1, 2),
    "(None, None)": lambda: (None, None),
    "(1, 2, 3)": lambda: (1, 2, 3),
    "[]": list,
    "[1]": lambda: [1],
    "mixed list": lambda: [1, "a", None, 2.5],
    "list of text": lambda: ["a", "b", "a", "b"],
    "list of surrogates": lambda: ["\ud800"] * 4,
    "list of bytes": lambda: [b"a" * 8] * 4,
    "list of None": lambda: [None] * 4,
    "ragged list": lambda: [[1], [1, 2], [], [1]],
    "list of a long int": lambda: [LONG, 1, 2, 3],
    "list of negatives": lambda: [-1, -2, -3, -4],
    "list of floats": lambda: [1.0, float("nan"), float("inf"), 2.0],
    "list of scalars": lambda: [np.uint64(1), np.int8(-1), np.float32(1), np.bool_(True)],
    "list of arrays": lambda: [WORDS, WORDS, WORDS, WORDS],
    "list of objects": lambda: [object(), _raising("__repr__"), 1, 2],
    "list of its own length": lambda: _List([1, 2]),
    "2,000 levels": lambda: _nested(2000),
    "40 levels": lambda: _nested(40),
    "in itself": _in_itself,
    "{}": dict,
    "dict": lambda: {"a": 1, 2: None},
    "OrderedDict": lambda: OrderedDict(a=1),
    "Counter": lambda: Counter("aab"),
    "set": lambda: {1, 2, 3, 4},
    "frozenset": lambda: frozenset({1}),
    "deque": lambda: deque([1, 2, 3, 4]),
    "UserList": lambda: UserList([1, 2, 3, 4]),
    "range(4)": lambda: range(4),
    "range(2**70)": lambda: range(2**70),
    "generator": lambda: (number for number in range(4)),
    "iterator": lambda: iter([1, 2, 3, 4]),
    "map": lambda: map(str, range(4)),
    "raising generator": lambda: (_mischief() for _ in range(4)),
    "zip": lambda: zip([1, 2], [3, 4], strict=True),
    "chain": lambda: itertools.chain([1, 2], [3, 4]),
    "slice": lambda: slice(0, 4, 2),
}
OBJECTS: dict[str, Made] = {
    "object": object,
    "int": lambda: int,
    "bytes type": lambda: bytes,
    "ndarray type": lambda: np.ndarray,
    "Table type": lambda: hf.Table,
    "function": lambda: lambda *_, **__: None,
    "function of a list": lambda: lambda *_, **__: [1, 2],
    "raising function": lambda: _mischief,
    "exception": lambda: ValueError("x"),
    "module": lambda: types.ModuleType("x"),
    "file": lambda: io.BytesIO(b"abc"),
    "status": lambda: hf.Status.FOUND,
    "Gpu": lambda: hf.Gpu(memory=-1),
    "initial": lambda: hf.initial.Uniform(-1, 1),
    "raises at all": lambda: _raising(
        "__index__", "__int__", "__float__", "__len__", "__iter__", "__bool__", "__eq__", "__fspath__", "__array__",
        "__repr__", "__str__", "__getitem__", "__hash__",
    ),
    "raises in __array__": lambda: _raising("__array__"),
    "raises in __dlpack__": lambda: _having(__dlpack_device__=lambda _: (1, 0), __dlpack__=_mischief),
    "raises in __dlpack_device__": lambda: _raising("__dlpack_device__"),
    "unknown device": lambda: _having(__dlpack_device__=lambda _: (99, 0), __dlpack__=_mischief),
    "odd device": lambda: _having(__dlpack_device__=lambda _: "cpu", __dlpack__=_mischief),
    "array interface of text": lambda: _having(__array_interface__="x"),
    "cuda interface of text": lambda: _having(__cuda_array_interface__="x"),
    "__array__ of a list": lambda: _having(__array__=lambda *_, **__: [1, 2]),
    "path of a number": lambda: _having(__fspath__=lambda _: 5),
    "path that raises": lambda: _raising("__fspath__"),
    "attributes that raise": lambda: _having(__getattr__=_mischief),
    "no truth": lambda: _raising("__bool__"),
    "no equality": lambda: _raising("__eq__"),
    "no repr": lambda: _raising("__repr__"),
}  # fmt: skip
ARRAYS: dict[str, Made] = {
    **{
        f"array of {kind}": (lambda kind=kind: np.arange(4).astype(kind))
        for kind in ("u8", "i8", "i4", "u1", "f8", "f4", "f2", "c16", "?", ">u8", ">f4", "O", "U4", "S8", "V8", "M8[s]")
    },
    **{f"scalar {kind}": (lambda kind=kind: np.dtype(kind).type(1)) for kind in ("u8", "i1", "f4", "f8", "?", "c8")},
    "scalar M8": lambda: np.datetime64(5, "s"),
    "scalar U": lambda: np.str_("abc"),
    "scalar S": lambda: np.bytes_(b"abc"),
    "scalar V": lambda: np.void(b"abcdefgh"),
    "no rows": lambda: np.empty(0, np.uint64),
    "no columns": lambda: np.empty((4, 0), np.uint8),
    "no rows of columns": lambda: np.empty((0, 8), np.uint8),
    "0 dimensions": lambda: np.array(5, np.uint64),
    "2 dimensions": lambda: np.zeros((2, 2), np.uint64),
    "rows of bytes": lambda: np.zeros((4, 8), np.uint8),
    "rows of 7 bytes": lambda: np.zeros((4, 7), np.uint8),
    "5 rows": lambda: np.zeros(5, np.uint64),
    "64 dimensions": lambda: np.zeros((1,) * 64, np.uint64),
    "reversed": lambda: np.arange(4, dtype=np.uint64)[::-1],
    "strided": lambda: np.arange(8, dtype=np.uint64)[::2],
    "strided rows": lambda: np.zeros((4, 16), np.uint8)[:, ::2],
    "Fortran order": lambda: np.asfortranarray(np.zeros((4, 8), np.uint8)),
    "unaligned": lambda: np.zeros(33, np.uint8)[1:].view(np.uint64),
    "read-only": lambda: np.frombuffer(bytes(32), np.uint64),
    "broadcast": lambda: np.broadcast_to(np.uint64(1), (4,)),
    "broadcast to 2**40": lambda: np.broadcast_to(np.uint64(1), (2**40,)),
    "masked": lambda: np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]),
    "matrix": lambda: np.asmatrix(np.zeros((4, 8), np.uint8)),
    "subclass": lambda: WORDS.copy().view(_Array),
    "records": lambda: np.zeros(4, [("a", "u4"), ("b", "f4")]),
    "records with objects": lambda: np.zeros(4, [("a", "O")]),
    "statuses out of range": lambda: np.full(4, 255, np.uint8),
    "NaN": lambda: np.full(4, np.nan),
    "infinity": lambda: np.full(4, np.inf, np.float32),
    "dtype": lambda: np.dtype("u8"),
    "dtype of 0 bytes": lambda: np.dtype("V0"),
    "dtype of records": lambda: np.dtype([("a", "u4"), ("b", "f4")]),
    "name of a dtype": lambda: "float32",
}


def _libraries() -> dict[str, Made]:
    """What the array libraries that are installed add."""
    made: dict[str, Made] = {}
    try:
        import torch
    except ImportError:
        pass
    else:
        made |= _tensors(torch)
    try:
        import pyarrow as pa
    except ImportError:
        pass
    else:
        made |= {
            "Arrow": lambda: pa.array([1, 2, 3, 4]),
            "Arrow with a null": lambda: pa.array([1, None, 3, 4]),
            "Arrow in pieces": lambda: pa.chunked_array([[1, 2], [3, 4]]),
            "Arrow of no pieces": lambda: pa.chunked_array([], pa.int64()),
            "Arrow binary": lambda: pa.array([b"a", b"b", b"", b"d"]),
            "Arrow text": lambda: pa.array(["a", "b", "c", "d"]),
            "Arrow lists": lambda: pa.array([[1], [2, 3], [], [4]]),
            "Arrow structs": lambda: pa.array([{"a": 1}] * 4),
            "Arrow booleans": lambda: pa.array([True, False, True, True]),
            "Arrow decimals": lambda: pa.array([decimal.Decimal("1.5")] * 4),
            "Arrow union": lambda: pa.UnionArray.from_sparse(
                pa.array([0, 0, 0, 0], pa.int8()), [pa.array([1, 2, 3, 4])]
            ),
            "Arrow table": lambda: pa.table({"a": [1, 2, 3, 4]}),
            "Arrow scalar": lambda: pa.scalar(5),
        }
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        made |= {
            "Series": lambda: pd.Series([1, 2, 3, 4]),
            "nullable Series": lambda: pd.Series([1, None, 3, 4], dtype="Int64"),
            "Series of text": lambda: pd.Series(["a", "b", "c", "d"]),
            "Series of zones": lambda: pd.Series(pd.date_range("2026", periods=4, tz="UTC")),
            "frame": lambda: pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.5] * 4}),
            "MultiIndex": lambda: pd.MultiIndex.from_product([[1, 2], [3, 4]]),
            "NA": lambda: pd.NA,
            "NaT": lambda: pd.NaT,
        }
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        made |= {
            "Polars": lambda: pl.Series([1, 2, 3, 4]),
            "Polars with a null": lambda: pl.Series([1, None, 3, 4]),
            "Polars lists": lambda: pl.Series([[1], [2], [], [3, 4]]),
            "Polars frame": lambda: pl.DataFrame({"a": [1, 2, 3, 4]}),
            "Polars, lazy": lambda: pl.LazyFrame({"a": [1]}),
            "Polars expression": lambda: pl.col("a"),
        }
    return made


def _tensors(torch: Any) -> dict[str, Made]:
    def freed() -> Any:
        made = torch.arange(4)
        made.untyped_storage().resize_(0)
        return made

    def fake() -> Any:
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            return torch.zeros(4, dtype=torch.int64)

    def masked() -> Any:
        from torch.masked import masked_tensor

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return masked_tensor(torch.arange(4), torch.tensor([True, False, True, True]))

    return {
        **{
            f"tensor of {kind}": (lambda kind=kind: torch.zeros(4, dtype=getattr(torch, kind)))
            for kind in ("int64", "uint64", "int32", "uint8", "bool", "float32", "float16", "bfloat16", "complex64",
                         "float8_e5m2")
        },
        "tensor of 0 dimensions": lambda: torch.tensor(5),
        "tensor of no rows": lambda: torch.empty(0, dtype=torch.int64),
        "tensor of rows": lambda: torch.zeros(4, 8, dtype=torch.uint8),
        "strided tensor": lambda: torch.arange(8)[::2],
        "expanded tensor": lambda: torch.zeros(1, dtype=torch.int64).expand(4),
        "parameter": lambda: torch.nn.Parameter(torch.zeros(4, 2)),
        "computed tensor": lambda: torch.zeros(4, 2, requires_grad=True) * 2,
        "conjugate tensor": lambda: torch.zeros(4, dtype=torch.complex64).conj(),
        "negative tensor": lambda: torch.zeros(4, 2, dtype=torch.complex64).conj().imag,
        "sparse tensor": lambda: torch.zeros(4).to_sparse(),
        "tensor of meta": lambda: torch.zeros(4, device="meta"),
        "quantized tensor": lambda: torch.quantize_per_tensor(torch.zeros(4, 8), 1.0, 0, torch.quint8),
        "nested tensor": lambda: torch.nested.nested_tensor([torch.zeros(2)] * 4),
        "freed tensor": freed,
        "fake tensor": fake,
        "masked tensor": masked,
        "zero tensor": lambda: torch._efficientzerotensor((4,), dtype=torch.int64),
        "torch dtype": lambda: torch.float32,
        "odd torch dtype": lambda: torch.complex64,
        "torch device": lambda: torch.device("cpu"),
        "torch size": lambda: torch.Size([4]),
        "generator of torch": torch.Generator,
        "module of torch": lambda: torch.nn.Linear(2, 2),
    }  # fmt: skip


VALUES: dict[str, Made] = PLAIN | TEXTS | CONTAINERS | OBJECTS | ARRAYS | _libraries()

ODD_TEXTS: dict[str, str] = {
    text: text
    for text in (
        "", " ", "abc", "-", "-1", "0", "1", "7", "8", "9", "65537", "4294967296", "18446744073709551615",
        "18446744073709551616", "-9223372036854775809", "1_0", "+5", "1e5", "1.5", "nan", "inf", "0x10", "0b11", "0o7",
        "U+1F600", "U+", "\u0663\u0664", "\u00b2", ".", "..", "/", "./", "no/such/folder/x", ":", "a:", ":a", "a:b:c",
        "pool.hold:", "pool.hold:nothing", "pool.hold:checkpoint", "empty", "text.csv", "folder", "fifo", "x.hold",
        "x.csv", "x.parquet", "x.arrow", "x.txt", "x.safetensors", "\udcff", "a\udcffb", "é", "\U0001f600", "a\nb",
        "\x1b[31m", "\t", "%s%n", "{}", "'", '"', "*", "=", "a=b", ",", "key,,", "bytes", "None", "true", "[bold]x[/]",
        "[/]", "4G", "-4G", "1e400G", "G", "cuda", "cuda:99", "cuda:-1", "cpu:0", "hex", "text", "int64", "float32*2",
        "float32*0", "float32*-1", "float32*99999999999", "int64,", "csv", "parquet", "step", "ACGT", "acgtn",
    )
} | {
    "5,000 digits": "1" + "0" * 5000, "long": "x" * 300, "very long": "x" * 70_000, "odd hex": "0xabc",
    "long hex": "0x" + "ab" * 70_000,
}  # fmt: skip
