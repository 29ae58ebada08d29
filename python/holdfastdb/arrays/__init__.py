"""Array plumbing: arrays of NumPy, CuPy and PyTorch, and whatever speaks their protocols, as those of one library.

`import_array` converts a caller's argument to an array of a library (../libraries.py), without a copy where it can be
had. Nothing here knows of tables.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .. import _native
from ..errors import Error, InvalidArgument, InvalidType
from ..libraries import NUMPY, CupyLibrary, Library, TorchLibrary, device_number
from ..messages import shown
from . import frames, tensors

_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, range, dict, set, np.generic)
"""What is no array, whatever it has: a NumPy scalar speaks the protocols too."""
_DLPACK_HOST = {1, 3, 11}  # kDLCPU, kDLCUDAHost, kDLROCMHost
_DLPACK_CUDA = {2, 13}  # kDLCUDA, kDLCUDAManaged


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
    tensor = tensors.plain(tensor, torch, name, argument=True)
    tensors.address_of(tensor, tensor.is_contiguous(), name, argument=True)
    return tensor.resolve_conj().resolve_neg(), TorchLibrary(torch)


def _from_numpy(name: str, array: Any) -> tuple[Any, Library]:
    if isinstance(array, np.ma.MaskedArray):
        raise InvalidType(f"{name} is a masked array: give {name}.data, and its mask inverted as mask=")
    if array.dtype.hasobject:
        frames.refuse_null_in(name, array)
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


def _in_gpu_memory(name: str, value: Any) -> bool:
    """Whether an array of no known library says that it is in GPU memory."""
    if hasattr(value, "__cuda_array_interface__"):
        return True
    if not hasattr(value, "__dlpack_device__"):
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
    Whatever an array's own methods raise becomes InvalidType.
    """
    if isinstance(value, np.ndarray):
        return _from_numpy(name, value)
    try:
        return _import_other(name, value, host_only)
    except Error:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InvalidType(
            f"{name} is of type {type(value).__name__}, and cannot be read as an array ({why}): give an array of NumPy"
        ) from error


def _import_other(name: str, value: Any, host_only: str) -> tuple[Any, Library] | None:
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(name, value, torch)
    if cupy is not None and isinstance(value, cupy.ndarray):
        return value, CupyLibrary(cupy)
    if isinstance(value, _PLAIN):
        return None
    if (column := frames.array_of(name, value)) is not None:
        return _from_numpy(name, column)
    if _in_gpu_memory(name, value):
        if host_only:
            raise InvalidArgument(not_on_host(name, "a GPU", host_only))
        return _from_cuda(name, value)
    if hasattr(value, "__dlpack__"):
        return _from_numpy(name, np.from_dlpack(value))
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return _from_numpy(name, np.asarray(value))
    return None


def import_target(name: str, value: Any, host_only: str = "") -> tuple[Any, Library]:
    """An array of the caller's that results are written into. Raises InvalidType for what would not have them then."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and (value.is_conj() or value.is_neg()):
        raise InvalidType(
            f"{name} is a tensor with the conjugate or the negative bit, whose memory has other values than it: give a "
            "separate tensor, as torch.empty_like gives it"
        )
    imported = None if frames.is_known(value) else import_array(name, value, host_only)
    protocols = ("__dlpack__", "__cuda_array_interface__", "__array_interface__")  # by __array__ it may be a copy
    if imported is None or not (isinstance(value, np.ndarray) or any(hasattr(value, one) for one in protocols)):
        raise InvalidType(f"{name} is of type {type(value).__name__}: give an array to write to")
    return imported


def from_list(name: str, values: Any) -> np.ndarray:
    """A list, tuple or number as an array. Raises InvalidArgument for rows of different lengths, InvalidType for more
    that NumPy makes no array of."""
    try:
        return np.asarray(values)
    except ValueError as error:
        if "inhomogeneous" in str(error) or "setting an array element" in str(error):
            raise InvalidArgument(f"{name} is a list of rows of different lengths: give rows of one length") from None
        raise InvalidType(f"{name} is a list that is no array ({error}): give an array") from error
    except Error:
        raise
    except Exception as error:
        raise InvalidType(f"{name} is a list that is no array ({type(error).__name__}): give an array") from error


def not_on_host(name: str, place: str, path: str) -> str:
    """The message for GPU memory given to a table of the CPU, or to a store."""
    return (
        f"{name} is on {place}, but {path} is worked on by the cpu: copy the arrays to the host (keys.cpu(), "
        'cupy.asnumpy(keys)); a table that is opened with device="cuda" takes them'
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
    if isinstance(stream, int) and not isinstance(stream, bool) and 0 <= stream < 1 << 64:
        return stream
    raise InvalidType(f"stream is {shown(stream)}: give a CUDA stream of PyTorch or CuPy, or its handle as an int")


def order_streams(before: int, after: int, place: str) -> None:
    """Makes what is submitted to `after` from now on wait for what `before` has now."""
    if before != after:
        _native.order_streams(before, after, device_number(place))
