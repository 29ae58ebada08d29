"""Every call that gives a file its name, each followed by a mark with that name: `python ordered_writers.py FOLDER`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import writers

import holdfastdb as hf
from holdfastdb import kmers

KEYS = np.arange(100, dtype=np.uint64)


def done(path: Path) -> None:
    os.access(f"/mark/{path}", os.F_OK)


def main(folder: Path) -> None:
    reads = folder / "reads.fa"
    reads.write_text("".join(writers.RECORDS))
    (folder / "elsewhere").mkdir()
    with hf.Table.create(folder / "items.hold", device="cpu") as table:
        table.insert(KEYS, KEYS)
        for overwrite in (False, True):
            for form in writers.FORMATS:
                hf.dump(table, folder / f"items.{form}", batch=30, overwrite=overwrite)
                done(folder / f"items.{form}")
            table.snapshot(folder / "copy.hold", overwrite=overwrite)
            done(folder / "copy.hold")
        linked = folder / "link.csv"
        linked.symlink_to(folder / "elsewhere" / "items.csv")
        hf.dump(table, linked, overwrite=True)
        done(folder / "elsewhere" / "items.csv")
    with hf.Checkpoint(folder / "model.hold", drain=folder / "drained.safetensors") as checkpoint:
        for step in (1, 2):
            checkpoint.save({"a": KEYS}, step).wait()
            checkpoint.wait()
            done(folder / "drained.safetensors")
            checkpoint.export(folder / "exported.safetensors", overwrite=True)
            done(folder / "exported.safetensors")
    with hf.Pool.open(folder / "items.hold") as pool:
        pool.snapshot(folder / "whole.hold")
        done(folder / "whole.hold")
    for ending in writers.COUNTS:
        for _ in range(2):
            counts = kmers.count(reads, 15, threads=1)
            kmers.write(counts, folder / f"counts.{ending}", overwrite=ending != "hold" or not _)
            if ending == "hold":
                done(folder / f"counts.{ending}")
                break
            done(folder / f"counts.{ending}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
