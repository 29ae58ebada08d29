"""The ranks of a distributed training, which test_distributed.py has save, load and die in a folder."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # which a DTensor imports when it is first used: here it is imported once for all ranks
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from holdfastdb.torch.distributed import PoolReader, PoolWriter

ROWS = 17  # so that no number of ranks divides them


def whole(step: int) -> dict[str, Any]:
    """What a state is of a step, if all its tensors were whole."""
    base = torch.arange(ROWS * 6, dtype=torch.float32).reshape(ROWS, 6)
    return {
        "rows": base + step,
        "columns": base * step,
        "same": torch.full((5,), float(step)).to(torch.bfloat16),
        "scalar": torch.tensor(step, dtype=torch.int64),
        "empty": torch.zeros(0, 3),
    }


def state_of(step: int, mesh: Any) -> dict[str, Any]:
    """Sharded by rows, by columns, the same on all ranks, and objects that are no tensors."""
    full = whole(step)
    strided = full["columns"].t().contiguous().t()
    return {
        "model": {
            "rows": distribute_tensor(full["rows"], mesh, [Shard(0)]),
            "columns": distribute_tensor(strided, mesh, [Shard(1)]),
            "same": distribute_tensor(full["same"], mesh, [Replicate()]),
        },
        "optimizer": {"state": [full["scalar"], full["empty"]], "tied": full["scalar"]},
        "note": f"step {step}",
        "numbers": {"rate": step / 7, "betas": (0.9, step)},
    }


def loaded(reader: PoolReader, mesh: Any, step: int | None = None) -> int:
    """Loads into a state of zeroes, and compares it with what was saved then; returns the step."""
    state = state_of(0, mesh)
    dcp.load(state, storage_reader=reader, checkpoint_id=step)
    assert reader.step is not None
    full = whole(reader.step)
    for name in ("rows", "columns", "same"):
        found = state["model"][name]
        assert isinstance(found, DTensor) and torch.equal(found.full_tensor(), full[name]), name
    assert torch.equal(state["optimizer"]["state"][0], full["scalar"])
    assert torch.equal(state["optimizer"]["tied"], full["scalar"])
    assert state["note"] == f"step {reader.step}" and state["numbers"]["betas"] == (0.9, reader.step)
    return reader.step


def kill_self(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def rank_of(what: str, rank: int, ranks: int, folder: Path, step: int) -> None:
    """Does what one rank does, in its own process."""
    torch.set_num_threads(1)
    meeting = folder / f"meeting-{what}-{ranks}-{step}"
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,))
    pools = folder / "{rank}.hold"
    if what == "load":
        with PoolReader(pools) as reader:
            (folder / f"loaded-{rank}").write_text(f"{loaded(reader, mesh)} {reader.damage}")
    else:
        writer = PoolWriter(pools)
        if what == "kill-writing" and rank == ranks - 1:
            writer.write_data = kill_self  # type: ignore[method-assign]
        if what == "kill-finishing" and rank == 0:
            writer.finish = kill_self  # type: ignore[method-assign]
        if what == "async":
            dcp.async_save(state_of(step, mesh), storage_writer=writer, checkpoint_id=str(step)).result()
        else:
            dcp.save(state_of(step, mesh), storage_writer=writer, checkpoint_id=str(step))
        writer.close()
    dist.destroy_process_group()


def main() -> None:
    """A line "WHAT RANKS STEP" gives a line with the exit status of each rank."""
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        what, ranks, step = line.split()
        children = []
        for rank in range(int(ranks)):
            child = os.fork()  # PyTorch takes seconds to import, and this process has no threads
            if child == 0:
                try:
                    rank_of(what, rank, int(ranks), folder, int(step))
                    os._exit(0)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
            children.append(child)
        print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children), flush=True)
        for meeting in folder.glob("meeting-*"):
            meeting.unlink()


if __name__ == "__main__":
    main()
