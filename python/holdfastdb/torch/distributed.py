"""Saves of `torch.distributed.checkpoint` in pools, one a rank, which another number of ranks may load.

>>> import tempfile, torch, torch.distributed.checkpoint as dcp
>>> from holdfastdb.torch.distributed import PoolReader, PoolWriter
>>> pools = tempfile.mkdtemp() + "/{rank}.hold"
>>> with PoolWriter(pools) as writer:
...     _ = dcp.save({"weight": torch.ones(2, 3)}, storage_writer=writer, checkpoint_id="7", no_dist=True)
>>> state = {"weight": torch.zeros(2, 3)}
>>> with PoolReader(pools) as reader:
...     dcp.load(state, storage_reader=reader, no_dist=True)
...     reader.step, state["weight"].sum()
(7, tensor(6.))

How a save counts, over several pools:

  shards   each rank saves what is its own, and waits until that is durable; what counted before is not overwritten
  index    then the coordinator, rank 0, saves in its own pool which save of each rank belongs to this step: it counts

A crash before the last step leaves the save before, in all pools.
"""

from __future__ import annotations

from .pool_reader import PoolReader
from .pool_writer import PoolWriter

__all__ = ["PoolReader", "PoolWriter"]
