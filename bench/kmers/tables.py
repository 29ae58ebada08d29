"""Tables of what was measured of k-mer counting."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json

STAGES = ("reading", "inflating", "splitting", "spilling", "counting", "writing")
"""Of our statistics: seconds, all but the last summed over threads."""

_NAMES = {
    "holdfast": "`holdfast kmer count`",
    "holdfast_half": "with half of that memory",
    "jellyfish": "`jellyfish count`",
    "kmc_memory": "`kmc -r`",
    "kmc": "`kmc`",
}


def programs(content: Json) -> str:
    """A row a program."""
    got = content["results"]
    columns = ["", "seconds", "processor seconds", "peak, MiB", "bytes a k-mer", "times holdfast"]
    rows = [
        [text, spread_text(got[name]["seconds"]), spread_text(got[name]["cpu_seconds"]),
         spread_text(got[name]["peak_mib"], 0), spread_text(got[name]["peak_bytes_a_kmer"]),
         spread_text(got[name]["over_holdfast"], 2)]
        for name, text in _NAMES.items() if name in got
    ]  # fmt: skip
    return grid(columns, rows)


def stages(content: Json) -> str:
    """Where the time of our own runs goes."""
    got = content["results"]
    columns = ["", *(f"{stage}, s" for stage in STAGES)]
    rows = [
        [text, *(spread_text(got[name]["stages"][stage], 2) for stage in STAGES)]
        for name, text in _NAMES.items()
        if "stages" in got.get(name, ())
    ]
    return grid(columns, rows)


def gzip(content: Json) -> str:
    """What the library does alone, and what counting makes of it."""
    got = content["results"]
    rows = [
        ["ISA-L alone (`igzip`)", spread_text(got["library_mb_s"], 0), "1"],
        ["inflating, its own time", spread_text(got["inflating_mb_s"], 0), spread_text(got["inflating_of_library"], 2)],
        ["reading, with all that is done meanwhile", spread_text(got["reading_mb_s"], 0),
         spread_text(got["reading_of_library"], 2)],
    ]  # fmt: skip
    return grid(["", "MB/s of text", "of the library"], rows)


def series(content: Json) -> str:
    """A row a genome, k and number of threads."""
    shown = ("reading", "inflating", "splitting", "counting")
    columns = ["genome, k, threads", "M k-mers/s", *(f"{stage}, s" for stage in shown), "sums on `MemoryTable`, M/s"]
    rows = [
        [f"{one['genome']}, {one['k']}, {one['threads']}", spread_text(one["mkmers_s"]),
         *(spread_text(one["stages"][stage], 2) for stage in shown), spread_text(one["table_mkmers_s"])]
        for one in content["results"]["runs"]
    ]  # fmt: skip
    return grid(columns, rows)


TABLES: dict[str, Callable[[Json], str]] = {
    "kmers": programs,
    "kmers-stages": stages,
    "kmers-gzip": gzip,
    "kmers-series": series,
}
