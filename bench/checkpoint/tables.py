"""Tables of what was measured of checkpoints on a GPU (holdfast-checkpoint-bench)."""

from collections.abc import Callable

from bench.frame.markdown import grid, spread_text
from bench.frame.results import Json


def tensors_text(one: Json) -> str:
    """How many tensors of which size."""
    size = one["bytes"] / one["tensors"]
    return (
        f"{one['tensors']:,} of {size / 1e6:.3g} MB" if size >= 1e6 else f"{one['tensors']:,} of {size / 1024:.3g} KiB"
    )


def saves(content: Json) -> str:
    """Saves until they count, checksums included, beside one copy of the same bytes; a row a state and a way."""
    rows = [
        [tensors_text(one), "staged" if one["staged"] else "straight", spread_text(one["save_gb_s"]),
         spread_text(one["plain_gb_s"]), f"{100 * one['part_of_plain']:.0f}%", spread_text(one["call_ms"]),
         spread_text(one["stream_held_ms"])]
        for one in content["results"]["saves"]
    ]  # fmt: skip
    head = ["tensors", "way", "save, GB/s", "one copy, GB/s", "of it", "call, ms", "stream held, ms"]
    return grid(head, rows)


def restores(content: Json) -> str:
    """Verified restores in another process beside one copy of the same bytes; a row a state."""
    rows = [
        [tensors_text(one), spread_text(one["restore_gb_s"]), spread_text(one["plain_gb_s"]),
         f"{100 * one['part_of_plain']:.0f}%", f"{one['map_ms']:.0f}"]
        for one in content["results"]["restores"]
    ]  # fmt: skip
    return grid(["tensors", "restore, GB/s", "one copy, GB/s", "of it", "mapping before, ms"], rows)


TABLES: dict[str, Callable[[Json], str]] = {"checkpoint-saves": saves, "checkpoint-restores": restores}
