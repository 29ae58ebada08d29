"""Types of elements, as safetensors names them, and which arrays NumPy and PyTorch have of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import InvalidArgument, MissingExtra

NUMPY = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8", "C64": "<c8", "C128": "<c16",
}  # fmt: skip
TORCH = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "C128": "complex128", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
BYTES = {"BF16": 2} | {name: 1 for name in TORCH if name.startswith("F8_")}
BYTES |= {name: np.dtype(code).itemsize for name, code in NUMPY.items()}

Given = tuple[str, str, list[int], int]
"""A tensor: its name, its type of elements, its shape, and the address of its first element."""

MOST_DIMENSIONS = 64
_MOST_BYTES = (1 << 63) - 1


def bytes_of(given: Given) -> int:
    return math.prod(given[2]) * BYTES[given[1]]


def is_addressable(given: Given) -> bool:
    """Whether the strides of such a tensor can be computed, also where it has no elements."""
    return math.prod(extent or 1 for extent in given[2]) * BYTES[given[1]] <= _MOST_BYTES


def torch_of(name: str) -> Any:
    """The module torch. Raises MissingExtra where it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(
            f"{name} was a tensor of PyTorch, which is not installed: pip install torch, or call arrays() for NumPy's"
        ) from error
    return torch


def torch_type(name: str, element: str) -> Any:
    """PyTorch's type of these elements. Raises InvalidArgument where this PyTorch is too old to have it."""
    torch = torch_of(name)
    found = getattr(torch, TORCH[element], None)
    if found is None:
        raise InvalidArgument(
            f"PyTorch {torch.__version__} has no elements {TORCH[element]}, which {name} has: use a later one"
        )
    return found


def require_array(kind: str, given: Given) -> None:
    """Raises InvalidArgument where a restore could not make this array, as "numpy", "scalar" or "torch"."""
    name, element, shape, _ = given
    if kind != "torch" and element not in NUMPY:
        raise InvalidArgument(f"NumPy has no elements {element}, which {name} has: ask for kind='torch'")
    try:
        if not is_addressable(given):
            raise ValueError("its strides overflow 64 bits")
        if kind != "torch":
            np.broadcast_to(np.zeros((), NUMPY[element]), shape)
    except (ValueError, OverflowError) as error:
        library = "PyTorch" if kind == "torch" else "NumPy"
        raise InvalidArgument(f"{library} has no array of shape {shape}, which {name} has: {error}") from None
