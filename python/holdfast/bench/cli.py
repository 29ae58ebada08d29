"""The commands of `holdfast bench`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from holdfast import _bench
from holdfast.bench import growth, machine, measure, options, plot, snapshots, study, text, trace
from holdfast.bench import pairs as any_length
from holdfast.bench import recovery as recoveries
from holdfast.bench.measure import Load
from holdfast.bench.results import Json
from holdfast.bench.targets import Table, pool_folder
from holdfast.bench.workloads import MICRO, YCSB, Workload

app = typer.Typer(
    help="Benchmarks. Every answer is checked while they run; wrong ones end a command with status 1.",
    no_args_is_help=True,
)

Distribution = Annotated[str, typer.Option(help="uniform or zipfian.")]
Theta = Annotated[float, typer.Option(help="Skew of zipfian and latest.")]
OnDevice = Annotated[bool, typer.Option("--on-device", help="Keys and results in GPU memory.")]


@contextmanager
def _running(json_file: str | None) -> Iterator[tuple[Console, measure.Progress]]:
    """The console, and a line that says what runs; wrong answers become exit status 1."""
    console = Console(stderr=json_file == "-")
    try:
        with console.status("starting") as status:
            yield console, lambda doing: status.update(doing)
    except measure.WrongAnswer as error:
        Console(stderr=True).print(f"[red]wrong answers:[/] {error}")
        raise typer.Exit(1) from error


def _chosen(known: dict[str, Workload], names: str | None) -> list[Workload]:
    if names is None:
        return list(known.values())
    wanted = {name.strip() for name in names.split(",")}
    if missing := wanted - set(known):
        raise typer.BadParameter(f"no workload {', '.join(sorted(missing))}; there are {', '.join(known)}")
    return [w for w in known.values() if w.name in wanted]


def _series(
    name: str,
    workloads: list[Workload],
    load: Load,
    table: Table,
    batches: list[int],
    values: list[int],
    repetitions: int,
    where: Path | None,
    json_file: str | None,
    save: bool,
    ycsb_text: bool,
) -> None:
    runs: list[Json] = []
    with _running(json_file) as (console, progress), pool_folder(where) as folder:
        for value_bytes in values:
            for batch in batches:
                made, sized = replace(table, value_bytes=value_bytes), replace(load, batch=batch)
                got = measure.series(["holdfast"], workloads, sized, made, repetitions, folder, progress)
                runs.append({"batch": batch, "value_bytes": value_bytes, **got})
                console.print(f"[bold]{value_bytes}-byte values, batches of {batch:,}[/]")
                if ycsb_text:
                    for workload, targets in got["workloads"].items():
                        console.print(f"[bold]workload {workload}[/]")
                        for line in text.ycsb_lines(targets["holdfast"], batch):
                            console.print(line, markup=False, highlight=False)
                text.print_workloads(console, got["workloads"], ["holdfast"])
        parameters = {
            "items": load.items,
            "operations": load.operations,
            "batches": batches,
            "value_bytes": values,
            "key_bytes": 8,
            "callers": load.callers,
            "distribution": load.distribution,
            "theta": load.theta,
            "unique": load.unique,
            "on_device": load.on_device,
            "repetitions": repetitions,
            "table": table.options(),
        }
        options.finish(console, name, parameters, {"runs": runs}, json_file, save)


def _extra(flush: bool, value_cache: float) -> str:
    """What makes a run another one than that of its name."""
    return "-".join(
        part for part in ("flush" if flush else "", f"cache-{value_cache:g}" if value_cache else "") if part
    )


def _result_name(base: str, distribution: str, device: str, extra: str = "") -> str:
    return "-".join(part for part in (base, distribution, "" if device == "cpu" else "gpu", extra) if part)


@app.command()
def micro(
    items: options.Items = 1_000_000,
    operations: options.Operations = None,
    batch: options.Batches = "4096",
    value: options.ValueBytes = "8",
    threads: options.Threads = 0,
    table_threads: options.Inside = 1,
    workloads: Annotated[str | None, typer.Option(help=f"Some of {','.join(MICRO)}.")] = None,
    distribution: Distribution = "uniform",
    theta: Theta = 0.99,
    device: options.Device = "cpu",
    on_device: OnDevice = False,
    value_cache: options.ValueCache = 0,
    cache_policy: options.CachePolicy = "lfu",
    unique: options.Unique = False,
    flush: options.Flush = False,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Insert, find, find of absent keys, update and erase, each by itself."""
    load = Load(items, operations or items, 1, threads or machine.cores(), distribution, theta, unique, on_device)
    if quick:
        load, repeat = replace(load, items=20_000, operations=20_000), 1
    table = Table(device=device, threads=table_threads, flush=flush, value_cache=value_cache, cache_policy=cache_policy)
    name = _result_name("micro", distribution, device, _extra(flush, value_cache))
    _series(
        name,
        _chosen(MICRO, workloads),
        load,
        table,
        options.counts(batch),
        options.counts(value),
        repeat,
        where,
        json_file,
        save,
        False,
    )


