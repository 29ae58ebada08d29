"""What a table costs besides its operations: filling, recovery, growth, pairs of any length, snapshots."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.frame import code, machine, options, text
from bench.frame.running import running
from bench.table import growth, snapshots
from bench.table import pairs as any_length
from bench.table import recovery as recoveries
from bench.table.measure import Load
from bench.table.targets import Table, pool_folder


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
    with running(json_file) as (console, progress), pool_folder(where) as folder:
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
        options.finish(console, "load-factor", parameters, got, json_file, save, code.CPU)


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
    table, layers = Table(value_bytes=value, threads=table_threads, device=device), code.of_table(device)
    with running(json_file) as (console, progress):
        got = recoveries.recovery(chosen, table, repeat, where, progress)
        rows = [
            (f"{e['items']:,}", f"{e['slots']:,}", text.figure(e["recovery_ms"]), text.figure(e["map_ms"]),
             f"{e['nanoseconds_a_slot']:.3f}")
            for e in got["sizes"]
        ]  # fmt: skip
        columns = ("items", "slots", "recovery ms", "map ms", "ns a slot")
        text.print_rows(console, "recovery after a kill", columns, rows)
        parameters = {"items": chosen, "repetitions": repeat, "table": table.options()}
        options.finish(console, options.result_name("recovery", "", device), parameters, got, json_file, save, layers)


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
    with running(json_file) as (console, progress):
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
        options.finish(console, "pairs", parameters, measured, json_file, save, code.CPU)


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
    table, layers = Table(value_bytes=value, threads=table_threads, device=device), code.of_table(device)
    with running(json_file) as (console, progress), pool_folder(where) as folder:
        got = growth.resize(items, table, repeat, folder, progress)
        rows = [(name.replace("_", " "), text.figure(got[name], 3)) for name in got if name.find("seconds") >= 0
                or name.endswith("allocation")]  # fmt: skip
        title = f"resize of {items:,} items, {got['slots_before']:,} to {got['slots_after']:,} slots"
        text.print_rows(console, title, ("", "seconds"), rows)
        parameters = {"items": items, "repetitions": repeat, "table": table.options()}
        options.finish(console, options.result_name("resize", "", device), parameters, got, json_file, save, layers)


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
    with running(json_file) as (console, progress):
        got = snapshots.snapshot(load, table, repeat, where, disk, quiet_s, progress)
        rows = [(name.replace("_", " "), text.figure(got[name])) for name in got
                if name not in ("size", "disk_mb_per_second")]  # fmt: skip
        rows += [(f"disk, {name.replace('_', ' ')}, MB/s", text.figure(rate))
                 for name, rate in got["disk_mb_per_second"].items()]  # fmt: skip
        title = f"snapshots of {items:,} items, {got['size']['written']:,} bytes"
        text.print_rows(console, title, ("", ""), rows)
        parameters = {"items": items, "batch": batch, "callers": load.callers, "repetitions": repeat,
                      "table": table.options()}  # fmt: skip
        options.finish(console, "snapshot", parameters, got, json_file, save, code.POOL)


COMMANDS: dict[str, Callable[..., None]] = {
    "load-factor": load_factor,
    "recovery": recovery,
    "pairs": pairs,
    "resize": resize,
    "snapshot": snapshot,
}
SUITE: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in COMMANDS]
