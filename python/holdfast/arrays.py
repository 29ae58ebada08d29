"""Array plumbing: NumPy, CuPy and PyTorch arrays, and whatever speaks their protocols, seen as memory with a shape.

A `Library` knows one kind of array. `import_array` turns what a caller gave into an array of one of them, without a
copy where it can be had. Nothing here knows of tables.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from . import _native
from .errors import InvalidArgument, InvalidType

HOST = "cpu"
_DLPACK_HOST = {1, 3, 11}  # kDLCPU, kDLCUDAHost, kDLROCMHost
_DLPACK_CUDA = {2, 13}  # kDLCUDA, kDLCUDAManaged


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
        return int(np.prod(array.shape[1:], dtype=np.int64)) * int(array.dtype.itemsize)

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
        except TypeError:
            raise InvalidType(
                f"dtype is {spec!r}, which NumPy does not know: give a NumPy dtype, as np.float32"
            ) from None
        if dtype.hasobject:
            raise InvalidType(
                f"dtype is {dtype}, of Python objects: a table holds plain bytes; give a fixed-size dtype"
            )
        return dtype, dtype.itemsize

    def new(self, shape: tuple[int, ...], dtype: Any, place: str, zero: bool) -> Any:
        return np.zeros(shape, dtype) if zero else np.empty(shape, dtype)

    def converted(self, array: Any, dtype: Any) -> Any:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, as everywhere else
            return array.astype(dtype, copy=False)

    def rows_where(self, mask: Any) -> Any:
        return np.flatnonzero(mask)

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
        return int(np.prod(array.shape[1:], dtype=np.int64)) * int(array.dtype.itemsize)

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

    def new(self, shape: tuple[int, ...], dtype: Any, place: str, zero: bool) -> Any:
        with self._cupy.cuda.Device(device_number(place)):
            return self._cupy.zeros(shape, dtype) if zero else self._cupy.empty(shape, dtype)

    def converted(self, array: Any, dtype: Any) -> Any:
        return array.astype(dtype, copy=False)

    def rows_where(self, mask: Any) -> Any:
        return self._cupy.flatnonzero(mask)

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
        return int(np.prod(array.shape[1:], dtype=np.int64)) * int(array.element_size())

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
        if spec == "bfloat16":  # which NumPy does not have
            return self._torch.bfloat16, 2
        dtype, _ = NUMPY.dtype(spec)
        found = getattr(self._torch, dtype.name, None)
        if not isinstance(found, self._torch.dtype):
            raise InvalidType(f"dtype is {spec!r}, which PyTorch does not have: give a torch dtype, as torch.float32")
        return found, int(found.itemsize)

    def new(self, shape: tuple[int, ...], dtype: Any, place: str, zero: bool) -> Any:
        make = self._torch.zeros if zero else self._torch.empty
        return make(shape, dtype=dtype, device=place)

    def clear(self, array: Any) -> None:
        array.zero_()

    def converted(self, array: Any, dtype: Any) -> Any:
        return array.to(dtype)

    def rows_where(self, mask: Any) -> Any:
        return mask.nonzero().flatten()

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


def _torch_dtype_name(spec: Any) -> str | None:
    torch = sys.modules.get("torch")
    return str(spec).removeprefix("torch.") if torch is not None and isinstance(spec, torch.dtype) else None


def _gpu_library(name: str) -> Library:
    """CuPy or PyTorch, for an array in GPU memory that belongs to neither."""
    try:
        import cupy

        return CupyLibrary(cupy)
    except ImportError:
        pass
    try:
        import torch

        return TorchLibrary(torch)
    except ImportError:
        raise InvalidType(
            f"{name} is in GPU memory, and neither CuPy nor PyTorch is installed to hold the results: install one of "
            "them, or copy the array to the host"
        ) from None


def _from_torch(name: str, tensor: Any, torch: Any) -> tuple[Any, Library]:
    if tensor.layout != torch.strided:
        raise InvalidType(f"{name} is a {tensor.layout} tensor: give a dense one, {name}.to_dense()")
    if tensor.device.type not in ("cpu", "cuda"):
        raise InvalidArgument(f"{name} is on device {tensor.device}: give a tensor on the cpu or on an NVIDIA GPU")
    return tensor.resolve_conj().resolve_neg(), TorchLibrary(torch)


def _from_numpy(name: str, array: Any) -> tuple[Any, Library]:
    if isinstance(array, np.ma.MaskedArray):
        raise InvalidType(f"{name} is a masked array: give {name}.data, and its mask inverted as mask=")
    if array.dtype.hasobject:
        raise InvalidType(f"{name} holds Python objects: give numbers or bytes of a fixed size")
    if not array.dtype.isnative:
        raise InvalidType(
            f"{name} is big-endian ({array.dtype.str}): give {name}.astype({name}.dtype.newbyteorder('='))"
        )
    return array, NUMPY


def adopt(memory: Any, library: Library, place: str) -> Any:
    """GPU memory with a `__cuda_array_interface__` as an array of this library, which keeps it alive. No copy."""
    if isinstance(library, TorchLibrary):
        import torch

        return torch.as_tensor(memory, device=place)
    import cupy

    with cupy.cuda.Device(device_number(place)):
        return cupy.asarray(memory)


def _from_cuda(name: str, value: Any) -> tuple[Any, Library]:
    library = _gpu_library(name)
    if isinstance(library, TorchLibrary):
        import torch

        speaks_dlpack = hasattr(value, "__dlpack__")
        source = torch.utils.dlpack.from_dlpack(value) if speaks_dlpack else torch.as_tensor(value, device="cuda")
        return _from_torch(name, source, torch)
    import cupy

    return (cupy.from_dlpack(value) if hasattr(value, "__dlpack__") else cupy.asarray(value)), library


def _is_fixed_binary(value: Any) -> bool:
    """Whether it is Arrow's binary of fixed size, in one piece or several."""
    arrow = sys.modules.get("pyarrow")
    if arrow is None or not isinstance(value, arrow.Array | arrow.ChunkedArray):
        return False
    return bool(arrow.types.is_fixed_size_binary(value.type))


