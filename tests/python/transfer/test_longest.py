"""The longest keys and values, and the shortest, through every format of files, bit by bit."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf
from holdfastdb.cli.main import main

LONGEST, WIDEST = 1 << 16, 128
"""Bytes of a key or value of any length, or of a value of a fixed one; of a key of a fixed one."""
FORMATS = ["csv", "parquet", "arrow"]
AWKWARD = b'"\n,\r\n\\"\t ;\x00\xff'


def long_bytes(seed: int, length: int = LONGEST) -> bytes:
    """Bytes of all values, with those in them that formats quote."""
    made = np.random.default_rng(seed).integers(0, 256, length, np.uint8).tobytes()
    return (AWKWARD + made)[:length] if seed % 2 else (made[: -len(AWKWARD)] + AWKWARD)[-length:]


def long_text(seed: int, length: int = LONGEST) -> bytes:
    """Text of exactly so many bytes in UTF-8, with letters of one to four bytes, commas, quotes and line ends."""
    text = "aé€\U0001f600,\"\n'"[seed:] * length
    data = text.encode()[:length].decode(errors="ignore").encode()
    return data + b"x" * (length - len(data))


ITEMS = {
    "bytes": {
        long_bytes(1): long_bytes(2),
        long_bytes(3): b"",
        b"": long_bytes(4),
        long_bytes(5, LONGEST - 1): long_bytes(6, LONGEST - 1),
        b"\x00": b"\x00",
    },
    "text": {
        long_text(0): long_text(1),
        long_text(2): b"",
        b"": long_text(3),
        long_text(1, LONGEST - 1): long_text(0, LONGEST - 1),
    },
}


def through(folder: Path, table: hf.Table, form: str, how: dict[str, Any], create: Callable[[Path], hf.Table]) -> Any:
    """A table that was loaded from a dump of this one."""
    path = folder / f"items.{form}"
    report = hf.dump(table, path, batch=2, **how)
    assert report.rows == len(table) and report.bytes == path.stat().st_size
    loaded = create(folder / "loaded.hold")
    assert hf.load(loaded, path, batch=2, **how).inserted == len(table)
    assert loaded.check().ok
    return loaded


def any_length(path: Path) -> hf.Table:
    return hf.Table.create(path, bytes, bytes, device="cpu")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("value", ["hex", "text"])
def test_any_length(tmp_path: Path, form: str, value: str) -> None:
    if form != "csv":
        pytest.importorskip("pyarrow")
    items = ITEMS["bytes" if value == "hex" else "text"]
    with any_length(tmp_path / "items.hold") as table:
        assert (table.insert(list(items), list(items.values())) == hf.Status.INSERTED).all()
        with through(tmp_path, table, form, {"value": value}, any_length) as loaded:
            assert dict(loaded.items()) == items


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("value", ["hex", "text", "float64", "uint64*8192"])
def test_fixed_lengths(tmp_path: Path, form: str, value: str) -> None:
    if form != "csv":
        pytest.importorskip("pyarrow")
    keys = np.frombuffer(b"".join(long_bytes(seed, WIDEST) for seed in range(4)), np.uint8).reshape(4, WIDEST)
    if value == "text":
        rows = [long_text(seed) for seed in range(4)]
    else:  # numbers, among them the largest and the smallest
        rows = [b"\x00" * LONGEST, b"\x7f" * LONGEST, *(long_bytes(seed) for seed in (1, 2))]

    def create(path: Path) -> hf.Table:
        return hf.Table.create(path, WIDEST, LONGEST, device="cpu")

    with create(tmp_path / "items.hold") as table:
        table.insert(keys, rows)
        with through(tmp_path, table, form, {"value": value}, create) as loaded:
            found = loaded.find(keys)
            assert found.found.all() and [row.tobytes() for row in found.values] == rows


@pytest.mark.parametrize("form", FORMATS)
def test_longer_ones_are_refused_by_their_row(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"long.{form}"
    keys, values = [b"a", b"b"], [b"x", b"y" * (LONGEST + 1)]
    if form == "csv":
        path.write_text("".join(f"{k.hex()},{v.hex()}\n" for k, v in zip(keys, values, strict=True)))
    else:
        pa = pytest.importorskip("pyarrow")
        made = pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})
        if form == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(made, path)
        else:
            with pa.ipc.new_file(path, made.schema) as out:
                out.write_table(made)
    with any_length(tmp_path / "items.hold") as table:
        with pytest.raises(hf.InvalidArgument, match=r"(line|row) 2: .*65,?537"):
            hf.load(table, path, value="hex")
        assert dict(table.items()) == {b"a": b"x"}


@pytest.mark.parametrize("first", [False, True])
def test_lines_in_a_value_that_is_too_long_are_no_rows(tmp_path: Path, first: bool) -> None:
    """A value of more than a megabyte is refused as a whole: with skip_bad too, and by a load that resumes."""
    path = tmp_path / "long.csv"
    value = "x" * 1_100_000 + "\nuser:1,HACKED\n"
    rows = ["user:2,Bob\n", f'user:3,"{value}"\n', "user:4,Eve\n"]
    path.write_text("".join(rows[1:] if first else rows))
    kept = {b"user:4": b"Eve"} if first else {b"user:2": b"Bob", b"user:4": b"Eve"}
    why = f"the value is {len(value)} bytes: a value has at most 65536"
    with any_length(tmp_path / "items.hold") as table:
        for resume in (False, True):
            with pytest.raises(hf.InvalidArgument, match=f"line {1 if first else 2}: {why}"):
                hf.load(table, path, value="text", resume=resume)
            assert b"user:1" not in dict(table.items())
        report = hf.load(table, path, value="text", skip_bad=True, resume=True)
        (bad,) = report.bad_rows
        assert bad.place == f"line {1 if first else 2}" and bad.why.startswith(why)
        assert dict(table.items()) == kept


def test_a_field_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a row ends is unknown behind a field that is longer than any value: not even skip_bad continues there."""
    monkeypatch.setattr("holdfastdb.transfer.csvs._FIELD_LIMIT", 1 << 20)
    path = tmp_path / "long.csv"
    path.write_text('a,x\nb,"' + "x" * 1_100_000 + "\nuser:1,HACKED\n" + '"\n')
    with any_length(tmp_path / "items.hold") as table:
        csv.field_size_limit(131072)  # Python's default, which another test may have raised
        with pytest.raises(hf.InvalidArgument, match="line 2: a field has more than 1,048,576 characters"):
            hf.load(table, path, value="text", skip_bad=True)
        assert b"user:1" not in dict(table.items())


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    """An argument has at most 128 KiB, which the longest key in hexadecimal takes nearly all of."""
    monkeypatch.chdir(tmp_path)
    any_length(tmp_path / "items.hold").close()
    key, value = long_bytes(1, 40_000), long_text(1, 40_000)

    def holdfast(*words: str) -> bytes:
        monkeypatch.setattr(sys, "argv", ["holdfast", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code in (0, None)
        return bytes(capsysbinary.readouterr().out)

    holdfast("put", "items.hold", f"0x{key.hex()}", value.decode())
    assert holdfast("get", "--raw", "items.hold", f"0x{key.hex()}") == value
    holdfast("del", "items.hold", f"0x{key.hex()}")
    with hf.Table.open(tmp_path / "items.hold", "cpu", "r") as table:
        assert len(table) == 0


def test_a_checkpoint_with_the_longest_names(tmp_path: Path) -> None:
    name = "é" * 5000 + "/" * 10
    state = {name: np.arange(3), "text": long_text(0).decode(), "bytes": long_bytes(1)}
    with hf.Checkpoint(tmp_path / "state.hold") as checkpoint:
        checkpoint.save(state, 1).wait()
        checkpoint.export(tmp_path / "state.safetensors")
        checkpoint.import_(tmp_path / "state.safetensors", 2).wait()
        found, step = checkpoint.restore()
    assert step == 2 and found["text"] == state["text"] and found["bytes"] == state["bytes"]
    np.testing.assert_array_equal(found[name], [0, 1, 2])
