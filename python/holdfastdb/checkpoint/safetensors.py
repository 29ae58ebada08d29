"""Reads and writes safetensors files: 8 bytes with the length of a header, the header in JSON, and the data of all
tensors without a gap. https://huggingface.co/docs/safetensors. The package `safetensors` is not needed.

A state that was exported has its tree and its step in the metadata; a file from elsewhere is a dict of arrays.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..checked import MOST
from ..errors import InputError, InvalidArgument, PoolCorrupt
from ..messages import shown
from ..transfer.files import Seen, written_whole
from .elements import BYTES, MOST_DIMENSIONS, Given, bytes_of, is_addressable, require_array
from .tree import rebuild

STEP, STATE = "holdfast.step", "holdfast.state"
BEGINNING = f'{{"__metadata__":{{"{STEP}":'.encode()
"""Of the header of what `write` writes."""
_MOST_HEADER = 100_000_000  # what other readers take
_NOT_IN_FORMAT = "C128"
_SMALL = {"F4": "4", "F6_E2M3": "6", "F6_E3M2": "6"}
"""Elements of the format that are no whole bytes, and their bits."""
_MOST_DIGITS = len(str(MOST))
_MOST_AT_ONCE = 256
"""Parts of one system call; the system takes 1,024."""


class _NotStored(Exception):
    """A file has what the format allows, and a checkpoint does not store."""


class Loaded(NamedTuple):
    """A file that was read. `data` is what the addresses in `tensors` lead to."""

    tensors: list[Given]
    metadata: dict[str, str]
    data: np.ndarray


def header_of(tensors: Sequence[Given], metadata: dict[str, str]) -> bytes:
    """The beginning of a file with these tensors, in this order. Raises InvalidArgument for what the format has not."""
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for given in tensors:
        name, element, shape, _ = given
        if element == _NOT_IN_FORMAT:
            raise InvalidArgument(f"safetensors files have no elements {element}, which {name} has: save its two parts")
        if name in header:
            raise InvalidArgument(f"safetensors files have no tensors of the name {name}: save it under another")
        begin, end = end, end + bytes_of(given)
        header[name] = {"dtype": element, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _MOST_HEADER:
        raise InvalidArgument(
            f"the header has {len(text):,} bytes, and readers take {_MOST_HEADER:,}: save fewer tensors"
        )
    return len(text).to_bytes(8, "little") + text


def write(path: Path, replaced: Seen | None, step: int, text: str, tensors: Sequence[Given]) -> None:
    """Writes a saved state, whole or not at all. The addresses in `tensors` must stay."""
    ordered = sorted(tensors, key=lambda given: -BYTES[given[1]])  # so that each is aligned to its elements
    header = header_of(ordered, {STEP: str(step), STATE: text})
    parts = [memoryview(header)]
    parts += [_memory_of(given) for given in ordered if bytes_of(given) != 0]
    with written_whole(path, "export", replaced) as partial, partial.open("xb", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # else it looks like the file of a killed process
        os.fchmod(file.fileno(), 0o600)  # as private as the pool
        _write_all(file.fileno(), parts)
        os.fsync(file.fileno())


def _memory_of(given: Given) -> memoryview:
    return memoryview((ctypes.c_uint8 * bytes_of(given)).from_address(given[3])).cast("B")


def _write_all(descriptor: int, parts: list[memoryview]) -> None:
    """Writes without a copy in Python, which would hold its lock: a drain writes while the program runs."""
    first = 0
    while first < len(parts):
        wrote = os.writev(descriptor, parts[first : first + _MOST_AT_ONCE])
        while first < len(parts) and wrote >= len(parts[first]):
            wrote -= len(parts[first])
            first += 1
        if wrote:
            parts[first] = parts[first][wrote:]


def read(path: Path) -> Loaded:
    """Reads a whole file. Raises InputError for one that is cut off, or has a header that is not right."""

    def wrong(what: str) -> InputError:
        return InputError(f"{path} is no whole safetensors file: {what}; get it anew from where it came from")

    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(_MOST_HEADER, size - 8):
                raise wrong(f"it has {size:,} bytes, and its header would have {length:,}")
            text = file.read(length)
            data = np.empty(size - 8 - length, np.uint8)
            rest = data.data
            while rest and (count := file.readinto(rest)):
                rest = rest[count:]
            if rest or len(text) != length:
                raise wrong("it became shorter while it was read")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        header = json.loads(text.decode(), object_pairs_hook=_without_repeats)
        if not isinstance(header, dict):
            raise ValueError("its header is no JSON object")
        metadata = header.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("its metadata are no strings")
        return Loaded(_tensors(header, data), metadata, data)
    except _NotStored as error:
        raise InputError(f"{path} cannot be imported: {error}") from None
    except (ValueError, RecursionError) as error:
        raise wrong(str(error)) from None


def state_of(path: Path, loaded: Loaded, kind: str) -> tuple[int, str]:
    """Step and text to save the tensors of a file with."""
    tensors = {given[0]: given for given in loaded.tensors}

    def array_of(its_kind: str, name: str) -> None:
        require_array(its_kind, tensors[name])

    if STATE not in loaded.metadata:
        for name in tensors:
            array_of(kind, name)
        return 0, json.dumps(["dict", *([name, [kind, name]] for name in tensors)])
    text, step = loaded.metadata[STATE], loaded.metadata.get(STEP, "")
    try:
        rebuild(text, array_of)
        if not text.isascii():
            raise PoolCorrupt("its state has characters that no export writes")
        if not step.isascii() or not step.isdigit() or len(step) > _MOST_DIGITS or int(step) > MOST:
            raise PoolCorrupt(f"its step is {shown(step)}")
    except (PoolCorrupt, InvalidArgument) as error:
        raise InputError(f"{path} has metadata of holdfastdb that do not fit it: {error}") from None
    return int(step), text


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("its header has a name twice")
    return made


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _tensors(header: dict[str, Any], data: np.ndarray) -> list[Given]:
    """The tensors of a header, of which each byte of the data belongs to one. Raises ValueError."""
    spans = []
    for name, entry in header.items():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"the name {shown(name)} cannot be written in UTF-8") from None
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"the tensor {shown(name)} lacks dtype, shape or data_offsets, or has more")
        element, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(element, str):
            raise ValueError(f"the tensor {shown(name)} has elements {shown(element)}")
        if element not in BYTES:
            bits = f": of {_SMALL[element]} bits" if element in _SMALL else ""
            raise _NotStored(
                f"the tensor {shown(name)} has elements {shown(element)}, which a checkpoint does not know{bits}; "
                "convert it with the program that wrote the file"
            )
        if not isinstance(shape, list) or not all(map(_is_size, shape)):
            raise ValueError(f"the tensor {shown(name)} has the shape {shown(shape)}")
        if len(shape) > MOST_DIMENSIONS:
            raise _NotStored(
                f"the tensor {shown(name)} has {len(shape):,} dimensions, and a checkpoint takes {MOST_DIMENSIONS}"
            )
        if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
            raise ValueError(f"the tensor {shown(name)} has the offsets {shown(offsets)}")
        given: Given = (name, element, shape, data.ctypes.data + offsets[0])
        if not is_addressable(given):
            raise ValueError(f"the tensor {shown(name)} has the shape {shape}, whose strides overflow 64 bits")
        if offsets[1] - offsets[0] != bytes_of(given):
            raise ValueError(f"the tensor {shown(name)} is {bytes_of(given):,} bytes, and has the offsets {offsets}")
        spans.append((*offsets, given))
    end = 0
    for begin, last, given in sorted(spans, key=lambda span: span[:2]):
        if begin != end:
            raise ValueError(f"the tensor {shown(given[0])} begins at {begin:,}, and the one before ends at {end:,}")
        end = last
    if end != data.size:
        raise ValueError(f"it has {data.size:,} bytes of data, and its tensors {end:,}")
    return [span[2] for span in spans]
