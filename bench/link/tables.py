"""Tables of what was measured on a GPU: each figure beside its limit, the link between host memory and GPU memory."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json
from bench.link import LINK_BYTES

_NOTHING_CROSSES = ("contains", "absent")
_PAIR_BYTES = 24  #: of a pair of the study `pairs`, beside its value: a header and a key of 8 bytes
_SLOT_LINE = 64  #: bytes that an erase writes: the line of a slot


def share(run: Json, value_bytes: int) -> str:
    """What a run's values, or an erase's lines, are of the link. Over 100%: repeated values cross it once."""
    if any(word in run["work"] for word in _NOTHING_CROSSES):
        return "–"
    crossing = _SLOT_LINE if run["work"].startswith("erase") else value_bytes
    return f"{100 * run['mops']['median'] * 1e6 * crossing / LINK_BYTES:.0f}%"


def link(content: Json) -> str:
    """Every run: rate, latency of a batch where it was measured, and its share of the link."""
    value, runs = content["parameters"]["value_bytes"], content["results"]["runs"]
    by, latency = any("by" in run for run in runs), any("latency_us" in run for run in runs)
    rows = []
    for run in runs:
        row = [run["work"], f"{run['batch']:,}", f"{run['streams']}", spread_text(run["mops"]), share(run, value)]
        if latency:
            row.append(f"{run['latency_us']['median']:,.0f}" if "latency_us" in run else "–")
        rows.append([run["by"], *row] if by else row)
    columns = ["work", "batch", "streams", "M operations/s", "of the link", *(["µs a batch"] if latency else [])]
    return grid([*([""] if by else []), *columns], rows)


def _table(corner: str, rows: list[str], columns: list[str], cells: dict[tuple[str, str], Json]) -> str:
    """Rates by row and column; a dash where nothing was measured."""
    rates = {where: _brief(run["mops"]["median"]) for where, run in cells.items()}
    return grid([corner, *columns], [[row, *(rates.get((row, column), "–") for column in columns)] for row in rows])


def _brief(mops: float) -> str:
    return f"{mops:,.0f}" if mops >= 100 else f"{mops:.1f}"


def by_batch(content: Json) -> str:
    """A row a work, a column a batch size. Latencies are in the file and in the plot."""
    runs = [run for run in content["results"]["runs"] if run["streams"] == 1]
    batches = sorted({run["batch"] for run in runs})
    name = {id(run): ", ".join(filter(None, (run["work"], run.get("by")))) for run in runs}
    tables = list(dict.fromkeys(run.get("by") for run in runs))
    rows = list(dict.fromkeys(name[id(run)] for run in sorted(runs, key=lambda run: tables.index(run.get("by")))))
    cells = {(name[id(run)], f"{run['batch']:,}"): run for run in runs}
    return _table("M operations/s, batches of", rows, [f"{batch:,}" for batch in batches], cells)


def by_key(content: Json) -> str:
    """A row a work and batch size, a column a key size (GPHash Figure 12a)."""
    rows, columns, cells = [], [], {}
    for run in content["results"]["runs"]:
        work, _, keys = run["work"].partition(", keys of ")
        row = f"{work}, batch {run['batch']:,}"
        rows.append(row)
        columns.append(keys)
        cells[row, keys] = run
    return _table("M operations/s, keys of", list(dict.fromkeys(rows)), list(dict.fromkeys(columns)), cells)


def buckets(content: Json) -> str:
    """A row a policy and part of the buckets, a column a work, draw and batch size (GPHash Figure 10)."""
    rows, columns, cells = [], [], {}
    for run in content["results"]["runs"]:
        parts = run["work"].split(", ")
        if len(parts) != 4:
            continue
        work, draw, policy, ratio = parts
        row, column = f"{ratio}, {policy}", f"{work} {draw}, {run['batch']:,}"
        rows.append(row)
        columns.append(column)
        cells[row, column] = run
    columns = sorted(dict.fromkeys(columns), key=lambda column: column.partition(" ")[0], reverse=True)
    return _table("M/s, by part and policy", list(dict.fromkeys(rows)), columns, cells)


def _pair_cell(run: Json) -> str:
    """A rate; of a search, what its pairs are of the link as well."""
    rate = _brief(run["mops"]["median"])
    if "find" not in run["work"]:
        return rate
    crossing = run["value_bytes"] + _PAIR_BYTES
    return f"{rate} ({100 * run['mops']['median'] * 1e6 * crossing / LINK_BYTES:.0f}%)"


def pairs(content: Json) -> str:
    """Keys and values of any length: a row a size and batch, a column a work."""
    runs = [
        (f"values up to {table['most_value_bytes']:,} bytes, batch {run['batch']:,}", run)
        for table in content["results"]["pairs"]
        for run in table["runs"]
    ]
    works = list(dict.fromkeys(run["work"] for _, run in runs))
    cells = {(row, run["work"]): _pair_cell(run) for row, run in runs}
    rows = [[row, *(cells.get((row, work), "–") for work in works)] for row in dict.fromkeys(row for row, _ in runs)]
    return grid(["M operations/s (of the link)", *works], rows)


def select(content: Json) -> str:
    """Selections by predicates on the GPU: how fast they look at all items, and what of their limit that is."""
    got, rows = content["results"], []
    limits = {"link_bytes": (LINK_BYTES, "the link"), "memory_bytes": (got["memory_bytes_a_second"], "GPU memory")}
    for run in got["runs"]:
        if "chosen" not in run:
            continue
        mops = run["mops"]["median"]
        shares = [
            f"{100 * run[name] * mops * 1e6 / run['batch'] / limit:.0f}% of {where}"
            for name, (limit, where) in limits.items()
            if run[name] != 0
        ]
        rows.append([run["work"], f"{run['chosen']:,}", spread_text(run["mops"]), f"{run['batch'] / mops / 1e3:,.2f}",
                     ", ".join(shares) or "–"])  # fmt: skip
    return grid([f"of {got['runs'][-1]['batch']:,} items", "chosen", "M items/s", "ms", "of its limit"], rows)


def columns(content: Json) -> str:
    """Columns of values beside whole ones: a row a work and batch, a column a part; times as fast."""
    runs = [run for run in content["results"]["runs"] if ", " in run["work"]]
    parts = list(dict.fromkeys(run["work"].partition(", ")[2] for run in runs))
    rows = []
    for work, batch in dict.fromkeys((run["work"].partition(", ")[0], run["batch"]) for run in runs):
        got = {run["work"].partition(", ")[2]: run["mops"] for run in runs
               if run["work"].startswith(f"{work}, ") and run["batch"] == batch}  # fmt: skip
        ratio = got[parts[-1]]["median"] / got[parts[0]]["median"] if {parts[0], parts[-1]} <= got.keys() else None
        cells = [spread_text(got[part]) if part in got else "–" for part in parts]
        rows.append([work, f"{batch:,}", *cells, "–" if ratio is None else f"{ratio:.2f}"])
    return grid(["M operations/s", "batch", *parts, "ratio"], rows)


def rivals(content: Json) -> str:
    """Who does what how fast: a row a work and batch size, a column each; Holdfast over the best of the others."""
    value, runs = content["parameters"]["value_bytes"], content["results"]["runs"]
    names = list(dict.fromkeys(run["by"] for run in runs))
    rows = []
    for work, batch in dict.fromkeys((run["work"], run["batch"]) for run in runs if run["work"] != "load"):
        got = {run["by"]: run for run in runs if (run["work"], run["batch"]) == (work, batch)}
        cells = [f"{got[n]['mops']['median']:,.1f}, {share(got[n], value)}" if n in got else "–" for n in names]
        others = [got[n]["mops"]["median"] for n in names[1:] if n in got]
        ratio = f"{got[names[0]]['mops']['median'] / max(others):.1f}" if names[0] in got and others else "–"
        rows.append([work, f"{batch:,}", *cells, ratio])
    columns = ["M operations/s, of the link", "batch", *names, f"{names[0]}, times the best of the others"]
    return grid(columns, rows)


def rivals_at_once(content: Json) -> str:
    """Rates in the largest batches: a row a work, a column a table."""
    runs = content["results"]["runs"]
    most = max(run["batch"] for run in runs)
    cells = {(run["work"], run["by"]): run for run in runs if run["batch"] == most and run["work"] != "load"}
    works, tables = (list(dict.fromkeys(where[i] for where in cells)) for i in (0, 1))
    return _table(f"M operations/s, batches of {most:,}", works, tables, cells)


def factors(content: Json) -> str:
    """One technique after another (GPHash Figure 9): a row each, a column a work."""
    value, runs = content["parameters"]["value_bytes"], content["results"]["runs"]
    works = list(dict.fromkeys(run["work"] for run in runs if run["work"] != "load"))
    rows = []
    for name in dict.fromkeys(run["by"] for run in runs):
        got = {run["work"]: run for run in runs if run["by"] == name}
        cells = [f"{got[w]['mops']['median']:,.1f}, {share(got[w], value)}" if w in got else "–" for w in works]
        rows.append([name, *cells])
    return grid([f"M/s in batches of {runs[-1]['batch']:,}, of the link", *works], rows)


def dlrm(content: Json) -> str:
    """Embedding lookups by road, length of a row, and batch."""
    rows = [
        [run["road"], f"{run['dim']}", f"{run['samples']:,}", spread_text(run["mops"]),
         f"{run['latency_us']['median']:,.0f}", _percent(run)]
        for run in content["results"]["runs"]
    ]  # fmt: skip
    return grid(["", "floats a row", "samples a batch", "M lookups/s", "µs a batch", "of the link"], rows)


def pagerank(content: Json) -> str:
    """PageRank by road."""
    rows = [
        [run["road"], spread_text(run["iteration_ms"], 2), spread_text(run["lookups_ms"], 2),
         spread_text(run["medges"], 0), spread_text(run["mops"]), _percent(run)]
        for run in content["results"]["runs"]
    ]  # fmt: skip
    got = content["results"]
    name = f"{got['vertices']:,} vertices, {got['edges']:,} edges, {got['pieces']:,} pieces"
    return grid([name, "ms an iteration", "of it lookups", "M edges/s", "M lookups/s", "of the link"], rows)


def _percent(run: Json) -> str:
    return "–" if run["percent_of_link"] is None else f"{run['percent_of_link']:.0f}%"


def phases(content: Json) -> str:
    """What changing batches spend their time on."""
    runs = [run for run in content["results"]["runs"] if run.get("phase_ms", {}).get("commit")]
    names = list(runs[0]["phase_ms"])
    rows = [[run["work"], *(f"{run['phase_ms'].get(name, 0):.2f}" for name in names)] for run in runs]
    return grid([f"ms a batch of {runs[0]['batch']:,}", *names], rows)


def gpu_recovery(content: Json) -> str:
    """Opening after a kill, by size."""
    rows = [
        [f"{e['items']:,}", f"{e['slots']:,}", f"{e['recovery_ms']:.1f}", f"{e['recovery_ms'] * 1e6 / e['slots']:.2f}"]
        for e in content["results"]["sizes"]
    ]
    return grid(["items", "slots", "recovery, ms", "ns a slot"], rows)


def gpu_resize(content: Json) -> str:
    """A resize, and what making room for it takes."""
    got = content["results"]
    rows = [[f"{content['parameters']['items']:,}", spread_text(got["rehash_ms"]), spread_text(got["space_ms"])]]
    return grid(["items", "rehashing, ms", "allocating, zeroing and registering the new level, ms"], rows)


def shapes(content: Json) -> str:
    """Configurations: how full each gets, and how fast it is then."""
    rows = []
    for shape in content["results"]["shapes"]:
        mops = {run["work"]: spread_text(run["mops"]) for run in shape["runs"]}
        name = f"{shape['levels']}L-{shape['hash_locations']}H-{shape['slots_a_bucket']}S"
        rows.append([name, f"{shape['load_factor']:.3f}", *(mops.get(w, "–") for w in ("insert", "find", "absent"))])
    return grid(["configuration", "load factor at the first resize", "insert, M/s", "find", "absent"], rows)


TABLES: dict[str, Callable[[Json], str]] = {
    "link": link,
    "by-batch": by_batch,
    "by-key": by_key,
    "buckets": buckets,
    "pairs": pairs,
    "select": select,
    "columns": columns,
    "phases": phases,
    "gpu-recovery": gpu_recovery,
    "gpu-resize": gpu_resize,
    "shapes": shapes,
    "rivals": rivals,
    "rivals-at-once": rivals_at_once,
    "factors": factors,
    "dlrm": dlrm,
    "pagerank": pagerank,
}
