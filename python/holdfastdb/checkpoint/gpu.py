"""Arrays in GPU memory in a state: which stream they are saved on, and where a restore puts them."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from ..arrays import order_streams
from ..errors import DeviceError, InvalidArgument, MissingExtra
from ..inspection import cuda_devices
from ..libraries import HOST, CupyLibrary, Library, TorchLibrary
from ..messages import shown
from .elements import NUMPY, Given, require_array, torch_of, torch_type
from .tree import names_on_gpu, rebuild


def _libraries() -> list[Library]:
    """Of those that the program has imported: no array of another can be in a state."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    found: list[Library] = []
    if torch is not None and torch.cuda.is_available():
        found.append(TorchLibrary(torch))
    if cupy is not None:
        found.append(CupyLibrary(cupy))
    return found


def may_have_gpu() -> bool:
    """Whether an array of the program can be in GPU memory. CUDA is not started for states of the host."""
    return bool(_libraries())


class Streams:
    """The current streams of the libraries on a GPU, as one: `stream` comes after what they have, and `go_on` lets them
    continue after it."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._all = [library.stream(place) for library in _libraries()] or [0]
        self.stream = self._all[0]
        for other in self._all[1:]:
            order_streams(other, self.stream, place)

    def go_on(self) -> None:
        for other in self._all[1:]:
            order_streams(self.stream, other, self._place)


def place_of(device: Any) -> str:
    """`device` of a restore as "cpu" or "cuda:N"."""
    try:
        text = device if isinstance(device, str) else str(device)
    except Exception:
        text = ""
    matched = re.fullmatch(r"cpu|cuda(?::([0-9]{1,9}))?", text)
    if matched is None:
        raise InvalidArgument(f'device is {shown(device)}: give "cpu", "cuda", "cuda:N" or None')
    if text == HOST:
        return HOST
    count, why = cuda_devices()
    if matched[1] is not None:
        number = int(matched[1])
    else:
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        number = 0
        if torch is not None and torch.cuda.is_available():
            number = torch.cuda.current_device()
        elif cupy is not None:
            number = cupy.cuda.Device().id
    if number >= count:
        there = f"{count} of them are there" if count else why
        raise DeviceError(f"a state cannot be restored to GPU {number}: {there}; leave out device=")
    return f"cuda:{number}"


class Placed:
    """The arrays that a restore fills: on a GPU those that were saved from one, else on the host."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._arrays: dict[tuple[str, str], Any] = {}

    def make(self, text: str, tensors: list[Given]) -> list[tuple[Given, bool]]:
        """Makes the arrays of a state; each with its address, and whether that is on the GPU. Those made before are
        dropped."""
        given = {tensor[0]: tensor for tensor in tensors}
        on_gpu = names_on_gpu(text) if self._place != HOST else set()
        self._arrays = {}
        placed: dict[str, tuple[Given, bool]] = {}

        def array_of(kind: str, name: str) -> Any:
            if (kind, name) not in self._arrays:
                array, address = self._new(kind, given[name], name in on_gpu)
                self._arrays[kind, name] = array
                placed[name] = ((*given[name][:3], address), name in on_gpu)
            return None

        rebuild(text, array_of)
        return list(placed.values())

    def array_of(self, kind: str, name: str) -> Any:
        """To rebuild the state with, once the arrays are full."""
        array = self._arrays[kind, name]
        return array[()] if kind == "scalar" else array

    def _new(self, kind: str, tensor: Given, on_gpu: bool) -> tuple[Any, int]:
        name, element, shape, _ = tensor
        require_array(kind, tensor)
        if kind == "torch":
            place = self._place if on_gpu else HOST
            made = torch_of(name).empty(shape, dtype=torch_type(name, element), device=place)
            return made, made.data_ptr()
        if not on_gpu:
            array = np.empty(shape, NUMPY[element])
            return array, array.ctypes.data
        try:
            import cupy
        except ImportError as error:
            raise MissingExtra(
                f"{name} was an array of CuPy, which is not installed: pip install cupy-cuda12x, or leave out device="
            ) from error

        with cupy.cuda.Device(int(self._place.removeprefix("cuda:"))):
            made = cupy.empty(shape, NUMPY[element])
        return made, int(made.data.ptr)
