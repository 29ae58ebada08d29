"""Count files that are malformed: one error that names file and line, whoever reads them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from kmer_oracle import sequence

import holdfastdb as hf
from holdfastdb import kmers
from holdfastdb.kmers import files

HEADER = "# holdfast k-mers k=4 canonical={}\n"
CANONICAL, PLAIN = HEADER.format("true"), HEADER.format("false")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: "),
        ("ACGT\n", "line 1: "),
        ("ACGT 1\nACGT\n", "line 2: a k-mer and its count"),
        ("ACGT 1\nACNT 1\n", "line 2: a k-mer was"),
        ("ACGT 1\nACCT 1x\n", "line 2: a count"),
        ("ACGT 1\nACGTA 1\n", "line 2: "),
        ("ACGT 1\nACG 1\n", "line 2: "),
        ("ACGT 1\nACCT 12", "line 2: the line has no end"),
        ("ACGT 1\n" + "A" * 5_000_000, "line 2: a k-mer and its count"),
        ("ACGT 1\nACCT 1\nACGT 2\n", "line 3: a k-mer that no line before has was expected"),
        ("ACGT 1\nacgt 1\n", "line 2: a k-mer that no line before has was expected"),
        (PLAIN + "ACGT 1\nACGT 1\n", "line 3: a k-mer that no line before has was expected"),
        (PLAIN + "ACGT 1\n" + PLAIN + "ACCT 1\n", "line 3: "),
        (PLAIN + "ACGTA 1\n", "line 2: "),
        (PLAIN.strip(), "line 1: a header was expected"),
        (PLAIN.replace("k=4", "k=3"), "line 1: a header was expected"),
        (PLAIN.replace("k=4", "k=99999999999999999999"), "line 1: a header was expected"),
        (PLAIN.replace("false", "False"), "line 1: a header was expected"),
        ("# something\nACGT 1\n", "line 1: a header was expected"),
        (CANONICAL + "AAAC 1\nGTTT 1\n", r"line 3: a canonical k-mer \(the header says so\)"),
        (PLAIN + "ACGT 0\n", "line 2: a count of 1 or more"),
        (PLAIN + "ACGT -1\n", "line 2: a count up to"),
        (PLAIN + "ACGT 1.5\n", "line 2: a count up to"),
        (PLAIN + "ACGT 1 \n", "line 2: a count up to"),
        (PLAIN + "ACGT 1\r\n", "line 2: a count up to"),
        (PLAIN + "ACGT 18446744073709551616\n", "line 2: a count up to 18446744073709551615"),
        (PLAIN + "ACGT 99999999999999999999\n", "line 2: a count up to"),
        (PLAIN + "ACGT 184467440737095516150\n", "line 2: a k-mer and its count"),
        (PLAIN + "ACGT 1\n\n", "line 3: a k-mer and its count"),
        ("\0" * 40, "line 1: "),
        ("ACGT,1\n", "line 1: "),
    ],
)
def test_text(folder: Path, text: str, message: str) -> None:
    file = folder / "bad.txt"
    file.write_text(text)
    for read in (lambda found: list(found), kmers.histogram, lambda found: kmers.write(found, folder / "copy.txt")):
        with pytest.raises(hf.InputError, match=f"^{file}, {message}"):
            read(kmers.CountFile(file, canonical=None if text.startswith("#") else False))
    assert sorted(folder.iterdir()) == [file]


def test_the_commands_say_one_line(folder: Path) -> None:
    file = folder / "bad.txt"
    file.write_text(PLAIN + "ACGT 1\nACGT 1\n")
    for command in (["histo", file], ["query", file, "ACGT"]):
        done = subprocess.run([sys.executable, "-m", "holdfastdb", "kmer", *command], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"holdfast: {file}, line 3: a k-mer that no line before has")


def test_text_of_another_program_is_searched_when_it_is_known_what_it_has(folder: Path) -> None:
    file = folder / "jellyfish.txt"
    file.write_text("AAAC 3\nACGT\t18446744073709551615\n")
    opened = kmers.CountFile(file)
    assert (opened.k, opened.canonical) == (4, None)
    assert kmers.histogram(opened, 5).tolist() == [0, 0, 0, 1, 0, 0, 1]
    for call in (lambda: kmers.find(file, "AAAC"), lambda: kmers.write(opened, folder / "copy.txt")):
        with pytest.raises(hf.InvalidArgument, match="does not say whether its k-mers are canonical"):
            call()
    assert kmers.find(file, ["AAAC", "GTTT"], canonical=False).tolist() == [3, 0]
    assert kmers.find(file, ["AAAC", "GTTT", "ACGT"], canonical=True).tolist() == [3, 3, 2**64 - 1]
    for options, expected in ((["--no-canonical"], "GTTT 0\n"), (["--canonical"], "GTTT 3\n")):
        command = [sys.executable, "-m", "holdfastdb", "kmer", "query", file, "GTTT", *options]
        assert subprocess.run(command, capture_output=True, text=True).stdout == expected
    assert kmers.write(kmers.CountFile(file, canonical=True), folder / "copy.txt") == 2
    assert (folder / "copy.txt").read_text().startswith(CANONICAL)


def test_long_texts_are_searched_for_repeats_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_KMERS_OF_SET", 700)
    monkeypatch.setattr(files, "_PIECE", 5000)
    counts = Counter(text for text in (sequence(5, 4000, "ACGT")[at : at + 13] for at in range(3000)))
    lines = [f"{kmer} {number}\n" for kmer, number in counts.items()]
    file = folder / "long.txt"
    file.write_text("".join(lines))
    read = {
        kmer: n
        for some, ns in kmers.CountFile(file)
        for kmer, n in zip(kmers.decode(some, 13), ns.tolist(), strict=True)
    }
    assert read == counts
    for at in (0, 17, len(lines) - 1):
        file.write_text("".join([*lines, lines[at]]))
        with pytest.raises(hf.InputError, match=f"line {len(lines) + 1}: a k-mer that no line before has"):
            list(kmers.CountFile(file))


@pytest.mark.parametrize(
    ("columns", "types", "metadata", "message"),
    [
        ({"kmer": [1], "count": [1]}, "uint64", {"holdfast.k": "many", "holdfast.canonical": "0"}, "is no file"),
        ({"kmer": [1], "count": [1]}, "uint64", {"holdfast.k": "40", "holdfast.canonical": "0"}, "k is 40"),
        ({"kmer": [1], "count": [1]}, "uint64", {"holdfast.k": "4"}, "is not 0 or 1"),
        ({"kmer": [1], "count": [1]}, "uint64", {}, "its columns are not"),
        ({"kmer": [1], "count": [1]}, "int64", None, "its columns are not"),
        ({"kmer": [1.5], "count": [1.0]}, "float64", None, "its columns are not"),
        ({"kmer": ["ACGT"], "count": ["1"]}, "string", None, "its columns are not"),
        ({"count": [1], "kmer": [1]}, "uint64", None, "its columns are not"),
        ({"kmer": [1, None], "count": [1, 1]}, "uint64", None, "is null"),
        ({"kmer": [1, 2], "count": [1, None]}, "uint64", None, "is null"),
        ({"kmer": [256], "count": [1]}, "uint64", None, "a number is none of 4 bases"),
        ({"kmer": [1], "count": [0]}, "uint64", None, "a count is 0"),
        ({"kmer": [27, 27], "count": [1, 2]}, "uint64", None, "ACGT is there twice"),
        ({"kmer": [255, 0], "count": [1, 1]}, "uint64", None, "TTTT is not canonical"),
    ],
)
def test_parquet(folder: Path, columns: dict[str, list[object]], types: str, metadata: object, message: str) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    about = {"holdfast.k": "4", "holdfast.canonical": "1"} if metadata is None else metadata
    schema = pa.schema([(name, getattr(pa, types)()) for name in columns], metadata=about)
    parquet.write_table(pa.table(columns, schema=schema), folder / "bad.parquet")
    refused = rf"bad\.parquet is no file of k-mers with counts: .*{message}|{message}"
    with pytest.raises(hf.InputError, match=refused):
        kmers.find(folder / "bad.parquet", "ACGT")
    for read in (list, kmers.histogram, lambda found: kmers.write(found, folder / "copy.txt")):
        with pytest.raises(hf.InputError, match=refused):
            read(kmers.CountFile(folder / "bad.parquet"))
    assert not (folder / "copy.txt").exists()


@pytest.mark.parametrize("at", [0, 1500, 2999])
def test_repeats_in_long_parquet_are_found_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(files, "_KMERS_OF_SET", 700)
    monkeypatch.setattr(files, "ROWS", 400)
    rows = np.random.default_rng(at).permutation(1 << 20)[:3000].astype(np.uint64)
    schema = pa.schema(
        [("kmer", pa.uint64()), ("count", pa.uint64())], metadata={"holdfast.k": "13", "holdfast.canonical": "0"}
    )
    file = folder / "long.parquet"

    def write(kmer_rows: np.ndarray) -> None:
        parquet.write_table(pa.table([kmer_rows, np.ones(len(kmer_rows), np.uint64)], schema=schema), file)

    write(rows)
    assert np.array_equal(np.concatenate([some for some, _ in kmers.CountFile(file)]), rows)
    write(np.append(rows, rows[at]))
    with pytest.raises(
        hf.InputError, match=f"{kmers.decode(rows[at : at + 1], 13)[0]} is there twice, again in row 3,000"
    ):
        list(kmers.CountFile(file))


@pytest.mark.parametrize("cut", [0, 4, 100, -1, -8])
def test_parquet_that_is_cut_off(folder: Path, cut: int) -> None:
    pytest.importorskip("pyarrow")
    (folder / "a.fa").write_text(">a\n" + sequence(1, 500, "ACGT"))
    kmers.write(kmers.count(folder / "a.fa", 9), folder / "a.parquet")
    (folder / "a.parquet").write_bytes((folder / "a.parquet").read_bytes()[:cut])
    with pytest.raises(hf.InputError, match=r"a\.parquet is no file of k-mers with counts"):
        kmers.find(folder / "a.parquet", "ACGTACGTA")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"table": (8, 8)}, "no table whose name is"),
        ({"kmers-3": (8, 8)}, "k is 3"),
        ({"kmers-4": (8, 16)}, "have not 8 bytes each"),
        ({"kmers-4": (8, 8), "kmers-5-canonical": (8, 8)}, "has several: kmers-4, kmers-5-canonical"),
        ({"kmers-4x": (8, 8)}, "no table whose name is"),
    ],
)
def test_pools(folder: Path, tables: dict[str, tuple[int, int]], message: str) -> None:
    with hf.Pool.create(folder / "bad.hold") as pool:
        for name, (key, value) in tables.items():
            pool.create_table(name, key=key, value=value, device="cpu").close()
    with pytest.raises(hf.InputError, match=f"^{folder}/bad.hold is no file of k-mers with counts: .*{message}"):
        kmers.CountFile(folder / "bad.hold")


def test_a_pool_with_a_number_of_no_kmer(folder: Path) -> None:
    with hf.Pool.create(folder / "bad.hold") as pool, pool.create_table("kmers-4", device="cpu") as table:
        table.insert([256], [1])
    with pytest.raises(hf.InputError, match="a number is none of 4 bases"):
        list(kmers.CountFile(folder / "bad.hold"))


def test_other_places(folder: Path) -> None:
    (folder / "folder.txt").mkdir()
    for ending in ("txt", "parquet", "hold"):
        (folder / f"folder.{ending}").mkdir(exist_ok=True)
        with pytest.raises(hf.InputError, match="cannot be opened: it is no file"):
            kmers.CountFile(folder / f"folder.{ending}")
    with pytest.raises(hf.InvalidArgument, match="comes twice"):
        kmers.write(_Twice(), folder / "twice.hold")
    assert not (folder / "twice.hold").exists()


class _Twice:
    k, canonical = 4, False

    def __iter__(self) -> object:
        yield np.array([27], np.uint64), np.array([1], np.uint64)
        yield np.array([3, 27], np.uint64), np.array([1, 1], np.uint64)
