"""Kinds of arrays: NumPy's, CuPy's and PyTorch's, seen as memory with a shape. A `Library` knows one of them: how to
ask it for its memory, and how to make new ones. Nothing here knows of tables.
"""

from __future__ import annotations

import functools
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .errors import InvalidType, NoSpace
from .messages import shown

HOST = "cpu"


def _in_memory(make: Callable[..., Any]) -> Callable[..., Any]:
    """For what makes an array: raises NoSpace where there is no memory for it."""

    @functools.wraps(make)
    def made(library: Library, *given: Any, **named: Any) -> Any:
        try:
            return make(library, *given, **named)
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and "memory" not in str(error):
                raise
            raise NoSpace(f"there is no memory for an array of a batch ({error}): give fewer rows at a time") from error

    return made


class Library(ABC):
    """One kind of array: how to ask it for its memory, and how to make new ones of it. Places are "cpu", "cuda:N"."""

    name: str

    @abstractmethod
    def place(self, array: Any) -> str:
        """Where the array's memory is."""

    @abstractmethod
    def dtype_name(self, array: Any) -> str:
        """The element type: "uint64", "float32", "bool", "bytes8" (NumPy's S8), ..."""

    @abstractmethod
    def row_bytes(self, array: Any) -> int:
        """The bytes of one row: of everything behind the first axis."""

    @abstractmethod
    def contiguous(self, array: Any) -> Any:
        """The array itself if its elements lie one after another in order, else a copy in which they do."""

    @abstractmethod
    def is_contiguous(self, array: Any) -> bool:
        """Whether `contiguous` would make no copy."""

    @abstractmethod
    def pointer(self, array: Any) -> int:
        """The address of the first element."""

    @abstractmethod
    def writable(self, array: Any) -> bool:
        """Whether results may be written into the array."""

    @abstractmethod
    def dtype(self, spec: Any) -> tuple[Any, int]:
        """This library's element type that `spec` names, and its size in bytes."""

    @abstractmethod
    def new(self, shape: tuple[int, ...], dtype: Any, place: str, zero: bool) -> Any:
        """A new array: zeroes, or whatever was in memory."""

    def clear(self, array: Any) -> None:
        """Sets every element to zero."""
        array.fill(0)

    @abstractmethod
    def converted(self, array: Any, dtype: Any) -> Any:
        """The array with elements of another type; itself if they are of that type already."""

    @abstractmethod
    def rows_where(self, mask: Any) -> Any:
        """The numbers of the rows where the mask is true, as int64. Of GPU memory the host waits for their count."""

    @abstractmethod
    def distinct(self, codes: Any) -> np.ndarray:
        """Which codes of uint8 occur, each once, in host memory. The host waits for those in GPU memory."""

    @abstractmethod
    def count(self, n: int, place: str) -> Any:
        """0 to n - 1, as int64."""

    @abstractmethod
    def words(self, keys: Any) -> Any:
        """Contiguous keys of whole words as int64 of shape (n, words); no copy."""

    @abstractmethod
    def stream(self, place: str) -> int:
        """The handle of the library's current stream there; 0 on the host."""


class NumpyLibrary(Library):
    name = "numpy"

    def place(self, array: Any) -> str:
        return HOST

    def dtype_name(self, array: Any) -> str:
        return array.dtype.name if array.dtype.kind not in "SV" else f"bytes{array.dtype.itemsize}"

    def row_bytes(self, array: Any) -> int:
        return math.prod(array.shape[1:]) * int(array.dtype.itemsize)

    @_in_memory
    def contiguous(self, array: Any) -> Any:
        return np.require(array, requirements=["C", "A"])

    def is_contiguous(self, array: Any) -> bool:
        return bool(array.flags.c_contiguous)

    def pointer(self, array: Any) -> int:
        return int(array.ctypes.data)

    def writable(self, array: Any) -> bool:
        return bool(array.flags.writeable)

    def dtype(self, spec: Any) -> tuple[Any, int]:
        try:
            dtype = np.dtype(_torch_dtype_name(spec) or spec)
        except Exception:  # a spec may run code, and NumPy raises many errors
            raise InvalidType(
                f"dtype is {shown(spec)}, which NumPy does not know: give a NumPy dtype, as np.float32"
            ) from None
        if dtype.hasobject:
            raise InvalidType(
                f"dtype is {dtype}, of Python objects: a table holds plain bytes; give a fixed-size dtype"
            )
        return dtype, dtype.itemsize

    @_in_memory
    def new(self, shape: tuple[int, ...], dtype: Any, place: str, zero: bool) -> Any:
        return np.zeros(shape, dtype) if zero else np.empty(shape, dtype)

    @_in_memory
    def converted(self, array: Any, dtype: Any) -> Any:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, as everywhere else
            return array.astype(dtype, copy=False)

    def rows_where(self, mask: Any) -> Any:
        return np.flatnonzero(mask)

    def distinct(self, codes: Any) -> np.ndarray:
        occurs = np.zeros(256, bool)
        occurs[codes] = True
        return np.flatnonzero(occurs)

    def count(self, n: int, place: str) -> Any:
        return np.arange(n, dtype=np.int64)

    def words(self, keys: Any) -> Any:
        return (keys if keys.ndim > 1 else keys[:, None]).view(np.int64)

    def stream(self, place: str) -> int:
        return 0


