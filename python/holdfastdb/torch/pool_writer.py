"""The writer of `torch.distributed.checkpoint` for pools."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import secrets
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner, WriteItem, WriteItemType
from torch.distributed.checkpoint.storage import StorageWriter, WriteResult
from torch.futures import Future

from ..arrays.tensors import address_of, identity_of, plain
from ..checked import whole
from ..checkpoint import Checkpoint
from ..errors import InvalidArgument, InvalidType, ObjectNotFound, PoolCorrupt, PoolNotFound
from ..pool import Pool
from .shards import NOTHING, RANK, Place, index_of, names_of, pattern_of, step_of


@dataclass(frozen=True)
class _Order:
    """What the coordinator sends a rank. `kept` is the sequence of its part of the save that counts now, or 0."""

    save: str
    step: int
    rank: int
    ranks: int
    kept: int


class PoolWriter(StorageWriter):
    """Give it to `dcp.save` or `dcp.async_save` as `storage_writer`, on every rank; `checkpoint_id` is the step, and
    one more than that of the save before where it is left out. Each rank saves into its own pool. A save counts when it
    is durable on all ranks and the coordinator has named it; after a crash the last save that was acknowledged is
    there, or a later one, whole. One save at a time.

    Parameters
    ----------
    path
        Of the pools, with "{rank}" in it; those that are not there are made. Or this rank's pool, open for writing.
    copies
        Of each rank's state in its pool, 3 to 8: what counts, what a crash left uncounted, and what is being written.
    name
        Of the checkpoints in the pools: shards have this name, and the index in the pool of rank 0 ".index" behind it.

    Raises
    ------
    Errors of a rank come out of `dcp.save` in a `CheckpointException`, and the save before stands: NoSpace, PoolInUse,
    InvalidType (data that no checkpoint takes), InvalidArgument (`use_collectives=False`, a planner that caches plans).
    """

    def __init__(self, path: str | os.PathLike[str] | Pool, copies: int = 3, *, name: str = "dcp") -> None:
        super().__init__()
        self._pool = path if isinstance(path, Pool) else None
        self._pattern = "" if isinstance(path, Pool) else pattern_of(path)
        self._owned = False
        self._copies = whole("copies", copies, 3, 8)
        self._names = names_of(name)
        self._shard: Checkpoint | None = None
        self._index: Checkpoint | None = None
        self._step: int | None = None
        self._rank: int | None = None
        self._order: _Order | None = None
        self._last = ""

    # What DCP calls, in its order.

    def reset(self, checkpoint_id: Any = None) -> None:
        self._step = None if checkpoint_id is None else step_of(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        if not kwargs.get("use_collectives", True):
            raise InvalidArgument(
                "a save without collectives has no moment at which it counts: leave use_collectives out"
            )

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """On the coordinator: what counts now is kept on every rank until this save counts."""
        kept: dict[int, int] = {}
        step = 1
        index = self._open_index()
        try:
            found, last = index.restore()
        except ObjectNotFound:
            pass
        else:
            kept, step = {rank: sequence for _, _, rank, sequence, _ in found["places"]}, last + 1
        step = step if self._step is None else self._step
        save, ranks = secrets.token_hex(16), len(plans)
        orders = [_Order(save, step, rank, ranks, kept.get(rank, 0)) for rank in range(ranks)]
        self._order = orders[0]
        return [dataclasses.replace(plan, storage_data=order) for plan, order in zip(plans, orders, strict=True)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """On every rank. The future is done when this rank's part is durable."""
        order = plan.storage_data
        self._step = None
        if not isinstance(order, _Order) or order.save == self._last:
            raise InvalidArgument("the plan is that of another save: give a planner without enable_plan_caching")
        self._last = order.save
        written: list[tuple[WriteItem, str, int]] = []
        sequence = 0
        if plan.items:
            tensors = _resolved(plan, planner, written)
            sequence = self._save(order, tensors)
        results = [
            WriteResult(item.index, size, Place(order.save, order.rank, sequence, name)) for item, name, size in written
        ]
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """On the coordinator, when every rank's part is durable: from here this save counts."""
        order = self._order
        if order is None:
            raise InvalidArgument("there is no save to finish: PoolWriter is for dcp.save and dcp.async_save")
        places: dict[MetadataIndex, Place] = {result.index: result.storage_data for part in results for result in part}
        if any(place.save != order.save for place in places.values()):
            raise InvalidArgument("a rank wrote for another save: give a planner without enable_plan_caching")
        index = index_of(metadata, places, order.save, order.ranks)
        self._open_index().save(index, order.step, wait=False).wait()
        metadata.storage_data, metadata.storage_meta = places, self.storage_meta()

    def storage_meta(self) -> StorageMeta | None:
        return StorageMeta(checkpoint_id=self._pattern or None, save_id=self._last or None)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether it is a step."""
        try:
            step_of(checkpoint_id)
        except InvalidArgument:
            return False
        return True

    # Its pool.

    def close(self) -> None:
        """Closes its checkpoints, and the pool if that was given as a path. The next save would open them again."""
        for checkpoint in (self._shard, self._index):
            if checkpoint is not None:
                checkpoint.close()
        self._shard = self._index = None
        if self._owned and self._pool is not None:
            self._pool.close()
            self._pool, self._owned = None, False

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._pool is not None or self._shard is not None or self._index is not None:
            raise InvalidType(
                "a PoolWriter with open pools cannot be pickled or copied: make one of the same path, or close it first"
            )
        return super().__reduce_ex__(protocol)

    def __enter__(self) -> PoolWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _pool_of(self, rank: int) -> Pool:
        if self._owned and rank != self._rank:
            self.close()  # the group changed
        if self._pool is None:
            path = self._pattern.replace(RANK, str(rank))
            try:
                self._pool = Pool.open(path)
            except PoolNotFound:
                self._pool = Pool.create(path)
            self._owned, self._rank = True, rank
        return self._pool

    def _open_index(self) -> Checkpoint:
        if self._index is None or self._rank not in (None, 0):
            self._index = Checkpoint(self._pool_of(0), self._copies, name=self._names[1])
        return self._index

    def _save(self, order: _Order, tensors: dict[str, torch.Tensor]) -> int:
        """The sequence of the save, which is durable."""
        pool = self._pool_of(order.rank)
        if self._shard is None:
            self._shard = Checkpoint(pool, self._copies, name=self._names[0])
        kept = None
        if order.kept != 0:
            # Where another pool lies here now there is nothing to keep.
            with contextlib.suppress(ObjectNotFound, PoolCorrupt):
                kept = self._shard._restore(NOTHING, order.kept)
        state = {"save": order.save, "rank": order.rank, "ranks": order.ranks, "items": tensors}
        self._shard.save(state, order.step, wait=False).wait()
        del kept
        return int(self._shard.saved[0]["sequence"])


def _resolved(
    plan: SavePlan, planner: SavePlanner, written: list[tuple[WriteItem, str, int]]
) -> dict[str, torch.Tensor]:
    """Tensors by the names that they get in the pool; one that lies in several places of the state is there once."""
    tensors: dict[str, torch.Tensor] = {}
    seen: dict[Any, str] = {}
    for item in plan.items:
        data = planner.resolve_data(item)
        identity: Any = None
        if item.type == WriteItemType.BYTE_IO or isinstance(data, io.BytesIO):
            assert isinstance(data, io.BytesIO)
            data = torch.frombuffer(bytearray(data.getvalue()), dtype=torch.uint8)
        else:
            data = plain(data, torch, item.index.fqn).detach()
            if data.numel() != 0:
                identity = identity_of(data, address_of(data, data.is_contiguous(), item.index.fqn))
        if identity is None or identity not in seen:
            offset = "" if item.index.offset is None else "@" + ",".join(map(str, item.index.offset))
            name, n = item.index.fqn + offset, 1
            while name in tensors:
                n += 1
                name = f"{item.index.fqn}{offset}#{n}"
            tensors[name] = data
            seen[identity] = name
        else:
            name = seen[identity]
        written.append((item, name, data.numel() * data.element_size()))
    return tensors
