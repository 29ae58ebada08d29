"""Every writer of files, and every reader of what it wrote: `python writers.py FOLDER` runs both."""

from __future__ import annotations

import gzip
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

import holdfastdb as hf
from holdfastdb import kmers

FORMATS = ["csv", "parquet", "arrow"]
COUNTS = ["txt", "parquet", "hold"]
ROWS = 3000
KEYS = np.arange(ROWS, dtype=np.uint64) * 7 + 3
VALUES = np.column_stack([KEYS * 1_000_003, KEYS ^ 0x5555]).astype(np.uint64)
STATE = {"large": np.arange(40_000, dtype=np.float64), "small": [np.full(i, i, np.int16) for i in range(300)]}
RECORDS = [f">{i}\n" + "".join("ACGT"[(i * j + j // 3) % 4] for j in range(700)) + "\n" for i in range(20)]


def write(folder: Path) -> None:
    (folder / "reads.fa").write_text("".join(RECORDS))
    (folder / "reads.fa.gz").write_bytes(gzip.compress("".join(RECORDS).encode()))
    with hf.Table.create(folder / "items.hold", key=8, value=16, device="cpu") as table:
        table.insert(KEYS, VALUES)
        table.snapshot(folder / "copy.hold")
        for form in FORMATS:
            hf.dump(table, folder / f"items.{form}", batch=700)
        with hf.Table.create(folder / "loaded.hold", key=8, value=16, device="cpu") as loaded:
            load_in_two_parts(loaded, folder / "items.csv", folder / "resume")
    with hf.Checkpoint(folder / "model.hold", drain=folder / "drained.safetensors") as checkpoint:
        checkpoint.save(STATE, 5).wait()
        checkpoint.export(folder / "exported.safetensors")
    for ending in COUNTS:
        kmers.write(counted(folder), folder / f"counts.{ending}")


def counted(folder: Path) -> kmers.Counts:
    """Of the compressed reads, where this build inflates."""
    try:
        return kmers.count(folder / "reads.fa.gz", 15, threads=1)
    except hf.InputError as error:
        assert "inflates nothing" in str(error)
        return kmers.count(folder / "reads.fa", 15, threads=1)


class Stop(Exception):
    pass


def load_in_two_parts(table: hf.Table, path: Path, resume_file: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise Stop

    with suppress(Stop):
        hf.load(table, path, resume_file=resume_file, batch=700, progress=stop)
    assert len(table) == 700
    assert hf.load(table, path, resume_file=resume_file, resume=True, batch=700).resumed


def read(folder: Path) -> None:
    for name in ["items", "copy", "loaded"]:
        with hf.Table.open(folder / f"{name}.hold", mode="r", device="cpu") as table:
            assert_holds(table, name)
            assert not table.check().errors
    for form in FORMATS:
        with hf.Table.create(folder / "again.hold", key=8, value=16, overwrite=True, device="cpu") as table:
            hf.load(table, folder / f"items.{form}", batch=700)
            assert_holds(table, form)
    for name in ["exported", "drained"]:
        (folder / f"{name}.hold").unlink(missing_ok=True)
        with hf.Checkpoint(folder / f"{name}.hold") as checkpoint:
            checkpoint.import_(folder / f"{name}.safetensors").wait()
            state, step = checkpoint.restore()
        assert step == 5, name
        np.testing.assert_array_equal(state["large"], STATE["large"])
        for found, expected in zip(state["small"], STATE["small"], strict=True):
            np.testing.assert_array_equal(found, expected)
    expected = dict(kmers.count(folder / "reads.fa", 15, threads=1).items())
    for ending in COUNTS:
        found: dict[str, int] = {}
        for numbers, counts in kmers.CountFile(folder / f"counts.{ending}"):
            found.update(zip(kmers.decode(numbers, 15), counts.tolist(), strict=True))
        assert found == expected, ending


def assert_holds(table: hf.Table, name: str) -> None:
    values, found = table.find(KEYS, dtype=np.uint64)
    assert len(table) == ROWS and found.all(), name
    np.testing.assert_array_equal(values, VALUES, err_msg=name)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
    read(Path(sys.argv[1]))