class CupyLibrary(Library):
    name = "cupy"

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def place(self, array: Any) -> str:
        return f"cuda:{array.device.id}"

    def dtype_name(self, array: Any) -> str:
        return str(array.dtype.name)

    def row_bytes(self, array: Any) -> int:
        return math.prod(array.shape[1:]) * int(array.dtype.itemsize)

    @_in_memory
    def contiguous(self, array: Any) -> Any:
        with self._cupy.cuda.Device(array.device.id):
            return self._cupy.ascontiguousarray(array)

    def is_contiguous(self, array: Any) -> bool:
        return bool(array.flags.c_contiguous)

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def writable(self, array: Any) -> bool:
        return True

    def dtype(self, spec: Any) -> tuple[Any, int]:
        return NUMPY.dtype(spec)

    @_in_memory
    def new(self, shape: tuple[int, ...], dtype: Any, place: str, zero: bool) -> Any:
        with self._cupy.cuda.Device(device_number(place)):
            return self._cupy.zeros(shape, dtype) if zero else self._cupy.empty(shape, dtype)

    @_in_memory
    def converted(self, array: Any, dtype: Any) -> Any:
        return array.astype(dtype, copy=False)

    def rows_where(self, mask: Any) -> Any:
        return self._cupy.flatnonzero(mask)

    def distinct(self, codes: Any) -> np.ndarray:
        with self._cupy.cuda.Device(codes.device.id):
            return np.asarray(self._cupy.asnumpy(self._cupy.unique(codes)))

    def count(self, n: int, place: str) -> Any:
        with self._cupy.cuda.Device(device_number(place)):
            return self._cupy.arange(n, dtype=np.int64)

    def words(self, keys: Any) -> Any:
        return (keys if keys.ndim > 1 else keys[:, None]).view(np.int64)

    def stream(self, place: str) -> int:
        with self._cupy.cuda.Device(device_number(place)):
            return int(self._cupy.cuda.get_current_stream().ptr)


class TorchLibrary(Library):
    name = "torch"

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def place(self, array: Any) -> str:
        if array.device.type == "cpu":
            return HOST
        return f"cuda:{array.device.index}" if array.device.type == "cuda" else str(array.device)

    def dtype_name(self, array: Any) -> str:
        return str(array.dtype).removeprefix("torch.")

    def row_bytes(self, array: Any) -> int:
        return math.prod(array.shape[1:]) * int(array.element_size())

    @_in_memory
    def contiguous(self, array: Any) -> Any:
        return array.contiguous()

    def is_contiguous(self, array: Any) -> bool:
        return bool(array.is_contiguous())

    def pointer(self, array: Any) -> int:
        return int(array.data_ptr())

    def writable(self, array: Any) -> bool:
        return not array.requires_grad

    def dtype(self, spec: Any) -> tuple[Any, int]:
        if isinstance(spec, self._torch.dtype):
            return spec, int(spec.itemsize)
        return _torch_dtype(self._torch, spec) if isinstance(spec, str) else _find_torch_dtype(self._torch, spec)

    @_in_memory
    def new(self, shape: tuple[int, ...], dtype: Any, place: str, zero: bool) -> Any:
        make = self._torch.zeros if zero else self._torch.empty
        return make(shape, dtype=dtype, device=place)

    def clear(self, array: Any) -> None:
        array.zero_()

    @_in_memory
    def converted(self, array: Any, dtype: Any) -> Any:
        return array.to(dtype)

    def rows_where(self, mask: Any) -> Any:
        return mask.nonzero().flatten()

    def distinct(self, codes: Any) -> np.ndarray:
        return np.asarray(self._torch.unique(codes).cpu().numpy())

    def count(self, n: int, place: str) -> Any:
        return self._torch.arange(n, dtype=self._torch.int64, device=place)

    def words(self, keys: Any) -> Any:
        return (keys if keys.ndim > 1 else keys[:, None]).view(self._torch.int64)

    def stream(self, place: str) -> int:
        return 0 if place == HOST else int(self._torch.cuda.current_stream(device_number(place)).cuda_stream)


NUMPY = NumpyLibrary()


def device_number(place: str) -> int:
    """The N of "cuda:N"."""
    return int(place.removeprefix("cuda:"))


def _find_torch_dtype(torch: Any, spec: Any) -> tuple[Any, int]:
    if isinstance(spec, str) and spec == "bfloat16":  # which NumPy does not have
        return torch.bfloat16, 2
    dtype, _ = NUMPY.dtype(spec)
    found = getattr(torch, dtype.name, None)
    if not isinstance(found, torch.dtype):
        raise InvalidType(f"dtype is {shown(spec)}, which PyTorch does not have: give a torch dtype, as torch.float32")
    return found, int(found.itemsize)


@lru_cache(maxsize=64)
def _torch_dtype(torch: Any, name: str) -> tuple[Any, int]:
    """By name, as every batch of PyTorch's arrays asks several times."""
    return _find_torch_dtype(torch, name)


def _torch_dtype_name(spec: Any) -> str | None:
    torch = sys.modules.get("torch")
    return str(spec).removeprefix("torch.") if torch is not None and isinstance(spec, torch.dtype) else None
