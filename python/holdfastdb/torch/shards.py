"""What writer and reader of a distributed save share: the index of a save, and pools by their rank."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)

from ..checked import MOST, whole
from ..checkpoint import Checkpoint
from ..checkpoint.tree import rebuild
from ..errors import InvalidArgument, PoolCorrupt
from ..inspection import name_of, path_text
from ..messages import shown

RANK = "{rank}"
NOTHING = ["\0"]
"""Asks `Checkpoint._restore` for no tensor, so that none is verified; the save is kept while what it gives lives."""


@dataclass(frozen=True)
class Place:
    """Where an item lies: `sequence` is that of the save in the rank's pool, `name` that of the tensor in it."""

    save: str
    rank: int
    sequence: int
    name: str


def pattern_of(path: str | os.PathLike[str]) -> str:
    text = path_text(path)
    if RANK not in text:
        raise InvalidArgument(
            f"the path is {shown(text)}: write {RANK} where the number of the rank belongs, for each has a pool"
        )
    return text


def names_of(name: str) -> tuple[str, str]:
    """Of the checkpoints with the shards and with the index."""
    return name_of(name), name_of(f"{name}.index")


def step_of(checkpoint_id: Any) -> int:
    """`checkpoint_id` of DCP: here the step, a number or its digits."""
    if isinstance(checkpoint_id, str) and checkpoint_id.isascii() and checkpoint_id.isdigit():
        checkpoint_id = int(checkpoint_id) if len(checkpoint_id) <= len(str(MOST)) else MOST + 1
    if isinstance(checkpoint_id, bool) or not isinstance(checkpoint_id, int):
        raise InvalidArgument(
            f"checkpoint_id is {shown(checkpoint_id)}: give the step, a whole number; PoolWriter and PoolReader are "
            "given the pools"
        )
    return whole("checkpoint_id", checkpoint_id, 0, MOST)


def header_of(shard: Checkpoint, sequence: int) -> dict[str, Any]:
    """What a shard says of itself, without a look at its tensors. Raises ObjectNotFound, PoolCorrupt."""
    header = rebuild(shard._restore(NOTHING, sequence).text, lambda kind, name: None)
    return header if isinstance(header, dict) else {}


def index_of(metadata: Metadata, places: dict[MetadataIndex, Place], save: str, ranks: int) -> dict[str, Any]:
    """The index of a save as a state of `Checkpoint`."""
    return {
        "save": save,
        "ranks": ranks,
        "version": metadata.version,
        "items": {fqn: _description(fqn, item) for fqn, item in metadata.state_dict_metadata.items()},
        "places": [
            (index.fqn, None if index.offset is None else list(index.offset), place.rank, place.sequence, place.name)
            for index, place in places.items()
        ],
        "planner": metadata.planner_data,
    }


def metadata_of(index: dict[str, Any]) -> tuple[Metadata, dict[MetadataIndex, Place]]:
    """The inverse. Raises PoolCorrupt for a state that `index_of` did not give."""
    try:
        items = {fqn: _item(fqn, found) for fqn, found in index["items"].items()}
        places = {
            MetadataIndex(fqn, offset): Place(index["save"], rank, sequence, name)
            for fqn, offset, rank, sequence, name in index["places"]
        }
        return Metadata(items, index["planner"], places, version=index["version"]), places
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PoolCorrupt(f"the index of a distributed save was not written by PoolWriter: {error!r}") from None


def _description(fqn: str, item: Any) -> dict[str, Any] | None:
    if isinstance(item, BytesStorageMetadata):
        return None
    properties = item.properties
    if properties.layout is not torch.strided or properties.memory_format is not torch.contiguous_format:
        raise InvalidArgument(f"{fqn} has the layout {properties.layout}: give dense, contiguous tensors")
    return {
        "dtype": str(properties.dtype).removeprefix("torch."),
        "requires_grad": properties.requires_grad,
        "size": list(item.size),
        "chunks": [(list(chunk.offsets), list(chunk.sizes)) for chunk in item.chunks],
    }


def _item(fqn: str, found: dict[str, Any] | None) -> BytesStorageMetadata | TensorStorageMetadata:
    if found is None:
        return BytesStorageMetadata()
    dtype = getattr(torch, found["dtype"], None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{fqn} has elements {shown(found['dtype'])}, which this PyTorch has not")
    chunks = [ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes)) for offsets, sizes in found["chunks"]]
    properties = TensorProperties(dtype=dtype, requires_grad=found["requires_grad"])
    return TensorStorageMetadata(properties, torch.Size(found["size"]), chunks)
