"""Puts figures into documents from result files, so that none is typed by hand.

A document marks where a figure or a table goes:

    <!-- figures: compare amd-epyc-2c/compare-uniform.json -->
    (rewritten)
    <!-- end -->

and, inside a line, `<!-- figure: amd-epyc-2c/recovery.json results.at_least_16m_slots.seconds .2f -->0.12<!-- end -->`.
Files are below bench/results. `python -m holdfastdb.bench.report` rewrites the project's documents; with --check it only says
which are not as the files say, and exits with 1.
"""  # noqa: E501

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from holdfastdb.bench import dramhit_tables, link_tables, machine, object_tables
from holdfastdb.bench.markdown import grid, spread_text
from holdfastdb.bench.results import Json, field, read

_TABLE = re.compile(r"(<!-- figures: (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FIGURE = re.compile(r"(<!-- figure: (\S+) ([^\n]+?) (\S+) -->)[^\n]*?(<!-- end -->)")  # a path may have spaces
DOCUMENTS = ("README.md", "docs/performance.md", "docs/durability.md", "docs/architecture.md", "docs/memory_table.md")


def _compare(content: Json, digits: int = 1) -> str:
    workloads, ratio = content["results"]["workloads"], content["results"]["ratio_to_best_peer"]
    names = list(next(iter(workloads.values())))
    rows = [
        [workload, *(spread_text(targets[name]["mops"], digits) for name in names), spread_text(ratio[workload], 2)]
        for workload, targets in workloads.items()
    ]
    return grid(["M operations/s", *names, "ratio to the better peer"], rows)


def _series(content: Json) -> str:
    rows = []
    for run in content["results"]["runs"]:
        for workload, targets in run["workloads"].items():
            got = targets["holdfast"]
            latency = got["latency_us"]
            rows.append([
                workload, f"{run['value_bytes']}", f"{run['batch']:,}", spread_text(got["mops"]),
                f"{latency['median']:,.0f}", f"{latency['p99']:,.0f}",
            ])  # fmt: skip
    columns = ["workload", "value bytes", "batch", "M operations/s", "batch p50, µs", "p99, µs"]
    return grid(columns, rows)


def _load_factor(content: Json) -> str:
    names = {
        "paper": "the paper's rule",
        "bias": "with a bias against shared buckets",
        "moves": "with one item moved (default)",
    }
    rows = [
        [text, f"{e['slots']:,}", spread_text(e["load_factor"], 4), spread_text(e["moved"], 4)]
        for text, e in ((text, content["results"][name]) for name, text in names.items())
    ]
    return grid(["rule", "slots", "load factor at the first resize", "items moved, of all"], rows)


def _moves(content: Json) -> str:
    cost = content["results"]["cost_of_moves"]
    rows = [
        [band.replace("-", " to "), spread_text(entry), spread_text(cost["mops"]["no_moves"][band]) if band in
         cost["mops"]["no_moves"] else "–"]
        for band, entry in cost["mops"]["moves"].items()
    ]  # fmt: skip
    return grid(["load factor", "inserts with moves, M/s", "without, M/s"], rows)


def _recovery(content: Json) -> str:
    rows = [
        [f"{e['items']:,}", f"{e['slots']:,}", spread_text(e["recovery_ms"]), spread_text(e["map_ms"], 2),
         f"{e['nanoseconds_a_slot']:.2f}"]
        for e in content["results"]["sizes"]
    ]  # fmt: skip
    return grid(["items", "slots", "recovery, ms", "mapping, ms", "ns a slot"], rows)


def _resize(content: Json) -> str:
    got = content["results"]
    fields = ("seconds_without_allocation", "allocation_seconds", "total_seconds")
    rows = [[f"{got['items']:,}", f"{got['slots_before']:,} to {got['slots_after']:,}",
             *(spread_text(got[name], 3) for name in fields)]]  # fmt: skip
    return grid(["items", "slots", "seconds without allocation", "allocation", "together"], rows)


def _layout(content: Json) -> str:
    rows = [
        [name.replace("_", " "), *(
            " / ".join(spread_text(e[kind][f"{op}_mops"]) for kind in ("slots", "together"))
            for op in ("find", "absent", "insert")
        )]
        for name, e in content["results"].items()
    ]  # fmt: skip
    return grid(["16-byte slots / keys together, M/s", "find", "absent", "insert"], rows)


def _limits(content: Json) -> str:
    memory = content["results"]["memory"]
    names = list(next(iter(memory.values())))
    rows = [[name.replace("_", " "), *(spread_text(entry[n]) for n in names)] for name, entry in memory.items()]
    return grid(["memory", *(n.replace("_mops", ", M/s").replace("_", " ") for n in names)], rows)


def _snapshot(content: Json) -> str:
    got = content["results"]
    disk = max(got["disk_mb_per_second"].items(), key=lambda way: way[1]["median"])
    rows = [
        ["snapshot, MB/s", spread_text(got["snapshot_mb_per_second"])],
        [f"the same bytes, plainly in order ({disk[0].replace('_', ' ')}), MB/s", spread_text(disk[1])],
        ["bytes that do not compress, MB/s", spread_text(got["disk_incompressible_mb_per_second"])],
        ["snapshot, of the disk's rate, %", spread_text(got["percent_of_disk"])],
        ["snapshot beside searches, MB/s", spread_text(got["beside_searches_mb_per_second"])],
        ["searches beside a snapshot, of their rate otherwise", spread_text(got["searches_ratio"], 2)],
    ]
    return grid([f"{got['size']['written'] / 1e6:,.0f} MB written", ""], rows)


def _cache_trace(content: Json) -> str:
    got = content["results"]
    names = {"get_mops": "gets, M/s", "together_mops": "gets and sets, M/s", "hit_percent": "gets that hit, %",
             "too_large_percent": "gets of values too large for a cell, %"}  # fmt: skip
    rows = [[text, spread_text(got[name])] for name, text in names.items()]
    rows.append(["items at the end", f"{got['items']:,}"])
    rows.append(["bytes of cells that values use, %", f"{got['percent_of_cells_used']:.1f}"])
    return grid([f"{got['keys']:,} keys, batches of {content['parameters']['batch']:,}", ""], rows)


def _source(content: Json) -> str:
    where, parameters = content["machine"], content["parameters"]
    told = [f"{where['name']} ({where['cpu']}, {where['cores']} cores)", f"commit {content['commit'][:10]}"]
    if content["dirty"]:
        told.append("with uncommitted changes")
    told.append(content["date"][:10])
    if (load := where.get("load_average_before", 0)) > where["cores"]:
        told.append(f"beside other work (load average {load:g})")
    for key in ("items", "operations", "callers", "batch", "distribution", "repetitions"):
        if key in parameters:
            told.append(
                f"{key} {parameters[key]:,}" if isinstance(parameters[key], int) else f"{key} {parameters[key]}"
            )
    return ", ".join(told)


TABLES: dict[str, Callable[[Json], str]] = {
    "compare": _compare,
    "series": _series,
    "load-factor": _load_factor,
    "moves": _moves,
    "recovery": _recovery,
    "resize": _resize,
    "layout": _layout,
    "limits": _limits,
    **link_tables.TABLES,
    **dramhit_tables.TABLES,
    **object_tables.TABLES,
    "snapshot": _snapshot,
    "cache-trace": _cache_trace,
    "stores": lambda content: _compare(content, 2),
}


def rewrite(text: str, folder: Path) -> str:
    """A document with its marked places filled in. Raises ValueError where a mark names what is not there."""

    def table(mark: re.Match[str]) -> str:
        kind, file = mark[2], mark[3]
        if kind not in TABLES:
            raise ValueError(f"no table '{kind}'; there are {', '.join(TABLES)}")
        if not (folder / file).exists():
            return f"{mark[1]}*Not measured yet: {file} is not there.*\n{mark[4]}"
        content = read(folder / file)
        return f"{mark[1]}{TABLES[kind](content)}\n\n`bench/results/{file}`: {_source(content)}.\n{mark[4]}"

    def figure(mark: re.Match[str]) -> str:
        if not (folder / mark[2]).exists():
            return f"{mark[1]}(not measured yet){mark[5]}"
        try:
            value = field(read(folder / mark[2]), mark[3])
        except KeyError as error:
            raise ValueError(f"{mark[2]}: {error}") from error
        return f"{mark[1]}{value:{mark[4]}}{mark[5]}"

    return _FIGURE.sub(figure, _TABLE.sub(table, text))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    root = machine.root() or Path.cwd()
    parser = argparse.ArgumentParser(
        prog="python -m holdfastdb.bench.report", description="Puts figures into documents."
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 where a document is not right"
    )
    parser.add_argument("--results", type=Path, default=root / "bench" / "results", help="the folder of results")
    parser.add_argument("documents", nargs="*", type=Path, help="default: the project's")
    given = parser.parse_args(arguments)
    documents = given.documents or [root / name for name in DOCUMENTS if (root / name).exists()]
    stale = 0
    for path in documents:
        text = path.read_text(encoding="utf-8")
        try:
            right = rewrite(text, given.results)
        except ValueError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
        if right == text:
            continue
        stale += 1
        print(f"{path}: {'is not as the result files say' if given.check else 'rewritten'}")
        if not given.check:
            path.write_text(right, encoding="utf-8")
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
