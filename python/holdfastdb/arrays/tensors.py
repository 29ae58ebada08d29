"""PyTorch's tensors as plain memory: which of them a checkpoint or a table takes, and when two have the same elements.

A tensor is taken by its type. A subclass that defines `__torch_dispatch__` has its elements elsewhere, or none.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, NoReturn

from ..errors import InvalidType


def where(path: str) -> str:
    """A place in a state, for messages."""
    return path or "its top"


def _is(what: str, path: str, argument: bool) -> str:
    return f"{path} is {what}" if argument else f"the state has {what} at {where(path)}"


def plain(value: Any, torch: Any, path: str, argument: bool = False) -> Any:
    """The tensor itself, its local one where a DTensor is whole in this process, or a plain one of the same memory.

    Raises InvalidType for everything else, with the place in the state, or with the name of the argument.
    """
    kind: Any = type(value)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        distributed = sys.modules.get("torch.distributed.tensor")
        if distributed is not None and isinstance(value, distributed.DTensor):
            return plain(_local(value, torch, path, argument), torch, path, argument)
        rows = sys.modules.get("holdfastdb.torch.rows")
        if rows is not None and isinstance(value, rows.Rows):
            instead = "read them with its find" if argument else "leave them out, as state_dict() does"
            raise InvalidType(
                f"{_is('the rows of a holdfastdb.torch.Embedding', path, argument)}, which are in the table "
                f"{value.table.path} and durable there: {instead}"
            )
        if not _has_own_memory(kind, torch):
            _refuse(value, path, argument)
        with torch._C.DisableTorchFunctionSubclass():
            value = value.as_subclass(torch.Tensor)
    if value.layout is not torch.strided or value.is_nested or value.is_meta or value.is_quantized:
        kind_of = "nested tensor" if value.is_nested else "tensor"
        what = f"a {kind_of} of {value.dtype}, {value.layout}, on {value.device}"
        raise InvalidType(f"{_is(what, path, argument)}: give a dense one of numbers")
    return value


def address_of(value: Any, contiguous: bool, path: str, argument: bool = False) -> int:
    """The address of the first element. Raises InvalidType where the memory does not hold all elements."""
    try:
        address, held = value.data_ptr(), value.untyped_storage().nbytes()
    except (RuntimeError, NotImplementedError):  # inside of vmap, grad and the like
        address = held = 0
    if value.numel() == 0:
        return address
    if contiguous:
        last = value.numel() - 1
    else:
        last = sum((extent - 1) * step for extent, step in zip(value.shape, value.stride(), strict=True))
    end = (value.storage_offset() + last + 1) * value.element_size()
    if address != 0 and held >= end:
        return address
    what = _is(f"a tensor of shape {tuple(value.shape)}", path, argument)
    if address == 0 or held == 0:
        raise InvalidType(
            f"{what} that has no memory: its storage was freed, or it exists only while PyTorch transforms or traces a "
            "function; give a tensor with elements"
        )
    raise InvalidType(
        f"{what} that has {held:,} bytes of memory, and its elements end at {end:,}: its storage was made smaller; "
        "give a tensor with all elements"
    )


def identity_of(value: Any, address: int) -> tuple[Any, ...]:
    """Equal for two plain tensors only if they have the same elements of the same memory: everything that determines
    the values is in it."""
    return (
        "torch", address, value.get_device(), value.shape, value.stride(), value.dtype, value.is_conj(), value.is_neg()
    )  # fmt: skip


@functools.cache
def _has_own_memory(kind: Any, torch: Any) -> bool:
    parameter = torch.nn.parameter
    if issubclass(kind, parameter.UninitializedParameter | parameter.UninitializedBuffer):
        return False
    return kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__


def _local(value: Any, torch: Any, path: str, argument: bool) -> Any:
    """The local tensor of a DTensor if it is all of it. `full_tensor()` is a call that every process must make, so it
    is not made here, where one process may save alone."""
    mesh = value.device_mesh
    if mesh.get_coordinate() is None:
        instead = "give a tensor of this process" if argument else "save it there"
        raise InvalidType(f"{_is('a DTensor', path, argument)} that lies on other processes ({mesh}): {instead}")
    for axis, placement in enumerate(value.placements):
        if not (placement.is_replicate() or (placement.is_shard() and mesh.size(axis) == 1)):
            instead = (
                "give its to_local()"
                if argument
                else "save a sharded state on every process with holdfastdb.torch.distributed.PoolWriter"
            )
            raise InvalidType(
                f"{_is('a DTensor', path, argument)} of which this process holds a part ({placement} over "
                f"{mesh.size(axis)} processes): {instead}, or give its full_tensor()"
            )
    with torch.no_grad():
        return value.to_local()


_INSTEAD = {
    "MaskedTensor": "give its get_data() and its get_mask()",
    "NestedTensor": "give the values() and offsets() of a nested tensor",
    "ShardedTensor": "save a sharded state on every process with holdfastdb.torch.distributed.PoolWriter",
    "UninitializedParameter": "it is not initialized; call the module once before its state is saved",
    "UninitializedBuffer": "it is not initialized; call the module once before its state is saved",
}


def _refuse(value: Any, path: str, argument: bool) -> NoReturn:
    name = type(value).__name__
    instead = _INSTEAD.get(name, "its elements are not in its own memory; give the plain tensors that it consists of")
    raise InvalidType(f"{_is(f'a {name}', path, argument)}: {instead}")
