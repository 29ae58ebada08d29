"""Throughput and latency of workloads: single operations, YCSB, beside peers and stores, and a cache's trace."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import _bench
import typer

from bench.frame import code, machine, options
from bench.frame.results import Json
from bench.frame.running import running
from bench.frame.text import figure, print_rows
from bench.table import measure, trace
from bench.table.measure import Load
from bench.table.targets import Table, peers_have_huge_pages, pool_folder
from bench.table.text import print_workloads, ycsb_lines
from bench.table.workloads import MICRO, YCSB, Workload

Distribution = Annotated[str, typer.Option(help="uniform or zipfian.")]
Theta = Annotated[float, typer.Option(help="Skew of zipfian and latest.")]
OnDevice = Annotated[bool, typer.Option("--on-device", help="Keys and results in GPU memory.")]


def _chosen(known: dict[str, Workload], names: str | None) -> list[Workload]:
    if names is None:
        return list(known.values())
    wanted = {name.strip() for name in names.split(",")}
    if missing := wanted - set(known):
        raise typer.BadParameter(f"no workload {', '.join(sorted(missing))}; there are {', '.join(known)}")
    return [w for w in known.values() if w.name in wanted]


def _series(
    kind: str,
    known: dict[str, Workload],
    asked: str | None,
    load: Load,
    table: Table,
    batch_sizes: str,
    value_sizes: str,
    repetitions: int,
    where: Path | None,
    json_file: str | None,
    save: bool,
    quick: bool,
) -> None:
    workloads = _chosen(known, asked)
    batches, values = options.counts(batch_sizes), options.counts(value_sizes)
    name = options.result_name(kind, load.distribution, table.device, _extra(table.flush, table.value_cache))
    if quick:
        load, repetitions = replace(load, items=20_000, operations=20_000), 1
    runs: list[Json] = []
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        for value_bytes in values:
            for batch in batches:
                made, sized = replace(table, value_bytes=value_bytes), replace(load, batch=batch)
                got = measure.series(["holdfast"], workloads, sized, made, repetitions, folder, progress)
                runs.append({"batch": batch, "value_bytes": value_bytes, **got})
                console.print(f"[bold]{value_bytes}-byte values, batches of {batch:,}[/]")
                if known is YCSB:
                    for workload, targets in got["workloads"].items():
                        console.print(f"[bold]workload {workload}[/]")
                        for line in ycsb_lines(targets["holdfast"], batch):
                            console.print(line, markup=False, highlight=False)
                print_workloads(console, got["workloads"], ["holdfast"])
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
        options.finish(console, name, parameters, {"runs": runs}, json_file, save, code.of_table(table.device))


def _extra(flush: bool, value_cache: float) -> str:
    """What makes a run another one than that of its name."""
    return "-".join(
        part for part in ("flush" if flush else "", f"cache-{value_cache:g}" if value_cache else "") if part
    )


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
    table = Table(device=device, threads=table_threads, flush=flush, value_cache=value_cache, cache_policy=cache_policy)
    _series("micro", MICRO, workloads, load, table, batch, value, repeat, where, json_file, save, quick)


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
    table = Table(device=device, threads=table_threads, flush=flush, value_cache=value_cache, cache_policy=cache_policy)
    _series("ycsb", YCSB, workloads, load, table, batch, value, repeat, where, json_file, save, quick)


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
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        got = measure.series(names, workloads, load, table, repeat, folder, progress)
        got["ratio_to_best_peer"] = {
            name: measure.ratios(targets, "holdfast", peers) for name, targets in got["workloads"].items()
        }
        print_workloads(console, got["workloads"], names, got["ratio_to_best_peer"])
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
            "peers_huge_pages": peers_have_huge_pages(),
            "space_for": load.items + load.items // 16,
        }
        extra = "flush" if flush else ("huge-pages" if parameters["peers_huge_pages"] else "")
        name = options.result_name("compare", distribution, "cpu", extra)
        options.finish(console, name, parameters, got, json_file, save, code.CPU)


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
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        got = measure.series(names, workloads, load, table, repeat, folder, progress)
        got["ratio_to_best_peer"] = {
            name: measure.ratios(targets, "holdfast", there) for name, targets in got["workloads"].items()
        }
        print_workloads(console, got["workloads"], names, got["ratio_to_best_peer"])
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
        name = options.result_name("stores", distribution, "cpu")
        options.finish(console, name, parameters, got, json_file, save, code.CPU)


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
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        try:
            got = trace.cache(data, value, gets // batch * batch or batch, batch, repeat, folder, progress)
        except (FileNotFoundError, ValueError) as error:
            raise typer.BadParameter(f"no trace there: {error}", param_hint="--data") from error
        rows = [(name.replace("_", " "), figure(entry) if isinstance(entry, dict) else f"{entry:,}")
                for name, entry in got.items()]  # fmt: skip
        print_rows(console, f"cache trace, cells of {value} bytes", ("", ""), rows)
        parameters = {"gets": gets, "batch": batch, "value_bytes": value, "repetitions": repeat, "data": data.name}
        options.finish(console, "cache-trace", parameters, got, json_file, save, code.CPU)


COMMANDS: dict[str, Callable[..., None]] = {
    "micro": micro,
    "ycsb": ycsb,
    "compare": compare,
    "stores": stores,
    "cache-trace": cache_trace,
}
SUITE: list[tuple[str, dict[str, Any]]] = [
    ("compare", {"items": 16_000_000}),
    ("micro", {"items": 4_000_000, "batch": "64,512,4096,32Ki,256Ki,1Mi", "repeat": 2}),
    ("ycsb", {"items": 4_000_000, "repeat": 2, "value": "8,128"}),
    ("ycsb", {"items": 4_000_000, "repeat": 2, "distribution": "uniform"}),
    *([("stores", {})] if _bench.stores() else []),
    *([("cache-trace", {})] if trace.FOLDER.is_dir() else []),
]
