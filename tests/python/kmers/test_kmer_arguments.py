"""Arguments of another type, range or shape: InvalidType or InvalidArgument, with what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfastdb as hf
from holdfastdb import kmers

TYPES, VALUES = hf.InvalidType, hf.InvalidArgument

WRONG_WORDS: list[tuple[Any, type[Exception]]] = [
    (np.array([27.9]), TYPES),
    ([27.9], TYPES),
    ([27.0], TYPES),
    ([True], TYPES),
    (np.array([True]), TYPES),
    ([None], TYPES),
    ([b"ACGT"], TYPES),
    ([[1, 2]], TYPES),
    ([[1], [1, 2]], TYPES),
    ([Fraction(1)], TYPES),
    (np.array([1], "M8[s]"), TYPES),
    (np.array([1j]), TYPES),
    (np.ma.masked_array([1, 2], [True, False]), TYPES),
    (27, TYPES),
    (27.5, TYPES),
    (None, TYPES),
    (b"ACGT", TYPES),
    ({27: 1}, TYPES),
    (object(), TYPES),
    ([-1], VALUES),
    (np.array([-1]), VALUES),
    (np.array([-1], np.int8), VALUES),
    ([256], VALUES),
    ([300], VALUES),
    (np.array([256], np.uint64), VALUES),
    (np.array([2**64 - 1], np.uint64), VALUES),
    ([1 << 64], VALUES),
    ([-(1 << 70)], VALUES),
    (np.array([[1, 2]], np.uint64), VALUES),
    (np.array(5, np.uint64), VALUES),
    (np.uint64(5), VALUES),
]
GOOD_WORDS: list[Any] = [
    [27],
    (27,),
    range(27, 28),
    np.array([27], np.int8),
    np.array([27], ">u8"),
    np.array([0, 27, 5], np.uint64)[1:2],
    np.array([27, 3, 27, 3], np.uint16)[::4],
    [np.uint64(27)],
    np.array([27], object),
]
OTHER_NUMBERS: list[Any] = [1.5, 4.0, "4", None, True, b"4", [4], np.array([4, 5]), 1j, np.bool_(True), float("nan")]


@pytest.fixture
def counted(folder: Path) -> Path:
    (folder / "a.fa").write_text(">a\nACGTACG\n")
    kmers.write(kmers.count(folder / "a.fa", 4), folder / "a.txt")
    return folder / "a.txt"


def _calls(counted: Path) -> dict[str, Callable[[Any], Any]]:
    return {
        "decode": lambda words: kmers.decode(words, 4),
        "reverse_complement": lambda words: kmers.reverse_complement(words, 4),
        "canonical": lambda words: kmers.canonical(words, 4),
        "find": lambda words: kmers.find(counted, words),
        "CountFile.find": lambda words: kmers.CountFile(counted).find(words),
    }


@pytest.mark.parametrize("call", ["decode", "reverse_complement", "canonical", "find", "CountFile.find"])
def test_numbers_of_kmers(counted: Path, call: str) -> None:
    run = _calls(counted)[call]
    for words, error in WRONG_WORDS:
        with pytest.raises(error) as caught:
            run(words)
        assert type(caught.value) is error and "give" in str(caught.value), (words, caught.value)
    expected = {"decode": ["ACGT"], "find": [1], "CountFile.find": [1]}.get(call, [27])
    for words in GOOD_WORDS:
        assert list(run(words)) == expected, words
    for empty in ([], np.empty(0), np.empty(0, np.uint64), ()):
        assert len(run(empty)) == 0


def test_the_largest_numbers(folder: Path) -> None:
    most = [2**64 - 1, 2**63]
    for words in (most, np.array(most, np.uint64)):
        assert kmers.decode(words, 32) == ["T" * 32, "G" + "A" * 31]
        assert kmers.encode(kmers.decode(words, 32)).tolist() == most


def test_texts(counted: Path) -> None:
    wrong: list[tuple[Any, type[Exception]]] = [
        (5, TYPES),
        (None, TYPES),
        (b"ACGT", TYPES),
        ([b"ACGT"], TYPES),
        (["ACGT", 5], TYPES),
        ([5, "ACGT"], TYPES),
        ([1.5], TYPES),
        (np.array([1]), TYPES),
        (object(), TYPES),
        ("", VALUES),
        (["ACGT", ""], VALUES),
        ("ACG", VALUES),
        ("A" * 33, VALUES),
        ("ACG\ud800", VALUES),
        ("ACG\0", VALUES),
        ("ACGN", VALUES),
        (["ACGT", "ACGTA"], VALUES),
    ]
    for texts, error in wrong:
        with pytest.raises(error) as caught:
            kmers.encode(texts)
        assert type(caught.value) is error and "give" in str(caught.value), texts
    good = [["ACGT"], ("acgt",), np.array(["ACGT"]), np.array(["ACGT"], object), iter(["ACGT"]), {"ACGT": 1}, "ACGT"]
    for texts in good:
        assert kmers.encode(texts).tolist() == [27]
    for texts in (["ACGT"], ("acgt",), np.array(["ACGT"]), np.array(["ACGT"], object), "ACGT"):
        assert kmers.find(counted, texts).tolist() == [1]
    for texts, error in ((["ACGT", 5], TYPES), ("ACG", VALUES), (["ACG\ud800"], VALUES), ([["ACGT"]], TYPES)):
        with pytest.raises(error):
            kmers.find(counted, texts)


@pytest.mark.parametrize("name", ["k", "min_quality", "lower", "upper", "threads", "memory"])
def test_numbers_of_count(folder: Path, name: str) -> None:
    (folder / "a.fa").write_text(">a\nACGT\n")
    for value in OTHER_NUMBERS:
        if name == "upper" and value is None:
            continue
        with pytest.raises(TYPES, match=f"^{name} is .*: give a whole number"):
            kmers.count(folder / "a.fa", **{name: value})
    for value in (-1, 1 << 64, -(1 << 70)):
        with pytest.raises(VALUES, match=f"^{name} is {value}: give"):
            kmers.count(folder / "a.fa", **{name: value})
    assert kmers.count(folder / "a.fa", **{"k": 4, "memory": 0, name: np.int64(4 if name != "memory" else 0)}).k == 4


def test_other_arguments(counted: Path, folder: Path) -> None:
    file = folder / "a.fa"
    types: list[Callable[[], Any]] = [
        lambda: kmers.count(5),  # type: ignore[arg-type]
        lambda: kmers.count([5]),  # type: ignore[list-item]
        lambda: kmers.count(None),  # type: ignore[arg-type]
        lambda: kmers.count(file, 4, canonical="no"),  # type: ignore[arg-type]
        lambda: kmers.count(file, 4, canonical=1),  # type: ignore[arg-type]
        lambda: kmers.count(file, 4, folder=5),  # type: ignore[arg-type]
        lambda: kmers.count(file, 4, progress=5),  # type: ignore[arg-type]
        lambda: kmers.CountFile(5),  # type: ignore[arg-type]
        lambda: kmers.CountFile(counted, canonical="no"),  # type: ignore[arg-type]
        lambda: kmers.find(5, "ACGT"),  # type: ignore[arg-type]
        lambda: kmers.histogram(5),
        lambda: kmers.histogram(None),
        lambda: kmers.decode([27], 4.0),  # type: ignore[arg-type]
        lambda: kmers.canonical([27], None),  # type: ignore[arg-type]
        *(lambda value=value: kmers.histogram(counted, value) for value in OTHER_NUMBERS),  # type: ignore[misc]
        *(lambda value=value: kmers.decode([27], value) for value in OTHER_NUMBERS),  # type: ignore[misc]
        lambda: kmers.write(5, folder / "b.txt"),  # type: ignore[arg-type]
        lambda: kmers.write(kmers.CountFile(counted), 5),  # type: ignore[arg-type]
    ]
    for call in types:
        with pytest.raises(TYPES):
            call()
    values: list[Callable[[], Any]] = [
        lambda: kmers.histogram(counted, 0),
        lambda: kmers.histogram(counted, 1 << 62),
        lambda: kmers.histogram(counted, -1),
        lambda: kmers.decode([27], 33),
        lambda: kmers.reverse_complement([27], 1 << 70),
        lambda: kmers.count("a\0b"),
        lambda: kmers.count(file, 4, folder="\ud800"),
    ]
    for call in values:
        with pytest.raises((VALUES, hf.InputError)):
            call()


def test_kmers_that_were_taken_are_not_given_as_none(folder: Path) -> None:
    (folder / "a.fa").write_text(">a\nACGTACG\n")
    counts = kmers.count(folder / "a.fa", 4)
    assert len(dict(counts.items())) == 4
    for again in (lambda: list(counts), lambda: dict(counts.items()), lambda: kmers.histogram(counts)):
        with pytest.raises(hf.InvalidArgument, match="were taken already"):
            again()
    with pytest.raises(hf.InvalidArgument, match="were taken already"):
        kmers.write(counts, folder / "again.txt")
    assert not (folder / "again.txt").exists()
