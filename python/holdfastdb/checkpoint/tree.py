"""A nested state as a list of tensors and a small tree in JSON, and back. Nothing is pickled.

A node is a JSON string, number, true, false or null for itself, or a list that begins with what it is: "list", "tuple",
"dict", "ordered", "counter", "bytes", "int", "numpy", "scalar" or "torch". An array that was in GPU memory has "cuda"
behind its name; CuPy's are "numpy".
"""

from __future__ import annotations

import base64
import contextlib
import functools
import gc
import json
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from ..arrays.tensors import address_of, identity_of, plain, where
from ..errors import Error, InvalidArgument, InvalidType, NoSpace, PoolCorrupt
from ..messages import shown
from .elements import NUMPY, TORCH, Given

_FROM_NUMPY = {np.dtype(code): name for name, code in NUMPY.items()}

_LONG = 1 << 1024
"""Whole numbers from here on are kept as hexadecimal digits, of which Python reads any number."""
MOST_LEVELS = 256
"""Of dicts, lists and tuples inside each other: fewer than Python's stack takes, at a save and at a restore."""


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """A state in parts is thousands of small objects, all of which go with the call. A collection meanwhile would take
    them for old ones, and some twentieth save would wait for a collection of all that the program has: a sixth of a
    second where there is PyTorch."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@functools.cache
def _from_torch(torch: Any) -> dict[Any, str]:
    """By element type; a PyTorch may not have them all."""
    return {getattr(torch, code): name for name, code in TORCH.items() if hasattr(torch, code)}


class Flat:
    """A state taken apart. `kept` holds what the addresses in `tensors` lead to; those of `on_gpu`, numbers of tensors,
    are on the GPU `place`. What is on other GPUs is copied to the host, and all is where `gpus` is 0."""

    def __init__(self, state: Any, gpus: int = 0) -> None:
        self.place: str | None = None
        self.on_gpu: list[int] = []
        self._gpus = gpus
        self.tensors: list[Given] = []
        self.kept: list[Any] = []
        self._names: set[str] = set()
        self._seen: dict[Any, str] = {}
        self._open: set[int] = set()
        try:
            self.text = json.dumps(self._node(state, ""))
        except RecursionError:
            raise InvalidType(f"the state has more levels than {_STACK}") from None
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and "memory" not in str(error):
                raise
            raise NoSpace(
                f"there is no memory to put the elements of an array of the state in order ({error}): give arrays "
                "whose elements lie in order"
            ) from error

    def _node(self, value: Any, path: str) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value if type(value) is not int or -_LONG < value < _LONG else ["int", hex(value)]
        if type(value) in (bytes, bytearray):
            return ["bytes", base64.b64encode(value).decode()]
        if isinstance(value, np.ndarray | np.generic):
            return self._numpy(value, path)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._torch(value, path, torch)
        cupy = sys.modules.get("cupy")
        if cupy is not None and isinstance(value, cupy.ndarray):
            return self._cupy(value, path, cupy)
        return self._nested(value, path, torch)

    def _nested(self, value: Any, path: str, torch: Any) -> Any:
        kind = type(value)
        if torch is not None and kind is torch.Size:
            kind, value = tuple, tuple(value)
        if kind not in _KINDS:
            raise InvalidType(
                f"the state has {kind.__name__} at {where(path)}: give dicts, lists and tuples of arrays, "
                "numbers, strings and bytes (of a module or an optimizer its state_dict())"
            )
        if id(value) in self._open:
            raise InvalidType(f"the state contains itself at {where(path)}: give a tree")
        if len(self._open) == MOST_LEVELS:
            raise InvalidType(
                f"the state has more than {MOST_LEVELS} levels at {path[:60]}…: give fewer dicts, lists and tuples "
                "inside each other"
            )
        self._open.add(id(value))
        node: list[Any] = [_KINDS[kind]]
        if kind in (list, tuple):
            for i, item in enumerate(value):
                node.append(self._node(item, f"{path}/{i}" if path else str(i)))
        else:
            for key, item in value.items():
                if key is not None and type(key) not in (bool, int, float, str):
                    raise InvalidType(f"the state has a key of type {type(key).__name__} at {where(path)}")
                if type(key) is int and not -_LONG < key < _LONG:
                    raise InvalidType(f"the state has a key of {key.bit_length():,} bits at {where(path)}: give text")
                node.append([key, self._node(item, f"{path}/{key}" if path else str(key))])
        self._open.discard(id(value))
        return node

    def _stays(self, place: str) -> bool:
        """Whether an array is saved from where it is: on the GPU that the first was on."""
        if self._gpus == 0 or not place.startswith("cuda:"):
            return False
        self.place = self.place or place
        return place == self.place

    def _add(
        self, path: str, element: str, shape: Any, address: int, kept: Any, identity: Any, on_gpu: bool = False
    ) -> str:
        if identity in self._seen:
            return self._seen[identity]
        if on_gpu:
            self.on_gpu.append(len(self.tensors))
        name, n = path, 1
        while name in self._names:  # the keys 1 and "1"
            n += 1
            name = f"{path}#{n}"
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InvalidType(
                f"the state has an array at {shown(name)}, which cannot be written in UTF-8: give keys without "
                "surrogates"
            ) from None
        self._names.add(name)
        self._seen[identity] = name
        self.kept.append(kept)
        self.tensors.append((name, element, list(shape), address))
        return name

    def _numpy(self, value: Any, path: str) -> Any:
        if isinstance(value, np.ndarray) and type(value) not in (np.ndarray, np.memmap):
            _refuse_subclass(value, path)
        array = np.asarray(value)
        element = _FROM_NUMPY.get(array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype)
        if element is None:
            raise InvalidType(f"the state has an array of {array.dtype} at {where(path)}: give one of numbers")
        flat = np.require(array, NUMPY[element], "C")
        identity: tuple[Any, ...] = (array.__array_interface__["data"], array.shape, array.strides, array.dtype.str)
        if array.size == 0 or isinstance(value, np.generic):
            identity = (id(value),)
        name = self._add(path, element, array.shape, flat.ctypes.data, (flat, value), ("numpy", *identity))
        return ["scalar" if isinstance(value, np.generic) else "numpy", name]

    def _torch(self, given: Any, path: str, torch: Any) -> Any:
        # A state has thousands of these, and the training waits: each property is asked for once, and none as text.
        value = plain(given, torch, path)
        element, on_gpu = _from_torch(torch).get(value.dtype), value.is_cuda
        if element is None:
            raise InvalidType(
                f"the state has a tensor of {value.dtype} at {where(path)}, elements that a checkpoint does not know: "
                "give a dense one of numbers"
            )
        node = ["torch", path, "cuda"] if on_gpu else ["torch", path]
        contiguous = value.is_contiguous()
        address = address_of(value, contiguous, path)
        identity = identity_of(value, address) if value.numel() != 0 else ("torch", id(given))
        on_gpu = on_gpu and self._stays(f"cuda:{value.get_device()}")
        flat = value
        if value.is_conj() or value.is_neg():
            flat = value.detach().resolve_conj().resolve_neg()
        if not (on_gpu or flat.is_cpu):
            flat = flat.detach().cpu()
        if not (contiguous or flat.is_contiguous()):
            flat = flat.detach().contiguous()
        if flat is not value:
            address = flat.data_ptr()
        node[1] = self._add(path, element, value.shape, address, (flat, given), identity, on_gpu)
        return node

    def _cupy(self, value: Any, path: str, cupy: Any) -> Any:
        element = _FROM_NUMPY.get(value.dtype)
        if not self._stays(f"cuda:{value.device.id}") or element is None:
            return [*self._numpy(cupy.asnumpy(value), path)[:2], "cuda"]
        with value.device:
            flat = cupy.ascontiguousarray(value)
        identity: tuple[Any, ...] = ("cupy", int(value.data.ptr), value.shape, value.strides, value.dtype.str)
        if value.size == 0:
            identity = ("cupy", id(value))
        name = self._add(path, element, value.shape, int(flat.data.ptr), (flat, value), identity, True)
        return ["numpy", name, "cuda"]


def _counter(pairs: list[tuple[Any, Any]]) -> Counter[Any]:
    return Counter(dict(pairs))


def _refuse_subclass(array: np.ndarray, path: str) -> NoReturn:
    """Such an array holds more than its elements, a mask or a unit, which would be lost."""
    if isinstance(array, np.ma.MaskedArray):
        raise InvalidType(
            f"the state has a masked array at {where(path)}: give its two parts, data and np.ma.getmaskarray(...)"
        )
    raise InvalidType(
        f"the state has an array of type {type(array).__name__} at {where(path)}: give np.asarray(...) of it, which is "
        "its elements alone"
    )


_FOREIGN = (ValueError, TypeError, IndexError, KeyError)
_KINDS: dict[type, str] = {dict: "dict", OrderedDict: "ordered", Counter: "counter", list: "list", tuple: "tuple"}
_MADE_OF_PAIRS: dict[str, Callable[[Any], Any]] = {"dict": dict, "ordered": OrderedDict, "counter": _counter}
_STACK = (
    "Python's stack has space for here: call from fewer functions inside each other, or raise sys.setrecursionlimit()"
)


def _foreign(error: Exception) -> PoolCorrupt:
    return PoolCorrupt(f"the saved state was not written by holdfastdb.Checkpoint: {error!r}")


def names_on_gpu(text: str) -> set[str]:
    """The arrays of a text that were in GPU memory."""
    found = set()

    def look(node: Any) -> None:
        if not isinstance(node, list):
            return
        if node[0] in ("numpy", "torch"):
            if node[2:] == ["cuda"]:
                found.add(node[1])
        elif node[0] in _MADE_OF_PAIRS:
            for _, item in node[1:]:
                look(item)
        else:
            for item in node[1:]:
                look(item)

    _read(text, look)
    return found


def rebuild(text: str, array_of: Callable[[str, str], Any]) -> Any:
    """The state of a text; `array_of(kind, name)` gives its arrays, each once for all its places."""
    return _read(text, lambda node: _value(node, array_of, 0))


def _read(text: str, look: Callable[[Any], Any]) -> Any:
    """What `look` finds in the tree of a text. Raises PoolCorrupt for a text that no save wrote."""
    try:
        return look(json.loads(text))
    except Error:
        raise
    except _FOREIGN as error:
        raise _foreign(error) from None
    except RecursionError:
        raise InvalidArgument(f"the saved state has more levels than {_STACK}") from None


def _value(node: Any, array_of: Callable[[str, str], Any], level: int) -> Any:
    if not isinstance(node, list):
        if isinstance(node, dict):
            raise ValueError("it has an object of JSON")
        return node
    kind, rest = node[0], node[1:]
    if level > MOST_LEVELS:
        raise ValueError(f"it has more than {MOST_LEVELS} levels")
    if kind in ("list", "tuple"):
        items = []
        for item in rest:
            items.append(_value(item, array_of, level + 1))
        return items if kind == "list" else tuple(items)
    if kind in _MADE_OF_PAIRS:
        pairs = []
        for key, item in rest:
            pairs.append((key, _value(item, array_of, level + 1)))
        return _MADE_OF_PAIRS[kind](pairs)
    if kind == "bytes":
        return base64.b64decode(rest[0])
    if kind == "int":
        return int(rest[0], 16)
    if kind not in ("numpy", "scalar", "torch"):
        raise ValueError(kind)
    return array_of(kind, rest[0])
