"""The reader of `torch.distributed.checkpoint` for pools."""

from __future__ import annotations

import io
import os
from types import TracebackType
from typing import Any

from torch import Tensor
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex
from torch.distributed.checkpoint.planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem
from torch.distributed.checkpoint.storage import StorageReader
from torch.futures import Future

from ..checkpoint import Checkpoint
from ..errors import Error, InvalidArgument, InvalidType, ObjectNotFound, PoolCorrupt, PoolMismatch, PoolNotFound
from ..pool import Pool
from .shards import RANK, Place, header_of, metadata_of, names_of, pattern_of, step_of


class PoolReader(StorageReader):
    """Give it to `dcp.load` as `storage_reader`, on every rank of any number. It takes the newest save that counts and
    that every pool still has; `damage` says which newer ones it passed over. `checkpoint_id` asks for a step. The pools
    are opened with mode "r", so no writer may have them.

    Parameters
    ----------
    path, name
        As given to `PoolWriter`. Every rank must reach the pools of all ranks that saved.

    Raises
    ------
    Errors come out of `dcp.load` in a `CheckpointException`: ObjectNotFound (nothing was saved, or not this step),
    PoolNotFound, PoolMismatch (a pool has no part of the save), PoolInUse, PoolCorrupt (`checkpoint_id` asks for an
    older step).
    """

    def __init__(self, path: str | os.PathLike[str], *, name: str = "dcp") -> None:
        super().__init__()
        self._pattern = pattern_of(path)
        self._names = names_of(name)
        self._wanted: int | None = None
        self._pools: dict[int, Pool] = {}
        self._shards: dict[int, Checkpoint] = {}
        self._places: dict[MetadataIndex, Place] = {}
        self._error: Exception | None = None
        self._step: int | None = None
        self._damage: tuple[str, ...] = ()

    @property
    def step(self) -> int | None:
        """Of what was loaded last."""
        return self._step

    @property
    def damage(self) -> tuple[str, ...]:
        """What the last load had to pass over, and why."""
        return self._damage

    def steps(self) -> list[int]:
        """Of the saves that count and that every pool has, newest first; empty before the first."""
        try:
            return [step for step, _, flaw in self._found() if not flaw]
        except ObjectNotFound:
            return []
        finally:
            self.close()

    # What DCP calls, in its order.

    def reset(self, checkpoint_id: Any = None) -> None:
        self._wanted = None if checkpoint_id is None else step_of(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        self._error = self._step = None
        try:
            return self._newest()
        except Exception as error:
            # DCP would look for the metadata of a single rank, and raise an error about those.
            self._error = error
            return Metadata({}, {})

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self._wanted = None
        if self._error is not None:
            error, self._error = self._error, None
            self.close()
            raise error

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Verifies what it reads, and copies it from the pools to where the planner wants it."""
        by_rank: dict[int, list[tuple[ReadItem, Place]]] = {}
        for item in plan.items:
            place = self._places[item.storage_index]
            by_rank.setdefault(place.rank, []).append((item, place))
        try:
            for rank, items in by_rank.items():
                self._read(rank, items, planner)
        finally:
            self.close()
        future: Future[None] = Future()
        future.set_result(None)
        return future

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether it is a step."""
        try:
            step_of(checkpoint_id)
        except InvalidArgument:
            return False
        return True

    # Its pools.

    def close(self) -> None:
        """Closes the pools; a load does so when it ends."""
        for checkpoint in self._shards.values():
            checkpoint.close()
        for pool in self._pools.values():
            pool.close()
        self._shards, self._pools = {}, {}

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._pools:
            raise InvalidType(
                "a PoolReader with open pools cannot be pickled or copied: make one of the same path, or close it first"
            )
        return super().__reduce_ex__(protocol)

    def __enter__(self) -> PoolReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _pool(self, rank: int) -> Pool:
        if rank not in self._pools:
            self._pools[rank] = Pool.open(self._pattern.replace(RANK, str(rank)), mode="r")
        return self._pools[rank]

    def _shard(self, rank: int) -> Checkpoint:
        if rank not in self._shards:
            self._shards[rank] = Checkpoint(self._pool(rank), name=self._names[0])
        return self._shards[rank]

    def _found(self) -> list[tuple[int, dict[str, Any], str]]:
        """The saves that the index has, newest first: step, index, and what is wrong with it."""
        try:
            with Checkpoint(self._pool(0), name=self._names[1]) as checkpoint:
                saved = [(copy["step"], copy["sequence"]) for copy in checkpoint.saved]
                found: list[tuple[int, dict[str, Any], str]] = []
                for step, sequence in saved:
                    try:
                        index, _ = checkpoint.restore(sequence)
                    except Error as error:
                        found.append((step, {}, str(error)))
                    else:
                        found.append((step, index, self._flaw_in(index)))
        except ObjectNotFound as error:
            raise ObjectNotFound(f"{self._pattern} has no distributed save: {error}") from None
        return found

    def _flaw_in(self, index: dict[str, Any]) -> str:
        """What keeps this save from being loaded, without a look at its tensors."""
        sequences = {rank: sequence for _, _, rank, sequence, _ in index["places"]}
        for rank, sequence in sorted(sequences.items()):
            try:
                header = header_of(self._shard(rank), sequence)
                if (header.get("save"), header.get("rank")) != (index["save"], rank):
                    raise PoolMismatch("what it has is of another save, or of another rank")
            except (ObjectNotFound, PoolNotFound, PoolMismatch, PoolCorrupt) as error:
                return f"the pool of rank {rank} of {index['ranks']} has no part of it: {error}"
        return ""

    def _newest(self) -> Metadata:
        flaws: list[str] = []
        found = self._found()
        for step, index, flaw in found:
            if self._wanted not in (None, step):
                continue
            if not flaw:
                metadata, self._places = metadata_of(index)
                self._step, self._damage = step, tuple(flaws)
                return metadata
            flaws.append(f"step {step}: {flaw}")
        if flaws:
            raise PoolMismatch(f"{self._pattern} has no save that is whole; {'; '.join(flaws)}")
        if found:
            have = ", ".join(str(step) for step, _, _ in found)
            raise ObjectNotFound(f"{self._pattern} has no save of step {self._wanted}: it has {have}")
        raise ObjectNotFound(f"{self._pattern} has no distributed save yet")

    def _read(self, rank: int, items: list[tuple[ReadItem, Place]], planner: LoadPlanner) -> None:
        shard = self._shard(rank)
        saved = shard._restore([f"items/{place.name}" for _, place in items], items[0][1].sequence)
        given = {each[0]: each for each in saved.tensors()}
        for item, place in items:
            tensor = shard._array(saved, "torch", given[f"items/{place.name}"])
            if item.type == LoadItemType.BYTE_IO:
                planner.load_bytes(item, io.BytesIO(tensor.numpy().tobytes()))
                continue
            part = _part(tensor, item)
            target = planner.resolve_tensor(item).detach()
            if target.size() != part.size():
                raise PoolMismatch(
                    f"{item.dest_index.fqn} has the shape {tuple(target.size())} here, and in the save "
                    f"{tuple(part.size())}"
                )
            target.copy_(part)
            planner.commit_tensor(item, target)


def _part(tensor: Tensor, item: ReadItem) -> Tensor:
    """What the item wants of a saved chunk."""
    for axis, (begin, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
        tensor = tensor.narrow(axis, begin, length)
    return tensor
