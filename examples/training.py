"""Trains embeddings and a dense network in one pool, and goes on after a kill as if there had been none. Needs PyTorch.
Usage: training.py [POOL [STEPS]]

Rows change durably with each step; the network, its optimizer and the random numbers are saved every few steps. After a
kill the rows are newer than the last save. So what a row was at that save is kept, before it changes for the first time
since, in a second table of the pool. It is an undo log:

  keep     the rows of a step as they are, with the step of the last save: durable before they change
  change   the rows
  save     the network: when this is durable, the new step counts, and what was kept is of an older one
  clear    the undo log

At the start what was kept since the step that counts goes back into the table; that may be killed, and done again.
"""

import sys

import numpy as np

import holdfastdb as hf

try:
    import torch

    import holdfastdb.torch as hft
except ImportError:
    print("PyTorch is not installed, so there is nothing to train: pip install torch")
    sys.exit(0)

CATEGORIES, COLUMNS, EVERY = 3, 8, 5
VALUE = 4 * COLUMNS + 4  # a row, and what its optimizer knows of it


def table_of(pool: hf.Pool, name: str, value: int) -> hf.Table:
    try:
        return pool.table(name)
    except hf.ObjectNotFound:
        return pool.create_table(name, value=value)


class UndoLog:
    """What rows of a table were when the state was last saved."""

    def __init__(self, pool: hf.Pool, table: hf.Table) -> None:
        self.table, self.kept = table, table_of(pool, "kept", 8 + table.value_bytes)

    def keep(self, keys: torch.Tensor, saved: int) -> None:
        """To be called before these rows change. Those that are kept already stay as they are."""
        rows, _ = self.table.find(keys, dtype=torch.uint8)
        steps = torch.full((len(keys), 1), saved, dtype=torch.int64).view(torch.uint8)
        self.kept.insert(keys, torch.cat([steps, rows], dim=1))

    def undo(self, saved: int) -> int:
        """The table is as it was at the save of this step, which is the newest; returns how many rows were not."""
        undone = 0
        for keys, values in self.kept.batches(dtype=np.uint8):
            since = np.ascontiguousarray(values[:, :8]).view(np.int64)[:, 0] == saved
            self.table.insert_or_assign(keys[since], np.ascontiguousarray(values[since, 8:]))
            undone += int(since.sum())
        self.kept.clear()
        return undone


class Model(torch.nn.Module):
    def __init__(self, table: hf.Table) -> None:
        super().__init__()
        self.rows = hft.Embedding(table.column(0, 4 * COLUMNS), COLUMNS, init=hf.initial.Normal(std=0.3, seed=1))
        self.dense = torch.nn.Sequential(
            torch.nn.Linear(CATEGORIES * COLUMNS, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1)
        )

    def forward(self, categories: torch.Tensor) -> torch.Tensor:
        return self.dense(self.rows(categories).flatten(1)).squeeze(1)


def train(pool: hf.Pool, last: int) -> None:
    """Prints the loss of each step, to the last bit."""
    table = table_of(pool, "rows", VALUE)
    log, checkpoint = UndoLog(pool, table), hf.Checkpoint(pool, name="dense")
    model = Model(table)
    rows_optimizer = hft.Adagrad(model.rows.parameters(), lr=0.5)
    optimizer = torch.optim.AdamW(model.dense.parameters(), lr=0.01)

    def save(step: int) -> int:
        state = {
            "dense": model.dense.state_dict(),
            "optimizer": optimizer.state_dict(),
            "random": torch.get_rng_state(),
        }
        checkpoint.save(state, step).wait()
        log.kept.clear()
        return step

    try:
        state, step = checkpoint.restore()
        model.dense.load_state_dict(state["dense"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        saved = step
        print(f"goes on at step {step}, {log.undo(saved)} rows undone", flush=True)
    except hf.ObjectNotFound:
        step = saved = save(0)
    while step < last:
        categories = torch.randint(0, 200, (64, CATEGORIES)) + torch.arange(CATEGORIES) * 1_000_000
        wanted = (categories.sum(1) % 2).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(categories), wanted)
        optimizer.zero_grad()
        rows_optimizer.zero_grad()
        loss.backward()
        log.keep(model.rows.rows.keys, saved)
        rows_optimizer.step()
        optimizer.step()
        step += 1
        print(step, loss.item().hex(), flush=True)
        if step % EVERY == 0 or step == last:
            saved = save(step)
    print(f"{len(table):,} rows, step {step}")
    checkpoint.close()
    log.kept.close()
    table.close()


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "/dev/shm/training.hold"
    last = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    torch.set_num_threads(1)  # for a model so small
    torch.manual_seed(1)
    try:
        pool = hf.Pool.open(path)
    except hf.PoolNotFound:
        pool = hf.Pool.create(path)
    with pool:
        train(pool, last)


if __name__ == "__main__":
    main()
