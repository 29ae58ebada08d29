"""How workloads look in a terminal: a table, and the lines that YCSB prints."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table as Grid

from bench.frame.results import Json
from bench.frame.text import figure
from bench.table.workloads import KIND_NAMES


def ycsb_lines(summary: Json, batch: int) -> Iterable[str]:
    """A workload's summary as YCSB prints it. An operation's latency is that of the batch it was in."""
    yield f"[OVERALL], RunTime(ms), {summary['seconds']['median'] * 1e3:.1f}"
    yield f"[OVERALL], Throughput(ops/sec), {summary['mops']['median'] * 1e6:.0f}"
    yield f"[OVERALL], BatchSize, {batch}"
    for kind, entry in summary["kinds"].items():
        name, latency = KIND_NAMES[kind], entry["latency_us"]
        yield f"[{name}], Operations, {entry['operations']}"
        yield f"[{name}], AverageLatency(us), {latency['mean']:.2f}"
        yield f"[{name}], MinLatency(us), {latency['min']:.2f}"
        yield f"[{name}], MaxLatency(us), {latency['max']:.2f}"
        yield f"[{name}], 50thPercentileLatency(us), {latency['median']:.2f}"
        yield f"[{name}], 99thPercentileLatency(us), {latency['p99']:.2f}"


def print_workloads(console: Console, workloads: Json, names: Sequence[str], ratio: Json | None = None) -> None:
    """Throughput of every workload on every target; the median, and half the range of the repetitions."""
    grid = Grid(title="M operations/s: median ± half the range")
    grid.add_column("workload")
    for name in names:
        grid.add_column(name, justify="right")
    grid.add_column("batch p50 / p99, µs", justify="right")
    if ratio:
        grid.add_column("over the best peer", justify="right")
    for workload, targets in workloads.items():
        latency = targets[names[0]]["latency_us"]
        cells = [workload, *(figure(targets[name]["mops"]) for name in names)]
        cells.append(f"{latency['median']:,.0f} / {latency['p99']:,.0f}")
        if ratio:
            cells.append(figure(ratio[workload]))
        grid.add_row(*cells)
    console.print(grid)