def _from_fixed_binary(name: str, column: Any) -> tuple[Any, Library]:
    """(n, size) of uint8; no copy of a column in one piece."""
    if column.null_count:
        raise InvalidArgument(f"{name} has {column.null_count} nulls: leave them out, {name}.drop_null()")
    size, pieces = column.type.byte_width, getattr(column, "chunks", [column])
    rows = [np.frombuffer(piece.buffers()[1], np.uint8)[piece.offset * size :][: len(piece) * size] for piece in pieces]
    whole = rows[0] if len(rows) == 1 else np.concatenate([np.empty(0, np.uint8), *rows])
    return whole.reshape(len(column), size), NUMPY


def _in_gpu_memory(name: str, value: Any) -> bool:
    """Whether an array of no known library says that it is in GPU memory."""
    if hasattr(value, "__cuda_array_interface__"):
        return True
    if isinstance(value, np.generic) or not hasattr(value, "__dlpack_device__"):
        return False
    kind, number = value.__dlpack_device__()
    if kind not in _DLPACK_CUDA | _DLPACK_HOST:
        raise InvalidArgument(
            f"{name} is on a device ({int(kind)}, {number}) that Holdfast does not know: give an array on the cpu or "
            "on an NVIDIA GPU"
        )
    return kind in _DLPACK_CUDA


def import_array(name: str, value: Any, host_only: str = "") -> tuple[Any, Library] | None:
    """`value` as an array and its library, or None if it is not an array (a list, a number, bytes).

    CuPy's and PyTorch's imports through DLPack and `__cuda_array_interface__` make their current stream wait for the
    producer's, so the array may be used on the current stream. `host_only` names a table that takes no GPU memory.
    """
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if isinstance(value, np.ndarray):
        return _from_numpy(name, value)
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(name, value, torch)
    if cupy is not None and isinstance(value, cupy.ndarray):
        return value, CupyLibrary(cupy)
    if _is_fixed_binary(value):
        return _from_fixed_binary(name, value)
    if _in_gpu_memory(name, value):
        if host_only:
            raise InvalidArgument(not_on_host(name, "a GPU", host_only))
        return _from_cuda(name, value)
    if isinstance(value, np.generic):  # a NumPy scalar speaks the protocols too
        return None
    if hasattr(value, "__dlpack__"):
        return _from_numpy(name, np.from_dlpack(value))
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return _from_numpy(name, np.asarray(value))
    return None


def not_on_host(name: str, place: str, path: str) -> str:
    """The message for GPU memory given to a table of the CPU."""
    return (
        f"{name} is on {place}, but {path} is worked on by the cpu: copy the arrays to the host (keys.cpu(), "
        'cupy.asnumpy(keys)), or open the table with device="cuda"'
    )


def stream_handle(stream: Any) -> int:
    """The address of a CUDA stream given as an int, or as an object of PyTorch, CuPy, Numba or cuda.core."""
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for attribute in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, attribute):
            handle = getattr(stream, attribute)
            return int(getattr(handle, "value", handle) or 0)
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    raise InvalidType(f"stream is {stream!r}: give a CUDA stream of PyTorch or CuPy, or its handle as an int")


def order_streams(before: int, after: int, place: str) -> None:
    """Makes what is submitted to `after` from now on wait for what `before` has now."""
    if before != after:
        _native.order_streams(before, after, device_number(place))
