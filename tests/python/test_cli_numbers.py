"""Numbers and keys on the command line and in CSV files: below zero, and written as no other program writes them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import holdfastdb as hf
from holdfastdb import InvalidArgument, Table
from holdfastdb.cli.main import app

ODD = ["1_0", "١٢", "４", "-1_0", "-١"]
run = CliRunner().invoke


@pytest.fixture
def pool(folder: Path) -> str:
    path = str(folder / "t.hold")
    Table.create(path, value=8, device="cpu").close()
    return path


def test_keys_below_zero_are_arguments(pool: str) -> None:
    assert run(app, ["put", pool, "-5", "five"]).exit_code == 0
    assert run(app, ["put", "--hex", pool, "-0x10", "00ff"]).exit_code == 0
    assert run(app, ["put", pool, "-6", "-7.5", "--only-new"]).exit_code == 0
    assert run(app, ["get", pool, "-5"]).stdout == "five\n"
    assert run(app, ["get", pool, str(2**64 - 5)]).stdout == "five\n"
    assert run(app, ["get", pool, "-6", "--raw"]).stdout.rstrip("\0") == "-7.5"
    items = json.loads(run(app, ["get", pool, "-5", "--json", "-16", "--", "-17"]).stdout)["items"]
    assert [item["found"] for item in items] == [True, True, False]
    assert run(app, ["del", pool, "-5", "-16", "-6"]).exit_code == 0
    with Table.open(pool, "cpu") as table:
        assert len(table) == 0


@pytest.mark.parametrize(
    "arguments", [["get", "POOL", "-a"], ["get", "POOL", "5", "--jso"], ["del", "POOL", "-5", "--nothing"],
                  ["put", "POOL", "5", "-text"]]
)  # fmt: skip
def test_other_dashes_are_options_and_the_message_names_the_way_out(pool: str, arguments: list[str]) -> None:
    result = run(app, [pool if one == "POOL" else one for one in arguments])
    assert result.exit_code == 2 and f"no such option: {arguments[-1]}. Put -- before" in result.output


def test_a_key_with_a_dash_goes_behind_two(folder: Path) -> None:
    path = str(folder / "any.hold")
    Table.create(path, bytes, bytes, device="cpu").close()
    assert run(app, ["put", path, "--", "-a", "-b"]).exit_code == 0
    assert run(app, ["get", path, "--", "-a"]).stdout == "-b\n"


@pytest.mark.parametrize("key", ODD)
def test_keys_in_other_numerals_are_refused(pool: str, key: str) -> None:
    for arguments in (["get", pool, key], ["put", pool, key, "x"], ["del", pool, key]):
        result = run(app, arguments)
        assert isinstance(result.exception, InvalidArgument) and "is no number" in str(result.exception), arguments
    with Table.open(pool, "cpu") as table:
        assert len(table) == 0


NUMBERS = [
    ("create POOL", "--capacity --levels --hash-locations --slots"),
    ("demo --path POOL", "--items --kills --lines"),
    ("kmer count FILE -o OUT", "-k --min-quality -L --lower -U --upper -t --threads"),
    ("kmer histo FILE", "--high"),
    ("kmer dump FILE", "-L --lower -U --upper"),
]


@pytest.mark.parametrize(("command", "options"), NUMBERS)
def test_options_in_other_numerals_are_refused(folder: Path, command: str, options: str) -> None:
    (folder / "FILE").write_text(">a\nACGTACGT\n")
    arguments = [str(folder / word) if word.isupper() else word for word in command.split()]
    for option in options.split():
        for odd in ["1_0", "١٢", "1.5"]:
            result = run(app, [*arguments, option, odd])
            assert result.exit_code == 2 and f"{odd!r} is no whole number" in result.output, (option, odd)
    assert [path.name for path in folder.iterdir()] == ["FILE"]


def test_every_option_that_is_a_number_is_among_them() -> None:
    def below(one: Any, names: list[str]) -> Iterator[tuple[str, str]]:
        for name, command in getattr(one, "commands", {}).items():
            yield from below(command, [*names, name])
        for param in one.params:
            known = inspect.signature(one.callback, eval_str=True).parameters if one.callback else {}
            if param.name in known and "int" in str(known[param.name].annotation).replace("Interr", ""):
                yield from ((" ".join(names), option) for option in param.opts)

    listed = {(" ".join(w for w in command.split() if w.islower() and "-" not in w), option)
              for command, options in NUMBERS for option in options.split()}  # fmt: skip
    found = set(below(typer.main.get_command(app), []))
    assert found == listed


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [(["demo", "--items", "7"], "8 or more"), (["kmer", "histo", "FILE", "--high", "0"], "1 or more"),
     (["kmer", "count", "FILE", "-o", "OUT", "--min-quality", "94"], "0 to 93")],
)  # fmt: skip
def test_limits_of_options(arguments: list[str], limits: str) -> None:
    result = run(app, arguments)
    assert result.exit_code == 2 and f"is out of range: give {limits}" in result.output


@pytest.mark.parametrize("odd", ODD)
def test_sizes_in_other_numerals_are_refused(folder: Path, odd: str) -> None:
    path = str(folder / "new.hold")
    for name in ("key", "value"):
        result = run(app, ["create", path, f"--{name}", odd])
        assert isinstance(result.exception, InvalidArgument) and f"--{name} is" in str(result.exception)
    result = run(app, ["create", path, f"--capacity={odd}"])
    assert result.exit_code == 2 and f"{odd!r} is no whole number" in result.output
    (folder / "a.fa").write_text(">a\nACGTACGT\n")
    for memory in (odd, f"{odd}M"):
        result = run(app, ["kmer", "count", str(folder / "a.fa"), "-o", str(folder / "c.txt"), "--memory", memory])
        assert isinstance(result.exception, InvalidArgument) and "--memory is" in str(result.exception)
    assert not Path(path).exists()


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_cells_in_other_numerals_are_refused(folder: Path, pool: str, kind: str, odd: str) -> None:
    """Alone, and among rows that are right: they are read at once first, and then one by one."""
    file = folder / "in.csv"
    for cells, line in ((f"{odd},1\n", 1), (f"1,{odd}\n", 1), (f"1,2\n2,3\n{odd},1\n", 3), (f"1,2\n2,{odd}\n", 2)):
        file.write_text(cells, encoding="utf-8")
        with Table.open(pool, "cpu") as table:
            with pytest.raises(hf.Error, match=rf"line {line}.*is no (whole number|{kind})"):
                hf.load(table, file, value=kind, heading=False)
            assert sorted(table.find(np.array([1, 2], np.uint64)).found.tolist()) == sorted([line > 1, line > 2])
            table.clear()
    file.write_text("key,int64\n1,2\n", encoding="utf-8")
    with Table.open(pool, "cpu") as table, pytest.raises(InvalidArgument, match="is no type"):
        hf.load(table, file, value=f"int64*{odd}")
