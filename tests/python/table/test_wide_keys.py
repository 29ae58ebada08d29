"""Keys of more than 8 bytes: every way to give them, one error for a wrong width, and files in and out."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import holdfastdb as hf
from holdfastdb import InvalidArgument, InvalidType, Status, Table
from holdfastdb.cli.main import app
from holdfastdb.transfer import dump, load

WIDE = [16, 24, 32, 128]


def make_keys(n: int, size: int) -> np.ndarray:
    """(n, size) uint8; zeroes and all ones among them."""
    keys = np.random.default_rng(size).integers(0, 256, (n, size), np.uint8)
    keys[0], keys[1] = 0, 255
    return keys


@pytest.mark.parametrize("size", WIDE)
def test_every_form_of_keys(folder: Path, device: str, size: int) -> None:
    raw = make_keys(50, size)
    record = np.dtype([("a", np.uint64), ("b", np.uint8, size - 8)])
    forms: list[Any] = [
        raw,
        raw.reshape(-1).view(f"V{size}"),
        raw.reshape(-1).view(f"S{size}"),
        raw.reshape(-1).view(record),
        [row.tobytes() for row in raw],
        np.concatenate([raw, raw], axis=1)[:, :size],
    ]
    with Table.create(folder / "t.hold", key=size, value=8, device=device) as table:
        assert table.key_bytes == size
        values = np.arange(50, dtype=np.uint64)
        assert (table.insert(raw, values) == Status.INSERTED).all()
        for form in forms:
            rows, found = table.find(form, dtype=np.uint64)
            assert found.all() and (rows == values).all()
        assert raw[3].tobytes() in table and bytes(size - 1) + b"\1" not in table
        assert dict(table.items(dtype=np.uint64)) == {
            row.tobytes(): value for row, value in zip(raw, values, strict=True)
        }
        assert set(table) == {row.tobytes() for row in raw}
        keys, _, _ = table.export_batch(1000)
        assert keys.shape == (50, size) and keys.dtype == np.uint8
        assert table.check().ok


@pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="needs pyarrow")
def test_keys_from_arrow(folder: Path, device: str) -> None:
    import pyarrow as pa

    raw = make_keys(50, 32)
    keys = pa.array([row.tobytes() for row in raw], pa.binary(32))
    values = np.arange(50, dtype=np.uint64)
    with Table.create(folder / "t.hold", key=32, value=8, device=device) as table:
        assert (table.insert(keys, values) == Status.INSERTED).all()
        for form in (keys, pa.chunked_array([keys[:20], keys[20:21], keys[21:]])):
            rows, found = table.find(form, dtype=np.uint64)
            assert found.all() and (rows == values).all()
        rows, found = table.find(keys[7:9], dtype=np.uint64)
        assert found.all() and rows.tolist() == [7, 8], "a slice begins inside its buffer"
        for none in (keys[:0], pa.chunked_array([], pa.binary(32))):
            assert len(table.contains(none)) == 0
        with pytest.raises(InvalidArgument, match=r"keys\[0\] is null"):
            table.contains(pa.array([None, b"x" * 32], pa.binary(32)))
        with pytest.raises(InvalidArgument, match=r"shape \(1, 16\), but .* has keys of 32 bytes"):
            table.contains(pa.array([b"x" * 16], pa.binary(16)))


WRONG: list[tuple[str, Any, type[Exception], str]] = [
    ("numbers", np.arange(4, dtype=np.uint64), InvalidArgument, r"keys is uint64 .* has keys of 32 bytes.*\(n, 32\)"),
    ("narrow", np.zeros((4, 16), np.uint8), InvalidArgument, r"shape \(4, 16\), but .* has keys of 32 bytes"),
    ("narrow text", np.zeros(4, "S16"), InvalidType, "keys is bytes16.*keys of 32 bytes"),
    ("short bytes", [b"x" * 32, b"abc"], InvalidArgument, r"keys\[1\] is 3 bytes, and the table's keys have 32"),
    ("ints", [1, 2], InvalidType, r"keys\[0\] is 1, of type int: give bytes, 32 of them"),
    ("int", 7, InvalidType, r"keys\[0\] is 7, of type int"),
    ("text", "abc", InvalidType, "keys is of type str"),
]


@pytest.mark.parametrize(("keys", "error", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_widths(folder: Path, device: str, keys: Any, error: type[Exception], message: str) -> None:
    with Table.create(folder / "t.hold", key=32, value=0, device=device) as table:
        with pytest.raises(error, match=message):
            table.insert(keys)
        assert len(table) == 0


def test_the_pool_knows_its_width(folder: Path, device: str) -> None:
    path = folder / "t.hold"
    Table.create(path, key=32, device=device).close()
    info = hf.inspect(path).objects[0].table
    assert info is not None and info.key_bytes == 32
    with pytest.raises(hf.PoolMismatch, match="keys of 32 bytes"):
        Table.open(path, key=8)
    with Table.open(path, key=32, device=device) as table:
        assert table.key_bytes == 32


def test_grows_reopens_and_snapshots(folder: Path, device: str) -> None:
    keys = make_keys(30_000, 32)
    values = np.random.default_rng(1).integers(0, 256, (len(keys), 20), np.uint8)
    with Table.create(folder / "t.hold", key=32, value=20, capacity=100, device=device) as table:
        table.insert(keys, values)
        table.erase(keys[::3])
        table.snapshot(folder / "s.hold")
        assert table.stats()["resizes"] > 3
    for name in ("t.hold", "s.hold"):
        with Table.open(folder / name, device=device) as table:
            rows, found = table.find(keys)
            assert (found == (np.arange(len(keys)) % 3 != 0)).all()
            assert (rows[found] == values[found]).all()
            assert table.check().ok


FORMATS = ["csv", *(["parquet", "arrow"] if importlib.util.find_spec("pyarrow") else [])]


@pytest.mark.parametrize("form", FORMATS)
def test_dump_and_load(folder: Path, device: str, form: str) -> None:
    keys = make_keys(300, 32)
    with Table.create(folder / "a.hold", key=32, value=12, device=device) as table:
        table.insert(keys, np.random.default_rng(2).integers(0, 256, (300, 12), np.uint8))
        items = dict(table.items())
        assert dump(table, folder / f"out.{form}").rows == 300
    with Table.create(folder / "b.hold", key=32, value=12, device=device) as table:
        assert load(table, folder / f"out.{form}").inserted == 300
        assert dict(table.items()) == items
    with Table.create(folder / "c.hold", key=16, value=12, device=device) as table:
        with pytest.raises(InvalidArgument, match="key"):
            load(table, folder / f"out.{form}")
        assert len(table) == 0


def test_the_command_line(folder: Path, device: str) -> None:
    pool, key = str(folder / "t.hold"), "00" * 15 + "ff"

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, list(words), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    run("create", pool, "--key", "16", "--value", "8", "--device", device)
    assert "keys of 16 bytes" in run("info", pool)
    assert "inserted" in run("put", pool, key, "hello")
    assert "hello" in run("get", pool, key)
    assert json.loads(run("get", pool, key, "--json"))["items"][0]["key"] == key
    run("dump", pool, str(folder / "t.csv"))
    assert f"{key},68656c6c6f000000" in (folder / "t.csv").read_text()
    assert "erased" in run("del", pool, key)
    assert "no error" in run("check", pool)