@app.command()
def ycsb(
    items: options.Items = 1_000_000,
    operations: options.Operations = None,
    batch: options.Batches = "4096",
    value: options.ValueBytes = "8",
    threads: options.Threads = 0,
    table_threads: options.Inside = 1,
    workloads: Annotated[str | None, typer.Option(help=f"Some of {','.join(YCSB)}.")] = None,
    distribution: Distribution = "zipfian",
    theta: Theta = 0.99,
    device: options.Device = "cpu",
    on_device: OnDevice = False,
    value_cache: options.ValueCache = 0,
    cache_policy: options.CachePolicy = "lfu",
    flush: options.Flush = False,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """YCSB workloads LOAD, A, B, C, D and F in batches."""
    load = Load(items, operations or items, 1, threads or machine.cores(), distribution, theta, False, on_device)
    if quick:
        load, repeat = replace(load, items=20_000, operations=20_000), 1
    table = Table(device=device, threads=table_threads, flush=flush, value_cache=value_cache, cache_policy=cache_policy)
    name = _result_name("ycsb", distribution, device, _extra(flush, value_cache))
    _series(
        name,
        _chosen(YCSB, workloads),
        load,
        table,
        options.counts(batch),
        options.counts(value),
        repeat,
        where,
        json_file,
        save,
        True,
    )


@app.command()
def compare(
    items: options.Items = 16_000_000,
    operations: options.Operations = None,
    batch: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Operations a batch.")] = 4096,
    threads: options.Threads = 0,
    table_threads: options.Inside = 1,
    distribution: Distribution = "uniform",
    theta: Theta = 0.99,
    unique: options.Unique = False,
    flush: options.Flush = False,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Holdfast against libcuckoo and TBB: the same operations, threads and batches, in turn in one run. 8-byte values.

    Set GLIBC_TUNABLES=glibc.malloc.hugetlb=1 to give the peers huge pages.
    """
    peers = _bench.peers()
    if not peers:
        raise typer.BadParameter("this build has no peers: install libcuckoo-dev or libtbb-dev and build again")
    load = Load(items, operations or items, batch, threads or machine.cores(), distribution, theta, unique)
    if quick:
        load, repeat = replace(load, items=20_000, operations=20_000), 1
    workloads = [*MICRO.values(), *(w for w in YCSB.values() if w.name in ("A", "B", "F"))]
    workloads.sort(key=lambda w: w.spends)
    table, names = Table(threads=table_threads, flush=flush), ["holdfast", *peers]
    with _running(json_file) as (console, progress), pool_folder(where) as folder:
        got = measure.series(names, workloads, load, table, repeat, folder, progress)
        got["ratio_to_best_peer"] = {
            name: measure.ratios(targets, "holdfast", peers) for name, targets in got["workloads"].items()
        }
        text.print_workloads(console, got["workloads"], names, got["ratio_to_best_peer"])
        parameters = {
            "items": load.items,
            "operations": load.operations,
            "batch": batch,
            "callers": load.callers,
            "distribution": distribution,
            "theta": theta,
            "unique": unique,
            "key_bytes": 8,
            "value_bytes": 8,
            "repetitions": repeat,
            "table": table.options(),
            "peers_huge_pages": plot.peers_have_huge_pages(),
            "room_for": load.items + load.items // 16,
        }
        extra = "flush" if flush else ("huge-pages" if parameters["peers_huge_pages"] else "")
        options.finish(console, _result_name("compare", distribution, "cpu", extra), parameters, got, json_file, save)


@app.command()
def stores(
    items: options.Items = 4_000_000,
    operations: options.Operations = None,
    batch: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Operations a batch.")] = 4096,
    value: Annotated[int, typer.Option(help="Bytes of a value.")] = 128,
    threads: options.Threads = 0,
    table_threads: options.Inside = 1,
    distribution: Distribution = "zipfian",
    theta: Theta = 0.99,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """YCSB LOAD, A and C against RocksDB and LMDB: the same operations, threads and batches, in turn in one run.

    All lie in one folder, and none waits for a disk: what is written survives the process, and not the machine.
    """
    there = _bench.stores()
    if not there:
        raise typer.BadParameter("this build has no stores: install librocksdb-dev or liblmdb-dev and build again")
    load = Load(items, operations or items, batch, threads or machine.cores(), distribution, theta)
    if quick:
        load, repeat = replace(load, items=20_000, operations=20_000), 1
    workloads = [YCSB[name] for name in ("LOAD", "A", "C")]
    table, names = Table(value_bytes=value, threads=table_threads), ["holdfast", *there]
    with _running(json_file) as (console, progress), pool_folder(where) as folder:
        got = measure.series(names, workloads, load, table, repeat, folder, progress)
        got["ratio_to_best_peer"] = {
            name: measure.ratios(targets, "holdfast", there) for name, targets in got["workloads"].items()
        }
        text.print_workloads(console, got["workloads"], names, got["ratio_to_best_peer"])
        if missing := {"rocksdb", "lmdb"} - set(there):
            console.print(f"not in this build, and not measured: {', '.join(sorted(missing))}")
        parameters = {
            "items": load.items,
            "operations": load.operations,
            "batch": batch,
            "callers": load.callers,
            "distribution": distribution,
            "theta": theta,
            "key_bytes": 8,
            "value_bytes": value,
            "repetitions": repeat,
            "table": table.options(),
            "stores": there,
        }
        options.finish(console, _result_name("stores", distribution, "cpu"), parameters, got, json_file, save)


@app.command("cache-trace")
def cache_trace(
    data: Annotated[Path, typer.Option(help="Folder with config.json, pop.json and sizes.json.")] = trace.FOLDER,
    gets: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Gets a repetition.")] = 16_000_000,
    batch: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Gets a batch.")] = 4096,
    value: Annotated[int, typer.Option(help="Bytes of a cell, a multiple of 8; larger values are not cached.")] = 512,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """A look-aside cache with the popularity and sizes of `kvcache_reg`: what a batch of gets misses is set."""
    if quick:
        gets, repeat = 100_000, 1
    if value < 8 or value % 8:
        raise typer.BadParameter(f"--value is {value}: give a multiple of 8")
    with _running(json_file) as (console, progress), pool_folder(where) as folder:
        try:
            got = trace.cache(data, value, gets // batch * batch or batch, batch, repeat, folder, progress)
        except (FileNotFoundError, ValueError) as error:
            raise typer.BadParameter(f"no trace there: {error}", param_hint="--data") from error
        rows = [(name.replace("_", " "), text.figure(entry) if isinstance(entry, dict) else f"{entry:,}")
                for name, entry in got.items()]  # fmt: skip
        text.print_rows(console, f"cache trace, cells of {value} bytes", ("", ""), rows)
        parameters = {"gets": gets, "batch": batch, "value_bytes": value, "repetitions": repeat, "data": data.name}
        options.finish(console, "cache-trace", parameters, got, json_file, save)


@app.command("load-factor")
def load_factor(
    slots: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Slots of the table.")] = 12_582_912,
    batch: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Operations a batch.")] = 4096,
    value: Annotated[int, typer.Option(help="Bytes of a value.")] = 8,
    levels: Annotated[int, typer.Option(help="Levels searched.")] = 2,
    hash_locations: Annotated[int, typer.Option(help="Buckets a level.")] = 2,
    bucket_slots: Annotated[int, typer.Option(help="Slots a bucket.")] = 8,
    fills: Annotated[
        int, typer.Option(help="Fillings until the first resize: the least likely item decides one.")
    ] = 27,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Load factor at the first insert without a slot; what moving an item costs; the load factor while loading."""
    if quick:
        slots, batch, fills, repeat = 3 << 13, 128, 1, 1
    table = Table(value_bytes=value, levels=levels, hash_locations=hash_locations, slots=bucket_slots)
    with _running(json_file) as (console, progress), pool_folder(where) as folder:
        got = growth.load_factor(slots, table, fills, folder, progress)
        got["cost_of_moves"] = growth.moves_cost(slots, table, batch, repeat, folder, progress)
        progress("loading a table that grows")
        got["while_loading"] = growth.curve(slots, table, max(16, slots // 800), folder)
        rows = [
            (name, f"{e['slots']:,}", text.figure(e["load_factor"], 4), text.figure(e["moved"], 4))
            for name, e in ((name, got[name]) for name in ("paper", "bias", "moves"))
        ]
        text.print_rows(console, "first insert without a slot", ("", "slots", "load factor", "items moved"), rows)
        cost = got["cost_of_moves"]
        console.print(f"moves cost inserts below 0.85: {text.figure(cost['cost_percent_below_0_85'])} %")
        console.print(f"moves cost inserts below 0.9: {text.figure(cost['cost_percent_below_0_9'])} %")
        parameters = {"slots": slots, "batch": batch, "fills": fills, "repetitions": repeat, "table": table.options()}
        options.finish(console, "load-factor", parameters, got, json_file, save)


@app.command()
def recovery(
    sizes: Annotated[str, typer.Option(metavar="N[,N…]", help="Items, a table each.")] = "1M,2M,4M,8M,17M",
    value: Annotated[int, typer.Option(help="Bytes of a value.")] = 8,
    table_threads: Annotated[int, typer.Option(help="Threads of the recovery; 0: one a core.")] = 0,
    device: options.Device = "cpu",
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Recovery time after SIGKILL by size of the table; what is there afterwards is checked."""
    chosen, repeat = ([2_000, 20_000], 1) if quick else (options.counts(sizes), repeat)
    table = Table(value_bytes=value, threads=table_threads, device=device)
    with _running(json_file) as (console, progress):
        got = recoveries.recovery(chosen, table, repeat, where, progress)
        rows = [
            (f"{e['items']:,}", f"{e['slots']:,}", text.figure(e["recovery_ms"]), text.figure(e["map_ms"]),
             f"{e['nanoseconds_a_slot']:.3f}")
            for e in got["sizes"]
        ]  # fmt: skip
        columns = ("items", "slots", "recovery ms", "map ms", "ns a slot")
        text.print_rows(console, "recovery after a kill", columns, rows)
        parameters = {"items": chosen, "repetitions": repeat, "table": table.options()}
        options.finish(console, _result_name("recovery", "", device), parameters, got, json_file, save)


@app.command()
def pairs(
    capacity: Annotated[int, typer.Option(parser=options.count, metavar="BYTES", help="Of the churned values.")] = 1
    << 30,
    items: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Recovered.")] = 16_000_000,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Keys and values of any length: the heap after churn with random sizes, and recovery after SIGKILL."""
    capacity, items, repeat = (1 << 26, 20_000, 1) if quick else (capacity, items, repeat)
    with _running(json_file) as (console, progress):
        churned = any_length.churn(capacity, 10, where, progress)
        recovered = any_length.recovery(items, repeat, where, progress)
        shares = [f"{churned[name]:.1f}" for name in ("unused_percent", "worst_unused_percent", "rounding_percent")]
        rows = [(f"{churned['slab_bytes']:,}", *shares)]
        columns = ("slab bytes", "unused %", "worst %", "rounding %")
        text.print_rows(console, "churn, sizes 1 to 4096, 10 times the capacity", columns, rows)
        times = [(f"{items:,}", text.figure(recovered["recovery_ms"]))]
        text.print_rows(console, "recovery after a kill", ("pairs", "recovery ms"), times)
        parameters = {"capacity": capacity, "times": 10, "items": items, "repetitions": repeat}
        measured = {"churn": churned, "recovery": recovered}
        options.finish(console, "pairs", parameters, measured, json_file, save)


@app.command()
def resize(
    items: options.Items = 8_000_000,
    value: Annotated[int, typer.Option(help="Bytes of a value.")] = 8,
    table_threads: Annotated[int, typer.Option(help="Threads of the resize; 0: one a core.")] = 0,
    device: options.Device = "cpu",
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """One resize of a table of so many items, with and without the allocation of its new level."""
    if quick:
        items, repeat = 20_000, 1
    table = Table(value_bytes=value, threads=table_threads, device=device)
    with _running(json_file) as (console, progress), pool_folder(where) as folder:
        got = growth.resize(items, table, repeat, folder, progress)
        rows = [(name.replace("_", " "), text.figure(got[name], 3)) for name in got if name.find("seconds") >= 0
                or name.endswith("allocation")]  # fmt: skip
        title = f"resize of {items:,} items, {got['slots_before']:,} to {got['slots_after']:,} slots"
        text.print_rows(console, title, ("", "seconds"), rows)
        parameters = {"items": items, "repetitions": repeat, "table": table.options()}
        options.finish(console, _result_name("resize", "", device), parameters, got, json_file, save)


@app.command()
def snapshot(
    items: options.Items = 16_000_000,
    value: Annotated[int, typer.Option(help="Bytes of a value.")] = 128,
    batch: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Searches a batch.")] = 4096,
    threads: options.Threads = 0,
    repeat: options.Repetitions = 3,
    where: options.Where = None,
    disk: Annotated[Path, typer.Option(help="Folder for the snapshots, on the disk to measure.")] = Path(),
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """Snapshots onto a disk: their rate against its own sequential one, and searches meanwhile against their own."""
    quiet_s = 2.0
    if quick:
        items, repeat, quiet_s = 400_000, 1, 0.2
    load = Load(items, items, batch, threads or machine.cores())
    table = Table(value_bytes=value)
    with _running(json_file) as (console, progress):
        got = snapshots.snapshot(load, table, repeat, where, disk, quiet_s, progress)
        rows = [(name.replace("_", " "), text.figure(got[name])) for name in got
                if name not in ("size", "disk_mb_per_second")]  # fmt: skip
        rows += [(f"disk, {name.replace('_', ' ')}, MB/s", text.figure(rate))
                 for name, rate in got["disk_mb_per_second"].items()]  # fmt: skip
        title = f"snapshots of {items:,} items, {got['size']['written']:,} bytes"
        text.print_rows(console, title, ("", ""), rows)
        parameters = {"items": items, "batch": batch, "callers": load.callers, "repetitions": repeat,
                      "table": table.options()}  # fmt: skip
        options.finish(console, "snapshot", parameters, got, json_file, save)


@app.command()
def layout(
    mebibytes: Annotated[int, typer.Option(help="Size of the array of buckets.")] = 512,
    operations: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Finds of each sort.")] = 8_000_000,
    repeat: options.Repetitions = 3,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """RULES.md 8: 16-byte slots against buckets with their key words together, on this CPU."""
    if quick:
        mebibytes, operations, repeat = 4, 50_000, 1
    with _running(json_file) as (console, progress):
        got = study.layout(mebibytes, operations, repeat, progress)
        rows = [
            (name.replace("_", " "), *(text.figure(entry[kind][op]) for kind in ("slots", "together")
             for op in ("find_mops", "absent_mops", "insert_mops")))
            for name, entry in got.items()
        ]  # fmt: skip
        columns = ("", "slots: find", "absent", "insert", "together: find", "absent", "insert")
        text.print_rows(console, "M operations/s, one thread", columns, rows)
        parameters = {"mebibytes": mebibytes, "operations": operations, "repetitions": repeat}
        options.finish(console, "layout", parameters, got, json_file, save)


@app.command()
def limits(
    mebibytes: Annotated[str, typer.Option(metavar="N[,N…]", help="Sizes of the array.")] = "512,1024,4096",
    threads: options.Threads = 0,
    operations: Annotated[int, typer.Option(parser=options.count, metavar="N", help="Lines a thread.")] = 16_000_000,
    repeat: options.Repetitions = 3,
    json_file: options.JsonFile = None,
    save: options.Save = False,
    quick: options.Quick = False,
) -> None:
    """What this machine's memory allows: random lines and sequential bytes a second."""
    sizes = options.counts(mebibytes)
    if quick:
        sizes, operations, repeat = [4], 50_000, 1
    threads = threads or machine.cores()
    with _running(json_file) as (console, progress):
        got = study.limits(sizes, threads, operations, repeat, progress)
        names = list(next(iter(got["memory"].values())))
        rows = [(name.replace("_", " "), *(text.figure(entry[n], 1) for n in names))
                for name, entry in got["memory"].items()]  # fmt: skip
        text.print_rows(console, f"{threads} threads", ("", *(n.replace("_", " ") for n in names)), rows)
        parameters = {"mebibytes": sizes, "threads": threads, "operations": operations, "repetitions": repeat}
        options.finish(console, "limits", parameters, got, json_file, save)


@app.command("plot")
def plot_command(
    results_folder: Annotated[Path | None, typer.Option("--results", help="Folder with result files.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures; default: docs/img.")] = None,
) -> None:
    """Draws every plot that the result files allow, as SVG."""
    root = machine.root() or Path.cwd()
    for path in plot.draw_all(results_folder or root / "bench" / "results", out or root / "docs" / "img"):
        typer.echo(path)


@app.command("all")
def everything(
    quick: options.Quick = False,
    json_folder: Annotated[Path | None, typer.Option("--json", help="Folder; default: the committed results.")] = None,
) -> None:
    """Every benchmark of the CPU, at sizes that two cores finish in a quarter of an hour; then the plots."""
    target = str(json_folder) if json_folder else None
    if json_folder:
        json_folder.mkdir(parents=True, exist_ok=True)
    save = json_folder is None

    def step(command: Callable[..., None], **given: object) -> None:
        command(json_file=target, save=save, quick=quick, **given)

    step(limits, mebibytes="512,4096", repeat=2)
    step(layout, operations=4_000_000)
    step(compare, items=16_000_000)
    step(micro, items=4_000_000, batch="64,512,4096,32Ki,256Ki,1Mi", repeat=2)
    step(ycsb, items=4_000_000, repeat=2, value="8,128")
    step(ycsb, items=4_000_000, repeat=2, distribution="uniform")
    if _bench.stores():
        step(stores)
    if trace.FOLDER.is_dir():
        step(cache_trace)
    step(load_factor)
    step(recovery)
    step(pairs)
    step(resize)
    step(snapshot)
    if save:
        plot_command()
